"""A topic with one partition; real brokers have it in tests/kafka/quotas and tests/kafka/virtual."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bifrost.gateway.errors import BrokerError
from bifrost.gateway.producing.single_partition import find_single, write_single
from bifrost.records.batch_reader import read_batches
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ProduceResponse

from .test_upstream_topic import Topic, created, metadata


def topic_of(*answers: Any) -> Topic:
    topic = Topic(*answers)
    topic.cluster.node_ids = frozenset({1})  # type: ignore[misc]
    return topic


def produced(error: ErrorCode) -> ProduceResponse:
    part = ProduceResponse.PartitionProduceResponse(index=0, error_code=error)
    return ProduceResponse(
        responses=[ProduceResponse.TopicProduceResponse(name="state", partition_responses=[part])]
    )


def test_a_topic_that_is_missing_is_created() -> None:
    missing = metadata(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    topic = topic_of(missing, created(ErrorCode.NONE), metadata(leaders=(1,)))

    assert asyncio.run(find_single(topic))
    assert 0 in topic.leaders
    assert not asyncio.run(find_single(topic_of(metadata(leaders=(1,)))))


def test_a_topic_with_several_partitions_is_refused() -> None:
    topic = topic_of(metadata(leaders=(1, 1)))
    with pytest.raises(BrokerError, match="topic state has 2 partitions: delete it"):
        asyncio.run(find_single(topic))

    assert topic.leaders == {}


def test_without_a_leader_the_cluster_is_asked_anew() -> None:
    refreshed = []
    topic = topic_of(metadata(leaders=(7,)))

    async def refresh() -> None:
        refreshed.append(1)

    topic.cluster.refresh = refresh  # type: ignore[method-assign]
    with pytest.raises(BrokerError, match="partition 0 has no leader"):
        asyncio.run(find_single(topic))

    assert refreshed == [1]


def test_records_are_written_as_one_batch() -> None:
    topic = topic_of(metadata(leaders=(1,)), produced(ErrorCode.NONE))
    asyncio.run(find_single(topic))
    asyncio.run(write_single(topic, [(0, b"one", b"1"), (0, b"two", None)]))

    [part] = topic.asked[-1].topic_data[0].partition_data
    [batch] = read_batches(part.records)
    assert [(one.key, one.value) for one in batch.records] == [(b"one", b"1"), (b"two", None)]
    assert topic.asked[-1].acks == 1


def test_a_record_that_the_leader_refuses_is_told() -> None:
    topic = topic_of(metadata(leaders=(1,)), produced(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(BrokerError, match="partition 0 has no leader"):
        asyncio.run(write_single(topic, [(0, b"one", b"1")]))
    asyncio.run(find_single(topic))
    with pytest.raises(BrokerError, match="Produce: TOPIC_AUTHORIZATION_FAILED"):
        asyncio.run(write_single(topic, [(0, b"one", b"1")]))
