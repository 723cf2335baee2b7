"""One gateway after the other on the same ports, under load: nothing acknowledged is lost, nothing written twice.

Not even by a producer without idempotence: what a gateway has sent on it waits for.

`make rolling-restart RESTARTS=100` does it for longer.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.endpoint import Endpoint
from support.clients.steady_load import (
    AioLoad,
    ConfluentLoad,
    JavaLoad,
    PlainLoad,
    PythonLoad,
    SteadyLoad,
    TransactionLoad,
    await_growth,
)
from support.gateways.gateway_fixtures import FreshTopic
from support.gateways.gateway_process import INITECH, GatewayProcess
from support.java.java_clients import lacks_sasl
from support.journal.records import read_committed
from support.physical_names import physical_name

RESTARTS = int(os.environ.get("BIFROST_RESTARTS", "4"))
OLD_JAVA, NEW_JAVA = "2.8.2", "4.3.1"
PARTITIONS = 2


def all_loads(endpoint: Endpoint) -> list[SteadyLoad]:
    versions = [version for version in (OLD_JAVA, NEW_JAVA) if not lacks_sasl(version)]
    others = (ConfluentLoad, PlainLoad, TransactionLoad, PythonLoad, AioLoad)
    return [*(JavaLoad(endpoint, version) for version in versions), *(load(endpoint) for load in others)]


@pytest.mark.timeout(120 + 30 * RESTARTS)
def test_gateways_follow_each_other_and_no_client_notices(
    kafka: EmbeddedKafka, broker: Endpoint, fresh_topic: FreshTopic, tmp_path: Path
) -> None:
    running = gateway(tmp_path / "gateway-0", kafka)
    running.start()
    loads = all_loads(running.endpoint("initech"))
    for load in loads:
        fresh_topic("initech", load.topic, partitions=PARTITIONS)
        load.start()
    try:
        await_growth(loads, by=20, timeout_s=60)
        for number in range(1, RESTARTS + 1):
            successor = gateway(tmp_path / f"gateway-{number}", kafka)
            successor.start_second(running)
            running.stop()
            drained = running.await_event(0, event="drained")
            assert drained["cut"] == 0
            running = successor
            await_growth(loads, by=20)
    finally:
        for load in loads:
            load.stop()
        for load in loads:
            load.join(60)
        running.stop()

    for load in loads:
        assert load.failure is None, f"{load.name} gave up: {load.failure!r}"
        assert not load.is_alive()
        written = [
            value.decode() for _, value in read_committed(broker, physical_name("initech", load.topic))
        ]
        assert Counter(written) == Counter(load.acknowledged), load.name
        assert len(written) > 20 * (RESTARTS + 1)
        assert load.read == set(written)


def gateway(directory: Path, kafka: EmbeddedKafka) -> GatewayProcess:
    directory.mkdir()
    limits = {"drain_timeout_ms": 10_000}
    return GatewayProcess(directory, kafka.bootstrap, tenants=[INITECH], limits=limits)
