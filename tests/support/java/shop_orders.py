"""Orders of the shop of `streams_shop.py`, the totals that they must have, and who does which tasks."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Self

import confluent_kafka
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.wire.messages import StreamsGroupDescribeRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import AnyClient, await_topic
from support.java.streams_shop import CUSTOMERS, TOTALS, Shop
from support.journal.records import write_records
from support.physical_names import physical_name

ORDERS = "shop-orders"
REGIONS = ("north", "south", "east")
CUSTOMERS_OF = {f"customer-{number}": REGIONS[number % len(REGIONS)] for number in range(40)}
SETTLED_S = 90.0
DELIVERED_S = 60.0
"""More than it takes until a lost broker is missed."""
AT_ONCE, PAUSE_S = 10, 0.1

Tasks = set[tuple[str, int]]
"""Of an instance: the subtopology and the partition of each."""


def open_for_sale(
    endpoint: Endpoint, direct: AnyClient, virtual: int, physical: int, replicas: int = 1
) -> None:
    """Create the topics that the application reads and writes, and write who the customers are.

    Args:
        endpoint: of a tenant.
        direct: a client of the brokers themselves.
        virtual: how many partitions of each topic the tenant sees.
        physical: how many the brokers have.
        replicas: of each.
    """
    admin = AdminClient(endpoint.for_confluent)
    for name in (ORDERS, CUSTOMERS, TOTALS):
        admin.create_topics([NewTopic(name, virtual, replicas)])[name].result(30)
        await_topic(direct, physical_name(str(endpoint.username), name), physical)
    write_records(endpoint, CUSTOMERS, _customers())


def _customers() -> list[tuple[bytes, bytes]]:
    """Return the records of the table of customers."""
    return [(who.encode(), region.encode()) for who, region in CUSTOMERS_OF.items()]


def orders(numbers: range) -> list[tuple[bytes, bytes]]:
    """Return the records of some orders; the amount of each is its number."""
    return [(b"order-%d" % number, b"%s:%d" % (_customer(number).encode(), number)) for number in numbers]


def _customer(number: int) -> str:
    return list(CUSTOMERS_OF)[number * 7 % len(CUSTOMERS_OF)]


class SteadyOrders:
    """Writes one order after the other until it is left; a context manager.

    What is still to be written then is written, so that the totals are those of all orders up to `count`.
    """

    def __init__(self, endpoint: Endpoint, topic: str, first: int) -> None:
        """Describe them.

        Args:
            endpoint: where they are written.
            topic: of the orders.
            first: the number of the first one.
        """
        settings = {"partitioner": "murmur2_random", "enable.idempotence": True}
        self._producer = confluent_kafka.Producer(endpoint.for_confluent | settings)
        self._topic = topic
        self.count = first
        """The number of the next one."""
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self._failed: list[object] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._ends.set()
        self._thread.join()
        if kind is None:
            assert self._producer.flush(DELIVERED_S) == 0
            assert self._failed == []

    def _write(self) -> None:
        while not self._ends.wait(PAUSE_S):
            numbers = range(self.count, self.count + AT_ONCE)
            for key, value in orders(numbers):
                self._producer.produce(self._topic, value, key, on_delivery=self._note)
            self.count = numbers.stop
            self._producer.poll(0)

    def _note(self, error: object, _: object) -> None:
        if error is not None:
            self._failed.append(error)


def await_totals(shop: Shop, numbers: range) -> None:
    """Wait until the last totals are those of these orders."""
    expected = Counter[str]()
    for number in numbers:
        expected[CUSTOMERS_OF[_customer(number)]] += number
    await_that(
        lambda: shop.is_running and shop.totals() == expected, lambda: f"{shop.totals()} is not {expected}"
    )


def await_growth(shop: Shop) -> None:
    """Wait until the totals are others than now: orders come, and the application works."""
    before = shop.totals()
    await_that(lambda: shop.totals() != before, lambda: f"the totals are still {before}")


def await_shared(shop: Shop, everything: Tasks) -> None:
    """Wait until each of two instances has tasks, and both together have all of them, each one once."""

    def is_shared() -> bool:
        first, second = tasks_of(shop)
        is_whole = first | second == everything and not first & second
        return shop.is_running and is_whole and bool(first) and bool(second)

    await_that(is_shared, lambda: f"{tasks_of(shop)} are not shared")


def await_that(is_so: Callable[[], bool], otherwise: Callable[[], str]) -> None:
    """Wait until something is so; `otherwise` says what is so instead."""
    deadline = time.monotonic() + SETTLED_S
    while not is_so():
        assert time.monotonic() < deadline, f"after {SETTLED_S} s {otherwise()}"
        time.sleep(0.2)


def tasks_of(shop: Shop) -> list[Tasks]:
    """Return the active tasks of each instance."""
    return [{_split(name) for name, _ in one.active} for one in shop.tasks()]


def standbys_of(shop: Shop) -> list[Tasks]:
    """Return the standby tasks of each instance."""
    return [{_split(name) for name, _ in one.standby} for one in shop.tasks()]


def _split(task: str) -> tuple[str, int]:
    subtopology, _, partition = task.partition("_")
    return subtopology, int(partition)


def described(client: RawClient, group: str, kind: str = "active_tasks") -> list[Tasks]:
    """Return the tasks of each member, of one kind, as a description of the group says it."""
    (found,) = client.request(StreamsGroupDescribeRequest(group_ids=[group]), 0).groups
    assert (found.error_code, found.group_state) == (0, "Stable"), found
    return [_tasks(getattr(member.assignment, kind)) for member in found.members]


def _tasks(assigned: Any) -> Tasks:
    return {(one.subtopology_id, task) for one in assigned for task in one.partitions}
