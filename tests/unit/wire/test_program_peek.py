"""Peeking: numbers near the front of a body."""

import pytest

from bifrost.wire.codec import encode
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.messages import FindCoordinatorResponse, OffsetCommitRequest, ProduceRequest
from bifrost.wire.program import Peek, peek
from bifrost.wire.programs import compile_layout, compile_peek
from bifrost.wire.reader import Kind


@pytest.mark.parametrize("version", range(14))
@pytest.mark.parametrize("transactional_id", [None, "", "t" * 200])
def test_acks_behind_a_string(version, transactional_id):
    message = ProduceRequest(acks=-1, timeout_ms=30_000)
    if version >= 3:
        message.transactional_id = transactional_id
    frame = encode(compile_layout("ProduceRequest", version), message, b"head")[4:]

    assert peek(compile_peek("ProduceRequest", version, ["Acks"]), frame, 4) == (-1,)
    assert peek(compile_peek("ProduceRequest", version, ["Acks", "TimeoutMs"]), memoryview(frame), 4) == (
        -1,
        30_000,
    )


@pytest.mark.parametrize("version", range(10))
def test_a_number_behind_other_numbers_and_strings(version):
    wanted = ["GenerationIdOrMemberEpoch"] if version >= 1 else []
    message = OffsetCommitRequest(group_id="g")
    if wanted:
        message.generation_id_or_member_epoch = -7
    frame = encode(compile_layout("OffsetCommitRequest", version), message, b"")[4:]

    assert peek(compile_peek("OffsetCommitRequest", version, wanted), frame, 0) == (-7,) * len(wanted)


def test_a_nullable_string_is_skipped():
    message = FindCoordinatorResponse(error_code=15, error_message=None, node_id=3, host="h", port=9092)
    frame = encode(compile_layout("FindCoordinatorResponse", 1), message, b"")[4:]
    numbers = compile_peek("FindCoordinatorResponse", 1, ["ErrorCode", "NodeId", "Port"])

    assert peek(numbers, frame, 0) == (15, 3, 9092)


def test_numbers_of_every_kind():
    kinds = [Kind.BOOL, Kind.INT8, Kind.INT16, Kind.UINT16, Kind.INT32, Kind.UINT32, Kind.INT64]
    numbers = Peek([*((kind, 0, 0, 0, 0) for kind in kinds), (Kind.END, 0, 0, 0, 0)])
    frame = b"\x02\xff\xff\xfe\xff\xfe\xff\xff\xff\xfd\xff\xff\xff\xfd\x80" + bytes(7)

    assert peek(numbers, frame, 0) == (True, -1, -2, 65534, -3, 2**32 - 3, -(2**63))


def test_every_truncation_is_malformed():
    message = ProduceRequest(transactional_id="abc", acks=1, timeout_ms=5)
    frame = encode(compile_layout("ProduceRequest", 9), message, b"")[4:]
    numbers = compile_peek("ProduceRequest", 9, ["Acks", "TimeoutMs"])

    for end in range(4 + 2 + 4):
        with pytest.raises(MalformedFrame):
            peek(numbers, frame[:end], 0)
    assert peek(numbers, frame[: 4 + 2 + 4], 0) == (1, 5)


@pytest.mark.parametrize("start", [-1, 100])
def test_a_body_that_starts_outside_is_malformed(start):
    with pytest.raises(MalformedFrame, match="ends before its body"):
        peek(compile_peek("ProduceRequest", 9, ["Acks"]), b"abc", start)
