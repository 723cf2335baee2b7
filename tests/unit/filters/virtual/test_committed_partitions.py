from typing import Any

import pytest

from bifrost.tenancy.virtual_partitions.commit_stamps import CommitStamp, stamped
from bifrost.tenancy.virtual_partitions.kept_offsets import RETENTION_MS
from bifrost.tenancy.virtual_partitions.offset_groups import offset_group
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup, PartitionMap
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import NOW_S, divided
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

ORDERS, BILLING, APP = (physical_name("acme", one) for one in ("orders", "billing", "app"))
ID = bytes(15) + b"\7"
LOADING, ILLEGAL_GENERATION, UNKNOWN_MEMBER, NO_SUCH_GROUP, STALE_EPOCH = 14, 22, 25, 69, 113


def owner(group: int) -> str:
    """Return the physical ID of an offset group."""
    return physical_name("acme", offset_group("app", APP, PartitionGroup(group)))


def commit(group: str, *topics: tuple[str | bytes, dict[int, int]], **fields: Any) -> Any:
    entries = [
        {
            "topic_id" if isinstance(name, bytes) else "name": name,
            "partitions": [
                {"partition_index": one, "committed_offset": offset, "committed_metadata": "note"}
                for one, offset in offsets.items()
            ],
        }
        for name, offsets in topics
    ]
    known = {"group_id": group, "generation_id_or_member_epoch": 4, "member_id": "m"}
    return messages.build("OffsetCommitRequest", {**known, "topics": entries, **fields})


def elsewhere(group: int, offsets: dict[int, int]) -> Any:
    found = commit(
        owner(group),
        (ORDERS, offsets),
        generation_id_or_member_epoch=-1,
        member_id="",
        retention_time_ms=RETENTION_MS,
    )
    for one in found.topics[0].partitions:
        one.committed_metadata = stamped("note", CommitStamp(NOW_S, is_transactional=False))
    return found


def committed(*topics: tuple[str | bytes, dict[int, int]]) -> Any:
    entries = [
        {
            "topic_id" if isinstance(name, bytes) else "name": name,
            "partitions": [{"partition_index": one, "error_code": code} for one, code in codes.items()],
        }
        for name, codes in topics
    ]
    return messages.build("OffsetCommitResponse", {"topics": entries})


def heartbeat(**fields: Any) -> Any:
    known = {"group_id": APP, "generation_id": 4, "member_id": "m"}
    return messages.build("HeartbeatRequest", {**known, **fields})


def beaten(error_code: int = 0) -> Any:
    return messages.build("HeartbeatResponse", {"error_code": error_code})


def no_newer_group() -> Any:
    group = {"group_id": APP, "error_code": NO_SUCH_GROUP}
    return messages.build("ConsumerGroupDescribeResponse", {"groups": [group]})


ASKS_STREAMS = messages.build("StreamsGroupDescribeRequest", {"group_ids": [APP]})
NO_STREAMS_GROUP = messages.build(
    "StreamsGroupDescribeResponse", {"groups": [{"group_id": APP, "error_code": NO_SUCH_GROUP}]}
)


def fetch_by(member_id: str, epoch: int = 4) -> Any:
    group = {"group_id": APP, "member_id": member_id, "member_epoch": epoch, "topics": []}
    return messages.build("OffsetFetchRequest", {"groups": [group], "require_stable": True})


def fetched(error_code: int = 0) -> Any:
    return messages.build("OffsetFetchResponse", {"groups": [{"group_id": APP, "error_code": error_code}]})


@pytest.mark.parametrize("version", [2, 7, 9])
def test_offsets_go_to_the_groups_that_own_them_once_the_member_is_known(stage: Stage, version: int) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(
            commit("app", ("orders", {0: 5, 2: 6, 3: 7, 4: 8, 5: 9}), ("billing", {9: 1})), version
        )
        << to_broker(heartbeat())
        >> broker_answers(beaten())
        << to_broker(elsewhere(1, {0: 6, 1: 7}))
        << to_broker(elsewhere(2, {0: 8}))
        >> broker_answers(committed((ORDERS, {0: 0, 1: 12})))
        >> broker_answers(committed((ORDERS, {0: 0})))
        << to_broker(commit(APP, (ORDERS, {0: 5}), (BILLING, {9: 1})))
        >> broker_answers(committed((ORDERS, {0: 0}), (BILLING, {9: 0})))
        << to_client(committed(("orders", {0: 0, 5: 3, 2: 0, 3: 12, 4: 0}), ("billing", {9: 0})))
    )


def test_a_member_commits_again_while_an_offset_group_is_touched(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(commit("app", ("orders", {2: 6})), 7)
        << to_broker(heartbeat())
        >> broker_answers(beaten())
        << to_broker(elsewhere(1, {0: 6}))
        >> broker_answers(committed((ORDERS, {0: UNKNOWN_MEMBER})))
        << to_broker(commit(APP))
        >> broker_answers(committed())
        << to_client(committed(("orders", {2: LOADING})))
    )


