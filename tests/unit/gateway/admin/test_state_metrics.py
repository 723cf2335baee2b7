from bifrost.gateway.admin.state_metrics import state_metrics
from bifrost.gateway.state.state_counts import StateCounts


def test_every_count_is_a_metric() -> None:
    counts = StateCounts(
        3, 400, 5, True, 2, 1, {("acme", "conflict"): 6, ("acme", "done"): 7}, {"fenced": 8}, 0.5, {"acl": 9}
    )
    found = {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for metric in state_metrics(counts)
        for sample in metric.samples
    }

    assert found == {
        "kafka_proxy_state_records": 3,
        "kafka_proxy_state_objects acl": 9,
        "kafka_proxy_state_bytes": 400,
        "kafka_proxy_state_lag_offsets": 5,
        "kafka_proxy_state_up": 1,
        "kafka_proxy_state_records_ignored_total": 2,
        "kafka_proxy_state_changes_waiting": 1,
        "kafka_proxy_state_changes_total acme conflict": 6,
        "kafka_proxy_state_changes_total acme done": 7,
        "kafka_proxy_state_attempts_total fenced": 8,
        "kafka_proxy_state_change_seconds_total": 0.5,
    }
