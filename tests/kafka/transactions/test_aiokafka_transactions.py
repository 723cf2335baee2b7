"""Transactions of aiokafka."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import ProducerFenced

from support.clients.endpoint import Endpoint
from support.gateways.gateway_fixtures import FreshTopic, UniqueName

WAIT_S = 30.0
ORDERS, BILLING = TopicPartition("orders", 0), TopicPartition("billing", 0)


@asynccontextmanager
async def producer_of(endpoint: Endpoint, transactional_id: str | None) -> AsyncIterator[AIOKafkaProducer]:
    producer = AIOKafkaProducer(transactional_id=transactional_id, **endpoint.for_aiokafka)
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


@asynccontextmanager
async def consumer_of(
    endpoint: Endpoint, *topics: str, group: str | None = None, isolation_level: str = "read_committed"
) -> AsyncIterator[AIOKafkaConsumer]:
    consumer = AIOKafkaConsumer(
        *topics,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level=isolation_level,
        **endpoint.for_aiokafka,
    )
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


async def read(consumer: AIOKafkaConsumer, count: int) -> list[bytes]:
    """Return `count` values, and no more if there are more at once."""
    values: list[bytes] = []
    async with asyncio.timeout(WAIT_S):
        while len(values) < count:
            for batch in (await consumer.getmany(timeout_ms=200)).values():
                values += [record.value for record in batch]
    assert await consumer.getmany(timeout_ms=300) == {}
    return values


async def read_from_start(
    endpoint: Endpoint, partition: TopicPartition, count: int, **options: Any
) -> list[bytes]:
    async with consumer_of(endpoint, **options) as consumer:
        consumer.assign([partition])
        return await read(consumer, count)


def test_committed_records_are_read_and_aborted_ones_are_not(
    acme: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic("acme", "orders")

    async def test() -> None:
        async with producer_of(acme, unique("transaction")) as producer:
            for number, is_committed in enumerate((True, False, True, False, True)):
                await producer.begin_transaction()
                await producer.send_and_wait("orders", str(number).encode())
                await (producer.commit_transaction() if is_committed else producer.abort_transaction())
        assert await read_from_start(acme, ORDERS, 3) == [b"0", b"2", b"4"]
        everything = await read_from_start(acme, ORDERS, 5, isolation_level="read_uncommitted")
        assert everything == [b"0", b"1", b"2", b"3", b"4"]

    asyncio.run(test())


def test_offsets_are_committed_with_the_records(
    acme: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    """Consume, transform, produce: an aborted round is done again, a committed one is not."""
    fresh_topic("acme", "orders")
    fresh_topic("acme", "billing")
    group = unique("transformers")

    async def test() -> None:
        async with producer_of(acme, None) as source:
            for value in (b"a", b"b", b"c"):
                await source.send_and_wait("orders", value)
        async with producer_of(acme, unique("transaction")) as producer:
            for end in ("abort", "commit"):
                async with consumer_of(acme, "orders", group=group) as consumer:
                    values = await read(consumer, 3)
                    assert values == [b"a", b"b", b"c"]
                    await producer.begin_transaction()
                    for value in values:
                        await producer.send_and_wait("billing", value + f" {end}".encode())
                    await producer.send_offsets_to_transaction({ORDERS: 3}, group)
                    await (producer.commit_transaction() if end == "commit" else producer.abort_transaction())
        async with consumer_of(acme, "orders", group=group) as late:
            assert await late.committed(ORDERS) == 3
        assert await read_from_start(acme, BILLING, 3) == [b"a commit", b"b commit", b"c commit"]

    asyncio.run(test())


def test_zombie_of_the_same_tenant_is_fenced(
    acme: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic("acme", "orders")
    transactional_id = unique("transaction")

    async def test() -> None:
        async with producer_of(acme, transactional_id) as zombie:
            await zombie.begin_transaction()
            await zombie.send_and_wait("orders", b"of the zombie")
            async with producer_of(acme, transactional_id) as successor:
                await successor.begin_transaction()
                await successor.send_and_wait("orders", b"of the successor")
                with pytest.raises(ProducerFenced):
                    await zombie.commit_transaction()
                await successor.commit_transaction()
        assert await read_from_start(acme, ORDERS, 1) == [b"of the successor"]

    asyncio.run(test())


def test_same_transactional_id_of_two_tenants_fences_no_producer(
    acme: Endpoint, globex: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    for tenant in ("acme", "globex"):
        fresh_topic(tenant, "orders")
    transactional_id = unique("transaction")

    async def test() -> None:
        async with (
            producer_of(acme, transactional_id) as first,
            producer_of(globex, transactional_id) as second,
        ):
            for number in range(3):
                for producer in (first, second):
                    await producer.begin_transaction()
                for name, producer in (("acme", first), ("globex", second)):
                    await producer.send_and_wait("orders", f"{name} {number}".encode())
                for producer in (first, second):
                    await producer.commit_transaction()
        for endpoint in (acme, globex):
            expected = [f"{endpoint.username} {number}".encode() for number in range(3)]
            assert await read_from_start(endpoint, ORDERS, 3) == expected

    asyncio.run(test())
