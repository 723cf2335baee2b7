"""aiokafka through the gateway, two tenants at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import (
    KafkaConnectionError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
    for_code,
)

from support.clients.endpoint import Endpoint
from support.gateways.gateway_fixtures import FreshTopic, UniqueName
from support.gateways.gateway_process import GatewayProcess
from support.physical_names import MARK

CODECS = [None, "gzip", "snappy", "lz4", "zstd"]
WAIT_S = 30.0


@asynccontextmanager
async def started(client: Any) -> AsyncIterator[Any]:
    """Start a producer, consumer or admin client, and stop it at the end."""
    await client.start()
    try:
        yield client
    finally:
        await (client.close() if isinstance(client, AIOKafkaAdminClient) else client.stop())


def producer_of(endpoint: Endpoint, **options: Any) -> Any:
    return started(AIOKafkaProducer(**endpoint.for_aiokafka, **options))


def consumer_of(endpoint: Endpoint, *topics: str, **options: Any) -> Any:
    own = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
    return started(AIOKafkaConsumer(*topics, **endpoint.for_aiokafka, **own, **options))


def admin_of(endpoint: Endpoint) -> Any:
    return started(AIOKafkaAdminClient(**endpoint.for_aiokafka))


async def consume(consumer: AIOKafkaConsumer, count: int) -> list[Any]:
    """Return `count` records, and no more if there are more at once."""
    records: list[Any] = []
    async with asyncio.timeout(WAIT_S):
        while len(records) < count:
            for batch in (await consumer.getmany(timeout_ms=200)).values():
                records += batch
    assert await consumer.getmany(timeout_ms=100) == {}
    return records


async def produce(
    endpoint: Endpoint, topic: str, values: list[bytes], partition: int = 0, **options: Any
) -> None:
    async with producer_of(endpoint, **options) as producer:
        sent = [await producer.send(topic, value, partition=partition) for value in values]
        await asyncio.gather(*sent)


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Run a test in an event loop of its own, whose forgotten errors count."""
    forgotten: list[dict[str, Any]] = []

    async def watched() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: forgotten.append(context))
        await test()

    asyncio.run(watched())
    assert forgotten == []


