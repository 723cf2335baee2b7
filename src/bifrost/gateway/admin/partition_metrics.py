"""What virtual partitions cost, as Prometheus metrics (docs/virtual-partitions.md)."""

from collections.abc import Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, Metric


def partition_metrics(counts: Iterable[tuple[tuple[str, str], int]]) -> Iterator[Metric | None]:
    """Yield the metrics from counts by tenant and number (`NUMBERS` of partition_rules.py)."""
    families = {
        "parts": CounterMetricFamily(
            "kafka_proxy_virtual_partition_requests",
            "Requests to brokers beside those of clients, because virtual partitions of a request share physical ones.",
            labels=["tenant"],
        ),
        "refused_batches": CounterMetricFamily(
            "kafka_proxy_virtual_partition_refused_batches",
            "Batches that were not written to virtual partitions: of a transaction, broken, or in an old format.",
            labels=["tenant"],
        ),
        "scanned_bytes": CounterMetricFamily(
            "kafka_proxy_virtual_partition_scanned_bytes",
            "Bytes of records read from brokers to find where virtual partitions begin and end, and records by time.",
            labels=["tenant"],
        ),
        "remapped": CounterMetricFamily(
            "kafka_proxy_partitions_remapped",
            "Virtual partitions of requests that got the number of their physical one.",
            labels=["tenant"],
        ),
    }
    fetched = CounterMetricFamily(
        "kafka_proxy_virtual_partition_fetched_bytes",
        "Bytes of records fetched for virtual partitions: those that clients got, and those of other partitions.",
        labels=["tenant", "whose"],
    )
    for (tenant, number), count in counts:
        if number in families:
            families[number].add_metric([tenant], count)
        else:
            fetched.add_metric([tenant, "own" if number == "own_bytes" else "others"], count)
        yield None
    yield from families.values()
    yield fetched
