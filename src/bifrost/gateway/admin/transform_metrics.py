"""The metrics of filters of records: what each of them does, by tenant and direction."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, Metric

from bifrost.gateway.admin.counted import TransformCount


class _Labels(NamedTuple):
    names: tuple[str, ...]
    among: slice
    """Their values among the tenant, the filter or source, and the direction."""


_BY_WAY = _Labels(("tenant", "filter", "direction"), slice(3))
_BY_FILTER = _Labels(("tenant", "filter"), slice(2))
_BY_SOURCE = _Labels(("tenant", "source"), slice(2))
_BY_REGISTRY = _Labels(("registry",), slice(1, 2))
"""Whichever tenants ask it."""


class _Counter(NamedTuple):
    name: str
    labels: _Labels
    help: str


_COUNTERS: Mapping[str, _Counter] = {
    "batches": _Counter(
        "kafka_proxy_transform_batches",
        _BY_WAY,
        "Batches that a filter of records has read.",
    ),
    "records": _Counter(
        "kafka_proxy_transform_records",
        _BY_WAY,
        "Records in these batches.",
    ),
    "rejections": _Counter(
        "kafka_proxy_transform_rejections",
        _BY_WAY,
        "Records that a filter has rejected, those that the client was told of; a batch as a whole counts"
        " as one.",
    ),
    "time_ns": _Counter(
        "kafka_proxy_transform_seconds",
        _BY_WAY,
        "How long a filter took, without the time to unpack and pack the records.",
    ),
    "waits": _Counter(
        "kafka_proxy_record_waits",
        _BY_SOURCE,
        "How often a request or response waited for what filters of records need, by what answers it.",
    ),
    "wait_ns": _Counter(
        "kafka_proxy_record_wait_seconds",
        _BY_SOURCE,
        "How long they waited in all.",
    ),
    "plaintext": _Counter(
        "kafka_proxy_transform_plaintext_batches",
        _BY_WAY,
        "Batches of encrypted topics that were not encrypted, and passed to consumers as "
        "`accept_plaintext_before` says.",
    ),
    "skipped": _Counter(
        "kafka_proxy_transform_skipped_batches",
        _BY_WAY,
        "Batches whose records were left out because their key is missing, as `on_missing_key: skip` says.",
    ),
    "unenforced": _Counter(
        "kafka_proxy_transform_unenforced_batches",
        _BY_WAY,
        "Batches with records that are not valid, which passed because of `enforce: false`.",
    ),
    "unchecked": _Counter(
        "kafka_proxy_transform_unchecked_batches",
        _BY_WAY,
        "Batches that passed unchecked because a schema could not be had, as `fail: open` says.",
    ),
    "passed": _Counter(
        "kafka_proxy_transform_passed_batches",
        _BY_WAY,
        "Batches that passed as they are because their transform failed, as `fail: open` says.",
    ),
    "quarantined": _Counter(
        "kafka_proxy_quarantined_records",
        _BY_FILTER,
        "Records that a filter refused and that were written to its topic of quarantine.",
    ),
    "unquarantined": _Counter(
        "kafka_proxy_quarantine_failures",
        _BY_FILTER,
        "Batches whose bad records could not be written to the topic of quarantine.",
    ),
    "look_ups": _Counter(
        "kafka_proxy_schema_look_ups",
        _BY_REGISTRY,
        "Schemas that a registry was asked about.",
    ),
    "look_up_errors": _Counter(
        "kafka_proxy_schema_look_up_errors",
        _BY_REGISTRY,
        "How often it gave no answer.",
    ),
    "look_up_ns": _Counter(
        "kafka_proxy_schema_look_up_seconds",
        _BY_REGISTRY,
        "How long it took, with requests that were sent again.",
    ),
    "cache_hits": _Counter(
        "kafka_proxy_schema_cache_hits",
        _BY_REGISTRY,
        "Schemas of batches about which the answer was at hand.",
    ),
    "cache_misses": _Counter(
        "kafka_proxy_schema_cache_misses",
        _BY_REGISTRY,
        "Schemas of batches that had to wait for the registry.",
    ),
    "readings": _Counter(
        "kafka_proxy_schema_process_batches",
        _BY_FILTER,
        "Batches with records that a process of its own read under their schemas, because they take long.",
    ),
    "reading_ns": _Counter(
        "kafka_proxy_schema_process_seconds",
        _BY_FILTER,
        "How long it took for them.",
    ),
    "reading_starts": _Counter(
        "kafka_proxy_schema_process_starts",
        _BY_FILTER,
        "How often it was started.",
    ),
    "runs": _Counter(
        "kafka_proxy_python_transform_runs",
        _BY_FILTER,
        "Batches given to a PythonTransform.",
    ),
    "run_ns": _Counter(
        "kafka_proxy_python_transform_seconds",
        _BY_FILTER,
        "How long its process took for them.",
    ),
    "starts": _Counter(
        "kafka_proxy_python_transform_starts",
        _BY_FILTER,
        "How often its process was started.",
    ),
    "reloads": _Counter(
        "kafka_proxy_python_transform_reloads",
        _BY_FILTER,
        "How often another process took over because the file had changed.",
    ),
}
"""What is counted, by its number; those that end in "_ns" are shown in seconds."""

_FAILURES: Mapping[str, _Counter] = {
    "failed_": _Counter(
        "kafka_proxy_python_transform_failures",
        _BY_FILTER,
        "How often a PythonTransform failed, by the reason.",
    ),
    "unread_": _Counter(
        "kafka_proxy_schema_process_failures",
        _BY_FILTER,
        "How often large records could not be read, by the reason.",
    ),
}
"""Failures by their reason, by what their numbers begin with."""


def transform_metrics(counts: Iterable[TransformCount]) -> Iterator[Metric | None]:
    """Yield the metrics; None is a step of the work."""
    families = {
        number: CounterMetricFamily(one.name, one.help, labels=one.labels.names)
        for number, one in _COUNTERS.items()
    }
    failures = {
        head: CounterMetricFamily(one.name, one.help, labels=(*one.labels.names, "reason"))
        for head, one in _FAILURES.items()
    }
    for (*labels, number), amount in counts:
        head = next((one for one in failures if number.startswith(one)), None)
        if head is not None:
            known = labels[_FAILURES[head].labels.among]
            failures[head].add_metric([*known, number.removeprefix(head)], amount)
            continue
        shown = amount / 1e9 if number.endswith("_ns") else amount
        families[number].add_metric(labels[_COUNTERS[number].labels.among], shown)
        yield None
    yield from families.values()
    yield from failures.values()
