"""How near tenants are to the limits on what brokers keep (tenancy/broker_state), as a Prometheus metric.

Each process counts for itself, so with several workers it is the part that is used in the worker that has most.
"""

from collections.abc import Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric

PARTS = 1_000_000
"""Workers tell it to their supervisor in millionths."""


def kept_metrics(used: Iterable[tuple[str, str, float] | None]) -> Iterator[Metric | None]:
    """Yield the metric from tenants, limits and used parts; None is a step of the work."""
    ratio = GaugeMetricFamily(
        "kafka_proxy_broker_state_used_ratio",
        "Used part of a limit on what a tenant's requests make brokers keep, by the limit's setting: 1 is all of it.",
        labels=["tenant", "limit"],
    )
    for one in used:
        if one is not None:
            tenant, limit, part = one
            ratio.add_metric([tenant, limit], part)
        yield None
    yield ratio
