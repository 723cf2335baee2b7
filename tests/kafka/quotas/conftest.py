"""Gateways that have the quotas of their tenants together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from support.gateways.fleet import Fleet


@pytest.fixture
def fleet(kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[Fleet]:
    """Gateways before the embedded Kafka, stopped at the end."""
    one = Fleet(tmp_path, kafka.bootstrap)
    yield one
    one.end()
