"""Kafka Streams with virtual partitions on three brokers, of which one is killed while the application works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.messages import MetadataRequest
from support.brokers.broker_loss import BrokerLoss
from support.clients.endpoint import Endpoint
from support.clients.routed_client import RoutedClient
from support.gateways.gateway_process import HOST, GatewayProcess
from support.java.java_clients import JavaClients
from support.java.shop_orders import (
    ORDERS,
    SteadyOrders,
    await_growth,
    await_shared,
    await_totals,
    open_for_sale,
    orders,
)
from support.java.streams_shop import Shop
from support.journal.records import write_records
from support.physical_names import physical_name

pytestmark = [pytest.mark.needs_api(ApiKey.STREAMS_GROUP_HEARTBEAT, 0), pytest.mark.timeout(300)]

VIRTUAL, PHYSICAL, REPLICAS = 12, 4, 3
SUBTOPOLOGIES = 4
EVERYTHING = {(str(one), task) for one in range(SUBTOPOLOGIES) for task in range(VIRTUAL)}
APPLICATION = "shop-app"

NewJvm = Callable[[], JavaClients]


def test_totals_of_two_instances_on_three_brokers(
    three: EmbeddedKafka, before_three: GatewayProcess, new_jvm: NewJvm, tmp_path: Path
) -> None:
    endpoint = before_three.endpoint("globex")
    shop = open_on(three, endpoint, new_jvm(), tmp_path)
    write_records(endpoint, ORDERS, orders(range(200)))
    for _ in range(2):
        shop.start(ORDERS)
    await_shared(shop, EVERYTHING)
    write_records(endpoint, ORDERS, orders(range(200, 400)))

    await_totals(shop, range(400))

    leaders = leaders_of(three, "globex")
    assert sum(topic.endswith("-changelog") for topic in leaders) == 5
    assert sum(topic.endswith("-repartition") for topic in leaders) == 2
    assert {len(one) for one in leaders.values()} == {PHYSICAL}
    assert {node for one in leaders.values() for node in one} == set(three.node_ids)


def test_totals_when_a_broker_is_killed_and_comes_back(
    three: EmbeddedKafka, before_three: GatewayProcess, new_jvm: NewJvm, tmp_path: Path
) -> None:
    endpoint = before_three.endpoint("initech")
    shop = open_on(three, endpoint, new_jvm(), tmp_path)
    for _ in range(2):
        shop.start(ORDERS)
    await_shared(shop, EVERYTHING)
    with RoutedClient(Endpoint(HOST, three.broker_port(1))) as direct:
        coordinator = direct.coordinator_of(physical_name("initech", APPLICATION))
    assert any(coordinator in one for one in leaders_of(three, "initech").values())
    loss, since = BrokerLoss(three, elects_first=False), before_three.mark()
    with SteadyOrders(endpoint, ORDERS, 0) as written:
        await_growth(shop)
        with loss.without(coordinator):
            # Until it knows that, the gateway may send a client that bootstraps to the broker that is away.
            away = {"event": "brokers_away", "node_ids": [coordinator]}
            before_three.await_event(since, timeout_s=30.0, **away)
            await_growth(shop)
        await_growth(shop)

    await_totals(shop, range(written.count))
    await_shared(shop, EVERYTHING)


def open_on(three: EmbeddedKafka, endpoint: Endpoint, jvm: JavaClients, directory: Path) -> Shop:
    """Create the topics of the application, and describe it; its instances share a JVM."""
    with RoutedClient(Endpoint(HOST, three.broker_port(1))) as direct:
        open_for_sale(endpoint, direct, VIRTUAL, PHYSICAL, REPLICAS)
    return Shop(jvm, endpoint, APPLICATION, "streams", directory, by_order=VIRTUAL)


def leaders_of(three: EmbeddedKafka, tenant: str) -> dict[str, list[int]]:
    """Return the leaders of the partitions of all topics of a tenant, as the brokers say it."""
    with RoutedClient(Endpoint(HOST, three.broker_port(1))) as direct:
        topics = direct.request(MetadataRequest(topics=None), 5).topics
    prefix = physical_name(tenant, "")
    return {
        one.name: [part.leader_id for part in one.partitions] for one in topics if one.name.startswith(prefix)
    }
