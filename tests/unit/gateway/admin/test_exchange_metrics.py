from bifrost.gateway.admin.exchange_metrics import exchange_metrics
from bifrost.gateway.exchange.exchange_counts import ExchangeCounts


def test_every_count_is_a_metric() -> None:
    counts = ExchangeCounts(2, 7, True, 30, {"written": 5, "read": 9}, {("producer_byte_rate", "acme"): 0.5})
    found = {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for metric in exchange_metrics(counts)
        for sample in metric.samples
    }

    assert found == {
        "kafka_proxy_quota_exchange_members": 2,
        "kafka_proxy_quota_exchange_up": 1,
        "kafka_proxy_quota_exchange_lag_seconds": 0.03,
        "kafka_proxy_quota_exchange_budgets": 7,
        "kafka_proxy_quota_exchange_records_total written": 5,
        "kafka_proxy_quota_exchange_records_total read": 9,
        "kafka_proxy_quota_share producer_byte_rate acme": 0.5,
    }
