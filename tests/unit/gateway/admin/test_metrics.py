"""The metrics of a gateway that has served no client yet, and of one that has; tests/kafka scrapes a running one."""

import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bifrost.config.model import Config
from bifrost.forwarding.lane import Awaited
from bifrost.gateway.admin.counted import OfProcess
from bifrost.gateway.admin.metrics import Metrics
from bifrost.gateway.gateway import Gateway
from bifrost.gateway.loop.steps import at_once
from bifrost.session.close_reason import CloseReason
from bifrost.wire.api_keys import ApiKey
from support.stage.lanes import SAME_NAMES
from unit.gateway.test_gateway import CONFIG

LABELS = ("tenant", "api", "side", "reason", "mechanism", "outcome", "le")


def samples(gateway: Gateway) -> dict[tuple[str, ...], float]:
    """Every sample of ours by its name and labels."""
    text = at_once(Metrics(OfProcess(gateway)).exposition()).decode()
    found = [
        ((sample.name, *[sample.labels[label] for label in LABELS if label in sample.labels]), sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("kafka_proxy_")
    ]
    assert len(dict(found)) == len(found), "Prometheus refuses a page with one sample twice"
    return dict(found)


def test_everything_that_can_be_zero_is_there_from_the_start() -> None:
    found = samples(Gateway(Config.model_validate(CONFIG)))

    for reason in CloseReason:
        assert found["kafka_proxy_connections_ended_total", reason.value] == 0
    assert found["kafka_proxy_reads_paused_seconds_total", "client"] == 0
    assert found["kafka_proxy_ready",] == 0
    assert found["kafka_proxy_authentications_total", "", "PLAIN", "failure"] == 0
    assert found["kafka_proxy_max_client_connections",] == 2


def test_traffic_is_shown_by_tenant_and_api() -> None:
    gateway = Gateway(Config.model_validate(CONFIG))
    lane = gateway.shared.lanes.new_lane("acme", SAME_NAMES, ApiKey.FETCH, 12)
    lane.traffic.receive(100)
    Awaited(1, lane, None).finish(2000)
    gateway.shared.lanes.traffic("acme", None).receive(7)

    found = samples(gateway)

    assert found["kafka_proxy_requests_total", "acme", "Fetch"] == 1
    assert found["kafka_proxy_bytes_received_total", "acme", "Fetch"] == 100
    assert found["kafka_proxy_bytes_sent_total", "acme", "Fetch"] == 2000
    assert found["kafka_proxy_requests_total", "acme", "other"] == 1
    assert found["kafka_proxy_request_duration_seconds_count", "acme", "Fetch"] == 1
    assert found["kafka_proxy_request_duration_seconds_bucket", "acme", "Fetch", "+Inf"] == 1
    assert 0 < found["kafka_proxy_request_duration_seconds_sum", "acme", "Fetch"] < 0.1
    assert ("kafka_proxy_request_duration_seconds_count", "acme", "other") not in found


def test_authentications_and_pauses_are_counted() -> None:
    gateway = Gateway(Config.model_validate(CONFIG))
    gateway.shared.sasl.outcomes["acme", "OAUTHBEARER", "success"] += 3
    gateway.shared.sasl.outcomes["", "GSSAPI", "failure"] += 2
    gateway.shared.sasl.outcomes["", "", "failure"] += 1
    gateway.ends[CloseReason.CLIENT_CERTIFICATE_REFUSED] += 1
    gateway.ends[CloseReason.AUTHENTICATION_TIMEOUT] += 4
    gateway.pauses.add("broker", 2_500_000_000)

    found = samples(gateway)

    assert found["kafka_proxy_authentications_total", "acme", "OAUTHBEARER", "success"] == 3
    assert found["kafka_proxy_authentications_total", "", "GSSAPI", "failure"] == 2
    assert found["kafka_proxy_authentications_total", "", "", "timeout"] == 4
    assert found["kafka_proxy_reads_paused_seconds_total", "broker"] == 2.5


def test_every_metric_says_what_it_is_in_a_sentence_and_has_one_unit() -> None:
    text = at_once(Metrics(OfProcess(Gateway(Config.model_validate(CONFIG)))).exposition()).decode()

    lines = [line for line in text.splitlines() if line.startswith("# HELP kafka_proxy_")]
    assert len(lines) >= 11
    assert [line for line in lines if not re.fullmatch(r"# HELP \w+ [A-Z0-9].{10,}\.", line)] == []


def test_stalls_of_the_event_loop_are_shown() -> None:
    gateway = Gateway(Config.model_validate(CONFIG))
    gateway.stalls.counts[0], gateway.stalls.counts[3] = 15_000_000, 1
    gateway.stalls.marks[0] = gateway.stalls.marks[1] = 15_000_000

    pages = [at_once(Metrics(OfProcess(gateway)).exposition()).decode() for _ in range(2)]

    for page in pages:
        assert 'bifrost_event_loop_stall_seconds_bucket{le="0.02",worker=""} 1.0' in page
        assert 'bifrost_event_loop_stall_seconds_sum{worker=""} 0.015' in page
    largest = "bifrost_event_loop_stall_largest_seconds"
    assert f'{largest}{{clock="wall",since="start",worker=""}} 0.015' in pages[1]
    shown = [
        f'{largest}{{clock="wall",since="scrape",worker=""}} {value}' in page
        for value, page in zip(("0.015", "0.0"), pages, strict=True)
    ]
    assert shown == [True, True]


def test_ports_that_accept_and_errors_of_ours_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = Gateway(Config.model_validate(CONFIG))
    gateway.is_ready = True
    gateway.internal_errors.counts["accept"] += 3
    monkeypatch.setattr(
        gateway.listener_watch, "listeners", lambda: [("plaintext", 9092, True), ("plaintext", 9093, False)]
    )
    monkeypatch.setattr(gateway.listener_watch, "not_accepting", lambda: ["plaintext at h:9093 (broker 1)"])

    text = at_once(Metrics(OfProcess(gateway)).exposition()).decode()

    assert 'kafka_proxy_listener_accepting{listener="plaintext",port="9092"} 1.0' in text
    assert 'kafka_proxy_listener_accepting{listener="plaintext",port="9093"} 0.0' in text
    assert 'kafka_proxy_internal_errors_total{place="accept"} 3.0' in text
    assert "kafka_proxy_ready 0.0" in text
