"""Patterns that the broker evaluates (KIP-848), by Java's consumer, while topics are moved and shared."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.messages import ConsumerGroupDescribeRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import produce, recreate_topic
from support.clients.routed_client import RoutedClient
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GatewayProcess, TenantSpec
from support.java.java_clients import JavaClients
from support.moved_topics import MovedTopics, bound_users
from support.physical_names import physical_name

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1),
    pytest.mark.parametrize("java", ["4.3.1"], indirect=True, scope="module"),
]

OWNER, GUEST, BOUND = "matcher", "giver", "matcher.billing"
WITHIN_S = 60.0
"""A heartbeat is every 5 s, and a broker evaluates a changed pattern at most every 10 s."""


@pytest.fixture(scope="module")
def state_topic() -> str:
    return f"__state-{time.time_ns()}"


@pytest.fixture(scope="module")
def world(
    kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory, state_topic: str
) -> Iterator[MovedTopics]:
    directory = tmp_path_factory.mktemp("gateway")
    with GatewayProcess(
        directory,
        kafka.bootstrap,
        tenants=(TenantSpec(OWNER), TenantSpec(GUEST)),
        adjust=bound_users(directory, billing="billing:eu"),
        proxy={"state": {"topic": state_topic}},
    ) as gateway:
        yield MovedTopics(kafka.bootstrap, state_topic, gateway)


@pytest.fixture
def fresh(broker: Endpoint) -> Callable[..., None]:
    """Make topics of a tenant anew, each with one record that names it."""

    def make(tenant: str, *topics: str) -> None:
        with RoutedClient(broker) as client:
            for topic in topics:
                recreate_topic(client, physical_name(tenant, topic))
                produce(client, physical_name(tenant, topic), [f"{tenant} {topic}".encode()])

    return make


def assigned(java: JavaClients, consumer: str) -> list[str]:
    java("poll", consumer)
    return sorted(topic for topic, _ in java("assignment", consumer))


def await_assigned(java: JavaClients, consumer: str, *topics: str) -> None:
    """Wait until the consumer has exactly these topics."""
    ends = time.monotonic() + WITHIN_S
    while (found := assigned(java, consumer)) != sorted(topics):
        assert time.monotonic() < ends, found


def subscribed(java: JavaClients, world: MovedTopics, user: str, group: str, pattern: str) -> str:
    consumer = java.consumer(world.endpoint(user), group, group_protocol="consumer")
    java("subscribe_to_brokers_pattern", consumer, pattern)
    return consumer


def names_of(world: MovedTopics, user: str, group: str) -> list[tuple[str | None, list[str]]]:
    """Return the patterns and names that the members of a group are told to have."""
    port = world.gateway.broker_port(1)
    with RawClient.authenticated(Endpoint("127.0.0.1", port, user, f"{user}-pw")) as client:
        [described] = client.request(ConsumerGroupDescribeRequest(group_ids=[group]), 0).groups
    return [(one.subscribed_topic_regex, list(one.subscribed_topic_names)) for one in described.members]


def test_a_pattern_finds_what_is_moved_in_and_loses_it_again(
    world: MovedTopics, java: JavaClients, fresh: Callable[..., None], unique: UniqueName
) -> None:
    fresh(OWNER, "orders-1")
    fresh(GUEST, "given")
    group = unique("readers")
    early = subscribed(java, world, OWNER, group, "orders-.*")  # It joins before anything was moved.
    await_assigned(java, early, "orders-1")

    world.move(f"{GUEST}/given", f"{OWNER}/orders-given")
    await_assigned(java, early, "orders-1", "orders-given")
    java("close", early)

    late = subscribed(java, world, OWNER, group, "orders-.*")
    await_assigned(java, late, "orders-1", "orders-given")
    assert names_of(world, OWNER, group) == [("orders-.*", [])]
    world.move(f"{OWNER}/orders-given", f"{GUEST}/given")
    await_assigned(java, late, "orders-1")
    java("close", late)


def test_a_pattern_finds_what_is_shared_until_the_share_ends(
    world: MovedTopics, java: JavaClients, fresh: Callable[..., None], unique: UniqueName
) -> None:
    fresh(OWNER, "shown-1")
    fresh(GUEST, "lent")
    whole = subscribed(java, world, OWNER, unique("readers"), "^shown-.*")
    await_assigned(java, whole, "shown-1")

    world.share(f"{GUEST}/lent", f"{OWNER}/shown-lent")
    await_assigned(java, whole, "shown-1", "shown-lent")
    world.unshare(f"{GUEST}/lent", f"{OWNER}/shown-lent")
    await_assigned(java, whole, "shown-1")
    java("close", whole)


def test_a_pattern_of_a_namespace_finds_what_is_moved_to_it(
    world: MovedTopics, java: JavaClients, fresh: Callable[..., None], unique: UniqueName
) -> None:
    fresh(OWNER, "--billing.--eu.bill-1", "bill-moved")
    bound = subscribed(java, world, BOUND, unique("readers"), "bill-.*")
    above = subscribed(java, world, OWNER, unique("readers"), "billing:eu:bill-m.*")
    await_assigned(java, bound, "bill-1")

    world.move(f"{OWNER}/bill-moved", f"{OWNER}:billing:eu/bill-moved")
    await_assigned(java, bound, "bill-1", "bill-moved")
    await_assigned(java, above, "billing:eu:bill-moved")
    java("close", bound, above)
