"""What it costs to take requests apart and to put their answers together: no more than grows with their size."""

import time

import pytest

from bifrost.routes.shapes import shapes_of
from bifrost.routes.split import Split
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import encode
from bifrost.wire.headers import REQUEST_PREFIX
from bifrost.wire.messages import ListOffsetsRequest, ListOffsetsResponse
from bifrost.wire.programs import compile_layout

VERSION, NODE = 5, 7
HEAD, RESPONSE_HEAD = (
    REQUEST_PREFIX.pack(ApiKey.LIST_OFFSETS, VERSION, 77, 3) + b"abc",
    (77).to_bytes(4, "big"),
)
UNKNOWN_TOPIC_OR_PARTITION = 3


def request(named: list[tuple[str, int]]) -> bytes:
    new = ListOffsetsRequest
    topics = [
        new.ListOffsetsTopic(name=name, partitions=[new.ListOffsetsPartition(partition_index=one)])
        for name, one in named
    ]
    return bytes(
        encode(compile_layout("ListOffsetsRequest", VERSION), new(replica_id=-1, topics=topics), HEAD)
    )


def answer(named: list[tuple[str, int]]) -> bytes:
    new = ListOffsetsResponse
    code = UNKNOWN_TOPIC_OR_PARTITION
    topics = [
        new.ListOffsetsTopicResponse(
            name=name, partitions=[new.ListOffsetsPartitionResponse(partition_index=one, error_code=code)]
        )
        for name, one in named
    ]
    message = new(topics=topics)
    return bytes(encode(compile_layout("ListOffsetsResponse", VERSION), message, RESPONSE_HEAD))[4:]


def seconds_for(named: list[tuple[str, int]]) -> float:
    """Return how long it takes to take the answer to a request, and to name the topics that are stale."""
    shapes, best = shapes_of(ApiKey.LIST_OFFSETS, VERSION), 1e9
    frame, answered = request(named), answer(named)
    for _ in range(3):
        split = Split(shapes.request, shapes.template, [frame], 4 + len(HEAD))
        split.place(NODE, is_sure=True)
        began_s = time.thread_time()
        split.take(NODE, answered, len(RESPONSE_HEAD))
        stale = split.stale()
        merged = split.merged(RESPONSE_HEAD)
        best = min(best, time.thread_time() - began_s)
        assert stale == list(dict.fromkeys(name.encode() for name, _ in named))
        assert merged is answered
    return best


@pytest.mark.parametrize("name", ["topic", "topic-{}"])
def test_an_answer_takes_time_that_grows_with_it_linearly(name: str) -> None:
    """Neither one topic that is named many times nor many topics that do not exist take more than their number."""
    few, many = (seconds_for([(name.format(one), one) for one in range(count)]) for count in (1_000, 16_000))

    assert many < 64 * few, "16 times as much, and not 256 times"
