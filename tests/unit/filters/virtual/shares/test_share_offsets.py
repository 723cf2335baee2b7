"""Offsets of share groups in a topic with five virtual partitions on two: 0, 2 and 4 lie in 0, and 1 and 3 in 1."""

from __future__ import annotations

from typing import Any

import pytest

from bifrost.filters.virtual.shares import share_offsets
from bifrost.filters.virtual.shares.share_offsets import NOT_ALL, TOO_MANY
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided, hits_of
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

APP, ORDERS, BILLING = (physical_name("acme", name) for name in ("app", "orders", "billing"))
ABSENT = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
Topics = dict[str, list[int]]


@pytest.fixture
def sharing(stage: Stage) -> Stage:
    divided(stage, "orders")
    return stage


def asked(group: str, topics: Topics | None) -> Any:
    named = topics and [{"topic_name": name, "partitions": some} for name, some in topics.items()]
    return messages.build(
        "DescribeShareGroupOffsetsRequest", {"groups": [{"group_id": group, "topics": named}]}
    )


def described(group: str, topics: dict[str, dict[int, tuple[int, int]]], absent: Topics | None = None) -> Any:
    """Return an answer with the start and the lag of each partition."""
    entries = [
        {
            "topic_name": name,
            "partitions": [
                {"partition_index": number, "start_offset": start, "lag": lag}
                for number, (start, lag) in some.items()
            ]
            + [
                {
                    "partition_index": number,
                    "start_offset": -1,
                    "lag": -1,
                    "error_code": int(ABSENT),
                    "error_message": ABSENT.message,
                }
                for number in (absent or {}).get(name, ())
            ],
        }
        for name, some in topics.items()
    ]
    return messages.build(
        "DescribeShareGroupOffsetsResponse", {"groups": [{"group_id": group, "topics": entries}]}
    )


def test_each_virtual_partition_has_the_start_of_its_physical_one(sharing: Stage) -> None:
    assert (
        sharing.play()
        >> client_sends(asked("app", None), 1)
        << to_broker(asked(APP, None))
        >> broker_answers(described(APP, {ORDERS: {0: (7, 3), 1: (9, 5)}, BILLING: {8: (1, 2)}}))
        << to_client(
            described(
                "app",
                {
                    "orders": {0: (7, 3), 2: (7, -1), 4: (7, -1), 1: (9, 5), 3: (9, -1)},
                    "billing": {8: (1, 2)},
                },
            )
        )
    )


def test_those_that_are_named_are_shown(sharing: Stage) -> None:
    assert (
        sharing.play()
        >> client_sends(asked("app", {"orders": [3, 0, 2, 5], "billing": [8]}), 1)
        << to_broker(asked(APP, {ORDERS: [0, 1], BILLING: [8]}))
        >> broker_answers(described(APP, {ORDERS: {0: (7, 3), 1: (9, 5)}, BILLING: {8: (1, 2)}}))
        << to_client(
            described(
                "app",
                {"orders": {0: (7, 3), 2: (7, -1), 3: (9, -1)}, "billing": {8: (1, 2)}},
                absent={"orders": [5]},
            )
        )
    )


def test_a_group_for_which_there_is_no_room_is_an_error(
    sharing: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share_offsets, "MAX_SHOWN", 4)
    refused = {"group_id": "app", "error_code": int(ErrorCode.INVALID_REQUEST), "error_message": TOO_MANY}

    assert (
        sharing.play()
        >> client_sends(asked("app", None), 1)
        << to_broker(asked(APP, None))
        >> broker_answers(described(APP, {ORDERS: {0: (7, 3), 1: (9, 5)}}))
        << to_client(messages.build("DescribeShareGroupOffsetsResponse", {"groups": [refused]}))
    )
    assert hits_of(sharing) == {("virtual_partitions_shown", "acme"): 1}


def alter(group: str, topics: dict[str, dict[int, int]]) -> Any:
    entries = [
        {
            "topic_name": name,
            "partitions": [
                {"partition_index": number, "start_offset": offset} for number, offset in some.items()
            ],
        }
        for name, some in topics.items()
    ]
    return messages.build("AlterShareGroupOffsetsRequest", {"group_id": group, "topics": entries})


def altered(topics: dict[str, dict[int, tuple[int, str | None]]], error: int = 0) -> Any:
    entries = [
        {
            "topic_name": name,
            "partitions": [
                {"partition_index": number, "error_code": code, "error_message": text}
                for number, (code, text) in some.items()
            ],
        }
        for name, some in topics.items()
    ]
    return messages.build("AlterShareGroupOffsetsResponse", {"responses": entries, "error_code": error})


def test_a_group_begins_at_the_lowest_of_the_offsets(sharing: Stage) -> None:
    every = {0: 40, 2: 12, 4: 50, 1: 0, 3: 9}
    failed = int(ErrorCode.KAFKA_STORAGE_ERROR), None

    assert (
        sharing.play()
        >> client_sends(alter("app", {"orders": every, "billing": {8: 4}}), 0)
        << to_broker(alter(APP, {BILLING: {8: 4}, ORDERS: {0: 12, 1: 0}}))
        >> broker_answers(altered({BILLING: {8: (0, None)}, ORDERS: {0: (0, None), 1: failed}}))
        << to_client(
            altered(
                {
                    "billing": {8: (0, None)},
                    "orders": {0: (0, None), 2: (0, None), 4: (0, None), 1: failed, 3: failed},
                }
            )
        )
    )


def test_all_virtual_partitions_of_a_physical_one_have_to_be_named(sharing: Stage) -> None:
    refused = int(ErrorCode.POLICY_VIOLATION), NOT_ALL.format("0, 2, 4")

    assert (
        sharing.play()
        >> client_sends(alter("app", {"orders": {0: 40, 4: 50, 1: 7, 3: 9, 5: 0}}), 0)
        << to_broker(alter(APP, {ORDERS: {1: 7}}))
        >> broker_answers(altered({ORDERS: {1: (0, None)}}))
        << to_client(
            altered(
                {
                    "orders": {
                        1: (0, None),
                        3: (0, None),
                        5: (int(ABSENT), ABSENT.message),
                        0: refused,
                        4: refused,
                    }
                }
            )
        )
    )


def test_an_error_of_the_whole_request_is_told(sharing: Stage) -> None:
    failed = altered({}, error=int(ErrorCode.NON_EMPTY_GROUP))

    assert (
        sharing.play()
        >> client_sends(alter("app", {"orders": {1: 7, 3: 9}}), 0)
        << to_broker(alter(APP, {ORDERS: {1: 7}}))
        >> broker_answers(failed)
        << to_client(failed)
    )