def test_a_zombie_commits_nothing(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(commit("app", ("orders", {0: 5, 2: 6})), 7)
        << to_broker(heartbeat())
        >> broker_answers(beaten(ILLEGAL_GENERATION))
        << to_broker(commit(APP, (ORDERS, {0: 5})))
        >> broker_answers(committed((ORDERS, {0: ILLEGAL_GENERATION})))
        << to_client(committed(("orders", {0: ILLEGAL_GENERATION, 2: ILLEGAL_GENERATION})))
    )


def test_a_member_of_the_newer_protocol_is_judged_by_its_epoch(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(commit("app", ("orders", {0: 5, 2: 6})), 9)
        << to_broker(heartbeat())
        >> broker_answers(beaten(UNKNOWN_MEMBER))
        << to_broker(fetch_by("m"))
        << to_broker(fetch_by(""))
        >> broker_answers(fetched())
        >> broker_answers(fetched(UNKNOWN_MEMBER))
        << to_broker(elsewhere(1, {0: 6}))
        >> broker_answers(committed((ORDERS, {0: 0})))
        << to_broker(commit(APP, (ORDERS, {0: 5})))
        >> broker_answers(committed((ORDERS, {0: 0})))
        << to_client(committed(("orders", {0: 0, 2: 0})))
    )


@pytest.mark.parametrize(
    ("own", "of_a_stranger", "expected"),
    [
        (STALE_EPOCH, UNKNOWN_MEMBER, STALE_EPOCH),
        (UNKNOWN_MEMBER, UNKNOWN_MEMBER, UNKNOWN_MEMBER),
        (0, 0, UNKNOWN_MEMBER),  # A group of the classic protocol, for which it is no member.
        (0, 16, 16),
        (16, 16, 16),
    ],
)
def test_a_zombie_of_the_newer_protocol_commits_nothing(
    stage: Stage, own: int, of_a_stranger: int, expected: int
) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(commit("app", ("orders", {2: 6})), 9)
        << to_broker(heartbeat())
        >> broker_answers(beaten(UNKNOWN_MEMBER))
        << to_broker(fetch_by("m"))
        << to_broker(fetch_by(""))
        >> broker_answers(fetched(own))
        >> broker_answers(fetched(of_a_stranger))
        << to_broker(commit(APP))
        >> broker_answers(committed())
        << to_client(committed(("orders", {2: expected})))
    )


def test_offsets_of_the_first_group_are_committed_as_ever(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(commit("app", ("orders", {0: 5, 1: 6})), 7)
        << to_broker(commit(APP, (ORDERS, {0: 5, 1: 6})))
        >> broker_answers(committed((ORDERS, {0: 0, 1: 0})))
        << to_client(committed(("orders", {0: 0, 1: 0})))
    )


def test_topics_may_be_named_by_their_ids(stage: Stage) -> None:
    divided(stage, "orders")
    stage.topic_ids.learn(ID, ORDERS.encode())

    assert (
        stage.play()
        >> client_sends(commit("app", (ID, {2: 6})), 10)
        << to_broker(heartbeat())
        >> broker_answers(beaten())
        << to_broker(elsewhere(1, {0: 6}))
        >> broker_answers(committed((ORDERS, {0: 0})))
        << to_broker(commit(APP))
        >> broker_answers(committed())
        << to_client(committed((ID, {2: 0})))
    )


def test_a_commit_from_outside_waits_until_the_group_is_empty(stage: Stage) -> None:
    divided(stage, "orders")
    outside = {"generation_id_or_member_epoch": -1, "member_id": ""}
    asks = messages.build("DescribeGroupsRequest", {"groups": [APP]})
    asks_newer = messages.build("ConsumerGroupDescribeRequest", {"group_ids": [APP]})

    def state(name: str) -> Any:
        return messages.build("DescribeGroupsResponse", {"groups": [{"group_id": APP, "group_state": name}]})

    assert (
        stage.play()
        >> client_sends(commit("app", ("orders", {2: 6}), **outside), 7)
        << to_broker(asks)
        << to_broker(asks_newer)
        << to_broker(ASKS_STREAMS)
        >> broker_answers(state("Stable"))
        >> broker_answers(no_newer_group())
        >> broker_answers(NO_STREAMS_GROUP)
        << to_broker(commit(APP, **outside))
        >> broker_answers(committed())
        << to_client(committed(("orders", {2: 25})))
        >> client_sends(commit("app", ("orders", {2: 6}), **outside), 7)
        << to_broker(asks)
        << to_broker(asks_newer)
        << to_broker(ASKS_STREAMS)
        >> broker_answers(state("Empty"))
        >> broker_answers(no_newer_group())
        >> broker_answers(NO_STREAMS_GROUP)
        << to_broker(elsewhere(1, {0: 6}))
        >> broker_answers(committed((ORDERS, {0: 0})))
        << to_broker(commit(APP, **outside))
        >> broker_answers(committed())
        << to_client(committed(("orders", {2: 0})))
    )


