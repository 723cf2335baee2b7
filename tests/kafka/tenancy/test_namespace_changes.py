"""Namespaces that are created and deleted in the state, while gateways run."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.state.state_change import Author, Change
from bifrost.tenancy.namespaces.namespace_path import Path, read_path
from bifrost.tenancy.namespaces.namespace_tree import KIND, NamespaceTree
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import SaslAuthenticateRequest, SaslHandshakeRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import fetch_request, metadata_of, produce, topic_id_of
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec
from support.identity.issuer import ISSUER, Issuer, client_first
from support.identity.key_server import KeyServer
from support.physical_names import physical_name
from support.state_clients import reading

pytestmark = pytest.mark.timeout(240)

ISSUED = Issuer()
WITHIN_S = 60
"""A change is in force within a second; a slow machine may take longer."""


@dataclass
class World:
    """Two gateways that share a state."""

    bootstrap: str
    topic: str
    gateways: tuple[GatewayProcess, GatewayProcess]

    def change(self, plan: Callable[[NamespaceTree], list[Change]]) -> None:
        """Change the tree in the state, as a control process would."""

        async def write() -> None:
            async with reading(self.bootstrap, self.topic) as one:
                tree = NamespaceTree(["acme"], (), one.table.of_kind(KIND))
                await one.writer.change(plan(tree), Author("test/1"))

        asyncio.run(write())

    def endpoint(self, number: int = 0) -> Endpoint:
        return self.gateways[number].endpoint("acme")


@pytest.fixture(scope="module")
def world(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    topic = f"__state-{time.time_ns()}"
    with KeyServer(ISSUED) as keys:
        oauth = {"issuer": ISSUER, "jwks_url": keys.url, "audience": ["kafka"], "namespace_claim": "space"}
        proxy = {"state": {"topic": topic}, "oauth": oauth}
        options = {"proxy": proxy, "tenants": (TenantSpec("acme", allow_topic_deletion=True),)}
        with (
            GatewayProcess(tmp_path_factory.mktemp("one"), kafka.bootstrap, **options) as one,
            GatewayProcess(tmp_path_factory.mktemp("other"), kafka.bootstrap, **options) as other,
        ):
            for gateway in (one, other):
                gateway.await_event(0, event="jwks_fetched")
            yield World(kafka.bootstrap, topic, (one, other))


def creation(endpoint: Endpoint, topic: str) -> str:
    """Create a topic, and return the text of the error, empty if there is none."""
    admin = AdminClient(endpoint.for_confluent)
    error = admin.create_topics([NewTopic(topic, 1, 1)])[topic].exception(20)
    return "" if error is None else str(error)


def creation_in_time(endpoint: Endpoint, topic: str) -> None:
    """Create a topic as soon as its namespace is known."""
    ends = time.monotonic() + WITHIN_S
    while text := creation(endpoint, topic):
        assert time.monotonic() < ends, text
        time.sleep(0.1)


def let_in(gateway: GatewayProcess, namespace: str) -> tuple[RawClient, int, str | None]:
    """Show a token for a namespace; return the connection, and the answer's error code and text."""
    client = RawClient(Endpoint(HOST, gateway.bootstrap_port))
    client.request(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1)
    token = ISSUED.token(int(time.time()), space=namespace)
    answer = client.request(SaslAuthenticateRequest(auth_bytes=client_first(token)), 2)
    return client, answer.error_code, answer.error_message


def let_in_time(gateway: GatewayProcess, namespace: str) -> RawClient:
    ends = time.monotonic() + WITHIN_S
    while True:
        client, error_code, text = let_in(gateway, namespace)
        if error_code == ErrorCode.NONE:
            return client
        client.close()
        assert time.monotonic() < ends, text
        time.sleep(0.1)


