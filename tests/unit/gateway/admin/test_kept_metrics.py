from bifrost.gateway.admin.kept_metrics import kept_metrics


def test_each_limit_that_is_used_has_a_series() -> None:
    used = [None, ("acme", "max_groups", 0.25), None, ("globex", "max_producers", 1.0)]

    *steps, ratio = kept_metrics(used)

    assert steps == [None] * 4
    assert ratio is not None
    assert {(one.name, *one.labels.values()): one.value for one in ratio.samples} == {
        ("kafka_proxy_broker_state_used_ratio", "acme", "max_groups"): 0.25,
        ("kafka_proxy_broker_state_used_ratio", "globex", "max_producers"): 1.0,
    }
