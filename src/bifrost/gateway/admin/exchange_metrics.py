"""The counts of the exchange of quotas as Prometheus metrics."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from bifrost.gateway.exchange.exchange_counts import ExchangeCounts


def exchange_metrics(exchange: ExchangeCounts) -> Iterator[Metric]:
    """Yield the metrics of who takes part, what this gateway has, and whether it is cut off."""
    yield GaugeMetricFamily(
        "kafka_proxy_quota_exchange_members",
        "Gateways that have the budgets of quotas together, as this one knows; 0 while no tenant has a quota.",
        value=exchange.members,
    )
    yield GaugeMetricFamily(
        "kafka_proxy_quota_exchange_up",
        "1 while this gateway's records come back; otherwise its shares do not grow.",
        value=int(exchange.is_up),
    )
    yield GaugeMetricFamily(
        "kafka_proxy_quota_exchange_lag_seconds",
        "How long the last record of this gateway took until it came back.",
        value=exchange.lag_ms / 1000,
    )
    yield GaugeMetricFamily(
        "kafka_proxy_quota_exchange_budgets",
        "Budgets in use of which this gateway publishes what it wants.",
        value=exchange.budgets,
    )
    records = CounterMetricFamily(
        "kafka_proxy_quota_exchange_records",
        "Records of the exchange: written, not_written, read, or unreadable.",
        labels=("outcome",),
    )
    for outcome, count in exchange.records.items():
        records.add_metric((outcome,), count)
    yield records
    shares = GaugeMetricFamily(
        "kafka_proxy_quota_share",
        "The smallest share that this gateway has of a tenant's budget of this quota: 1 is the whole.",
        labels=("quota", "tenant"),
    )
    for (quota, tenant), share in exchange.shares.items():
        shares.add_metric((quota, tenant), share)
    yield shares
