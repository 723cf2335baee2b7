"""What is asked of a real broker is tested in tests/kafka/state and tests/kafka/quotas."""

import asyncio

import pytest

from bifrost.config.fields.limits import Limits
from bifrost.config.fields.upstream import Upstream
from bifrost.gateway.brokers.cluster import Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.producing.partition_fetch import LATEST, edge_offset, fetch
from bifrost.gateway.producing.upstream_topic import TopicSettings, UpstreamTopic


@pytest.fixture
def topic() -> UpstreamTopic:
    upstream = Upstream.model_validate({"bootstrap": ["one.example:9092"]})
    settings = TopicSettings("__own", 1, -1, {}, origin="proxy.state")
    return UpstreamTopic(Cluster(upstream, (), Limits(), lambda: 0), settings, 1000)


def test_without_a_leader_nothing_is_asked(topic: UpstreamTopic) -> None:
    with pytest.raises(BrokerError, match="topic __own: partition 0 has no leader"):
        asyncio.run(fetch(topic, 0, 500))
    with pytest.raises(BrokerError, match="topic __own: partition 0 has no leader"):
        asyncio.run(edge_offset(topic, LATEST))
