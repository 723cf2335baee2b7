"""Fetch sessions at a single address: which request may be the next one, and what all clients hold together."""

import pytest

from bifrost.routes.fetch_session import MAX_EPOCH, FetchMemory, FetchSession
from bifrost.routes.shapes import shapes_of
from bifrost.routes.split import Split
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import encode
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import FetchRequest
from bifrost.wire.programs import compile_layout

ID = 77


@pytest.mark.parametrize(
    ("session_id", "epoch", "version", "code"),
    [
        (ID, 1, 13, ErrorCode.NONE),
        (ID + 1, 1, 13, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (ID, 2, 13, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (ID, 1, 12, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
        (ID, 1, 14, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
    ],
)
def test_a_request_that_is_not_the_next_one_is_refused(
    session_id: int, epoch: int, version: int, code: ErrorCode
) -> None:
    assert FetchSession(ID, 13).refusal(session_id, epoch, version) == code


def test_epochs_count_and_begin_again_with_one() -> None:
    session = FetchSession(ID, 13)

    session.go_on()
    assert session.epoch == 2
    session.epoch = MAX_EPOCH
    session.go_on()

    assert session.epoch == 1


def split_of(partitions: int) -> Split:
    shapes = shapes_of(ApiKey.FETCH, 12)
    asked = [FetchRequest.FetchPartition(partition=n) for n in range(partitions)]
    request = FetchRequest(topics=[FetchRequest.FetchTopic(topic="orders", partitions=asked)])
    return Split(
        shapes.request, shapes.template, [encode(compile_layout("FetchRequest", 12), request, b"")], 4
    )


def test_what_clients_hold_is_counted() -> None:
    memory, split = FetchMemory(), split_of(10)

    held = memory.swap(0, split)
    assert held == memory.used == split.memory > 0
    more = memory.swap(held, split_of(100))
    assert more == memory.used > held
    assert memory.swap(more, None) == 0

    assert memory.used == 0


def test_beyond_the_bounds_is_no_room() -> None:
    size = split_of(10).memory

    assert FetchMemory(most=size).swap(0, split_of(10)) == size
    assert FetchMemory(most=size - 1).swap(0, split_of(10)) == 0
    assert FetchMemory(most_of_one=size - 1).swap(0, split_of(10)) == 0
    memory = FetchMemory(most=2 * size)
    assert [memory.swap(0, split_of(10)) for _ in range(3)] == [size, size, 0]
    assert memory.used == 2 * size
