"""Instances of a Kafka Streams application with virtual partitions are killed while they work: no total is wrong.

Each instance has a JVM of its own, which is killed in the middle of its transactions; another one goes on, with or
without standby tasks that it has kept until then.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import IncrementalAlterConfigsRequest, ListTransactionsRequest
from support.clients.raw_client import RawClient
from support.gateways.gateway_process import GatewayProcess
from support.java.java_clients import JavaClients
from support.java.shop_orders import (
    ORDERS,
    SteadyOrders,
    await_growth,
    await_shared,
    await_that,
    await_totals,
    described,
    open_for_sale,
    standbys_of,
    tasks_of,
)
from support.java.streams_shop import Shop
from support.physical_names import physical_name

pytestmark = [pytest.mark.needs_api(ApiKey.STREAMS_GROUP_HEARTBEAT, 0), pytest.mark.timeout(300)]

VIRTUAL, PHYSICAL = 12, 4
SUBTOPOLOGIES = 4
EVERYTHING = {(str(one), task) for one in range(SUBTOPOLOGIES) for task in range(VIRTUAL)}
STATEFUL = 3
"""Of them; the other one makes a repartition topic only."""
TRANSACTIONS = {"transaction.timeout.ms": "6000", "commit.interval.ms": "500"}
"""A killed instance's transactions are aborted after this time; each one is open for most of its time."""
GROUP = 32
"""Kafka's number for the configs of groups."""
SET = 0

NewJvm = Callable[[], JavaClients]


def test_others_go_on_when_an_instance_is_killed(
    dividing: GatewayProcess, direct: RawClient, new_jvm: NewJvm, tmp_path: Path
) -> None:
    endpoint = dividing.endpoint("globex")
    open_for_sale(endpoint, direct, VIRTUAL, PHYSICAL)
    shop = Shop(new_jvm(), endpoint, "shop-app", "streams", tmp_path, by_order=VIRTUAL, more=TRANSACTIONS)
    shop.start(ORDERS)
    with SteadyOrders(endpoint, ORDERS, 0) as written:
        for _ in range(2):
            shop.start(ORDERS, jvm=new_jvm())
            await_shared(shop, EVERYTHING)
            await_growth(shop)
            await_that(lambda: states_of(direct, "globex").count("Ongoing") == 2, lambda: "no transactions")
            shop.kill()
            await_growth(shop)
            await_that(lambda: tasks_of(shop) == [EVERYTHING], lambda: f"{tasks_of(shop)} are not all")
            await_growth(shop)

    await_totals(shop, range(written.count))
    assert "CompleteAbort" in states_of(direct, "globex")


def test_standbys_take_over_from_a_killed_instance(
    dividing: GatewayProcess, direct: RawClient, new_jvm: NewJvm, tmp_path: Path
) -> None:
    endpoint, group = dividing.endpoint("initech"), "shop-app"
    open_for_sale(endpoint, direct, VIRTUAL, PHYSICAL)
    shop = Shop(new_jvm(), endpoint, group, "streams", tmp_path, by_order=VIRTUAL, more=TRANSACTIONS)
    with RawClient.authenticated(dividing.broker_endpoint("initech")) as client:
        keep_standbys(client, group)
        shop.start(ORDERS)
        shop.start(ORDERS, jvm=new_jvm())
        await_shared(shop, EVERYTHING)
        await_that(
            lambda: has_standbys(shop), lambda: f"{standbys_of(shop)} are not those of {tasks_of(shop)}"
        )
        shown = described(client, group, "standby_tasks")
    assert sorted(map(sorted, shown)) == sorted(map(sorted, standbys_of(shop)))
    at_broker = described(direct, physical_name("initech", group), "standby_tasks")
    assert [len(one) * VIRTUAL // PHYSICAL for one in at_broker] == [len(one) for one in shown]
    assert {task for one in at_broker for _, task in one} == set(range(PHYSICAL))

    with SteadyOrders(endpoint, ORDERS, 0) as written:
        await_that(lambda: have_read_all(shop), lambda: f"standbys have read {shop.positions()}")
        shop.kill()
        await_that(lambda: tasks_of(shop) == [EVERYTHING], lambda: f"{tasks_of(shop)} are not all")
        await_growth(shop)
    await_totals(shop, range(written.count))


def has_standbys(shop: Shop) -> bool:
    """Whether each instance has standbys of just the tasks with stores that the other one has."""
    (first, second), standbys = tasks_of(shop), standbys_of(shop)
    stateful = {subtopology for one in standbys for subtopology, _ in one}
    others = [{task for task in one if task[0] in stateful} for one in (second, first)]
    return len(stateful) == STATEFUL and standbys == others


def have_read_all(shop: Shop) -> bool:
    """Whether each instance has records of all partitions in its store of orders: half of them are of its standbys."""
    return all(
        {partition for (store, partition), offset in one.items() if store == "orders" and offset}
        == set(range(VIRTUAL))
        for one in shop.positions()
    )


def states_of(direct: RawClient, tenant: str) -> list[str]:
    """Return the states of a tenant's transactions at the broker."""
    listed = direct.request(ListTransactionsRequest(), 0).transaction_states
    prefix = physical_name(tenant, "")
    return [one.transaction_state for one in listed if one.transactional_id.startswith(prefix)]


def keep_standbys(client: RawClient, group: str) -> None:
    """Ask for a standby of each task, as the tenant may."""
    new = IncrementalAlterConfigsRequest
    config = new.AlterableConfig(name="streams.num.standby.replicas", config_operation=SET, value="1")
    resource = new.AlterConfigsResource(resource_type=GROUP, resource_name=group, configs=[config])
    (answer,) = client.request(new(resources=[resource]), 1).responses
    assert answer.error_code == ErrorCode.NONE, answer
