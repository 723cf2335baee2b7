"""What the API counts, as Prometheus metrics of its process."""

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from bifrost.control.backend import Backend

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

OTHER = "other"
"""The route of requests that have none, so that callers cannot make up labels."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})

BOUNDS_S = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)
"""Upper bounds of the histogram: a read takes milliseconds, a change some tens, one that meets others seconds."""


class _OfBackend(Collector):
    """The numbers of the backend, when they are asked for."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def collect(self) -> list[Metric]:
        """Return the metrics."""
        backend = self._backend
        kinds = GaugeMetricFamily(
            "bifrost_control_state_objects",
            "What the state has, by kind, without deleted ones.",
            labels=("kind",),
        )
        for kind, count in backend.table.counts().items():
            kinds.add_metric((kind,), count)
        is_up = backend.is_current and not backend.problem
        return [
            GaugeMetricFamily("bifrost_control_state_up", "1 while the state is read.", int(is_up)),
            GaugeMetricFamily("bifrost_control_state_records", "Records of the state.", len(backend.table)),
            GaugeMetricFamily(
                "bifrost_control_state_lag_offsets",
                "Offsets of the state that are not read yet.",
                backend.lag,
            ),
            kinds,
        ]


class Counts:
    """The counters of one process."""

    def __init__(self, backend: Backend) -> None:
        """Begin at 0; the state's numbers come from the backend."""
        self._registry = CollectorRegistry()
        self._registry.register(_OfBackend(backend))
        self._requests = Counter(
            "bifrost_control_requests", "Requests.", ["method", "route", "status"], registry=self._registry
        )
        self._durations = Histogram(
            "bifrost_control_request_duration_seconds",
            "Time from a request's first line to its answer.",
            ["method"],
            buckets=BOUNDS_S,
            registry=self._registry,
        )
        self._refused = Counter(
            "bifrost_control_refused",
            "Requests that a bound or the lack of an identity has refused.",
            ["reason"],
            registry=self._registry,
        )

    def note(self, method: str, route: str | None, status: int, duration_s: float) -> None:
        """Count an answered request.

        Args:
            method: its method.
            route: the template of its path; None: it has no route.
            status: the HTTP status of the answer.
            duration_s: how long it took, in seconds.
        """
        shown = method if method in METHODS else OTHER
        self._requests.labels(shown, route or OTHER, str(status)).inc()
        self._durations.labels(shown).observe(duration_s)

    def refuse(self, reason: str) -> None:
        """Count a request that was refused before its route saw it."""
        self._refused.labels(reason).inc()

    def families(self) -> list[Metric]:
        """Return all metrics."""
        return list(self._registry.collect())

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        return generate_latest(self._registry)
