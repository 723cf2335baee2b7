"""Transactions, with three brokers (`make three-brokers`) also without one of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from support.brokers.broker_loss import BrokerLoss
from support.gateways.gateway_process import GatewayProcess

AWAY = {"test_confluent_transactions.py": 2, "test_java_transactions.py": 3}
"""The broker without which a file's tests run; before the others the first one is killed and comes back."""


@pytest.fixture(scope="module", autouse=True)
def broker_loss(
    request: pytest.FixtureRequest, kafka: EmbeddedKafka, gateway: GatewayProcess
) -> Iterator[None]:
    """Take a broker away, if there are several."""
    if len(kafka.node_ids) == 1:
        yield
        return
    loss = BrokerLoss(kafka, lambda: [gateway.endpoint(tenant) for tenant in ("acme", "globex")])
    node_id = AWAY.get(request.path.name)
    with loss.without(node_id or 1):
        if node_id is not None:
            yield
    if node_id is None:
        yield