@pytest.mark.parametrize("codec", CODECS)
def test_two_tenants_with_the_same_names_read_their_own_records(
    codec: str | None, acme: Endpoint, globex: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    group = unique("readers")
    expected, read = {}, {}

    async def test() -> None:
        async with AsyncExitStack() as stack:
            for endpoint in (acme, globex):
                values = [f"{endpoint.username} {number}".encode() for number in range(50)]
                await produce(endpoint, "orders", values, 1, compression_type=codec, linger_ms=20)
                expected[endpoint.username] = values
            consumers = {
                endpoint.username: await stack.enter_async_context(
                    consumer_of(endpoint, "orders", group_id=group)
                )
                for endpoint in (acme, globex)
            }
            for name, consumer in consumers.items():
                read[name] = [record.value for record in await consume(consumer, 50)]

    for tenant in ("acme", "globex"):
        fresh_topic(tenant, "orders", partitions=2)
    run(test)

    assert read == expected


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_every_acks_is_delivered(acks: int | str, acme: Endpoint, fresh_topic: FreshTopic) -> None:
    fresh_topic("acme", "orders")

    async def test() -> None:
        await produce(acme, "orders", [b"x"] * 10, acks=acks)
        async with consumer_of(acme) as consumer:
            consumer.assign([TopicPartition("orders", 0)])
            assert len(await consume(consumer, 10)) == 10

    run(test)


def test_group_goes_on_where_it_committed(
    acme: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic("acme", "orders")
    group, partition = unique("readers"), TopicPartition("orders", 0)

    async def test() -> None:
        await produce(acme, "orders", [str(number).encode() for number in range(10)])
        async with consumer_of(acme, "orders", group_id=group) as first:
            assert len(await consume(first, 10)) == 10
            first.seek(partition, 4)
            assert [record.offset for record in await consume(first, 6)] == [4, 5, 6, 7, 8, 9]
            await first.commit({partition: 7})
            assert await first.committed(partition) == 7
        async with consumer_of(acme, "orders", group_id=group) as second:
            assert [record.value for record in await consume(second, 3)] == [b"7", b"8", b"9"]

    run(test)


def test_offsets_are_found_by_time(acme: Endpoint, fresh_topic: FreshTopic) -> None:
    fresh_topic("acme", "orders")
    partition, start_ms = TopicPartition("orders", 0), int(time.time() * 1000) - 60_000

    async def test() -> None:
        async with producer_of(acme) as producer:
            for number in range(5):
                await producer.send_and_wait("orders", b"x", timestamp_ms=start_ms + number * 100)
        async with consumer_of(acme) as consumer:
            found = await consumer.offsets_for_times({partition: start_ms + 150})
            assert (found[partition].offset, found[partition].timestamp) == (2, start_ms + 200)
            assert await consumer.beginning_offsets([partition]) == {partition: 0}
            assert await consumer.end_offsets([partition]) == {partition: 5}

    run(test)


def test_topics_are_created_described_and_grown(globex: Endpoint, unique: UniqueName) -> None:
    name = unique("aiokafka")

    async def test() -> None:
        async with admin_of(globex) as admin:
            new = NewTopic(name, 2, 1, topic_configs={"retention.ms": "123456"})
            await admin.create_topics([new])
            again = await admin.create_topics([new])
            assert for_code(again.topic_errors[0][1]) is TopicAlreadyExistsError
            assert again.topic_errors[0][2] == f"Topic '{name}' already exists."
            async with asyncio.timeout(30):  # The controller answers before other brokers have heard of it.
                listed = await admin.list_topics()
                while name not in listed:
                    await asyncio.sleep(0.1)
                    listed = await admin.list_topics()
                await admin.create_partitions({name: NewPartitions(5)})
                (described,) = await admin.describe_topics([name])
                while len(described["partitions"]) != 5:
                    await asyncio.sleep(0.1)
                    (described,) = await admin.describe_topics([name])
            assert described["topic"] == name
            (configs,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name)])
            assert ("retention.ms", "123456") in [entry[:2] for entry in configs.resources[0][4]]

    run(test)


def test_records_are_deleted(initech: Endpoint, fresh_topic: FreshTopic) -> None:
    fresh_topic("initech", "orders")
    partition = TopicPartition("orders", 0)

    async def test() -> None:
        await produce(initech, "orders", [b"x"] * 6)
        async with admin_of(initech) as admin:
            assert await admin.delete_records({partition: RecordsToDelete(before_offset=4)}) == {partition: 4}
        async with consumer_of(initech) as consumer:
            assert await consumer.beginning_offsets([partition]) == {partition: 4}

    run(test)


