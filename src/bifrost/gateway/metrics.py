"""What a gateway counts, as Prometheus metrics. All but the scrape itself is plain numbers that others keep.

Labels: `tenant` is the tenant's name, empty before authentication; `api` is Kafka's name of the API, `other` for what
is not served. Neither is chosen by clients, so the number of series is bounded by tenants times served APIs.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from bifrost.gateway.pauses import SIDES
from bifrost.gateway.reloader import Outcome, Reloader
from bifrost.session.close_reason import CloseReason
from bifrost.wire.engine import DURATION_BOUNDS_S, Traffic, spare_bytes
from bifrost.wire.schema import request_schema

if TYPE_CHECKING:
    from bifrost.gateway.gateway import Gateway

CONTENT_TYPE = CONTENT_TYPE_LATEST
OTHER = "other"
_BOUNDS = [*map(str, DURATION_BOUNDS_S), "+Inf"]


class Metrics(Collector):
    """The metrics of one gateway."""

    def __init__(self, gateway: "Gateway") -> None:
        """Read from `gateway` whenever asked."""
        self._gateway = gateway
        self._registry = CollectorRegistry()
        for collector in (PlatformCollector, ProcessCollector, GCCollector):
            collector(registry=self._registry)
        self._registry.register(self)

    def render(self) -> bytes:
        """Return the metrics in Prometheus's text format. May run in another thread than the gateway."""
        return generate_latest(self._registry)

    def describe(self) -> list[Metric]:
        """Promise nothing: what there is depends on who came."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        gateway = self._gateway
        yield from _traffic_metrics([(tenant, _name(key), one) for tenant, key, one in gateway.shared.lanes])
        yield from self._connection_metrics()
        yield from self._limit_metrics()
        paused = CounterMetricFamily(
            "kafka_proxy_reads_paused_seconds",
            "Time in which connections were not read, because what they send had nowhere to go: of the side that was "
            "not read.",
            labels=["side"],
        )
        for side in SIDES:
            paused.add_metric([side], gateway.pauses.seconds(side))
        yield paused
        if gateway.reloader is not None:
            yield from _reload_metrics(gateway.reloader)
        brokers = GaugeMetricFamily(
            "kafka_proxy_brokers", "Brokers of a physical cluster that are known.", labels=["upstream"]
        )
        is_up = GaugeMetricFamily(
            "kafka_proxy_upstream_up",
            "1 while a physical cluster answers the gateway's own requests.",
            labels=["upstream"],
        )
        for cluster in gateway.clusters:
            brokers.add_metric([cluster.name], len(cluster.node_ids))
            is_up.add_metric([cluster.name], int(gateway.clusters.is_up(cluster.name)))
        yield from (brokers, is_up)
        yield GaugeMetricFamily(
            "kafka_proxy_ready",
            "1 while clients can be served, as /readyz says.",
            value=int(gateway.is_ready),
        )
        yield GaugeMetricFamily(
            "kafka_proxy_spare_memory_bytes", "Memory kept for the next frames.", value=spare_bytes()
        )

    def _connection_metrics(self) -> Iterator[Metric]:
        gateway = self._gateway
        active = GaugeMetricFamily(
            "kafka_proxy_active_client_connections", "Client connections that are open.", labels=["tenant"]
        )
        for tenant, count in gateway.count_connections().items():
            active.add_metric([tenant], count)
        yield active
        yield GaugeMetricFamily(
            "kafka_proxy_max_client_connections",
            "Client connections that may be open at once.",
            value=gateway.limits.max_connections,
        )
        authenticated = CounterMetricFamily(
            "kafka_proxy_authentications",
            "Authentications by what came of them, those that clients repeat on their connection among them.",
            labels=["tenant", "mechanism", "outcome"],
        )
        sasl = gateway.shared.sasl
        outcomes = Counter({("", str(mechanism), "failure"): 0 for mechanism in sasl.mechanisms})
        outcomes.update(dict(sasl.outcomes))
        outcomes["", "", "timeout"] = gateway.ends[CloseReason.AUTHENTICATION_TIMEOUT]
        for labels, count in outcomes.items():
            authenticated.add_metric(labels, count)
        yield authenticated
        ended = CounterMetricFamily(
            "kafka_proxy_connections_ended",
            "Client connections that ended, by reason; those over a limit among them.",
            labels=["reason"],
        )
        for reason in CloseReason:
            ended.add_metric([reason.value], gateway.ends[reason])
        yield ended

    def _limit_metrics(self) -> Iterator[Metric]:
        gateway, loads = self._gateway, self._gateway.shared.lanes.loads
        in_flight = GaugeMetricFamily(
            "kafka_proxy_in_flight_requests", "Requests that await a broker's answer.", labels=["tenant"]
        )
        for tenant, count in loads:
            in_flight.add_metric([tenant], count)
        yield in_flight
        hit = CounterMetricFamily(
            "kafka_proxy_limits_hit",
            "How often a limit ended a connection, or made it wait, by the limit's setting; tenant is empty where it "
            "was not known, or for a limit of all.",
            labels=["limit", "tenant"],
        )
        for (limit, tenant), count in (*gateway.limits_hit.copy().items(), *loads.hits.copy().items()):
            hit.add_metric([limit, tenant], count)
        yield hit


def _reload_metrics(reloader: Reloader) -> Iterator[Metric]:
    reloads = CounterMetricFamily(
        "kafka_proxy_config_reloads",
        "Reloads of the configuration, by what came of them.",
        labels=["outcome"],
    )
    for outcome in Outcome:
        reloads.add_metric([outcome.value], reloader.outcomes[outcome])
    yield reloads
    yield GaugeMetricFamily(
        "kafka_proxy_config_applied_timestamp_seconds",
        "When the configuration in force was read.",
        value=reloader.applied_s,
    )


def _name(api_key: int | None) -> str:
    return OTHER if api_key is None else request_schema(api_key).name.removesuffix("Request")


def _traffic_metrics(counted: list[tuple[str, str, Traffic]]) -> Iterator[Metric]:
    for name, text, field in (
        ("kafka_proxy_requests", "Requests of clients.", "requests"),
        ("kafka_proxy_bytes_received", "Bytes of requests, received from clients.", "bytes_received"),
        ("kafka_proxy_bytes_sent", "Bytes of responses, for clients.", "bytes_sent"),
    ):
        family = CounterMetricFamily(name, text, labels=["tenant", "api"])
        for tenant, api, traffic in counted:
            family.add_metric([tenant, api], getattr(traffic, field))
        yield family
    durations = HistogramMetricFamily(
        "kafka_proxy_request_duration_seconds",
        "Time from a request's being sent on to its response's being ready for the client.",
        labels=["tenant", "api"],
    )
    for tenant, api, traffic in counted:
        below = list(accumulate(traffic.durations))
        if below[-1]:
            durations.add_metric(
                [tenant, api], list(zip(_BOUNDS, below, strict=True)), traffic.duration_ns / 1e9
            )
    yield durations
