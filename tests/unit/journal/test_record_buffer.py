import json

from bifrost.journal.record import RecordKind, Source
from bifrost.journal.record_buffer import OVERHEAD_BYTES, DropReason, RecordBuffer
from support.gateways.journalling import StillClock

EVENT = {"type": "start", "outcome": "done"}


def buffer_of(max_bytes: int, clock: StillClock | None = None) -> RecordBuffer:
    return RecordBuffer(Source("gw", 7), max_bytes, clock or StillClock())


def fill(buffer: RecordBuffer, count: int) -> int:
    """Append events; return how many were taken."""
    return sum(buffer.append(RecordKind.EVENT, "acme", (1, 2), EVENT) for _ in range(count))


def test_records_are_numbered_and_come_in_order() -> None:
    buffer = buffer_of(100_000)
    fill(buffer, 3)

    taken = buffer.take(100_000)

    assert [one.sequence for one in taken] == [0, 1, 2]
    assert [json.loads(one.value)["sequence"] for one in taken] == [0, 1, 2]
    assert len(buffer) == 0


def test_a_piece_has_at_least_one_record() -> None:
    buffer = buffer_of(100_000)
    fill(buffer, 3)

    assert [len(buffer.take(1)) for _ in range(4)] == [1, 1, 1, 0]


def test_what_is_taken_out_keeps_its_room_until_it_is_written() -> None:
    buffer = buffer_of(2000)
    count = fill(buffer, 100)
    taken = buffer.take(100_000)

    assert not buffer.has_room_for(400)
    buffer.written(taken)

    assert count < 100
    assert buffer.size == 0
    assert buffer.has_room_for(2000 - OVERHEAD_BYTES)


def test_up_to_which_number_everything_is_settled() -> None:
    buffer = buffer_of(100_000)
    fill(buffer, 3)
    taken = buffer.take(1)
    assert buffer.settled == 0

    buffer.written(taken)
    assert buffer.settled == 1
    buffer.written([])
    buffer.written(buffer.take(100_000))

    assert buffer.settled == buffer.sequence == 3


def test_what_is_dropped_is_counted_and_told_when_there_is_room() -> None:
    clock = StillClock(5000)
    buffer = buffer_of(2000, clock)
    count = fill(buffer, 100)
    dropped = 100 - count
    clock.now_ms = 6000
    buffer.written(buffer.take(100_000))

    buffer.tell_drops()
    buffer.tell_drops()

    (drop,) = [json.loads(one.value) for one in buffer.take(100_000)]
    assert drop["drop"]["count"] == dropped
    assert drop["drop"]["reason"] == "buffer_full"
    assert (drop["drop"]["first_sequence"], drop["drop"]["last_sequence"]) == (count, 99)
    assert (drop["interval_start_ms"], drop["interval_end_ms"]) == (5000, 6000)
    assert drop["tenant"] == "acme"
    assert drop["sequence"] == 100
    assert buffer.drops == {("acme", "event", "buffer_full"): dropped}


def test_drops_wait_until_half_of_the_room_is_free() -> None:
    buffer = buffer_of(2000)
    fill(buffer, 100)
    first = buffer.take(1)
    buffer.written(first)

    buffer.tell_drops()

    assert all(one.kind is RecordKind.EVENT for one in buffer.take(100_000))


def test_what_never_had_a_number_is_told_without_one() -> None:
    buffer = buffer_of(100_000)
    for _ in range(3):
        buffer.drop(RecordKind.EVENT, None, DropReason.EVENT_LIMIT)

    buffer.tell_drops()

    (drop,) = [json.loads(one.value) for one in buffer.take(100_000)]
    assert drop["drop"] == {"dropped_kind": "event", "count": 3, "reason": "event_limit"}
    assert "tenant" not in drop