def test_groups_are_listed_and_described(
    acme: Endpoint, globex: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic("acme", "orders")
    group, partition = unique("readers"), TopicPartition("orders", 0)

    async def test() -> None:
        await produce(acme, "orders", [b"x"])
        async with (
            admin_of(acme) as admin,
            admin_of(globex) as other,
            consumer_of(acme, "orders", group_id=group) as consumer,
        ):
            await consume(consumer, 1)
            await consumer.commit()
            assert group in {one[0] for one in await admin.list_consumer_groups()}
            assert group not in {one[0] for one in await other.list_consumer_groups()}
            assert (await admin.list_consumer_group_offsets(group))[partition].offset == 1
            assert await other.list_consumer_group_offsets(group) == {}
            (described,) = await admin.describe_consumer_groups([group])
            (unknown,) = await other.describe_consumer_groups([group])
            assert [one.groups[0][2] for one in (described, unknown)] == ["Stable", "Dead"]
            assert b"orders" in described.groups[0][5][0][3]
            assert MARK.encode() not in repr(described).encode()

    run(test)


def test_cluster_is_the_gateway(acme: Endpoint, gateway: GatewayProcess) -> None:
    async def test() -> None:
        async with admin_of(acme) as admin:
            described = await admin.describe_cluster()
            assert [(one["node_id"], one["port"]) for one in described["brokers"]] == [
                (1, gateway.broker_port(1))
            ]

    run(test)


def test_names_outside_the_list_do_not_exist(acme: Endpoint, globex: Endpoint) -> None:
    async def test() -> None:
        await produce(globex, "users-of-globex", [b"x"])
        async with admin_of(acme) as admin:
            assert "users-of-globex" not in await admin.list_topics()
            refused = await admin.create_topics([NewTopic("users-of-globex", 1, 1)])
            assert for_code(refused.topic_errors[0][1]) is TopicAuthorizationFailedError
        async with consumer_of(acme) as consumer:
            assert "users-of-globex" not in await consumer.topics()

    run(test)


def test_pattern_matches_own_topics_only(
    acme: Endpoint, globex: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    group = unique("readers")

    async def test() -> None:
        for endpoint in (acme, globex):
            for topic in ("orders", "billing"):
                await produce(endpoint, topic, [f"{endpoint.username} {topic}".encode()])
        async with consumer_of(acme, group_id=group) as consumer:
            consumer.subscribe(pattern=f"^(orders|billing|{MARK}.*)$")
            values = sorted(record.value for record in await consume(consumer, 2))
            assert values == [b"acme billing", b"acme orders"]

    for tenant in ("acme", "globex"):
        fresh_topic(tenant, "orders")
        fresh_topic(tenant, "billing")
    run(test)


def test_wrong_password_is_an_authentication_error(acme: Endpoint, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        settings = acme.for_aiokafka | {"sasl_plain_password": "wrong"}
        producer = AIOKafkaProducer(**settings)
        with pytest.raises(KafkaConnectionError, match="Unable to bootstrap"):
            await producer.start()
        await producer.stop()

    run(test)
    assert "Invalid username or password" in caplog.text


def test_rebalance_hands_partitions_over_and_goes_on_from_the_commits(
    acme: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic("acme", "orders", partitions=4)
    group = unique("readers")

    async def test() -> None:
        members = _Members(acme, group)
        await members.join()
        await members.until(lambda: members.assigned() == [4])
        await _produce_to_each(acme, "alone")
        await members.until(lambda: len(members.values) == 20)

        await members.join()
        await members.until(lambda: members.assigned() == [2, 2])
        await _produce_to_each(acme, "shared")
        await members.until(lambda: len(members.values) == 40)

        await members.leave()
        await members.until(lambda: members.assigned() == [4])
        await _produce_to_each(acme, "alone again")
        await members.until(lambda: len(members.values) == 60)
        await members.leave()
        assert len(set(members.values)) == 60

    run(test)


async def _produce_to_each(endpoint: Endpoint, word: str) -> None:
    for partition in range(4):
        await produce(
            endpoint, "orders", [f"{word} {partition} {number}".encode() for number in range(5)], partition
        )


class _Members:
    """The members of one group, each reading and committing in a task of its own."""

    def __init__(self, endpoint: Endpoint, group: str) -> None:
        self._endpoint, self._group = endpoint, group
        self._members: list[tuple[AIOKafkaConsumer, asyncio.Task[None]]] = []
        self.values: list[bytes] = []

    async def join(self) -> None:
        consumer = AIOKafkaConsumer(
            "orders",
            group_id=self._group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=200,
            **self._endpoint.for_aiokafka,
        )
        await consumer.start()
        self._members.append((consumer, asyncio.create_task(self._read(consumer))))

    async def _read(self, consumer: AIOKafkaConsumer) -> None:
        while True:
            batches = await consumer.getmany(timeout_ms=100)
            for batch in batches.values():
                self.values += [record.value for record in batch]
            if batches:
                await consumer.commit()

    async def leave(self) -> None:
        """The member that joined first leaves."""
        consumer, task = self._members.pop(0)
        task.cancel()
        await asyncio.wait([task])
        await consumer.stop()

    def assigned(self) -> list[int]:
        return [len(consumer.assignment()) for consumer, _task in self._members]

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not is_so():
                assert not any(task.done() for _consumer, task in self._members)
                await asyncio.sleep(0.02)
