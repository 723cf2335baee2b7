"""Frames that are sent on before they are whole: the same bytes as when they are, or nothing."""

import pytest

from bifrost.wire.message import Message
from bifrost.wire.programs import compile_program
from bifrost.wire.rewriting import Names, rewrite
from support.stage.messages import build, fetched, produce, produce_by_id
from support.stage.relayed_lane import HEAD, LARGE, RelayedFrame, RelayedLane

RECORDS = bytes(range(1, 256)) * 1100
HERE = Names(lambda _slot, name: b"a-tenant's-" + name if len(name) < 16 else name)
TOPIC_ID = b"an ID of a topic"
SLOTS = {
    "ProduceRequest": {"TopicData.Name": 1, "TopicData.TopicId": 2, "TransactionalId": 3},
    "FetchResponse": {"Responses.Topic": 1, "Responses.TopicId": 2, "NodeEndpoints.Host": 255},
}


def begun(message: Message, version: int) -> tuple[RelayedLane, RelayedFrame, bytes]:
    """Begin to send a message; return also what it becomes when it is rewritten whole."""
    name = type(message).__name__
    program = compile_program(name, version, SLOTS[name])
    lane = RelayedLane(program, HERE)
    is_request = name.endswith("Request")
    frame = lane.request(message, version) if is_request else lane.response(message, version)
    whole = rewrite(program, frame.bytes[4:], 10 if is_request else 4, HERE)
    return lane, frame, b"".join(whole or ())


def goes_on(message: Message, version: int, cut: int) -> bool:
    """Whether a frame goes on when `cut` bytes of it are there; when all are, it comes to the same in any case."""
    lane, frame, whole = begun(message, version)
    frame.receive(cut)
    begun_with = frame.sent
    frame.receive()

    assert frame.sent == whole
    assert lane.left == []
    assert len(begun_with) in (0, len(whole) - (len(frame.bytes) - 4 - cut))
    return bool(begun_with)


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
    assert [goes_on(message, version, cut) for cut in (1, HEAD - 1, HEAD, HEAD + 1, 50_000)] == [
        False,
        False,
        True,
        True,
        True,
    ]


@pytest.mark.parametrize("version", [3, 9])
def test_a_head_that_is_not_complete_waits_for_the_whole_frame(version: int) -> None:
    """Its names are longer than what has to be there first, and it is tried once."""
    message = produce("t", records=RECORDS, transactional_id="x" * 5_000)

    for cut in (HEAD, 4_900, 5_000, 5_020):
        assert not goes_on(message, version, cut)
    for cut in (5_070, 6_000):
        assert goes_on(message, version, cut)


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
    for cut in (10, 60, HEAD, 50_000):
        assert not goes_on(message, version, cut)


def test_the_last_of_several_goes_on() -> None:
    """Once the others are there, what is left is one field again."""
    topics = [
        {"name": name, "partition_data": [{"index": 0, "records": records}]}
        for name, records in (("t", RECORDS[:5_000]), ("u", RECORDS))
    ]
    message = build("ProduceRequest", {"acks": -1, "topic_data": topics})

    assert goes_on(message, 9, 6_000)
    assert not goes_on(message, 9, 4_500)


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
    lane, frame, whole = begun(message, 17)

    frame.receive()

    assert (frame.sent, whole) == (b"", b"")
    assert lane.left == [frame.bytes[4:]]


@pytest.mark.parametrize("more", [-1, 1])
def test_a_length_beyond_the_frame_is_left_to_the_whole_one(more: int) -> None:
    lane, frame, _ = begun(produce("t", records=RECORDS), 9)
    frame.announce(len(frame.bytes) - 4 + more)
    frame.bytes += b"\0"

    frame.receive(len(RECORDS))
    assert frame.sent == b""
    frame.receive()

    assert len(RECORDS) > LARGE
    assert frame.sent == b""
    assert len(lane.left) == 1
