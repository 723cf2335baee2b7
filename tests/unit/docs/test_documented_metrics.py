"""docs/operations.md names every metric with its labels; every metric that a page names exists."""

import re
from collections.abc import Iterator

import pytest
from prometheus_client.metrics_core import Metric

from bifrost.config.model import Config
from bifrost.control.counts import Counts
from bifrost.forwarding.lane import Awaited
from bifrost.gateway.admin.counted import OfProcess, TransformCount, WorkerCounts
from bifrost.gateway.admin.metrics import Metrics
from bifrost.gateway.exchange.exchange_counts import ExchangeCounts
from bifrost.gateway.gateway import Gateway
from bifrost.gateway.journaling.journal_counts import JournalCounts
from bifrost.gateway.reload_outcome import Outcome
from bifrost.gateway.state.state_counts import StateCounts
from bifrost.state.state_change import Change
from bifrost.state.state_key import StateKey
from bifrost.tenancy.broker_state.broker_state import StateLimits
from bifrost.tenancy.virtual_partitions.partition_rules import NUMBERS
from bifrost.transforms.record_transform import NOTES
from bifrost.wire.api_keys import ApiKey
from support.control.table_backend import TableBackend
from support.pages.doc_pages import page, pages, table
from support.pages.source_facts import texts
from support.stage.lanes import SAME_NAMES
from unit.gateway.test_gateway import CONFIG

NAME = re.compile(r"\b(?:kafka_proxy|bifrost)_[a-z_]*[a-z]\b")
SUFFIXES = {"counter": "_total", "info": "_info"}
OF_SAMPLES = ("", "_bucket", "_count", "_sum")
NO_METRICS = {"bifrost_journal", "bifrost_quotas", "bifrost_state"}
"""Words that look like a metric: the gateway's own topics (`__bifrost_journal` and so on)."""


class Reloader:
    """As much of one as the metrics ask for."""

    outcomes = dict.fromkeys(Outcome, 0)
    applied_s = 0.0


class Everything(OfProcess):
    """The counts of a gateway that has each thing which not every gateway has: workers, a journal, a reloader."""

    reloader = Reloader()  # type: ignore[assignment]

    def journal(self) -> JournalCounts:
        dropped = {("acme", "event", "event_limit"): 1}
        return JournalCounts(dropped, {"acme": 1}, 1, 1, 1, is_up=True)

    def state(self) -> StateCounts:
        return StateCounts(1, 1, 1, True, 1, 1, {("acme", "done"): 1}, {"done": 1}, 1.0, {"acl": 1})

    def exchange(self) -> ExchangeCounts:
        shares = {("producer_byte_rate", "acme"): 0.5}
        return ExchangeCounts(1, 1, True, 1, {"written": 1}, shares)

    def partitions(self) -> Iterator[tuple[tuple[str, str], int]]:
        for number in NUMBERS:
            yield ("acme", number), 1

    def recent_bytes(self) -> Iterator[tuple[str, int]]:
        yield "acme", 1

    def used_limits(self) -> Iterator[tuple[str, str, float]]:
        for limit in StateLimits._fields:
            yield "acme", limit, 0.5

    def transforms(self) -> Iterator[TransformCount]:
        of_transforms = (
            "runs",
            "run_ns",
            "starts",
            "reloads",
            "failed_crash",
            "quarantined",
            "unquarantined",
            "readings",
            "reading_ns",
            "reading_starts",
            "unread_time",
        )
        of_filters = ("batches", "records", "rejections", "time_ns", *NOTES)
        for number in (*of_filters, "waits", "wait_ns", *of_transforms):
            yield ("acme", "edge", "produce", number), 1
        for number in ("look_ups", "look_up_errors", "look_up_ns", "cache_hits", "cache_misses"):
            yield ("", "https://registry", "", number), 1

    def connections(self) -> dict[str, int]:
        return {"remapper": 1}

    def workers(self) -> Iterator[WorkerCounts]:
        yield WorkerCounts(0, is_running=True, starts=1, connections=1, cpu_s=1.0)


def _of_control() -> list[Metric]:
    backend = TableBackend()
    backend.put([Change(StateKey("acl", "acme:1"), 0, {})])
    counts = Counts(backend)
    counts.note("GET", "/v1/namespaces", 200, 0.01)
    counts.refuse("rate")
    return counts.families()


@pytest.fixture(scope="module")
def metrics() -> dict[str, Metric]:
    """Every metric by the name that Prometheus shows."""
    gateway = Gateway(Config.model_validate(CONFIG))
    lane = gateway.shared.lanes.new_lane("acme", SAME_NAMES, ApiKey.FETCH, 12)
    lane.traffic.receive(100)
    lane.traffic.fail(3, is_own=False)
    gateway.shared.lanes.gateway_time("acme").note(False, 1)
    Awaited(1, lane, None).finish(2000)
    gateway.shared.lanes.traffic("remapper", ApiKey.FETCH).fail(3, is_own=False)
    gateway.broker_connections["upstream"] += 1
    gateway.internal_errors.counts["accept"] += 1
    gateway.listener_watch.listeners = lambda: [("plaintext", 9092, True)]  # type: ignore[method-assign]
    gateway.limits_hit["max_connections", "acme"] += 1
    gateway.shared.quotas.throttled_ms["producer_byte_rate", "acme"] += 1
    gateway.shared.virtual_clusters.acls.denials["acme", "READ"] += 1
    found = [*filter(None, Metrics(Everything(gateway)).families()), *_of_control()]
    return {one.name + SUFFIXES.get(one.type, ""): one for one in found}


def test_every_metric_of_the_code_is_collected_here(metrics: dict[str, Metric]) -> None:
    written = {text for text in texts() if NAME.fullmatch(text) and text.startswith("kafka_proxy_")}

    assert len(written) > 25
    assert written <= {one.name for one in metrics.values()}


def test_the_table_has_every_metric_and_no_other(metrics: dict[str, Metric]) -> None:
    documented = table(page("operations.md"), "metric", "labels").names()

    assert {"kafka_proxy_requests_total", "kafka_proxy_ready"} <= set(documented)
    assert sorted(documented) == sorted(metrics)


def test_the_table_has_the_labels_of_every_metric(metrics: dict[str, Metric]) -> None:
    shown = {}
    for names, labels, *_ in table(page("operations.md"), "metric", "labels").rows:
        row = re.findall(r"`([^`]+)`", names)
        each = [one.strip() for one in labels.split(";")]
        for number, name in enumerate(row):
            words = each[number if len(each) > 1 else 0]
            shown[name] = [] if words in ("", "none") else [word.strip() for word in words.split(",")]

    assert shown["kafka_proxy_limits_hit_total"] == ["limit", "tenant"]
    assert shown == {name: _labels(one) for name, one in metrics.items()}


def _labels(metric: Metric) -> list[str]:
    assert metric.samples, f"{metric.name}: make one in the fixture"
    return [label for label in metric.samples[0].labels if label != "le"]


def test_every_metric_that_a_page_names_exists(metrics: dict[str, Metric]) -> None:
    known = {name + suffix for name in metrics for suffix in OF_SAMPLES}
    named = {(name, word) for name, text in pages().items() for word in NAME.findall(text)}

    assert len(named) > 25
    assert {(name, word) for name, word in named if word not in known | NO_METRICS} == set()
