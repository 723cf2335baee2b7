"""The metrics of filters of records: what each of them does, by tenant and direction."""

from collections.abc import Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, Metric

from bifrost.gateway.admin.counted import TransformCount

_LABELS = ["tenant", "filter", "direction"]
_NANOSECONDS = frozenset({"time_ns", "wait_ns", "run_ns", "look_up_ns", "reading_ns"})
_OF_SOURCES = frozenset({"waits", "wait_ns"})
"""Numbers about a source, not a filter."""
_OF_FILTERS = ["tenant", "filter"]
_OF_READINGS = frozenset({"readings", "reading_ns", "reading_starts"})
_WITHOUT_WAY = (
    _OF_SOURCES | _OF_READINGS | {"runs", "run_ns", "starts", "reloads", "quarantined", "unquarantined"}
)
_OF_REGISTRIES = frozenset({"look_ups", "look_up_errors", "look_up_ns", "cache_hits", "cache_misses"})
"""Numbers about a schema registry, whichever tenants ask it."""
_FAILED, _UNREAD = "failed_", "unread_"
"""With these begin the numbers of failures, by their reason."""


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
        "waits": CounterMetricFamily(
            "kafka_proxy_record_waits",
            "How often a request or response waited for what filters of records need, by what answers it.",
            labels=["tenant", "source"],
        ),
        "wait_ns": CounterMetricFamily(
            "kafka_proxy_record_wait_seconds", "How long they waited in all.", labels=["tenant", "source"]
        ),
    }
    failures = CounterMetricFamily(
        "kafka_proxy_python_transform_failures",
        "How often a PythonTransform failed, by the reason.",
        labels=[*_OF_FILTERS, "reason"],
    )
    unread = CounterMetricFamily(
        "kafka_proxy_schema_process_failures",
        "How often large records could not be read, by the reason.",
        labels=[*_OF_FILTERS, "reason"],
    )
    families |= _passed_families() | _quarantine_families() | _registry_families() | _reading_families()
    families |= _python_transform_families()
    for (*labels, number), amount in counts:
        if number.startswith(_FAILED):
            failures.add_metric([*labels[:2], number.removeprefix(_FAILED)], amount)
            continue
        if number.startswith(_UNREAD):
            unread.add_metric([*labels[:2], number.removeprefix(_UNREAD)], amount)
            continue
        known = labels[:2] if number in _WITHOUT_WAY else labels
        if number in _OF_REGISTRIES:
            known = labels[1:2]
        families[number].add_metric(known, amount / 1e9 if number in _NANOSECONDS else amount)
        yield None
    yield from families.values()
    yield failures
    yield unread


def _passed_families() -> dict[str, CounterMetricFamily]:
    return {
        "plaintext": CounterMetricFamily(
            "kafka_proxy_transform_plaintext_batches",
            "Batches of encrypted topics that were not encrypted, and passed to consumers as `accept_plaintext_before` "
            "says.",
            labels=_LABELS,
        ),
        "skipped": CounterMetricFamily(
            "kafka_proxy_transform_skipped_batches",
            "Batches whose records were left out because their key is missing, as `on_missing_key: skip` says.",
            labels=_LABELS,
        ),
        "unenforced": CounterMetricFamily(
            "kafka_proxy_transform_unenforced_batches",
            "Batches with records that are not valid, which passed because of `enforce: false`.",
            labels=_LABELS,
        ),
        "unchecked": CounterMetricFamily(
            "kafka_proxy_transform_unchecked_batches",
            "Batches that passed unchecked because a schema could not be had, as `fail: open` says.",
            labels=_LABELS,
        ),
        "passed": CounterMetricFamily(
            "kafka_proxy_transform_passed_batches",
            "Batches that passed as they are because their transform failed, as `fail: open` says.",
            labels=_LABELS,
        ),
    }


def _quarantine_families() -> dict[str, CounterMetricFamily]:
    return {
        "quarantined": CounterMetricFamily(
            "kafka_proxy_quarantined_records",
            "Records that a filter refused and that were written to its topic of quarantine.",
            labels=_OF_FILTERS,
        ),
        "unquarantined": CounterMetricFamily(
            "kafka_proxy_quarantine_failures",
            "Batches whose bad records could not be written to the topic of quarantine.",
            labels=_OF_FILTERS,
        ),
    }


def _registry_families() -> dict[str, CounterMetricFamily]:
    of_registries = ["registry"]
    return {
        "look_ups": CounterMetricFamily(
            "kafka_proxy_schema_look_ups", "Schemas that a registry was asked about.", labels=of_registries
        ),
        "look_up_errors": CounterMetricFamily(
            "kafka_proxy_schema_look_up_errors", "How often it gave no answer.", labels=of_registries
        ),
        "look_up_ns": CounterMetricFamily(
            "kafka_proxy_schema_look_up_seconds",
            "How long it took, with requests that were sent again.",
            labels=of_registries,
        ),
        "cache_hits": CounterMetricFamily(
            "kafka_proxy_schema_cache_hits",
            "Schemas of batches about which the answer was at hand.",
            labels=of_registries,
        ),
        "cache_misses": CounterMetricFamily(
            "kafka_proxy_schema_cache_misses",
            "Schemas of batches that had to wait for the registry.",
            labels=of_registries,
        ),
    }


def _reading_families() -> dict[str, CounterMetricFamily]:
    return {
        "readings": CounterMetricFamily(
            "kafka_proxy_schema_process_batches",
            "Batches with records that a process of its own read under their schemas, because they take long.",
            labels=_OF_FILTERS,
        ),
        "reading_ns": CounterMetricFamily(
            "kafka_proxy_schema_process_seconds", "How long it took for them.", labels=_OF_FILTERS
        ),
        "reading_starts": CounterMetricFamily(
            "kafka_proxy_schema_process_starts", "How often it was started.", labels=_OF_FILTERS
        ),
    }


def _python_transform_families() -> dict[str, CounterMetricFamily]:
    return {
        "runs": CounterMetricFamily(
            "kafka_proxy_python_transform_runs", "Batches given to a PythonTransform.", labels=_OF_FILTERS
        ),
        "run_ns": CounterMetricFamily(
            "kafka_proxy_python_transform_seconds", "How long its process took for them.", labels=_OF_FILTERS
        ),
        "starts": CounterMetricFamily(
            "kafka_proxy_python_transform_starts", "How often its process was started.", labels=_OF_FILTERS
        ),
        "reloads": CounterMetricFamily(
            "kafka_proxy_python_transform_reloads",
            "How often another process took over because the file had changed.",
            labels=_OF_FILTERS,
        ),
    }
