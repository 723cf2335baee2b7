from typing import Any

import pytest

from bifrost.filters.api_versions import offered_versions
from bifrost.filters.virtual.groups import assigned_partitions
from bifrost.filters.virtual.groups.assigned_partitions import HAS_CLASSIC_MEMBERS, TOO_EARLY, TOO_MANY
from bifrost.filters.virtual.shown_partitions import LIMIT
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import FIVE_ON_TWO, divided, hits_of
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage, broker_versions

APP = physical_name("acme", "app")
ORDERS, BILLING = bytes(15) + b"\7", bytes(15) + b"\x08"
ON_TWO, OF_RATIO = FIVE_ON_TWO, PartitionMap.of_ratio(3)


@pytest.fixture
def topics(stage: Stage) -> Stage:
    for topic, topic_id in (("orders", ORDERS), ("billing", BILLING)):
        stage.topic_ids.learn(topic_id, physical_name("acme", topic).encode())
    return stage


def entries(topics: dict[bytes, list[int]]) -> list[dict[str, Any]]:
    return [{"topic_id": topic_id, "partitions": some} for topic_id, some in topics.items()]


def beat(group: str, owned: dict[bytes, list[int]], epoch: int = 4) -> Any:
    """Say all that a member can say."""
    fields = {"group_id": group, "member_id": "m", "member_epoch": epoch, "topic_partitions": entries(owned)}
    said = {"rebalance_timeout_ms": 9, "subscribed_topic_names": []}
    return messages.build("ConsumerGroupHeartbeatRequest", fields | said)


def told(assigned: dict[bytes, list[int]] | None, epoch: int = 4, **fields: Any) -> Any:
    known = {"member_id": "m", "member_epoch": epoch, "heartbeat_interval_ms": 5000}
    assignment = None if assigned is None else {"topic_partitions": entries(assigned)}
    return messages.build("ConsumerGroupHeartbeatResponse", {**known, "assignment": assignment, **fields})


def state(name: str, error_code: int = 0) -> Any:
    group = {"group_id": APP, "group_state": name, "error_code": error_code}
    return messages.build("DescribeGroupsResponse", {"groups": [group]})


ASKS = messages.build("DescribeGroupsRequest", {"groups": [APP]})


@pytest.mark.parametrize(
    ("partitions", "physical", "virtual"),
    [
        (ON_TWO, [0], [0, 2, 4]),
        (ON_TWO, [1], [1, 3]),
        (ON_TWO, [1, 0], [1, 3, 0, 2, 4]),
        (ON_TWO, [], []),
        (ON_TWO, [2, 0], [0, 2, 4]),  # The topic must not have a third one: it is not shown.
        (OF_RATIO, [0], [0, 1, 2]),
        (OF_RATIO, [3, 1], [9, 10, 11, 3, 4, 5]),
        (OF_RATIO, [1000], []),
    ],
)
def test_a_member_gets_all_virtual_partitions_of_each_physical_one(
    topics: Stage, partitions: PartitionMap, physical: list[int], virtual: list[int]
) -> None:
    divided(topics, "orders", partitions=partitions)

    assert (
        topics.play()
        >> client_sends(beat("app", {}), 1)
        << to_broker(beat(APP, {}))
        >> broker_answers(told({ORDERS: physical, BILLING: [9]}))
        << to_client(told({ORDERS: virtual, BILLING: [9]}))
    )


