"""Records that are counted piece by piece, however they are cut: the same as when all of them are there."""

from hypothesis import given
from hypothesis import strategies as st

from bifrost.journal.tallies import request_tally, response_tally
from bifrost.journal.usage import TopicUsage, Usage
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.message import Message
from bifrost.wire.messages import ProduceRequest
from bifrost.wire.programs import compile_program
from bifrost.wire.rewriting import Names
from support.clients.record_batches import build_batch
from support.stage.messages import fetched, produce
from support.stage.relayed_lane import LARGE, RelayedLane, body

BATCH = build_batch([b"a", b"b" * 40])


def old_message(size: int) -> bytes:
    """Return a message of format v1; one without a value is shorter than the header of a batch."""
    return bytes(8) + (14 + size).to_bytes(4, "big") + bytes(4) + b"\1\1" + bytes(8) + b"\xff" * size


def changed(at: int, by: bytes) -> bytes:
    return BATCH[:at] + by + BATCH[at + len(by) :]


PARTS = [
    BATCH,
    build_batch([b"c"] * 9, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True),
    changed(21, b"\0\x20"),  # control
    changed(57, b"\xff\xff\xff\xff"),  # a count below zero
    changed(8, b"\0\0\0\x31")[:61],  # the shortest there is
    old_message(0),
    old_message(30),
    changed(8, b"\x7f\xff\xff\xff"),  # longer than all that comes
    changed(8, b"\x80\0\0\0"),
    BATCH[:70],
    BATCH[:17],
    b"\0",
]
RECORDS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=8).map(b"".join)


FIRST = build_batch([b"d" * LARGE])
"""A batch so large that its frame goes on before it is whole."""
SAME = Names(lambda _slot, name: name)


def usage_of(message: Message, version: int) -> Usage:
    api_key = message.SCHEMA.api_key
    assert api_key is not None
    return Usage(
        None,
        request_tally(api_key, version),
        response_tally(api_key, version),
        api_key == ApiKey.FETCH,
        lambda one, _slot, name, _is_physical: one.topics.setdefault(name, TopicUsage(name)),
    )


def taken(usage: Usage) -> tuple[object, ...]:
    """Return what was counted of the message itself, without what is known of a response when it leaves."""
    found = usage.take()
    assert found is not None
    requests, _, errors, bytes_in, _, throttle_ms, _, _, _, empty_fetches, codes, named = found
    by_name = {name: topic.take() for name, topic in named.items()}
    return requests, errors, bytes_in, throttle_ms, empty_fetches, codes, by_name


def topics(usage: Usage) -> dict[bytes, tuple[object, ...]]:
    found = usage.take()
    assert found is not None
    return {name: topic.take() for name, topic in found[-1].items()}


def count(message: Message, version: int, ends: list[int], size: int) -> tuple[object, ...]:
    """Count a message that goes on before it is whole, in pieces that end within its last `size` bytes."""
    usage = usage_of(message, version)
    lane = RelayedLane(compile_program(type(message).__name__, version, {}), SAME, usage)
    is_request = isinstance(message, ProduceRequest)
    frame = lane.request(message, version) if is_request else lane.response(message, version)
    last = len(frame.bytes) - 4
    frame.receive(50_000)
    assert len(frame.sent) == 50_004, "it goes on"
    for end in sorted(end % size for end in ends):
        frame.receive(last - size + end)
    frame.receive()
    assert (frame.sent, lane.left) == (frame.bytes, [])
    return taken(usage)


def count_whole(message: Message, version: int) -> tuple[object, ...]:
    """Count a message that is whole."""
    usage, frame = usage_of(message, version), body(message, version)
    if isinstance(message, ProduceRequest):
        usage.count_request(bytes(10) + frame, 10)
    else:
        usage.count_response(bytes(4) + frame, 4, True)
    return taken(usage)


@given(records=RECORDS, ends=st.lists(st.integers(0, 10_000), max_size=20), is_request=st.booleans())
def test_pieces_count_like_the_whole(records: bytes, ends: list[int], is_request: bool) -> None:
    version = 9 if is_request else 12
    message = (produce if is_request else fetched)("t", records=FIRST + records)

    assert count(message, version, ends, len(records) + 10) == count_whole(message, version)


def test_what_ends_after_its_interval_counts_in_the_next() -> None:
    message = produce("t", records=FIRST + BATCH)
    usage = usage_of(message, 9)
    frame = RelayedLane(compile_program("ProduceRequest", 9, {}), SAME, usage).request(message, 9)

    frame.receive(100_000)
    first = topics(usage)
    frame.receive()

    bytes_in = len(FIRST + BATCH)
    assert first == {b"t": (1, 0, 0, 0, 0, [])}
    assert topics(usage) == {b"t": (0, 0, bytes_in, 0, 0, [(-1, 0, 2, 3, bytes_in, 0, 0, 0)])}


def test_what_never_comes_does_not_count() -> None:
    message = produce("t", records=FIRST)
    usage = usage_of(message, 9)
    frame = RelayedLane(compile_program("ProduceRequest", 9, {}), SAME, usage).request(message, 9)

    frame.receive(len(frame.bytes) - 10)

    assert topics(usage) == {b"t": (1, 0, 0, 0, 0, [])}
