"""Records that are counted piece by piece, however they are cut: the same as when all of them are there."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bifrost.journal.tallies import request_tally, response_tally
from bifrost.journal.usage import TopicUsage, Usage
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import encode_body
from bifrost.wire.message import Message
from bifrost.wire.programs import compile_layout
from support.clients.record_batches import build_batch
from support.stage.messages import fetched, produce

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


def usage_of(api_key: ApiKey, version: int) -> Usage:
    return Usage(
        None,
        request_tally(api_key, version),
        response_tally(api_key, version),
        api_key == ApiKey.FETCH,
        lambda one, _slot, name, _is_physical: one.topics.setdefault(name, TopicUsage(name)),
    )


def taken(usage: Usage) -> tuple[object, ...]:
    found = usage.take()
    assert found is not None
    return *found[:-1], {name: topic.take() for name, topic in found[-1].items()}


def count(usage: Usage, message: Message, version: int, records: bytes, ends: list[int]) -> None:
    """Count a message of which the first piece ends within the records, and the others where `ends` says."""
    frame = encode_body(compile_layout(type(message).__name__, version), message)
    begin = frame.rindex(records)
    cuts = sorted({begin + end % len(records) for end in ends} | {len(frame)})
    if type(message).__name__ == "ProduceRequest":
        passing = usage.count_request(frame[: cuts[0]], 0, len(frame))
    else:
        passing = usage.count_response(frame[: cuts[0]], 0, True, len(frame))
    assert (passing is None) == (cuts[0] == len(frame))
    if passing is not None:
        for start, end in pairwise(cuts):
            passing.go_on(frame[start:end])
        passing.finish()


@given(records=RECORDS, ends=st.lists(st.integers(0, 10_000), max_size=20), is_request=st.booleans())
def test_pieces_count_like_the_whole(records: bytes, ends: list[int], is_request: bool) -> None:
    api_key, version = (ApiKey.PRODUCE, 9) if is_request else (ApiKey.FETCH, 12)
    message = produce("t", records=records) if is_request else fetched("t", records=records)
    whole, pieces = usage_of(api_key, version), usage_of(api_key, version)

    count(whole, message, version, records, [])
    count(pieces, message, version, records, ends)

    assert taken(pieces) == taken(whole)


def test_what_ends_after_its_interval_counts_in_the_next() -> None:
    usage = usage_of(ApiKey.PRODUCE, 9)
    frame = encode_body(compile_layout("ProduceRequest", 9), produce("t", records=BATCH * 2))
    cut = frame.index(BATCH) + 100

    passing = usage.count_request(frame[:cut], 0, len(frame))
    first = taken(usage)
    assert passing is not None
    passing.go_on(frame[cut:])
    passing.finish()
    second = taken(usage)

    assert first[-1] == {b"t": (1, 0, 0, 0, 0, [])}
    assert second[-1] == {b"t": (0, 0, 2 * len(BATCH), 0, 0, [(-1, 0, 2, 4, 2 * len(BATCH), 0, 0, 0)])}


def test_what_never_comes_does_not_count() -> None:
    usage = usage_of(ApiKey.PRODUCE, 9)
    frame = encode_body(compile_layout("ProduceRequest", 9), produce("t", records=BATCH * 2))

    usage.count_request(frame[:-10], 0, len(frame))

    assert taken(usage)[-1] == {b"t": (1, 0, 0, 0, 0, [])}