@pytest.mark.parametrize(
    ("partitions", "virtual", "physical"),
    [
        (ON_TWO, [0, 2, 4], [0]),
        (ON_TWO, [4], [0]),
        (ON_TWO, [3, 0], [1, 0]),
        (ON_TWO, [], []),
        (
            ON_TWO,
            [5, 1],
            [5, 1],
        ),  # There is no such virtual partition, and the coordinator does not know it either.
        (ON_TWO, [-1], [-1]),
        (OF_RATIO, [0, 1, 2], [0]),
        (OF_RATIO, [11, 3], [3, 1]),
        (OF_RATIO, [3000], [3000]),
    ],
)
def test_a_physical_partition_is_owned_as_long_as_one_of_its_virtual_ones_is(
    topics: Stage, partitions: PartitionMap, virtual: list[int], physical: list[int]
) -> None:
    divided(topics, "orders", partitions=partitions)

    assert (
        topics.play()
        >> client_sends(beat("app", {ORDERS: virtual, BILLING: [9]}), 1)
        << to_broker(beat(APP, {ORDERS: physical, BILLING: [9]}))
        >> broker_answers(told(None))
        << to_client(told(None))
    )


@pytest.mark.parametrize("answer", [state("Dead"), state("Empty"), state("", 69)])
def test_a_member_joins_a_group_without_members_of_the_classic_protocol(topics: Stage, answer: Any) -> None:
    divided(topics, "orders")

    assert (
        topics.play()
        >> client_sends(beat("app", {}, 0), 1)
        << to_broker(ASKS)
        >> broker_answers(answer)
        << to_broker(beat(APP, {}, 0))
        >> broker_answers(told({ORDERS: [1]}, 1))
        << to_client(told({ORDERS: [1, 3]}, 1))
    )


@pytest.mark.parametrize(
    ("answer", "code", "text"),
    [
        (state("Stable"), ErrorCode.GROUP_ID_NOT_FOUND, HAS_CLASSIC_MEMBERS),
        (state("PreparingRebalance"), ErrorCode.GROUP_ID_NOT_FOUND, HAS_CLASSIC_MEMBERS),
        (state("", 16), ErrorCode.NOT_COORDINATOR, None),
    ],
)
def test_beside_members_of_the_classic_protocol_it_is_refused(
    topics: Stage, answer: Any, code: ErrorCode, text: str | None
) -> None:
    divided(topics, "orders")
    refused = {"error_code": int(code), "error_message": text}

    assert (
        topics.play()
        >> client_sends(beat("app", {}, 0), 1)
        << to_broker(ASKS)
        >> broker_answers(answer)
        << to_client(messages.build("ConsumerGroupHeartbeatResponse", refused))
    )


def test_a_broker_that_does_not_describe_such_groups_has_none(topics: Stage) -> None:
    topics.versions = offered_versions(broker_versions(ConsumerGroupDescribe=(9, 9)))
    divided(topics, "orders")
    refused = {"error_code": int(ErrorCode.UNSUPPORTED_VERSION), "error_message": TOO_EARLY}

    assert (
        topics.play()
        >> client_sends(beat("app", {}, 0), 1)
        << to_client(messages.build("ConsumerGroupHeartbeatResponse", refused))
    )


@pytest.mark.parametrize("epoch", [-1, -2])
def test_a_member_leaves(topics: Stage, epoch: int) -> None:
    divided(topics, "orders")

    assert (
        topics.play()
        >> client_sends(beat("app", {}, epoch), 1)
        << to_broker(beat(APP, {}, epoch))
        >> broker_answers(told(None, epoch))
        << to_client(told(None, epoch))
    )


@pytest.mark.parametrize(("most", "fits"), [(5, True), (4, False)])
def test_more_partitions_than_an_answer_shows_are_refused(
    topics: Stage, monkeypatch: pytest.MonkeyPatch, most: int, fits: bool
) -> None:
    monkeypatch.setattr(assigned_partitions, "MAX_SHOWN", most)
    divided(topics, "orders")
    refused = {"error_code": int(ErrorCode.INVALID_REQUEST), "error_message": TOO_MANY}

    assert (
        topics.play()
        >> client_sends(beat("app", {}), 1)
        << to_broker(beat(APP, {}))
        >> broker_answers(told({ORDERS: [0, 1]}))
        << to_client(told({ORDERS: [0, 2, 4, 1, 3]}) if fits else told(None, **refused))
    )
    assert hits_of(topics)[LIMIT, "acme"] == (0 if fits else 1)
