"""The stub that stands in for Kafka, without its sockets."""

from typing import Any

import pytest
from bench.frames import produce, read_response, request_frame
from bench.stub_broker import MAX_KEPT_ANSWERS, SERVED, StubCluster, topic_id, topics_named

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    ApiVersionsRequest,
    DescribeTopicPartitionsRequest,
    FetchRequest,
    HeartbeatRequest,
    ListOffsetsRequest,
    MetadataRequest,
)


@pytest.fixture
def cluster() -> StubCluster:
    return StubCluster("127.0.0.1", 9092, ["a", "b"])


def _ask(cluster: StubCluster, message: Message, version: int, correlation_id: int = 5) -> Any:
    answer = cluster.answer(request_frame(message, version, correlation_id)[4:])
    assert int.from_bytes(answer[:4], "big") == len(answer) - 4
    assert int.from_bytes(answer[4:8], "big") == correlation_id
    assert message.SCHEMA.api_key is not None
    return read_response(message.SCHEMA.api_key, version, answer[4:])


def test_it_says_what_it_serves(cluster: StubCluster) -> None:
    request = ApiVersionsRequest(client_software_name="n", client_software_version="1")

    found = _ask(cluster, request, 4)

    assert {one.api_key: (one.min_version, one.max_version) for one in found.api_keys} == SERVED


def test_metadata_is_of_all_topics_of_some_or_of_none(cluster: StubCluster) -> None:
    some = [
        MetadataRequest.MetadataRequestTopic(name="new"),
        MetadataRequest.MetadataRequestTopic(topic_id=topic_id("b"), name=None),
    ]
    found = [_ask(cluster, MetadataRequest(topics=topics), 12) for topics in (None, some, [])]

    assert [[topic.name for topic in one.topics] for one in found] == [["a", "b"], ["new", "b"], []]
    assert [(one.node_id, one.host, one.port) for one in found[0].brokers] == [(1, "127.0.0.1", 9092)]
    assert found[0].topics[0].topic_id == topic_id("a")
    assert [one.leader_id for one in found[0].topics[0].partitions] == [1]


def test_topics_are_listed_in_order_from_a_name_on() -> None:
    cluster = StubCluster("127.0.0.1", 9092, ["b2", "a1", "b1", "c1"])
    cursor = DescribeTopicPartitionsRequest.Cursor(topic_name="b", partition_index=0)
    pages = [
        _ask(cluster, DescribeTopicPartitionsRequest(response_partition_limit=size, cursor=first), 0)
        for size, first in ((2, cursor), (3, cursor), (1, None))
    ]

    assert [[topic.name for topic in one.topics] for one in pages] == [
        ["b1", "b2"],
        ["b1", "b2", "c1"],
        ["a1"],
    ]
    assert [one.next_cursor and one.next_cursor.topic_name for one in pages] == ["c1", None, "b1"]


def test_whatever_is_named_is_there(cluster: StubCluster) -> None:
    partitions = [ListOffsetsRequest.ListOffsetsPartition(partition_index=n, timestamp=-1) for n in range(3)]
    topics = [ListOffsetsRequest.ListOffsetsTopic(name="a", partitions=partitions)]

    listed = _ask(cluster, ListOffsetsRequest(replica_id=-1, topics=topics), 7)
    produced = _ask(cluster, produce("a", b"", 9, 4, b"x" * 100), 9)

    assert [one.partition_index for one in listed.topics[0].partitions] == [0, 1, 2]
    assert produced.responses[0].partition_responses[0].index == 4


def test_an_answer_that_is_kept_gets_the_new_correlation_id(cluster: StubCluster) -> None:
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")

    assert [_ask(cluster, request, 4, number).error_code for number in (5, 6)] == [
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]


def test_what_is_kept_is_bounded(cluster: StubCluster) -> None:
    for number in range(MAX_KEPT_ANSWERS + 10):
        _ask(cluster, HeartbeatRequest(group_id=f"g{number}", generation_id=1, member_id="m"), 4)

    assert len(cluster._kept) == 10


def test_what_it_does_not_know_is_refused(cluster: StubCluster) -> None:
    with pytest.raises(ValueError, match="the stub has no FETCH"):
        cluster.answer(request_frame(FetchRequest(), 12, 1)[4:])
    assert ApiKey.FETCH not in SERVED


def test_topics_are_named_by_a_prefix_and_a_number() -> None:
    assert topics_named(["a", "2", "b", "1"]) == ["a0", "a1", "b0"]
    assert topics_named([]) == []
