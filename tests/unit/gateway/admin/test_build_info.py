"""Which build runs."""

import platform
import ssl
from importlib.metadata import version

from bifrost.gateway.admin.build_info import build_metrics


def test_it_names_the_versions() -> None:
    [metric] = build_metrics()
    [sample] = metric.samples

    assert (sample.name, sample.value) == ("bifrost_build_info", 1)
    assert sample.labels == {
        "version": version("bifrost-kafka"),
        "python": platform.python_version(),
        "openssl": ssl.OPENSSL_VERSION.split()[1],
    }
