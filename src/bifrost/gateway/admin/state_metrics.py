"""The state's counts as Prometheus metrics."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from bifrost.gateway.state.state_counts import StateCounts


def state_metrics(state: StateCounts) -> Iterator[Metric]:
    """Yield the metrics of how large the state is, and whether it is read."""
    yield GaugeMetricFamily(
        "kafka_proxy_state_records",
        "Records of the state, with deleted ones that are not purged yet; proxy.state.max_records bounds them.",
        value=state.records,
    )
    yield _objects(state)
    yield GaugeMetricFamily(
        "kafka_proxy_state_bytes",
        "Bytes of the records of the state; proxy.state.max_bytes bounds them.",
        value=state.size,
    )
    yield GaugeMetricFamily(
        "kafka_proxy_state_lag_offsets",
        "Offsets between what was read of the state and the end of its topic.",
        value=state.lag,
    )
    yield GaugeMetricFamily(
        "kafka_proxy_state_up",
        "1 while the state was read to its end and is followed.",
        value=int(state.is_up),
    )
    yield CounterMetricFamily(
        "kafka_proxy_state_records_ignored",
        "Records of the state that were older than what was known of their key: each is a sign of a foreign writer.",
        value=state.ignored,
    )
    yield GaugeMetricFamily(
        "kafka_proxy_state_changes_waiting",
        "Changes of the state that wait or are being written; proxy.state.max_waiting_changes bounds each tenant's.",
        value=state.waiting,
    )
    changes = CounterMetricFamily(
        "kafka_proxy_state_changes",
        "Changes of the state that clients asked for, by what became of them.",
        labels=("tenant", "outcome"),
    )
    for (tenant, outcome), count in state.changes.items():
        changes.add_metric((tenant, outcome), count)
    yield changes
    attempts = CounterMetricFamily(
        "kafka_proxy_state_attempts",
        "Attempts to write a change: done, refused (a conflict, or no room), fenced by another writer, or failed.",
        labels=("outcome",),
    )
    for outcome, count in state.attempts.items():
        attempts.add_metric((outcome,), count)
    yield attempts
    yield CounterMetricFamily(
        "kafka_proxy_state_change_seconds",
        "Time that clients waited for changes of the state, in seconds, added up.",
        value=state.change_s,
    )


def _objects(state: StateCounts) -> Metric:
    kinds = GaugeMetricFamily(
        "kafka_proxy_state_objects",
        "What the state has, by kind: namespaces, ACLs, quotas and others; deleted ones are not counted.",
        labels=("kind",),
    )
    for kind, count in state.kinds.items():
        kinds.add_metric((kind,), count)
    return kinds
