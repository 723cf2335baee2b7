"""What clients asked for, what they were answered, and how long it took, as Prometheus metrics."""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from bifrost.forwarding.gateway_time import TIME_BOUNDS_S
from bifrost.forwarding.traffic import DURATION_BOUNDS_S, OTHER_ERRORS
from bifrost.gateway.admin.counted import TrafficCounts
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.schema import request_schema

OTHER = "other"
"""The API of requests that are not served, and the error of codes that are not told apart."""

_BOUNDS = [*map(str, DURATION_BOUNDS_S), "+Inf"]
_TIME_BOUNDS = [*map(str, TIME_BOUNDS_S), "+Inf"]


def traffic_metrics(counted: Iterable[tuple[str, int | None, TrafficCounts]]) -> Iterator[Metric | None]:
    """Yield the metrics of requests, bytes and durations by tenant and API."""
    found: deque[tuple[str, str, TrafficCounts]] = deque()
    for tenant, key, one in counted:
        found.append((tenant, name_of(key), one))
        yield None
    for name, text, field in (
        ("kafka_proxy_requests", "Requests of clients.", "requests"),
        ("kafka_proxy_bytes_received", "Bytes of requests, received from clients.", "bytes_received"),
        ("kafka_proxy_bytes_sent", "Bytes of responses, for clients.", "bytes_sent"),
    ):
        family = CounterMetricFamily(name, text, labels=["tenant", "api"])
        for tenant, api, traffic in found:
            family.add_metric([tenant, api], getattr(traffic, field))
            yield None
        yield family
    durations = HistogramMetricFamily(
        "kafka_proxy_request_duration_seconds",
        "Time from a request's being read to its response's being ready for the client.",
        labels=["tenant", "api"],
    )
    while found:  # To free all at once would take long.
        tenant, api, traffic = found.popleft()
        below = list(accumulate(traffic.durations))
        if below[-1]:
            durations.add_metric(
                [tenant, api], list(zip(_BOUNDS, below, strict=True)), traffic.duration_ns / 1e9
            )
        yield None
    yield durations


def error_metrics(
    counted: Iterable[tuple[str, int | None, bool, int, int] | None],
) -> Iterator[Metric | None]:
    """Yield the metric of error codes in answers."""
    errors = CounterMetricFamily(
        "kafka_proxy_errors",
        "Error codes in answers, those for single items too, by who gave the answer.",
        labels=["tenant", "api", "source", "error"],
    )
    for one in counted:
        yield None
        if one is None:
            continue
        tenant, key, is_own, code, times = one
        errors.add_metric([tenant, name_of(key), "gateway" if is_own else "broker", error_of(code)], times)
    yield errors


def gateway_time_metrics(counted: Iterable[tuple[str, tuple[int, ...]]]) -> Iterator[Metric | None]:
    """Yield the metric of how long the gateway itself has kept messages."""
    family = HistogramMetricFamily(
        "kafka_proxy_gateway_duration_seconds",
        "Time from a message's being read to its being sent on, of requests and of brokers' responses.",
        labels=["tenant", "direction"],
    )
    half = len(_TIME_BOUNDS) + 1
    for tenant, numbers in counted:
        for direction, (sum_ns, *counts) in (("request", numbers[:half]), ("response", numbers[half:])):
            buckets = list(zip(_TIME_BOUNDS, accumulate(counts), strict=True))
            family.add_metric([tenant, direction], buckets, sum_ns / 1e9)
        yield None
    yield family


def error_of(code: int) -> str:
    """Return the name of an error that was counted."""
    return OTHER if code == OTHER_ERRORS else ErrorCode(code).name


def name_of(api_key: int | None) -> str:
    """Return Kafka's name of an API."""
    return OTHER if api_key is None else request_schema(api_key).name.removesuffix("Request")
