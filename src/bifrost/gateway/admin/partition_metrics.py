"""What virtual partitions cost, as Prometheus metrics (docs/virtual-partitions.md)."""

from collections import Counter
from collections.abc import Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

_BYTES = {"own_bytes": "own", "foreign_bytes": "others"}
_INDEX = {
    f"index_{outcome}": outcome for outcome in ("written", "not_written", "read", "unreadable", "distrusted")
}
_SHARED_BYTES = {"shared_own_bytes": "own", "shared_foreign_bytes": "others"}


def partition_metrics(
    counts: Iterable[tuple[tuple[str, str], int]], recent_bytes: Iterable[tuple[str, int]]
) -> Iterator[Metric | None]:
    """Yield the metrics from counts by tenant and number (`NUMBERS` of partition_rules.py), and what is kept."""
    families = _families()
    fetched = CounterMetricFamily(
        "kafka_proxy_virtual_partition_fetched_bytes",
        "Bytes of records fetched for virtual partitions: those that clients got, and those of other partitions.",
        labels=["tenant", "whose"],
    )
    shared = CounterMetricFamily(
        "kafka_proxy_virtual_partition_shared_bytes",
        "Bytes of records in these answers: those that clients got, and those of other partitions.",
        labels=["tenant", "whose"],
    )
    of_index = Counter[str]()
    for (tenant, number), count in counts:
        if number in families:
            families[number].add_metric([tenant], count)
        elif number in _BYTES:
            fetched.add_metric([tenant, _BYTES[number]], count)
        elif number in _INDEX:
            of_index[_INDEX[number]] += count
        else:
            shared.add_metric([tenant, _SHARED_BYTES[number]], count)
        yield None
    yield from families.values()
    yield fetched
    yield shared
    index = CounterMetricFamily(
        "kafka_proxy_virtual_partition_index_records",
        "Records of the index of where virtual partitions end: written, not_written, read, unreadable, or distrusted.",
        labels=["outcome"],
    )
    for outcome, count in of_index.items():
        index.add_metric([outcome], count)
    yield index
    yield from _kept(recent_bytes)


def _kept(recent_bytes: Iterable[tuple[str, int]]) -> Iterator[Metric | None]:
    kept = GaugeMetricFamily(
        "kafka_proxy_virtual_partition_recent_bytes",
        "Bytes that are kept of what was fetched of late, for other connections.",
        labels=["tenant"],
    )
    for tenant, held in recent_bytes:
        kept.add_metric([tenant], held)
        yield None
    yield kept


def _families() -> dict[str, CounterMetricFamily]:
    """Return the metrics that have one number of each tenant, by its name."""
    return {
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
        "shared_answers": CounterMetricFamily(
            "kafka_proxy_virtual_partition_shared_fetches",
            "Fetches that were answered with what other connections had fetched; the brokers were not asked.",
            labels=["tenant"],
        ),
        "kept_groups": CounterMetricFamily(
            "kafka_proxy_virtual_partition_kept_offset_groups",
            "How often offset groups with offsets of transactions were kept from expiring, each a few times in a week.",
            labels=["tenant"],
        ),
        "expired_offsets": CounterMetricFamily(
            "kafka_proxy_virtual_partition_expired_offsets",
            "Committed offsets of virtual partitions that were deleted because their consumer groups had expired.",
            labels=["tenant"],
        ),
        "upkeep_failures": CounterMetricFamily(
            "kafka_proxy_virtual_partition_offset_upkeep_failures",
            "How often an offset group could not be looked after; it is tried again.",
            labels=["tenant"],
        ),
        "index_scanned_bytes": CounterMetricFamily(
            "kafka_proxy_virtual_partition_index_scanned_bytes",
            "Bytes of records read from brokers for the index of where virtual partitions end, where no client asks.",
            labels=["tenant"],
        ),
    }