def test_offsets_of_a_transaction_are_part_of_it(stage: Stage) -> None:
    divided(stage, "orders")

    def asked(group: str, name: str, offsets: dict[int, int], metadata: str = "", **fields: Any) -> Any:
        partitions = [
            {"partition_index": one, "committed_offset": offset, "committed_metadata": metadata}
            for one, offset in offsets.items()
        ]
        known = {
            "transactional_id": physical_name("acme", "txn") if group != "app" else "txn",
            "group_id": group,
            "producer_id": 9,
            "producer_epoch": 2,
            "generation_id": 4,
            "member_id": "m",
            "topics": [{"name": name, "partitions": partitions}] if offsets else [],
        }
        return messages.build("TxnOffsetCommitRequest", known | fields)

    def told(name: str, codes: dict[int, int]) -> Any:
        partitions = [{"partition_index": one, "error_code": code} for one, code in codes.items()]
        return messages.build(
            "TxnOffsetCommitResponse", {"topics": [{"name": name, "partitions": partitions}] if codes else []}
        )

    stamp = stamped("", CommitStamp(NOW_S, is_transactional=True))
    assert (
        stage.play()
        >> client_sends(asked("app", "orders", {0: 5, 3: 6}), 3)
        << to_broker(heartbeat())
        >> broker_answers(beaten())
        << to_broker(asked(owner(1), ORDERS, {1: 6}, stamp, generation_id=-1, member_id=""))
        >> broker_answers(told(ORDERS, {1: 0}))
        << to_broker(asked(APP, ORDERS, {0: 5}))
        >> broker_answers(told(ORDERS, {0: 0}))
        << to_client(told("orders", {0: 0, 3: 0}))
    )


def test_offsets_are_deleted_where_no_member_reads(stage: Stage) -> None:
    divided(stage, "orders")

    def asked(group: str, name: str, *partitions: int) -> Any:
        topics = [{"name": name, "partitions": [{"partition_index": one} for one in partitions]}]
        fields = {"group_id": group, "topics": topics if partitions else []}
        return messages.build("OffsetDeleteRequest", fields)

    def told(name: str, codes: dict[int, int], error_code: int = 0) -> Any:
        partitions = [{"partition_index": one, "error_code": code} for one, code in codes.items()]
        topics = [{"name": name, "partitions": partitions}] if codes else []
        return messages.build("OffsetDeleteResponse", {"topics": topics, "error_code": error_code})

    def state(name: str) -> Any:
        return messages.build("DescribeGroupsResponse", {"groups": [{"group_id": APP, "group_state": name}]})

    asks = messages.build("DescribeGroupsRequest", {"groups": [APP]})
    asks_newer = messages.build("ConsumerGroupDescribeRequest", {"group_ids": [APP]})
    assert (
        stage.play()
        >> client_sends(asked("app", "orders", 1, 4), 0)
        << to_broker(asks)
        << to_broker(asks_newer)
        << to_broker(ASKS_STREAMS)
        >> broker_answers(state("Empty"))
        >> broker_answers(no_newer_group())
        >> broker_answers(NO_STREAMS_GROUP)
        << to_broker(asked(owner(2), ORDERS, 0))
        >> broker_answers(told(ORDERS, {}, error_code=69))
        << to_broker(asked(APP, ORDERS, 1))
        >> broker_answers(told(ORDERS, {1: 0}))
        << to_client(told("orders", {1: 0, 4: 0}))
        >> client_sends(asked("app", "orders", 4), 0)
        << to_broker(asks)
        << to_broker(asks_newer)
        << to_broker(ASKS_STREAMS)
        >> broker_answers(state("Stable"))
        >> broker_answers(no_newer_group())
        >> broker_answers(NO_STREAMS_GROUP)
        << to_broker(asked(APP, ORDERS))
        >> broker_answers(told(ORDERS, {}))
        << to_client(told("orders", {4: 86}))
    )


@pytest.mark.parametrize("version", [2, 7, 9])
def test_with_a_ratio_the_first_of_each_physical_partition_is_the_groups_own(
    stage: Stage, version: int
) -> None:
    divided(stage, "orders", partitions=PartitionMap.of_ratio(2))

    assert (
        stage.play()
        >> client_sends(commit("app", ("orders", {0: 5, 4: 6})), version)
        << to_broker(commit(APP, (ORDERS, {0: 5, 2: 6})))
        >> broker_answers(committed((ORDERS, {0: 0, 2: 9})))
        << to_client(committed(("orders", {0: 0, 4: 9})))
        >> client_sends(commit("app", ("orders", {2: 5, 3: 6})), version)
        << to_broker(heartbeat())
        >> broker_answers(beaten())
        << to_broker(elsewhere(1, {1: 6}))
        >> broker_answers(committed((ORDERS, {1: 7})))
        << to_broker(commit(APP, (ORDERS, {1: 5})))
        >> broker_answers(committed((ORDERS, {1: 0})))
        << to_client(committed(("orders", {2: 0, 3: 7})))
    )
