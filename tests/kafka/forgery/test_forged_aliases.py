"""A topic that the victim shares with a third tenant, and has shared with the attackers: there is no such thing.

Its name at the victim's, its ID and the name that it had at the attacker's are answered as what does not exist. So is
the topic of the state, in which all of that stands.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import test_forged_requests as forged

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.tenancy.namespaces.alias_table import Access
from bifrost.wire.api_keys import ApiKey
from support.brokers.kafka_versions import brokers_under_test
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import metadata_of, topic_id_of, warm_up
from support.clients.routed_client import RoutedClient
from support.forgery.attackers import Attack
from support.forgery.forged_requests import Loot, Own
from support.forgery.victim import BusyVictim
from support.gateways.gateway_process import ACME, GLOBEX, INITECH, SOYLENT, GatewayProcess
from support.moved_topics import MovedTopics

pytestmark = pytest.mark.timeout(300)

NAME_TOPICS = [
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.METADATA,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    ApiKey.DELETE_RECORDS,
    ApiKey.DELETE_TOPICS,
]


@pytest.fixture(scope="module")
def world(
    kafka: EmbeddedKafka, broker: Endpoint, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MovedTopics]:
    with RoutedClient(broker) as client:
        warm_up(client)
    topic = f"__state-{time.time_ns()}"
    with GatewayProcess(
        tmp_path_factory.mktemp("gateway"),
        kafka.bootstrap,
        tenants=(ACME, GLOBEX, INITECH, SOYLENT),
        brokers=brokers_under_test(),
        proxy={"state": {"topic": topic}},
    ) as process:
        yield MovedTopics(kafka.bootstrap, topic, process)


@pytest.fixture(scope="module")
def gateway(world: MovedTopics) -> GatewayProcess:
    """In place of the one gateway of all tests, which has no state."""
    return world.gateway


@pytest.fixture(scope="module")
def loot(victim: BusyVictim, kafka: EmbeddedKafka, broker: Endpoint, world: MovedTopics) -> Loot:
    """What the attackers know, with the state's topic and its ID."""
    with RawClient(broker) as client:
        internal, state = (topic_id_of(client, topic) for topic in ("__consumer_offsets", world.state_topic))
    return Loot(
        victim.victim,
        cluster_id=kafka.cluster_id,
        internal_topic_id=internal,
        hidden_topics={world.state_topic: state},
    )


@pytest.fixture(scope="module")
def shared(world: MovedTopics, victim: BusyVictim) -> MovedTopics:
    """Share the victim's topic with a third tenant, and with both attackers, from whom it is taken again."""
    topic = f"globex/{victim.victim.topic}"
    world.share(topic, "soylent/given", Access.READ_WRITE)
    for attacker in ("initech", "acme"):
        world.share(topic, f"{attacker}/given")
        world.await_topics(attacker, has="given")
        world.unshare(topic, f"{attacker}/given")
        world.await_topics(attacker, lacks="given")
    world.await_topics("soylent", has="given")
    return world


@pytest.mark.parametrize("tenant", ["initech", "acme"])
@pytest.mark.parametrize("api_key", NAME_TOPICS, ids=lambda key: key.name)
def test_a_shared_topic_is_answered_as_one_that_does_not_exist(
    api_key: ApiKey,
    tenant: str,
    shared: MovedTopics,
    attack: Attack,
    loot: Loot,
    own: dict[str, Own],
    victim: BusyVictim,
) -> None:
    forged.test_foreign_things_are_answered_as_things_that_do_not_exist(
        api_key, tenant, attack, loot, own, victim
    )

    with RoutedClient(shared.gateway.broker_endpoint(tenant)) as client:
        given, missing = metadata_of(client, "given", "missing")
    assert given.error_code == missing.error_code
    assert given.topic_id == missing.topic_id == bytes(16)
