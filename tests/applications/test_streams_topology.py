"""Kafka Streams with everything that a topology may have, in two instances, at three clusters at once.

Source topics by name and by pattern, a repartition topic with its own number of partitions, a foreign-key join, five
changelogs, standbys: the totals are right, and what Kafka's tools print of topics and groups is the same everywhere.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.messages import MetadataRequest, StreamsGroupHeartbeatRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.java.java_clients import JavaClients, JavaError
from support.java.streams_shop import CUSTOMERS, PARTITIONS, TOTALS, Shop, shop_jvm
from support.journal.records import write_records
from support.pages.console import (
    CONFIGS,
    CONSUMER_GROUPS,
    GROUPS,
    STREAMS_GROUPS,
    TOPICS,
    Console,
    play_everywhere,
)
from support.physical_names import prefix_of

ORDERS, LATER_ORDERS = "shop-orders-1", "shop-orders-2"
PATTERN = r"shop-orders-[0-9]+"
REGIONS = ("north", "south", "east")
SETTLED_S = 60.0
OFFSETS = ("CURRENT-OFFSET", "LOG-END-OFFSET", "OFFSET-LAG", "LAG")
"""Each commit of a transaction has an offset too, and how many there are is a matter of time."""
EPOCHS = ("GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH", "MEMBER-EPOCH")
CUSTOMERS_OF = {f"customer-{number}": REGIONS[number % len(REGIONS)] for number in range(12)}


@pytest.fixture(scope="module")
def jvm() -> Iterator[JavaClients]:
    with shop_jvm() as one:
        yield one


Open = Callable[[str], dict[str, Shop]]


@pytest.fixture
def open_shops(jvm: JavaClients, endpoints: dict[str, Endpoint], tmp_path: Path) -> Iterator[Open]:
    """Describe the application at every cluster, under the same name; instances are closed at the end."""
    opened: list[Shop] = []

    def of(protocol: str) -> dict[str, Shop]:
        shops = {
            owner: Shop(jvm, endpoint, f"shop-{protocol}", protocol, tmp_path / owner)
            for owner, endpoint in endpoints.items()
        }
        opened.extend(shops.values())
        return shops

    yield of
    for shop in opened:
        with contextlib.suppress(JavaError):
            while shop.instances:
                shop.close()


@pytest.mark.timeout(240)
@pytest.mark.parametrize("protocol", ["classic", "streams"])
def test_totals_of_two_instances(
    consoles: list[Console], kafka: EmbeddedKafka, open_shops: Open, protocol: str
) -> None:
    make_topics(consoles, f"shop-{protocol}")
    shops = open_shops(protocol)
    for shop in shops.values():
        write_records(
            shop.endpoint, CUSTOMERS, [(who.encode(), of.encode()) for who, of in CUSTOMERS_OF.items()]
        )
        write_records(shop.endpoint, ORDERS, orders(range(60)))
        shop.start(ORDERS)
    for shop in shops.values():
        await_totals(shop, range(60))
    play_everywhere(describe_classic if protocol == "classic" else describe_streams, consoles)
    compare_topics(kafka, consoles)

    for shop in shops.values():
        shop.start(ORDERS)
    for shop in shops.values():
        await_shared(shop)
        write_records(shop.endpoint, ORDERS, orders(range(60, 90)))
    for shop in shops.values():
        await_totals(shop, range(90))
        shop.close()
    for shop in shops.values():
        write_records(shop.endpoint, ORDERS, orders(range(90, 120)))
    for shop in shops.values():
        await_totals(shop, range(120))
        shop.close()


@pytest.mark.timeout(240)
def test_sources_by_pattern(consoles: list[Console], open_shops: Open) -> None:
    make_topics(consoles, "shop-classic")
    shops = open_shops("classic")
    for shop in shops.values():
        write_records(
            shop.endpoint, CUSTOMERS, [(who.encode(), of.encode()) for who, of in CUSTOMERS_OF.items()]
        )
        write_records(shop.endpoint, ORDERS, orders(range(60)))
        shop.start(ORDERS, pattern=PATTERN)
    for shop in shops.values():
        await_totals(shop, range(60))

    for console in consoles:
        console(TOPICS, "--create", "--topic", LATER_ORDERS, "--partitions", str(PARTITIONS))
    for shop in shops.values():
        write_records(shop.endpoint, LATER_ORDERS, orders(range(60, 90)))

    for shop in shops.values():
        await_totals(shop, range(90))
        sources = {partition for one in shop.tasks() for _, task in one.active for partition in task}
        assert {f"{topic}-{n}" for topic in (ORDERS, LATER_ORDERS) for n in range(PARTITIONS)} <= sources


def test_broker_refuses_patterns_of_streams_groups(endpoints: dict[str, Endpoint], open_shops: Open) -> None:
    """Kafka 4.3 has a place for them in the request and no more: the library refuses them, and so does the broker."""
    request = StreamsGroupHeartbeatRequest
    part = request.Subtopology(subtopology_id="0", source_topic_regex=[PATTERN])
    heartbeat = request(
        group_id="shop-pattern",
        member_id="c2hvcC1wYXR0ZXJu",
        process_id="c2hvcC1wcm9jZXNz",
        rebalance_timeout_ms=30_000,
        topology=request.Topology(epoch=0, subtopologies=[part]),
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
    )
    answers = []

    for owner, shop in open_shops("streams").items():
        with pytest.raises(JavaError, match="Pattern subscriptions are not supported"):
            shop.start(ORDERS, pattern=PATTERN)
        with RawClient.authenticated(endpoints[owner]) as client:
            answers.append(client.request(heartbeat, 0))

    assert "not supported yet" in answers[0].error_message
    assert answers[1:] == answers[:1] * 2


def make_topics(consoles: Sequence[Console], group: str) -> None:
    def make(console: Console) -> None:
        for topic in (ORDERS, CUSTOMERS, TOTALS):
            console(TOPICS, "--create", "--topic", topic, "--partitions", str(PARTITIONS))
        settings = ["--alter", "--entity-type", "groups", "--entity-name", group]
        console(CONFIGS, *settings, "--add-config", "streams.num.standby.replicas=1")

    play_everywhere(make, consoles)


def orders(numbers: range) -> list[tuple[bytes, bytes]]:
    return [(b"order-%d" % number, b"%s:%d" % (customer(number).encode(), number)) for number in numbers]


def customer(number: int) -> str:
    return list(CUSTOMERS_OF)[number * 7 % len(CUSTOMERS_OF)]


def await_totals(shop: Shop, numbers: range) -> None:
    expected = Counter[str]()
    for number in numbers:
        expected[CUSTOMERS_OF[customer(number)]] += number
    await_that(
        lambda: shop.is_running and shop.totals() == expected, lambda: f"{shop.totals()} is not {expected}"
    )


def await_shared(shop: Shop) -> None:
    await_that(lambda: shop.is_running and is_shared(shop), lambda: f"{shop.tasks()} are not shared")


def await_that(is_so: Callable[[], bool], otherwise: Callable[[], str]) -> None:
    deadline = time.monotonic() + SETTLED_S
    while not is_so():
        assert time.monotonic() < deadline, f"after {SETTLED_S} s {otherwise()}"
        time.sleep(0.1)


def is_shared(shop: Shop) -> bool:
    """Whether both instances work, and each keeps the state that the other works with."""
    first, second = shop.tasks()
    active = [{name for name, _ in one.active} for one in (first, second)]
    standby = [{name for name, _ in one.standby} for one in (first, second)]
    is_split = all(active) and not active[0] & active[1]
    return is_split and all(standby) and standby[0] <= active[1] and standby[1] <= active[0]


def describe_classic(console: Console) -> None:
    group = "shop-classic"
    console(CONSUMER_GROUPS, "--describe", "--group", group, "--state", prints="stream Stable 1")
    console(CONSUMER_GROUPS, "--describe", "--group", group, "--members", prints=group)
    console(CONSUMER_GROUPS, "--describe", "--group", group, made_up=OFFSETS, prints="by-order-repartition 2")
    console(GROUPS, "--list", prints=f"{group} Classic consumer")
    console(TOPICS, "--describe", prints="SUBSCRIPTION-REGISTRATION")


def describe_streams(console: Console) -> None:
    group = "shop-streams"
    describe = ["--describe", "--group", group]
    console(STREAMS_GROUPS, "--list", "--state", prints=f"{group} Stable")
    console(STREAMS_GROUPS, *describe, "--state", "--verbose", made_up=EPOCHS, prints="Stable")
    console(STREAMS_GROUPS, *describe, "--members", "--verbose", made_up=EPOCHS, prints="ACTIVE")
    console(STREAMS_GROUPS, *describe, "--verbose", made_up=OFFSETS, prints="by-order-repartition 2")
    console(GROUPS, "--list", "--streams", prints=f"{group} Streams streams")
    console(TOPICS, "--describe", prints="SUBSCRIPTION-REGISTRATION")


def compare_topics(kafka: EmbeddedKafka, consoles: Sequence[Console]) -> None:
    """Check that every internal topic of the application is there once in each world, under the world's names."""
    with RawClient(Endpoint("127.0.0.1", kafka.broker_port(1))) as client:
        topics = client.request(MetadataRequest(topics=None), 5).topics
    sizes = {topic.name: len(topic.partitions) for topic in topics}
    own = {name: size for name, size in sizes.items() if name.startswith("shop-")}
    for console in consoles[1:]:
        prefix = prefix_of(console.owner)
        theirs = {name: size for name, size in sizes.items() if name.startswith(prefix)}
        assert theirs == {prefix + name: size for name, size in own.items()}
    assert sum(name.endswith("-repartition") for name in own) == 2
    assert sum(name.endswith("-changelog") for name in own) == 5
    assert sum("FK-JOIN" in name for name in own) == 4
