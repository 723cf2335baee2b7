"""Topics of an answer, read from its bytes."""

import pytest

from bifrost.session.topics.named_topics import named_topics
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.errors import WireError
from support.stage import messages
from support.stage.playbook import response_frame

ONE, OTHER, ABSENT = b"one topic ID....", b"other topic ID..", b"absent topic ID."
PARTITIONS = [{"partition_index": number} for number in range(3)]


@pytest.mark.parametrize("version", [10, 12, 13])
def test_metadata_gives_names_and_ids(version: int) -> None:
    response = messages.MetadataResponse(
        topics=[
            {"name": "a", "topic_id": ONE, "partitions": PARTITIONS},
            {"name": "b", "topic_id": OTHER, "partitions": PARTITIONS},
        ]
    )

    found = named_topics(ApiKey.METADATA, version, response_frame(response, version, 1))

    assert found.topics == [(ONE, b"a"), (OTHER, b"b")]
    assert found.cursor is None


def test_an_id_that_no_topic_has_is_left_out() -> None:
    unknown = {"name": None, "topic_id": ABSENT, "error_code": ErrorCode.UNKNOWN_TOPIC_ID}
    response = messages.MetadataResponse(topics=[unknown, {"name": "a", "topic_id": ONE}])

    assert named_topics(ApiKey.METADATA, 12, response_frame(response, 12, 1)).topics == [(ONE, b"a")]


@pytest.mark.parametrize("tagged", [False, True])
def test_a_page_gives_where_the_next_begins(tagged: bool) -> None:
    topics = [{"name": "a", "topic_id": ONE, "partitions": PARTITIONS}, {"name": "b", "topic_id": OTHER}]
    response = messages.DescribeTopicPartitionsResponse(topics=topics, next_cursor={"topic_name": "c"})
    frame = response_frame(response, 0, 1)
    if tagged:  # One field, tag 99, of one byte: a newer Kafka's.
        frame = frame[:-1] + bytes([1, 99, 1, 0])

    found = named_topics(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, frame)

    assert found.topics == [(ONE, b"a"), (OTHER, b"b")]
    assert (found.last_name, found.cursor) == (b"b", b"c")


def test_what_is_no_answer_is_refused() -> None:
    with pytest.raises(WireError):
        named_topics(ApiKey.METADATA, 12, b"\0\0\0\1\0\0")
