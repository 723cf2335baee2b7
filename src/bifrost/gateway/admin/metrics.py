"""The counters of a gateway as Prometheus metrics. Other modules count plain numbers; only a scrape runs code here.

Metrics are made in steps: a generator of them yields None after each small part of the work.

Labels: `tenant` is the tenant's name, empty before authentication; `api` is Kafka's name of the API, `other` for APIs
that are not served; `error` one of at most so many codes of each. Clients choose none, so the number of series is
bounded by the tenants; tests/unit/gateway/admin/test_series.py counts those that one can make.
"""

from collections.abc import Generator, Iterable, Iterator
from itertools import chain

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from bifrost.gateway.admin.build_info import build_metrics
from bifrost.gateway.admin.counted import Counted, StallCounts, WorkerCounts
from bifrost.gateway.admin.exchange_metrics import exchange_metrics
from bifrost.gateway.admin.exposition import exposition
from bifrost.gateway.admin.journal_metrics import journal_metrics
from bifrost.gateway.admin.kept_metrics import kept_metrics
from bifrost.gateway.admin.partition_metrics import partition_metrics
from bifrost.gateway.admin.remapper_metrics import remapper_metrics
from bifrost.gateway.admin.state_metrics import state_metrics
from bifrost.gateway.admin.traffic_metrics import error_metrics, gateway_time_metrics, traffic_metrics
from bifrost.gateway.admin.transform_metrics import transform_metrics
from bifrost.gateway.loop.loop_stalls import histogram
from bifrost.gateway.loop.pauses import SIDES
from bifrost.gateway.reload.reloader import Reloader
from bifrost.gateway.reload_outcome import Outcome
from bifrost.session.close_reason import CloseReason

CONTENT_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """The metrics of one gateway."""

    def __init__(self, counted: Counted, processes: Collector | None = None) -> None:
        """Read from `counted` at each scrape.

        Args:
            counted: the counters of the gateway.
            processes: collects the metrics of its processes; None: there is only this one.
        """
        self._counted = counted
        self._of_python = CollectorRegistry()
        for collector in (PlatformCollector, GCCollector):
            collector(registry=self._of_python)
        self._of_python.register(processes or ProcessCollector(registry=None))

    def exposition(self) -> Generator[None, None, bytearray]:
        """Return the metrics in Prometheus's text format, at the end."""
        return exposition(chain(self._of_python.collect(), self.families()))

    def families(self) -> Iterator[Metric | None]:
        """Yield the gateway's own metrics."""
        counted = self._counted
        yield from build_metrics()
        yield from traffic_metrics(counted.traffic())
        yield from error_metrics(counted.errors())
        yield from remapper_metrics(counted.errors(), counted.connections())
        yield from gateway_time_metrics(counted.gateway_times())
        yield from self._connection_metrics()
        yield from self._limit_metrics()
        yield from kept_metrics(counted.used_limits())
        yield from transform_metrics(counted.transforms())
        yield from partition_metrics(counted.partitions(), counted.recent_bytes())
        errors = CounterMetricFamily(
            "kafka_proxy_internal_errors",
            "Exceptions that should never have come, by what failed: each is a bug, and is logged with its trace.",
            labels=["place"],
        )
        for place, number in counted.internal_errors().items():
            errors.add_metric([place], number)
        yield errors
        paused = CounterMetricFamily(
            "kafka_proxy_reads_paused_seconds",
            "Time in which connections were not read, because what they send had nowhere to go: of the side that was "
            "not read.",
            labels=["side"],
        )
        for side in SIDES:
            paused.add_metric([side], counted.paused_s(side))
        yield paused
        journal = counted.journal()
        if journal is not None:
            yield from journal_metrics(journal)
        state = counted.state()
        if state is not None:
            yield from state_metrics(state)
        exchange = counted.exchange()
        if exchange is not None:
            yield from exchange_metrics(exchange)
        if counted.reloader is not None:
            yield from _reload_metrics(counted.reloader)
        yield from self._readiness_metrics()
        yield from _memory_metrics(counted)
        yield from _worker_metrics(tuple(counted.workers()))
        yield from _stall_metrics(counted.loop_stalls())

    def _readiness_metrics(self) -> Iterator[Metric | None]:
        counted = self._counted
        brokers = GaugeMetricFamily(
            "kafka_proxy_brokers", "Brokers of a physical cluster that are known.", labels=["upstream"]
        )
        is_up = GaugeMetricFamily(
            "kafka_proxy_upstream_up",
            "1 while a physical cluster answers the gateway's own requests.",
            labels=["upstream"],
        )
        for name, count, answers in counted.upstreams():
            brokers.add_metric([name], count)
            is_up.add_metric([name], int(answers))
        yield from (brokers, is_up)
        yield GaugeMetricFamily(
            "kafka_proxy_ready",
            "1 while clients can be served, as /readyz says.",
            value=int(counted.is_ready and not counted.listener_watch.not_accepting()),
        )
        accepting = GaugeMetricFamily(
            "kafka_proxy_listener_accepting",
            "1 while a port accepts connections, as the gateway sees by connecting to it.",
            labels=["listener", "port"],
        )
        for name, port, accepts in counted.listener_watch.listeners():
            accepting.add_metric([name, str(port)], int(accepts))
            yield None
        yield accepting

    def _connection_metrics(self) -> Iterator[Metric | None]:
        counted = self._counted
        active = GaugeMetricFamily(
            "kafka_proxy_active_client_connections", "Client connections that are open.", labels=["tenant"]
        )
        for tenant, count in counted.connections().items():
            active.add_metric([tenant], count)
            yield None
        yield active
        to_brokers = GaugeMetricFamily(
            "kafka_proxy_active_broker_connections",
            "Connections of clients to brokers that are open; those of the gateway's own are not among them.",
            labels=["upstream"],
        )
        for upstream, count in counted.broker_connections():
            to_brokers.add_metric([upstream], count)
        yield to_brokers
        yield GaugeMetricFamily(
            "kafka_proxy_max_client_connections",
            "Client connections that may be open at once.",
            value=counted.max_connections,
        )
        authenticated = CounterMetricFamily(
            "kafka_proxy_authentications",
            "Authentications by what came of them, those that clients repeat on their connection among them.",
            labels=["tenant", "mechanism", "outcome"],
        )
        ends = counted.ends()
        outcomes = dict(counted.authentications())
        for mechanism in counted.mechanisms:
            outcomes.setdefault(("", mechanism, "failure"), 0)
        outcomes["", "", "timeout"] = ends.get(CloseReason.AUTHENTICATION_TIMEOUT, 0)
        for labels, count in outcomes.items():
            authenticated.add_metric(labels, count)
            yield None
        yield authenticated
        ended = CounterMetricFamily(
            "kafka_proxy_connections_ended",
            "Client connections that ended, by reason; those over a limit among them.",
            labels=["reason"],
        )
        for reason in CloseReason:
            ended.add_metric([reason.value], ends.get(reason, 0))
        yield ended

    def _limit_metrics(self) -> Iterator[Metric | None]:
        in_flight = GaugeMetricFamily(
            "kafka_proxy_in_flight_requests", "Requests that await a broker's answer.", labels=["tenant"]
        )
        for tenant, count in self._counted.in_flight():
            in_flight.add_metric([tenant], count)
            yield None
        yield in_flight
        hit = CounterMetricFamily(
            "kafka_proxy_limits_hit",
            "How often a limit ended a connection, or slowed it down, by the limit's setting; tenant is empty where "
            "it was not known, or for a limit of all.",
            labels=["limit", "tenant"],
        )
        for (limit, tenant), count in self._counted.limits_hit():
            hit.add_metric([limit, tenant], count)
            yield None
        yield hit
        throttle = CounterMetricFamily(
            "kafka_proxy_quota_throttle_seconds",
            "How long clients were told to wait for a quota, by its name.",
            labels=["quota", "tenant"],
        )
        for (quota, tenant), throttled_ms in self._counted.throttled_ms():
            throttle.add_metric([quota, tenant], throttled_ms / 1000)
            yield None
        yield throttle
        denied = CounterMetricFamily(
            "kafka_proxy_acl_denials",
            "How often ACLs denied an operation on a topic, a group, a transactional ID or the cluster.",
            labels=["tenant", "operation"],
        )
        for (tenant, operation), count in self._counted.acl_denials().items():
            denied.add_metric([tenant, operation], count)
            yield None
        yield denied


