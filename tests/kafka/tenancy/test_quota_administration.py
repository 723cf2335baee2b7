"""Tenants set quotas with Kafka's own APIs and tools; the state has them, and every gateway knows them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bifrost.embedded.kafka import DEFAULT_VERSION
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import AlterClientQuotasRequest, DescribeClientQuotasRequest
from support.brokers import kafka_cluster as tools
from support.brokers.kafka_cluster import write_client_properties
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.admin_port import await_value, value
from support.gateways.gateway_fixtures import StartGateway
from support.gateways.gateway_process import GLOBEX, INITECH, GatewayProcess
from support.java.tool_server import ToolServer

pytestmark = pytest.mark.timeout(180)

SETTER = replace(GLOBEX, allow_quota_changes=True)
TENANTS = [SETTER, replace(INITECH, allow_quota_changes=True)]
RATE, OTHER = "producer_byte_rate", "consumer_byte_rate"
BOUND_S = 20.0

Entity = dict[str, str | None]


@pytest.fixture
def start(start_gateway: StartGateway) -> Callable[..., GatewayProcess]:
    """Start a gateway with the state of this test."""
    topic = f"__state-{time.time_ns()}"

    def one(**proxy: Any) -> GatewayProcess:
        return start_gateway(tenants=TENANTS, has_admin=True, proxy={"state": {"topic": topic}, **proxy})

    return one


def alter(client: RawClient, entity: Entity, **values: float | None) -> ErrorCode:
    """Set the quotas of an entity, or remove those that are None."""
    message = AlterClientQuotasRequest
    entry = message.EntryData(
        entity=[message.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
        ops=[
            message.OpData(key=key, value=0.0 if value is None else value, remove=value is None)
            for key, value in values.items()
        ],
    )
    response = client.request(message(entries=[entry], validate_only=False), 1)
    assert [one.entity_type for one in response.entries[0].entity] == list(entity)
    return ErrorCode(response.entries[0].error_code)


def described(client: RawClient) -> dict[tuple[tuple[str, str | None], ...], dict[str, float]]:
    """Return all quotas that a client is told."""
    response = client.request(DescribeClientQuotasRequest(components=[], strict=False), 1)
    assert response.error_code == ErrorCode.NONE
    return {
        tuple((part.entity_type, part.entity_name) for part in entry.entity): {
            one.key: one.value for one in entry.values
        }
        for entry in response.entries
    }


def until(is_so: Callable[[], bool], what: str) -> None:
    ends = time.monotonic() + BOUND_S
    while not is_so():
        assert time.monotonic() < ends, what
        time.sleep(0.02)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_quota_that_one_gateway_sets_is_known_to_all(
    start: Callable[..., GatewayProcess], workers: int
) -> None:
    gateways = [start(workers=workers), start(workers=workers)]
    clients = [RawClient.authenticated(one.broker_endpoint("globex")) for one in gateways for _ in range(2)]
    entities: list[Entity] = [{"user": "alice"}, {"user": None, "client-id": "app"}, {"client-id": None}]
    expected: dict[Any, dict[str, float]] = {}
    try:
        for number in range(12):  # Of several processes in turn, whose writers fence each other.
            client, entity = clients[number % len(clients)], entities[number % len(entities)]
            key = RATE if number < 6 else OTHER
            assert alter(client, entity, **{key: float(number + 1)}) == ErrorCode.NONE
            expected.setdefault(tuple(entity.items()), {})[key] = float(number + 1)
            assert described(client).get(tuple(entity.items()), {})[key] == number + 1

        for client in clients:
            until(lambda: described(client) == expected, "a process does not know all quotas")  # noqa: B023
        with RawClient.authenticated(gateways[0].broker_endpoint("initech")) as other:
            assert described(other) == {}

        assert alter(clients[0], entities[0], **{RATE: None, OTHER: None}) == ErrorCode.NONE
        del expected[tuple(entities[0].items())]
        for client in clients:
            until(lambda: described(client) == expected, "a process does not know what was removed")  # noqa: B023
    finally:
        for client in clients:
            client.close()
    changes = "kafka_proxy_state_changes_total"
    await_value(lambda: sum(value(one, changes, outcome="done", tenant="globex") for one in gateways), 13)
    for gateway in gateways:
        await_value(lambda: value(gateway, "kafka_proxy_state_changes_waiting"), 0)  # noqa: B023


def test_a_gateway_that_starts_knows_the_quotas(start: Callable[..., GatewayProcess]) -> None:
    with RawClient.authenticated(start().broker_endpoint("globex")) as client:
        assert alter(client, {"user": "alice"}, **{RATE: 5.0}) == ErrorCode.NONE

    with RawClient.authenticated(start().broker_endpoint("globex")) as client:
        assert described(client) == {(("user", "alice"),): {RATE: 5.0}}


def test_a_tenant_without_the_permission_and_a_gateway_without_a_state_refuse(
    start_gateway: StartGateway,
) -> None:
    gateway = start_gateway(tenants=[SETTER, INITECH])
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        assert alter(client, {"user": "alice"}, **{RATE: 5.0}) == ErrorCode.UNSUPPORTED_VERSION
        assert described(client) == {}
    with RawClient.authenticated(gateway.broker_endpoint("initech")) as client:
        assert alter(client, {"user": "alice"}, **{RATE: 5.0}) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert described(client) == {}


class Console:
    """kafka-configs.sh at one address."""

    def __init__(self, run: ToolServer, endpoint: Endpoint, path: Path) -> None:
        self._run = run
        config = write_client_properties(path, endpoint.for_java)
        self._options = ("--bootstrap-server", endpoint.bootstrap, "--command-config", str(config))

    def __call__(self, *arguments: str) -> list[str]:
        """Return what it prints, sorted; of a description the quotas.

        It asks for the SCRAM credentials of users as well, which a tenant may not see.
        """
        done = self._run(tools.CONFIGS, *self._options, *arguments, check=False)
        lines = (done.stdout + done.stderr).splitlines()
        begins = (
            ("Quota ",)
            if "--describe" in arguments
            else ("Quota ", "Completed ", "Caused by", "java", "org.apache.")
        )
        return sorted(line for line in lines if line.startswith(begins))


def test_kafka_configs_prints_for_a_tenant_what_it_prints_at_a_broker(
    start: Callable[..., GatewayProcess], broker: Endpoint, tmp_path: Path
) -> None:
    gateway = start()
    user, both = ("--entity-type", "users", "--entity-name"), ("--entity-type", "clients", "--entity-name")
    alice, app = (*user, "console-alice"), (*both, "console-app")
    dialogue = [
        (*alice, "--alter", "--add-config", f"{RATE}=1024,{OTHER}=2048"),
        (*alice, *app, "--alter", "--add-config", "request_percentage=50"),
        (*app, "--alter", "--add-config", "controller_mutation_rate=2.5"),
        (*alice, "--describe"),
        (*alice, *app, "--describe"),
        (*app, "--describe"),
        (*alice, "--alter", "--delete-config", RATE),
        (*alice, "--describe"),
        (*alice, "--alter", "--add-config", f"{OTHER}=0"),
        (*alice, "--alter", "--delete-config", OTHER),
        (*alice, *app, "--alter", "--delete-config", "request_percentage"),
        (*app, "--alter", "--delete-config", "controller_mutation_rate"),
        (*alice, "--describe"),
    ]

    with ToolServer(DEFAULT_VERSION, tmp_path / "tools.log") as run:
        consoles = [
            Console(run, endpoint, tmp_path / f"{number}.properties")
            for number, endpoint in enumerate((broker, gateway.endpoint("globex")))
        ]
        printed = [[console(*arguments) for console in consoles] for arguments in dialogue]

    for arguments, (direct, through) in zip(dialogue, printed, strict=True):
        assert through == direct, arguments
    assert any("must be greater than 0" in line for line in printed[8][1])
    assert any("producer_byte_rate=1024.0" in line for line in printed[3][1])
