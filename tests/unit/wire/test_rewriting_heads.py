"""Frames that are sent on before they are whole: the same bytes as when they are, or nothing."""

import pytest

from bifrost.wire.codec import encode_body
from bifrost.wire.message import Message
from bifrost.wire.programs import compile_layout, compile_program
from bifrost.wire.rewriting import Names, open_stream, rewrite
from support.stage.messages import build, fetched, produce, produce_by_id

RECORDS = bytes(range(1, 256)) * 400
HERE = Names(lambda _slot, name: b"a-tenant's-" + name if len(name) < 16 else name)
TOPIC_ID = b"an ID of a topic"
SLOTS = {
    "ProduceRequest": {"TopicData.Name": 1, "TopicData.TopicId": 2, "TransactionalId": 3},
    "FetchResponse": {"Responses.Topic": 1, "Responses.TopicId": 2, "NodeEndpoints.Host": 255},
}


def streamed(message: Message, version: int, cut: int) -> tuple[bytes | None, bytes]:
    """Return what a frame becomes that is sent on when `cut` bytes of it are there, and when it is whole."""
    name = type(message).__name__
    program = compile_program(name, version, SLOTS[name])
    frame = encode_body(compile_layout(name, version), message)
    whole = rewrite(program, frame, 0, HERE)
    assert whole is not None
    out: list[bytes | memoryview] = []
    tail = open_stream(program, memoryview(frame)[:cut], 0, len(frame), HERE, out)
    if tail is None:
        assert out == []
        return None, b"".join(whole)
    assert frame[len(frame) - tail :] == bytes(tail)
    assert tail < len(frame) - cut
    return b"".join(out) + frame[cut:], b"".join(whole)


def messages_of_one_partition() -> list[tuple[Message, int]]:
    """Return a message for each version that can have large records, with one partition."""
    produces: list[tuple[Message, int]] = [
        (produce("t", records=RECORDS), version) for version in range(3, 13)
    ]
    produces.append((produce_by_id(TOPIC_ID, records=RECORDS), 13))
    fetches: list[tuple[Message, int]] = [
        (fetched("t", records=RECORDS), version) for version in range(4, 13)
    ]
    return produces + fetches + [(fetched(TOPIC_ID, records=RECORDS), version) for version in range(13, 19)]


@pytest.mark.parametrize(("message", "version"), messages_of_one_partition())
def test_a_frame_of_one_partition_goes_on_from_its_head(message: Message, version: int) -> None:
    seen = 0
    for cut in [*range(1, 150), 1000, 50_000]:
        found, whole = streamed(message, version, cut)
        assert found in (None, whole)
        seen += found is not None
    # From where the records begin, every head will do.
    assert 0 < seen < 151
    assert streamed(message, version, 50_000)[0] is not None


@pytest.mark.parametrize(
    ("message", "version"),
    [
        (produce("t", "u", records=RECORDS), 9),
        (produce("t", "u", records=RECORDS), 3),
        (fetched("t", "u", records=RECORDS), 12),
        (fetched(TOPIC_ID, b"the ID of others", records=RECORDS), 17),
    ],
)
def test_what_has_more_to_come_has_to_be_whole(message: Message, version: int) -> None:
    for cut in (10, 60, 1000, 50_000):
        assert streamed(message, version, cut)[0] is None


def test_the_last_of_several_goes_on() -> None:
    """Once the others are there, what is left is one field again."""
    message = produce("t", "u", records=RECORDS)
    found, whole = streamed(message, 9, len(RECORDS) + 1000)

    assert found == whole


def test_tagged_fields_behind_the_records_have_to_be_seen() -> None:
    """New leaders' addresses stand behind everything (KIP-951): they are no zeros, and the broker's own."""
    endpoints = [{"node_id": 1, "host": "kafka-1.internal", "port": 9092, "rack": None}]
    message = build(
        "FetchResponse",
        {
            "responses": [{"topic_id": TOPIC_ID, "partitions": [{"records": RECORDS}]}],
            "node_endpoints": endpoints,
        },
    )
    program = compile_program("FetchResponse", 17, SLOTS["FetchResponse"])
    frame = encode_body(compile_layout("FetchResponse", 17), message)

    assert open_stream(program, frame[:50_000], 0, len(frame), HERE, []) is None


def test_a_length_beyond_the_frame_is_left_to_the_whole_one() -> None:
    program = compile_program("ProduceRequest", 9, SLOTS["ProduceRequest"])
    frame = encode_body(compile_layout("ProduceRequest", 9), produce("t", records=RECORDS))

    assert open_stream(program, frame[:50_000], 0, len(frame) - 1, HERE, []) is None
    assert open_stream(program, frame[:50_000], 0, len(frame) + 1, HERE, []) is None