def _memory_metrics(counted: Counted) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "kafka_proxy_buffered_bytes",
        "Bytes of frames that are held, as max_buffered_bytes_total counts them.",
        value=counted.buffered_bytes(),
    )
    yield GaugeMetricFamily(
        "kafka_proxy_spare_memory_bytes", "Memory kept for the next frames.", value=counted.spare_bytes()
    )


def _worker_metrics(workers: tuple[WorkerCounts, ...]) -> Iterator[Metric]:
    if not workers:
        return
    running = GaugeMetricFamily(
        "kafka_proxy_worker_up", "1 while a worker process runs and serves.", labels=["worker"]
    )
    connections = GaugeMetricFamily(
        "kafka_proxy_worker_connections", "Client connections that a worker has.", labels=["worker"]
    )
    cpu = CounterMetricFamily(
        "kafka_proxy_worker_cpu_seconds", "CPU time of a worker, and of those before it.", labels=["worker"]
    )
    starts = CounterMetricFamily(
        "kafka_proxy_worker_starts",
        "How often a worker was started: more than once means ended.",
        labels=["worker"],
    )
    for one in workers:
        for family, value in (
            (running, float(one.is_running)),
            (connections, float(one.connections)),
            (cpu, one.cpu_s),
            (starts, float(one.starts)),
        ):
            family.add_metric([str(one.number)], value)
    yield from (running, connections, cpu, starts)


def _stall_metrics(stalls: Iterable[StallCounts]) -> Iterator[Metric]:
    lengths = HistogramMetricFamily(
        "bifrost_event_loop_stall_seconds",
        "Turns of the event loop that took 2 ms or more: all other connections waited meanwhile.",
        labels=["worker"],
    )
    largest = GaugeMetricFamily(
        "bifrost_event_loop_stall_largest_seconds",
        "The longest turn of the event loop, and the most CPU time of one, since the start or the last scrape.",
        labels=["worker", "since", "clock"],
    )
    for one in stalls:
        buckets, sum_s = histogram(one.counts)
        lengths.add_metric([one.worker], buckets, sum_s)
        kinds = (("start", "wall"), ("scrape", "wall"), ("start", "cpu"), ("scrape", "cpu"))
        for (since, clock), value in zip(kinds, one.largest_s, strict=True):
            largest.add_metric([one.worker, since, clock], value)
    yield from (lengths, largest)


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
