from bifrost.wire.entity import Entity
from bifrost.wire.fields.entities import SLOT_CLUSTER_ID
from bifrost.wire.program import SLOT_ADDRESS, SLOT_DECODE


def test_the_engines_slots_are_the_lowest_meanings() -> None:
    in_place = [entity for entity in Entity if entity.is_in_place and entity]

    assert [int(entity) for entity in in_place] == list(range(1, len(in_place) + 1))
    assert max(in_place) <= 8
    assert min(entity for entity in Entity if not entity.is_in_place) > 8


def test_what_needs_a_decision_is_not_replaced_in_place() -> None:
    decided = {Entity.COORDINATOR_KEY, Entity.SUBSCRIPTION, Entity.RESOURCE_NAME, Entity.BROKER_HOST}

    assert [entity for entity in decided if entity.is_in_place] == []
    assert Entity.TOPIC_NAME.is_in_place
    assert not {SLOT_ADDRESS, SLOT_CLUSTER_ID, SLOT_DECODE} & {int(one) for one in Entity if one.is_in_place}
