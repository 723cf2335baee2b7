"""Which build runs, as a Prometheus metric."""

import platform
import ssl
from collections.abc import Iterator
from importlib.metadata import version

from prometheus_client.core import InfoMetricFamily, Metric


def build_metrics() -> Iterator[Metric]:
    """Yield the metric with the versions of what runs."""
    yield InfoMetricFamily(
        "bifrost_build",
        "The versions of Bifrost, of Python, and of the library that encrypts TLS connections; always 1.",
        value={
            "version": version("bifrost-kafka"),
            "python": platform.python_version(),
            "openssl": ssl.OPENSSL_VERSION.split()[1],
        },
    )
