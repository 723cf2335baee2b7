from bifrost.gateway.admin.transform_metrics import transform_metrics


def test_each_number_has_a_metric_by_tenant_filter_and_direction() -> None:
    labels = ("acme", "edge", "produce")
    counts = {"batches": 2, "records": 70, "rejections": 3, "time_ns": 1_500_000}

    families = transform_metrics([((*labels, number), amount) for number, amount in counts.items()])
    samples = [sample for family in families if family is not None for sample in family.samples]

    assert {sample.name.removeprefix("kafka_proxy_transform_"): sample.value for sample in samples} == {
        "batches_total": 2,
        "records_total": 70,
        "rejections_total": 3,
        "seconds_total": 0.0015,
    }
    assert all(
        sample.labels == {"tenant": "acme", "filter": "edge", "direction": "produce"} for sample in samples
    )
