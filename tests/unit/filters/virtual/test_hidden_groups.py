from typing import Any

import pytest

from bifrost.filters.virtual import offset_owners
from bifrost.forwarding.broker_costs import GROUP_NS, broker_cost_ns
from bifrost.tenancy.virtual_partitions.offset_groups import offset_group
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.wire.api_keys import ApiKey
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided, hits_of
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

APP, OTHER = physical_name("acme", "app"), physical_name("acme", "other")


def owners(name: str, physical: str) -> list[str]:
    return [physical_name("acme", offset_group(name, physical, PartitionGroup(number))) for number in (1, 2)]


def deletes(*groups: str) -> Any:
    return messages.build("DeleteGroupsRequest", {"groups_names": list(groups)})


def deleted(**codes: int) -> Any:
    results = [{"group_id": group, "error_code": code} for group, code in codes.items()]
    return messages.build("DeleteGroupsResponse", {"results": results})


def test_offset_groups_are_not_listed(stage: Stage) -> None:
    divided(stage, "orders")

    def listed(*groups: str) -> Any:
        return messages.build("ListGroupsResponse", {"groups": [{"group_id": one} for one in groups]})

    like = physical_name("acme", "app-v1-abcdefghi")
    assert (
        stage.play()
        >> client_sends(messages.build("ListGroupsRequest", {}), 4)
        << to_broker(messages.build("ListGroupsRequest", {}))
        >> broker_answers(listed(APP, *owners("app", APP), like))
        << to_client(listed("app", "app-v1-abcdefghi"))
    )


def test_offset_groups_are_deleted_with_a_group_that_is_gone(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(deletes("app", "other"), 2)
        << to_broker(deletes(APP, OTHER))
        >> broker_answers(deleted(**{APP: 0, OTHER: 68}))
        << to_broker(deletes(*owners("app", APP)))
        >> broker_answers(deleted(**dict.fromkeys(owners("app", APP), 69)))
        << to_broker(deletes())
        >> broker_answers(deleted())
        << to_client(deleted(app=0, other=68))
    )


def test_a_group_that_stays_keeps_its_offset_groups(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(deletes("other"), 2)
        << to_broker(deletes(OTHER))
        >> broker_answers(deleted(**{OTHER: 68}))
        << to_broker(deletes())
        >> broker_answers(deleted())
        << to_client(deleted(other=68))
    )


def test_what_would_be_too_many_groups_is_refused(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    divided(stage, "orders")
    monkeypatch.setattr(offset_owners, "MAX_OFFSET_GROUPS", 3)

    assert (
        stage.play()
        >> client_sends(deletes("app", "other"), 2)
        << to_broker(deletes())
        >> broker_answers(deleted())
        << to_client(deleted(app=42, other=42))
    )
    assert hits_of(stage) == {("virtual_offset_groups", "acme"): 1}


def test_each_group_that_is_deleted_is_charged_to_the_brokers_time(stage: Stage) -> None:
    divided(stage, "orders")
    load = stage.shared.lanes.in_flight_limits.load("acme")
    before_ns = load.broker_left_ns
    assert (
        stage.play()
        >> client_sends(deletes("app", "other"), 2)
        << to_broker(deletes(APP, OTHER))
        >> broker_answers(deleted(**{APP: 0, OTHER: 0}))
        << to_broker(deletes(*owners("app", APP), *owners("other", OTHER)))
    )

    assert before_ns - load.broker_left_ns == 2 * broker_cost_ns(ApiKey.DELETE_GROUPS) + (2 + 4) * GROUP_NS
