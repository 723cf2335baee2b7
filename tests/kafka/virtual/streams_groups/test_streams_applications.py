"""Kafka Streams with the streams protocol on topics with virtual partitions, which all of its internal topics have too.

The application is that of `support/java/streams_driver.py`: a repartition topic with a number of partitions of its own,
a foreign-key join, five changelogs; the totals are right whatever instances join and leave.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.messages import ListOffsetsRequest, MetadataRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.gateway_process import GatewayProcess
from support.java.java_clients import JavaClients, JavaError
from support.java.shop_orders import (
    ORDERS,
    await_that,
    await_totals,
    described,
    open_for_sale,
    orders,
    tasks_of,
)
from support.java.streams_shop import Shop, shop_jvm
from support.journal.records import write_records
from support.physical_names import physical_name

pytestmark = [pytest.mark.needs_api(ApiKey.STREAMS_GROUP_HEARTBEAT, 0), pytest.mark.timeout(300)]

VIRTUAL, PHYSICAL = 12, 4
APPLICATION = "shop-app"
START, END = -2, -1


@pytest.fixture(scope="module")
def jvm() -> Iterator[JavaClients]:
    with shop_jvm() as one:
        yield one


@pytest.fixture
def open_shop(jvm: JavaClients, tmp_path: Path) -> Iterator[Callable[..., Shop]]:
    """Describe the application; its instances are closed at the end."""
    opened: list[Shop] = []

    def of(endpoint: Endpoint, **options: Any) -> Shop:
        shop = Shop(jvm, endpoint, APPLICATION, "streams", tmp_path / str(len(opened)), **options)
        opened.append(shop)
        return shop

    yield of
    for shop in opened:
        with contextlib.suppress(JavaError):
            while shop.instances:
                shop.close()


@pytest.mark.parametrize(
    ("tenant", "guarantee"), [("globex", "exactly_once_v2"), ("initech", "at_least_once")]
)
def test_totals_of_instances_that_join_and_leave(
    dividing: GatewayProcess, direct: RawClient, open_shop: Callable[..., Shop], tenant: str, guarantee: str
) -> None:
    endpoint = dividing.endpoint(tenant)
    open_for_sale(endpoint, direct, VIRTUAL, PHYSICAL)
    shop = open_shop(endpoint, by_order=VIRTUAL, guarantee=guarantee, purges_ms=1_000)
    write_records(endpoint, ORDERS, orders(range(200)))
    shop.start(ORDERS)
    await_totals(shop, range(200))
    subtopologies = {one for one, _ in tasks_of(shop)[0]}
    assert tasks_of(shop) == [{(one, task) for one in subtopologies for task in range(VIRTUAL)}]
    assert sizes_of_internal_topics(direct, tenant) == {PHYSICAL}

    shop.start(ORDERS)
    await_that(lambda: shop.is_running and all(tasks_of(shop)), lambda: f"{tasks_of(shop)} are not shared")
    write_records(endpoint, ORDERS, orders(range(200, 300)))
    await_totals(shop, range(300))
    first, second = tasks_of(shop)
    assert not first & second
    assert first | second == {(one, task) for one in subtopologies for task in range(VIRTUAL)}
    with RawClient.authenticated(dividing.broker_endpoint(tenant)) as client:
        shown = described(client, APPLICATION)
    assert sorted(map(sorted, shown)) == sorted(map(sorted, (first, second)))
    physical = described(direct, physical_name(tenant, APPLICATION))
    assert sorted(len(one) * VIRTUAL // PHYSICAL for one in physical) == sorted(map(len, shown))

    shop.close()
    write_records(endpoint, ORDERS, orders(range(300, 400)))
    await_totals(shop, range(400))
    assert tasks_of(shop) == [{(one, task) for one in subtopologies for task in range(VIRTUAL)}]
    # A member has all virtual partitions of each physical one, so what it has read can go.
    repartition = physical_name(tenant, f"{APPLICATION}-by-order-repartition")
    await_that(
        lambda: 0 not in logs(direct, repartition, START),
        lambda: f"{logs(direct, repartition, START)} of {logs(direct, repartition, END)} are deleted",
    )


def logs(direct: RawClient, topic: str, time_ms: int) -> set[int]:
    """Return where the logs of a topic begin, or end, at the brokers."""
    new = ListOffsetsRequest
    some = [new.ListOffsetsPartition(partition_index=one, timestamp=time_ms) for one in range(PHYSICAL)]
    request = new(replica_id=-1, topics=[new.ListOffsetsTopic(name=topic, partitions=some)])
    (answer,) = direct.request(request, 1).topics
    return {one.offset for one in answer.partitions}


def sizes_of_internal_topics(direct: RawClient, tenant: str) -> set[int]:
    """Return how many partitions the brokers have of the topics that the coordinator has made."""
    prefix = physical_name(tenant, APPLICATION)
    topics = direct.request(MetadataRequest(topics=None), 5).topics
    internal = {one.name: len(one.partitions) for one in topics if one.name.startswith(prefix)}
    assert sum(name.endswith("-repartition") for name in internal) == 2
    assert sum(name.endswith("-changelog") for name in internal) == 5
    return set(internal.values())
