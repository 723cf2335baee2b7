"""Documents of the second dialect, and what the loader makes of them in the folder of `conftest.py`."""

from pathlib import Path

import pytest

from bifrost.config.errors import ConfigError
from bifrost.config.model import Config
from support.gateways.virtual_cluster_texts import FILTERS, PROD
from support.journal.loading import load

__all__ = ["FILTERS", "PROD"]

# The line numbers that the tests expect count from the line after the quotes.

AUTH = """\
  auth:
    credentials:
      - username: a-writer
        passwordFile: secrets/acme.password
"""

GATEWAY = """\
---
apiVersion: gateway.corp/v1alpha1
kind: KafkaGateway
metadata: { name: bifrost }
spec:
  admin: { port: 9404, bindHost: 127.0.0.1 }
  limits:
    maxConnections: 7
    maxReauthMs: 1h
"""

SNI = """\
apiVersion: gateway.corp/v1alpha1
kind: KafkaVirtualCluster
metadata:
  name: acme
spec:
  listener:
    port: 9093
    sni:
      bootstrapHost: "{tenant}.kafka.example.com"
      brokerHost: "b{node_id}-{tenant}.kafka.example.com"
    tls:
      certificateFile: tls/server.pem
      keyFile: tls/server.key
  targetCluster:
    bootstrapServers: "broker-1.internal:9092,broker-2.internal:9092"
  virtualization:
    topicPrefix: "acme-"
  auth:
    credentials:
      - username: acme-writer
        passwordFile: secrets/acme.password
"""
"""A virtual cluster at a port that it shares; 21 lines."""


def other(name: str, text: str = SNI) -> str:
    """Another virtual cluster at the same port."""
    return text.replace("acme-", f"{name}-").replace("name: acme", f"name: {name}")


def second(text: str = PROD) -> str:
    """Another virtual cluster, of other names, prefixes and ports."""
    return text.replace("tenant-a-prod", "tenant-b").replace("t1-", "t2-").replace("9093", "9193")


def loaded(folder: Path, text: str) -> Config:
    """The configuration that a file with this text is."""
    (folder / "a.yaml").write_text(text)
    return load("a.yaml")


def mistakes(folder: Path, *replacements: tuple[str, str], text: str = PROD) -> list[str]:
    """What is wrong with a text once each part is replaced by another, as printed lines."""
    for old, new in replacements:
        assert old in text, f"{old!r} is not in the file"
        text = text.replace(old, new, 1)
    with pytest.raises(ConfigError) as caught:
        loaded(folder, text)
    return str(caught.value).splitlines()
