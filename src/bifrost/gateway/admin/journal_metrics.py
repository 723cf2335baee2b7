"""The journal's own counters as Prometheus metrics."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from bifrost.gateway.journaling.journal_counts import JournalCounts


def journal_metrics(journal: JournalCounts) -> Iterator[Metric | None]:
    """Yield the metrics of what was written, dropped and folded, and of what waits."""
    dropped = CounterMetricFamily(
        "kafka_proxy_journal_dropped",
        "Records of the journal that were not written, by tenant (empty: of no tenant), kind and reason.",
        labels=["tenant", "kind", "reason"],
    )
    for labels, count in journal.dropped.items():
        dropped.add_metric(list(labels), count)
        yield None
    yield dropped
    folded = CounterMetricFamily(
        "kafka_proxy_journal_folded",
        "How often a client or a topic found no room of its own among the counters, and is counted with others.",
        labels=["tenant"],
    )
    for tenant, count in journal.folded.items():
        folded.add_metric([tenant], count)
        yield None
    yield folded
    yield CounterMetricFamily(
        "kafka_proxy_journal_written",
        "Records of the journal that the brokers have taken.",
        value=journal.written,
    )
    yield GaugeMetricFamily(
        "kafka_proxy_journal_buffer_bytes",
        "Memory of records that wait to be written.",
        value=journal.buffer_bytes,
    )
    yield GaugeMetricFamily(
        "kafka_proxy_journal_usage_rows",
        "Combinations that are counted one by one.",
        value=journal.usage_rows,
    )
    yield GaugeMetricFamily(
        "kafka_proxy_journal_up",
        "1 while the journal's records are taken.",
        value=int(journal.is_up),
    )
