"""Errors and the gateway's own time as metrics; what else is in these metrics: test_metrics.py."""

from bifrost.forwarding.gateway_time import GatewayTime
from bifrost.forwarding.traffic import OTHER_ERRORS
from bifrost.gateway.admin.traffic_metrics import error_metrics, gateway_time_metrics
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode


def test_errors_have_kafka_s_names_and_say_who_gave_the_answer() -> None:
    counted = [
        ("acme", int(ApiKey.FETCH), False, int(ErrorCode.NOT_LEADER_OR_FOLLOWER), 3),
        ("acme", None, True, int(ErrorCode.UNSUPPORTED_VERSION), 1),
        ("acme", int(ApiKey.PRODUCE), False, OTHER_ERRORS, 2),
    ]

    [metric] = filter(None, error_metrics(counted))

    assert [(*sample.labels.values(), sample.value) for sample in metric.samples] == [
        ("acme", "Fetch", "broker", "NOT_LEADER_OR_FOLLOWER", 3),
        ("acme", "other", "gateway", "UNSUPPORTED_VERSION", 1),
        ("acme", "Produce", "broker", "other", 2),
    ]


def test_the_gateway_s_time_is_shown_by_direction() -> None:
    time = GatewayTime()
    time.note(False, 20_000)
    time.note(False, 2_000_000)
    time.note(True, 60 * 10**9)

    [metric] = filter(None, gateway_time_metrics([("acme", time.numbers)]))

    found = {
        (sample.name.rpartition("_")[2], sample.labels["direction"], sample.labels.get("le")): sample.value
        for sample in metric.samples
    }
    assert found["bucket", "request", "1e-05"] == 0
    assert found["bucket", "request", "2.5e-05"] == 1
    assert found["bucket", "request", "0.0025"] == found["count", "request", None] == 2
    assert found["sum", "request", None] == 0.00202
    assert (found["bucket", "response", "30.0"], found["bucket", "response", "+Inf"]) == (0, 1)
