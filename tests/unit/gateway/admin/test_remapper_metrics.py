from bifrost.gateway.admin.remapper_metrics import remapper_metrics
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode

COUNTED = [
    ("remapper", int(ApiKey.FETCH), True, int(ErrorCode.CORRUPT_MESSAGE), 2),
    ("remapper", int(ApiKey.FETCH), False, int(ErrorCode.CORRUPT_MESSAGE), 3),
    None,
    ("remapper", None, True, 0, 1),
    ("acme", int(ApiKey.FETCH), True, int(ErrorCode.CORRUPT_MESSAGE), 9),
]


def samples(tenants: list[str]) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *sample.labels.values()): sample.value
        for metric in filter(None, remapper_metrics(COUNTED if "remapper" in tenants else [], tenants))
        for sample in metric.samples
    }


def test_errors_are_those_of_its_tenant_whoever_gave_them() -> None:
    assert samples(["", "remapper"]) == {
        ("kafka_proxy_requests_errors_total", "Fetch", "CORRUPT_MESSAGE"): 5,
        ("kafka_proxy_requests_errors_total", "other", "other"): 1,
        ("kafka_proxy_offsets_translated_total",): 0,
    }


def test_other_gateways_have_no_samples() -> None:
    assert samples(["acme"]) == {}
