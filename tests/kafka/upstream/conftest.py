"""One broker with secured listeners for the tests of this directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.brokers.secure_kafka import SecureKafka
from support.gateways.secured_gateway import SecuredGateway, StartSecured
from support.physical_names import prefix_of


@pytest.fixture(scope="module")
def secure_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    """A broker with the listeners of every kind; alice and bob may use the names of tenants acme and globex."""
    with SecureKafka(tmp_path_factory.mktemp("certificates")) as kafka:
        kafka.allow("alice", prefix_of("acme"))
        kafka.allow("bob", prefix_of("globex"))
        yield kafka


@pytest.fixture
def start_secured(secure_kafka: SecureKafka, tmp_path: Path) -> Iterator[StartSecured]:
    """Start a gateway before a listener: `start_secured("SASL", {"security_protocol": ...})`; stopped afterwards."""
    started: list[SecuredGateway] = []

    def start(
        listener: str, security: dict[str, Any], *, is_ready: bool = True, **options: Any
    ) -> SecuredGateway:
        directory = tmp_path / f"gateway-{len(started)}"
        directory.mkdir()
        host = options.pop("host", "localhost")
        gateway = SecuredGateway(directory, secure_kafka.address(listener, host), security, **options)
        if is_ready:
            gateway.start()
        else:
            gateway.launch()
        started.append(gateway)
        return gateway

    yield start
    for gateway in started:
        gateway.stop()
