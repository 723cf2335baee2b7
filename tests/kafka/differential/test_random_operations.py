"""The same random client operations against a broker and through the gateway: every answer is equal.

The seed is printed when they are not: `BIFROST_SEED=7 pytest tests/kafka/differential` plays that one again.
`make soak` plays new seeds for hours.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.messages import MetadataRequest
from support.clients import Endpoint
from support.gateway_process import GatewayProcess
from support.random_client import OPERATIONS
from support.raw_client import RawClient
from support.state_machine import Machine, Player

SEEDS = [int(os.environ["BIFROST_SEED"])] if "BIFROST_SEED" in os.environ else [1, 2, 3, 4]
STEPS = 500


@pytest.fixture
def players(kafka: EmbeddedKafka, broker: Endpoint, gateway: GatewayProcess) -> Iterator[list[Player]]:
    """The broker itself, and the cluster of tenant initech, which has a dynamic namespace and may delete."""
    through = gateway.broker_endpoint("initech")
    with RawClient.authenticated(through) as client:
        cluster_id = client.request(MetadataRequest(topics=[]), 5).cluster_id
    direct = Player(broker, advertised_port=broker.port, cluster_id=kafka.cluster_id)
    tenant = Player(through, advertised_port=through.port, cluster_id=cluster_id)
    yield [direct, tenant]
    direct.close()
    tenant.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_random_operations_have_the_same_answers(players: list[Player], seed: int) -> None:
    machine = Machine(seed, players, OPERATIONS, prefix=f"df{seed}-")

    for _ in range(STEPS):
        machine.step()

    direct, tenant = players
    assert tenant.requests > STEPS
    assert len(set(machine.played)) == len(OPERATIONS)
    assert direct.requests > STEPS
