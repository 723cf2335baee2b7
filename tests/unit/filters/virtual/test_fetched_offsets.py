from typing import Any

import pytest

from bifrost.filters.virtual import offset_owners
from bifrost.forwarding.broker_costs import GROUP_NS, broker_cost_ns
from bifrost.tenancy.virtual_partitions.commit_stamps import CommitStamp, stamped
from bifrost.tenancy.virtual_partitions.offset_groups import offset_group
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup, PartitionMap
from bifrost.wire.api_keys import ApiKey
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided, hits_of
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

ORDERS, BILLING, APP = (physical_name("acme", one) for one in ("orders", "billing", "app"))


def owner(group: int) -> str:
    """Return the physical ID of an offset group."""
    return physical_name("acme", offset_group("app", APP, PartitionGroup(group)))


Topics = dict[str, list[int]] | None


def asked(**groups: Topics) -> Any:
    entries = [
        {
            "group_id": group,
            "topics": None
            if topics is None
            else [{"name": name, "partition_indexes": some} for name, some in topics.items()],
        }
        for group, topics in groups.items()
    ]
    return messages.build("OffsetFetchRequest", {"groups": entries})


def told(**groups: dict[str, dict[int, int]] | int) -> Any:
    entries: list[dict[str, Any]] = [
        {"group_id": group, "error_code": topics}
        if isinstance(topics, int)
        else {"group_id": group, "topics": [offsets(name, some) for name, some in topics.items()]}
        for group, topics in groups.items()
    ]
    return messages.build("OffsetFetchResponse", {"groups": entries})


def offsets(name: str, some: dict[int, int]) -> dict[str, Any]:
    return {
        "name": name,
        "partitions": [
            {"partition_index": one, "committed_offset": offset, "metadata": "note"}
            if offset >= 0
            else {"partition_index": one, "committed_offset": -1, "metadata": "", "error_code": -offset}
            for one, offset in some.items()
        ],
    }


@pytest.mark.parametrize("version", [8, 9])
def test_offset_groups_are_asked_beside_their_group(stage: Stage, version: int) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(asked(app={"orders": [0, 3, 4, 5], "billing": [9]}, other={"billing": [1]}), version)
        << to_broker(
            asked(
                **{
                    APP: {ORDERS: [0], BILLING: [9]},
                    physical_name("acme", "other"): {BILLING: [1]},
                    owner(1): {ORDERS: [1]},
                    owner(2): {ORDERS: [0]},
                }
            )
        )
        >> broker_answers(
            told(
                **{
                    APP: {ORDERS: {0: 10}, BILLING: {9: 19}},
                    physical_name("acme", "other"): {BILLING: {1: 21}},
                    owner(1): {ORDERS: {1: 13}},
                    owner(2): {ORDERS: {0: 14}},
                }
            )
        )
        << to_client(
            told(app={"orders": {0: 10, 3: 13, 4: 14, 5: -3}, "billing": {9: 19}}, other={"billing": {1: 21}})
        )
    )


def test_stamps_of_offset_groups_are_not_shown(stage: Stage) -> None:
    """What a client has committed is its own, whatever it looks like."""
    divided(stage, "orders")
    stamp = CommitStamp(7, is_transactional=True)
    stored, expected = (
        told(**{APP: {ORDERS: {0: 10}}, owner(1): {ORDERS: {1: 13}}}),
        told(app={"orders": {0: 10, 3: 13}}),
    )
    of_client = stamped("note", stamp)
    stored.groups[0].topics[0].partitions[0].metadata = of_client
    stored.groups[1].topics[0].partitions[0].metadata = stamped(of_client, stamp)
    for one in expected.groups[0].topics[0].partitions:
        one.metadata = of_client

    assert (
        stage.play()
        >> client_sends(asked(app={"orders": [0, 3]}), 8)
        << to_broker(asked(**{APP: {ORDERS: [0]}, owner(1): {ORDERS: [1]}}))
        >> broker_answers(stored)
        << to_client(expected)
    )


def test_all_offsets_are_those_of_all_offset_groups(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(asked(app=None), 8)
        << to_broker(asked(**{APP: None, owner(1): None, owner(2): None}))
        >> broker_answers(
            told(
                **{
                    APP: {BILLING: {9: 19}},
                    owner(1): {ORDERS: {1: 13, 0: 12}},
                    # What was left of a number that was larger before.
                    owner(2): {ORDERS: {0: 14, 1: 15}},
                }
            )
        )
        << to_client(told(app={"billing": {9: 19}, "orders": {3: 13, 2: 12, 4: 14}}))
    )


def test_a_member_whose_epoch_is_over_is_told_no_offsets(stage: Stage) -> None:
    divided(stage, "orders")
    stale = told(app=113)

    assert (
        stage.play()
        >> client_sends(asked(app={"orders": [0, 3, 9]}), 9)
        << to_broker(asked(**{APP: {ORDERS: [0]}, owner(1): {ORDERS: [1]}}))
        >> broker_answers(told(**{APP: 113, owner(1): {ORDERS: {1: 7}}}))
        << to_client(stale)
    )