def test_nothing_uses_a_namespace_that_does_not_exist(world: World) -> None:
    world.change(lambda tree: tree.create(read_path("acme:there")))
    creation_in_time(world.endpoint(), "there:x")

    assert "InvalidNamespace: namespace missing does not exist" in creation(world.endpoint(), "missing:x")
    client, error_code, text = let_in(world.gateways[0], "acme:missing")
    client.close()
    assert error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert text == "InvalidNamespace: namespace acme:missing does not exist"
    with RawClient.authenticated(world.endpoint()) as whole:
        (found,) = metadata_of(whole, "missing:x")
    assert found.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_namespace_that_is_created_can_be_used_on_open_connections_of_every_gateway(world: World) -> None:
    with (
        RawClient.authenticated(world.endpoint(0)) as first,
        RawClient.authenticated(world.endpoint(1)) as second,
    ):
        for client in (first, second):
            assert (
                metadata_of(client, "org:apache:kafka:x")[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
            )
        world.change(lambda tree: tree.create(read_path("acme:org:apache:kafka")))
        creation_in_time(world.endpoint(), "org:apache:kafka:x")
        for client in (first, second):
            ends = time.monotonic() + WITHIN_S
            while metadata_of(client, "org:apache:kafka:x")[0].error_code != ErrorCode.NONE:
                assert time.monotonic() < ends
                time.sleep(0.1)

    producer = Producer(world.endpoint(0).for_confluent | {"enable.idempotence": True})
    producer.produce("org:apache:kafka:x", "value")
    assert producer.flush(20) == 0
    group = {"group.id": "org:apache:readers", "auto.offset.reset": "earliest"}
    consumer = Consumer(world.endpoint(1).for_confluent | group)
    consumer.subscribe(["^org:apache:.*"])
    message = consumer.poll(WITHIN_S)
    assert message is not None
    assert (message.topic(), message.value()) == ("org:apache:kafka:x", b"value")
    consumer.close()
    with let_in_time(world.gateways[1], "acme:org:apache") as bound:
        assert metadata_of(bound, "kafka:x")[0].error_code == ErrorCode.NONE


def test_clients_of_a_namespace_that_is_deleted_leave(world: World) -> None:
    doomed = Path(("acme", "doomed"))
    world.change(lambda tree: tree.create(Path((*doomed, "deep"))))
    creation_in_time(world.endpoint(), "doomed:deep:x")
    marks = [gateway.mark() for gateway in world.gateways]
    with RawClient.authenticated(world.endpoint()) as whole:
        bound = [let_in_time(gateway, "acme:doomed") for gateway in world.gateways]
        world.change(lambda tree: tree.delete(doomed, recursive=True))
        for gateway, mark in zip(world.gateways, marks, strict=True):
            ended = gateway.await_event(mark, event="connection_ended", reason="namespace_deleted")
            assert ended["tenant"] == "acme"
        assert metadata_of(whole, "doomed:deep:x")[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        for client in bound:
            client.close()
    topics = AdminClient(world.endpoint().for_confluent).list_topics(timeout=20).topics
    assert not any("doomed" in topic for topic in topics)
    refused, error_code, _ = let_in(world.gateways[0], "acme:doomed")
    refused.close()
    assert error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


@pytest.mark.parametrize("is_by_id", [False, True])
def test_nothing_is_read_of_a_namespace_after_its_deletion(
    world: World, direct: RawClient, is_by_id: bool
) -> None:
    tier = f"fading-{is_by_id}".lower()
    world.change(lambda tree: tree.create(Path(("acme", tier))))
    creation_in_time(world.endpoint(), f"{tier}:x")
    physical = physical_name("acme", f"--{tier.replace('-', '--')}.x")
    produce(direct, physical, [b"before"])
    with RawClient.authenticated(world.endpoint()) as whole:
        version = min(whole.newest(ApiKey.FETCH), 16) if is_by_id else 12
        is_by_id = version > 12  # brokers before 3.1 name topics only
        topic_id = topic_id_of(whole, f"{tier}:x") if is_by_id else bytes(16)
        ends = time.monotonic() + WITHIN_S
        while True:  # the broker may need a moment to know its new topic
            begin = fetch_request("" if is_by_id else f"{tier}:x", topic_id=topic_id, session_epoch=0)
            begun = whole.request(begin, version)
            read = [one.records for topic in begun.responses for one in topic.partitions if one.records]
            if read:
                break
            assert time.monotonic() < ends
        assert b"before" in bytes(read[0])

        world.change(lambda tree: tree.delete(Path(("acme", tier))))
        # An answer to a request from before the change leaves the topic out.
        while not (found := metadata_of(whole, f"{tier}:x")) or found[0].error_code == ErrorCode.NONE:
            assert time.monotonic() < ends
            time.sleep(0.1)
        produce(direct, physical, [b"after"])
        go_on = fetch_request("", session_id=begun.session_id, session_epoch=1)
        go_on.topics = []
        with contextlib.suppress(ConnectionError, EOFError):  # The gateway may also end the connection.
            answer = whole.request(go_on, version)
            assert not any(one.records for topic in answer.responses for one in topic.partitions)
