"""What is written and read on a real broker is tested in tests/kafka/quotas."""

import asyncio

import pytest

from bifrost.config.fields.limits import Limits
from bifrost.config.fields.upstream import Upstream
from bifrost.config.quotas.quota_exchange import QuotaExchange
from bifrost.gateway.brokers.cluster import Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.exchange.exchange_link import ExchangeLink
from bifrost.gateway.exchange.exchange_topic import exchange_topic_settings


def test_a_record_without_a_known_leader_is_not_kept_for_later() -> None:
    upstream = Upstream.model_validate({"bootstrap": ["one.example:9092"]})
    cluster = Cluster(upstream, (), Limits(), lambda: 0)
    link = ExchangeLink(cluster, exchange_topic_settings(QuotaExchange()), 1000)

    with pytest.raises(BrokerError, match="partition 0 has no leader"):
        asyncio.run(link.write(b"key", b"content"))
