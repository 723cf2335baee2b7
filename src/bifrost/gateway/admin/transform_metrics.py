"""The metrics of filters of records: what each of them does, by tenant and direction."""

from collections.abc import Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, Metric

from bifrost.gateway.admin.counted import TransformCount

_LABELS = ["tenant", "filter", "direction"]


def transform_metrics(counts: Iterable[TransformCount]) -> Iterator[Metric | None]:
    """Yield the metrics; None is a step of the work."""
    families = {
        "batches": CounterMetricFamily(
            "kafka_proxy_transform_batches", "Batches that a filter of records has read.", labels=_LABELS
        ),
        "records": CounterMetricFamily(
            "kafka_proxy_transform_records", "Records in these batches.", labels=_LABELS
        ),
        "rejections": CounterMetricFamily(
            "kafka_proxy_transform_rejections",
            "Records that a filter has rejected, those that the client was told of; a batch as a whole counts as one.",
            labels=_LABELS,
        ),
        "time_ns": CounterMetricFamily(
            "kafka_proxy_transform_seconds",
            "How long a filter took, without the time to unpack and pack the records.",
            labels=_LABELS,
        ),
    }
    for (*labels, number), amount in counts:
        families[number].add_metric(labels, amount / 1e9 if number == "time_ns" else amount)
        yield None
    yield from families.values()
