from bifrost.gateway.admin.state_metrics import state_metrics
from bifrost.gateway.state.state_counts import StateCounts


def test_every_count_is_a_metric() -> None:
    found = {
        sample.name: sample.value
        for metric in state_metrics(StateCounts(3, 400, 5, is_up=True, ignored=2))
        for sample in metric.samples
    }

    assert found == {
        "kafka_proxy_state_records": 3,
        "kafka_proxy_state_bytes": 400,
        "kafka_proxy_state_lag_offsets": 5,
        "kafka_proxy_state_up": 1,
        "kafka_proxy_state_records_ignored_total": 2,
    }
