"""ShareAcknowledge of a topic with five virtual partitions on two: 0, 2 and 4 lie in 0, and 1 and 3 in 1."""

from __future__ import annotations

from typing import Any

import pytest

from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

ORDERS = physical_name("acme", "orders")
ID, OTHER_ID = bytes(15) + b"\7", bytes(15) + b"\11"
APP = physical_name("acme", "app")
ABSENT = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
FAILED = int(ErrorCode.INVALID_RECORD_STATE)
Batches = dict[int, list[tuple[int, int]]]


@pytest.fixture
def sharing(stage: Stage) -> Stage:
    stage.topic_ids.learn(ID, ORDERS.encode())
    stage.topic_ids.learn(OTHER_ID, physical_name("acme", "billing").encode())
    divided(stage, "orders")
    return stage


def acknowledge(*topics: tuple[bytes, Batches], group: str = "app", epoch: int = 3) -> Any:
    entries = [
        {
            "topic_id": topic_id,
            "partitions": [
                {
                    "partition_index": number,
                    "acknowledgement_batches": [
                        {"first_offset": first, "last_offset": last, "acknowledge_types": [1]}
                        for first, last in some
                    ],
                }
                for number, some in partitions.items()
            ],
        }
        for topic_id, partitions in topics
    ]
    fields = {"group_id": group, "member_id": "m", "share_session_epoch": epoch, "topics": entries}
    return messages.build("ShareAcknowledgeRequest", fields)


def answer(*topics: tuple[bytes, dict[int, int]], error: int = 0) -> Any:
    entries = [
        {
            "topic_id": topic_id,
            "partitions": [
                {"partition_index": number, "error_code": code} for number, code in partitions.items()
            ],
        }
        for topic_id, partitions in topics
    ]
    return messages.build("ShareAcknowledgeResponse", {"responses": entries, "error_code": error})


def test_physical_partitions_are_acknowledged_for_their_virtual_ones(sharing: Stage) -> None:
    assert (
        sharing.play()
        >> client_sends(
            acknowledge((ID, {2: [(4, 5)], 3: [(7, 7)], 0: [(0, 3), (6, 6)]}), (OTHER_ID, {9: [(1, 1)]})), 1
        )
        << to_broker(
            acknowledge(
                (ID, {0: [(0, 3), (4, 5), (6, 6)], 1: [(7, 7)]}), (OTHER_ID, {9: [(1, 1)]}), group=APP
            )
        )
        >> broker_answers(answer((ID, {0: FAILED, 1: 0}), (OTHER_ID, {9: 0})))
        << to_client(answer((ID, {2: FAILED, 0: FAILED, 3: 0}), (OTHER_ID, {9: 0})))
    )


def test_partitions_that_there_are_not_are_refused(sharing: Stage) -> None:
    assert (
        sharing.play()
        >> client_sends(acknowledge((ID, {5: [(0, 1)], 1: [(2, 3)]})), 1)
        << to_broker(acknowledge((ID, {1: [(2, 3)]}), group=APP))
        >> broker_answers(answer((ID, {1: 0})))
        << to_client(answer((ID, {1: 0, 5: ABSENT})))
        >> client_sends(acknowledge((ID, {-1: [(0, 1)]})), 1)
        << to_broker(acknowledge(group=APP))
        >> broker_answers(answer())
        << to_client(answer((ID, {-1: ABSENT})))
    )


def test_an_error_of_the_whole_request_is_told(sharing: Stage) -> None:
    lost = answer(error=int(ErrorCode.SHARE_SESSION_NOT_FOUND))

    assert (
        sharing.play()
        >> client_sends(acknowledge((ID, {5: [(0, 1)], 1: [(2, 3)]})), 1)
        << to_broker(acknowledge((ID, {1: [(2, 3)]}), group=APP))
        >> broker_answers(lost)
        << to_client(lost)
    )


def test_the_last_one_ends_the_session(sharing: Stage) -> None:
    book = sharing.play()
    shares = book.session._scope.shares
    assert shares is not None
    shares.begin(("app", "m"))

    assert (
        book
        >> client_sends(acknowledge((OTHER_ID, {9: [(1, 1)]}), epoch=-1), 1)
        << to_broker(acknowledge((OTHER_ID, {9: [(1, 1)]}), group=APP, epoch=-1))
    )
    assert shares.find(("app", "m")) is None
