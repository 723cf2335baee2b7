"""franz-go and KafkaJS with topics of their own, by SCRAM: producing in all ways, and reading as a group."""

from __future__ import annotations

import pytest

from support.clients_of_other_languages import (
    BUILD_TIMEOUT_S,
    ClientError,
    OtherClient,
)
from support.gateways.gateway_fixtures import FreshTopic, UniqueName
from support.gateways.gateway_process import GatewayProcess

pytestmark = pytest.mark.timeout(BUILD_TIMEOUT_S)
"""The first test with franz-go compiles it, with Go's own packages."""

EACH = 100


@pytest.mark.parametrize("kind", ["plain", "idempotent", "transactional"])
def test_each_acknowledged_record_is_read_once(
    other: OtherClient, gateway: GatewayProcess, fresh_topic: FreshTopic, unique: UniqueName, kind: str
) -> None:
    fresh_topic("acme", "orders")
    endpoint = gateway.endpoint("acme", "SCRAM-SHA-512")
    written = {0: [f"{kind}-{number}" for number in range(EACH)]}
    transactional_id = unique("transaction") if kind == "transactional" else ""
    other.produce(endpoint, "orders", written, isIdempotent=kind != "plain", transactionalID=transactional_id)

    found, _ = other.consume(endpoint, "orders", unique("group"), EACH)
    assert found == written


def test_a_wrong_password_is_told(other: OtherClient, gateway: GatewayProcess) -> None:
    endpoint = gateway.endpoint("acme", "PLAIN")

    with pytest.raises(ClientError, match=r"(?i)invalid credentials|sasl"):
        other.produce(
            type(endpoint)(endpoint.host, endpoint.port, endpoint.username, "guess"), "orders", {0: ["a"]}
        )
