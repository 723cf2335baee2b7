"""The metrics of a partition remapper that have its own labels, for gateways that run with its file.

Its other metrics are the gateway's, with the tenant beside its labels. Source of names and labels:
github.com/osodevops/kafka-partition-remapper, which declares them and leaves them at 0.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, Metric

from bifrost.config.remapper.remapper_file import TENANT
from bifrost.gateway.admin.traffic_metrics import error_of, name_of


def remapper_metrics(
    counted: Iterable[tuple[str, int | None, bool, int, int] | None], tenants: Collection[str]
) -> Iterator[Metric | None]:
    """Yield them from the error codes in answers; without its tenant they have no samples.

    Args:
        counted: as `Counted.errors` has them.
        tenants: those that have had connections.
    """
    found: Counter[tuple[str, str]] = Counter()
    for one in counted:
        yield None
        if one is not None and one[0] == TENANT:
            _, key, _, code, times = one
            found[name_of(key), error_of(code)] += times
    errors = CounterMetricFamily(
        "kafka_proxy_requests_errors",
        "Error codes in answers of a gateway with the file of a partition remapper.",
        labels=["api_key", "error_type"],
    )
    for labels, times in found.items():
        errors.add_metric(labels, times)
    translated = CounterMetricFamily(
        "kafka_proxy_offsets_translated",
        "Always 0, with the file of a partition remapper: offsets are those of the physical partition.",
        labels=[],
    )
    if TENANT in tenants:
        translated.add_metric([], 0)
    yield from (errors, translated)
