"""The attacker has virtual partitions, so what it names goes another way: divided, asked beforehand, looked up in logs.

All of its topics have them, also those that it only says that it has. It names the victim's things as the others do,
and there is no such thing; meanwhile the victim goes on. Numbers of partitions that there are not are answered so, and
two tenants whose topics have one name share no physical one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from test_forged_requests import FORGED, check_alike

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import REFUSED, served_versions
from bifrost.wire.messages import ListOffsetsRequest
from support.brokers.kafka_versions import brokers_under_test
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import (
    FETCH_BY_NAME,
    create_topic,
    fetch_request,
    metadata_of,
    produce,
    topic_id_of,
    warm_up,
)
from support.clients.routed_client import RoutedClient
from support.forgery.attackers import make_own
from support.forgery.forged_requests import Loot, Own
from support.forgery.probe import Prober
from support.forgery.victim import BusyVictim, Victim
from support.gateways.gateway_fixtures import address_of
from support.gateways.gateway_process import GLOBEX, IS_SINGLE_ADDRESS, SOYLENT, GatewayProcess
from support.physical_names import physical_name, prefix_of

pytestmark = pytest.mark.timeout(300)

DIVIDED, NEIGHBOUR = replace(SOYLENT, name="divided"), replace(SOYLENT, name="divided-too")
VICTIM = replace(GLOBEX, name="undivided")
VIRTUAL, PHYSICAL = 12, 4
RULES = [{"topics": ["*"], "virtual": VIRTUAL, "physical": PHYSICAL}]
TELLS_OWN_IDS = {ApiKey.DELETE_TOPICS}
"""Tells the IDs of the attacker's own topics, which other requests have created: two are never equal."""


def adjust(configuration: dict[str, Any]) -> None:
    for tenant in configuration["tenants"]:
        if tenant["name"] != VICTIM.name:
            tenant["virtual_partitions"] = RULES


@pytest.fixture(scope="module")
def gateway(
    kafka: EmbeddedKafka, broker: Endpoint, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    """In place of the one gateway of all tests."""
    with RoutedClient(broker) as client:
        warm_up(client)
    directory, brokers = tmp_path_factory.mktemp("divided"), brokers_under_test()
    tenants = (DIVIDED, NEIGHBOUR, VICTIM)
    with GatewayProcess(
        directory, kafka.bootstrap, tenants=tenants, brokers=brokers, adjust=adjust
    ) as process:
        yield process


@pytest.fixture(scope="module")
def ways_in(gateway: GatewayProcess) -> list[Endpoint]:
    return [gateway.endpoint(DIVIDED.name)]


@pytest.fixture(scope="module")
def victim(gateway: GatewayProcess) -> Iterator[BusyVictim]:
    one = Victim(gateway.broker_endpoint(VICTIM.name), prefix_of(VICTIM.name))
    with BusyVictim(one) as busy:
        yield busy
    busy.check()
    one.finish()
    one.close()


@pytest.fixture(scope="module")
def loot(victim: BusyVictim, kafka: EmbeddedKafka, broker: Endpoint) -> Loot:
    with RawClient(broker) as client:
        internal = topic_id_of(client, "__consumer_offsets")
    return Loot(victim.victim, cluster_id=kafka.cluster_id, internal_topic_id=internal)


@pytest.fixture(scope="module")
def own(gateway: GatewayProcess) -> Own:
    """What the attacker has itself."""
    with RoutedClient(gateway.broker_endpoint(DIVIDED.name)) as client:
        for topic in ("orders", "billing"):
            create_topic(client, topic, VIRTUAL)
        return make_own(client, DIVIDED.name)


@pytest.fixture
def prober(gateway: GatewayProcess, kafka: EmbeddedKafka, broker: Endpoint) -> Iterator[Prober]:
    secret = (kafka.cluster_id.encode(), address_of(broker))
    one = Prober(gateway.broker_endpoint(DIVIDED.name), never_receives=secret)
    yield one
    one.close()


@pytest.mark.parametrize(
    "api_key", [one for one in FORGED if one not in REFUSED | TELLS_OWN_IDS], ids=lambda key: key.name
)
def test_foreign_things_are_answered_as_things_that_do_not_exist(
    api_key: ApiKey, prober: Prober, loot: Loot, own: Own, victim: BusyVictim
) -> None:
    check_alike(api_key, served_versions(api_key) or (), prober, own, loot)

    victim.check()


def test_topics_of_one_name_share_no_physical_one(
    gateway: GatewayProcess, broker: Endpoint, own: Own
) -> None:
    """Of two tenants with virtual partitions each has its own, and reads its own alone."""
    with (
        RoutedClient(gateway.broker_endpoint(NEIGHBOUR.name)) as neighbour,
        RoutedClient(gateway.broker_endpoint(DIVIDED.name)) as attacker,
        RoutedClient(broker) as direct,
    ):
        create_topic(neighbour, own.topic, VIRTUAL)
        names = [physical_name(one.name, own.topic) for one in (DIVIDED, NEIGHBOUR)]
        stored = [metadata_of(direct, name)[0] for name in names]
        for partition in range(VIRTUAL):
            produce(neighbour, own.topic, [b"the neighbour's"], partition)
            produce(attacker, own.topic, [b"the attacker's"], partition)

        assert len({one.topic_id for one in stored}) == 2
        assert [len(one.partitions) for one in stored] == [PHYSICAL, PHYSICAL]
        for client, foreign in ((attacker, b"the neighbour's"), (neighbour, b"the attacker's")):
            for partition in range(VIRTUAL):
                answer = client.request(fetch_request(own.topic, partition=partition), FETCH_BY_NAME)
                (one,) = answer.responses[0].partitions
                assert one.error_code == ErrorCode.NONE
                assert one.records
                assert foreign not in bytes(one.records)


def test_thousands_of_partitions_that_there_are_not_cost_others_nothing(
    gateway: GatewayProcess, own: Own, victim: BusyVictim
) -> None:
    """None of them reaches a broker, and the victim goes on meanwhile."""
    new = ListOffsetsRequest
    # A request that is taken apart may have 10,000 items.
    numbers = [*range(VIRTUAL, (9_000 if IS_SINGLE_ADDRESS else 20_000) + VIRTUAL), -1, 2**31 - 1]
    listed = new(
        replica_id=-1,
        topics=[
            new.ListOffsetsTopic(
                name=own.topic,
                partitions=[
                    new.ListOffsetsPartition(partition_index=one, timestamp=-1, current_leader_epoch=-1)
                    for one in numbers
                ],
            )
        ],
    )
    fetched = fetch_request(own.topic)
    part = type(fetched.topics[0].partitions[0])
    fetched.topics[0].partitions = [
        part(partition=one, fetch_offset=0, partition_max_bytes=1 << 20) for one in numbers
    ]
    with RoutedClient(gateway.broker_endpoint(DIVIDED.name)) as client:
        for _ in range(3):
            offsets = client.request(listed, 7).topics[0].partitions
            records = client.request(fetched, FETCH_BY_NAME).responses[0].partitions
            for answer in (offsets, records):
                assert [one.partition_index for one in answer] == numbers
                assert {one.error_code for one in answer} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}

    victim.check()