def test_an_error_of_an_offset_group_is_one_of_its_group(stage: Stage) -> None:
    divided(stage, "orders")
    answer = told(app={})
    answer.groups[0].error_code = 14

    assert (
        stage.play()
        >> client_sends(asked(app={"orders": [0, 3]}), 8)
        << to_broker(asked(**{APP: {ORDERS: [0]}, owner(1): {ORDERS: [1]}}))
        >> broker_answers(told(**{APP: {ORDERS: {0: 10}}, owner(1): 14}))
        << to_client(answer)
    )


@pytest.mark.parametrize("version", [1, 5, 7])
def test_older_requests_are_divided(stage: Stage, version: int) -> None:
    divided(stage, "orders")

    def one(group: str, topics: dict[str, list[int]]) -> Any:
        some = [{"name": name, "partition_indexes": partitions} for name, partitions in topics.items()]
        return messages.build("OffsetFetchRequest", {"group_id": group, "topics": some})

    def answer(**topics: dict[int, int]) -> Any:
        return messages.build(
            "OffsetFetchResponse", {"topics": [offsets(name, some) for name, some in topics.items()]}
        )

    assert (
        stage.play()
        >> client_sends(one("app", {"orders": [0, 3, 5]}), version)
        << to_broker(one(owner(1), {ORDERS: [1]}))
        << to_broker(one(APP, {ORDERS: [0]}))
        >> broker_answers(answer(**{ORDERS: {1: 13}}))
        >> broker_answers(answer(**{ORDERS: {0: 10}}))
        << to_client(answer(orders={0: 10, 3: 13, 5: -3}))
    )


def test_what_would_be_too_many_groups_is_refused(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    divided(stage, "orders")
    monkeypatch.setattr(offset_owners, "MAX_OFFSET_GROUPS", 3)
    one = stage.play() >> client_sends(asked(app={"orders": [0]}), 8)

    assert one << to_broker(asked(**{APP: {ORDERS: [0]}}))
    assert not hits_of(stage)
    assert (
        stage.play()
        >> client_sends(asked(app={"orders": [0]}, other=None), 8)
        << to_client(told(app=42, other=42))
    )
    assert hits_of(stage) == {("virtual_offset_groups", "acme"): 1}


def test_with_a_ratio_the_first_of_each_physical_partition_is_the_groups_own(stage: Stage) -> None:
    divided(stage, "orders", partitions=PartitionMap.of_ratio(2))

    def answer(**topics: dict[int, int]) -> Any:
        return messages.build(
            "OffsetFetchResponse", {"topics": [offsets(name, some) for name, some in topics.items()]}
        )

    def one(group: str, partitions: list[int]) -> Any:
        some = [{"name": "orders" if group == "app" else ORDERS, "partition_indexes": partitions}]
        return messages.build("OffsetFetchRequest", {"group_id": group, "topics": some})

    assert (
        stage.play()
        >> client_sends(one("app", [0, 2, 3]), 7)
        << to_broker(one(owner(1), [1]))
        << to_broker(one(APP, [0, 1]))
        >> broker_answers(answer(**{ORDERS: {1: 13}}))
        >> broker_answers(answer(**{ORDERS: {0: 10, 1: 12}}))
        << to_client(answer(orders={0: 10, 2: 12, 3: 13}))
        >> client_sends(asked(app=None), 8)
        << to_broker(asked(**{APP: None, owner(1): None}))
        >> broker_answers(told(**{APP: {ORDERS: {1: 5}}, owner(1): {ORDERS: {0: 6}}}))
        << to_client(told(app={"orders": {2: 5, 1: 6}}))
    )


def test_long_names_of_groups_are_not_written_a_hundred_times(stage: Stage) -> None:
    divided(stage, "orders", partitions=PartitionMap(256, 2))
    names = {f"{number:07500}": None for number in range(4)}

    assert (
        stage.play()
        >> client_sends(asked(**{next(iter(names)): {"orders": [0]}}), 8)
        << to_broker(asked(**{physical_name("acme", next(iter(names))): {ORDERS: [0]}}))
    )
    assert stage.play() >> client_sends(asked(**names), 8) << to_client(told(**dict.fromkeys(names, 42)))
    assert hits_of(stage) == {("virtual_offset_groups", "acme"): 1}


def test_each_offset_group_is_charged_to_the_brokers_time(stage: Stage) -> None:
    divided(stage, "orders")
    load = stage.shared.lanes.in_flight_limits.load("acme")
    before_ns = load.broker_left_ns
    book = stage.play() >> client_sends(asked(app=None), 8)
    assert len(book.said.to_broker) == 1
    book.said.to_broker.clear()

    assert before_ns - load.broker_left_ns == broker_cost_ns(ApiKey.OFFSET_FETCH) + 2 * GROUP_NS
