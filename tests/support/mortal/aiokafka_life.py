"""A client by aiokafka, for `mortal_client.py`."""

from __future__ import annotations

import asyncio
from itertools import islice

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError

from support.mortal.life import AT_ONCE, COMMIT_S, PAUSE_S, SESSION_TIMEOUT_MS, Life, live, tell


def write(life: Life) -> None:
    asyncio.run(_write(life))


async def _write(life: Life) -> None:
    producer = AIOKafkaProducer(**life.client, enable_idempotence=True, linger_ms=5)
    await producer.start()
    values = life.values()
    while True:
        some = list(islice(values, AT_ONCE))
        sent = [await producer.send(life.topic, value.encode(), partition=one) for one, value in some]
        for future, (_, value) in zip(sent, some, strict=True):
            await future
            tell([value])


def transact(life: Life) -> None:
    asyncio.run(_transact(life))


async def _transact(life: Life) -> None:
    values = life.values()
    while True:
        producer = AIOKafkaProducer(**life.client, transactional_id=life.transactional_id)
        try:
            await producer.start()
            while True:
                await producer.begin_transaction()
                some = list(islice(values, AT_ONCE))
                try:
                    for partition, value in some:
                        await producer.send(life.topic, value.encode(), partition=partition)
                    await producer.commit_transaction()
                except KafkaError:
                    await producer.abort_transaction()
                    continue
                tell([value for _, value in some])
                await asyncio.sleep(PAUSE_S)
        except KafkaError:
            # It is fenced: its application makes a new one.
            await producer.stop()


def read(life: Life) -> None:
    asyncio.run(_read(life))


async def _read(life: Life) -> None:
    consumer = AIOKafkaConsumer(
        life.topic,
        **life.client,
        group_id=life.group,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        enable_auto_commit=False,
        session_timeout_ms=SESSION_TIMEOUT_MS,
        heartbeat_interval_ms=SESSION_TIMEOUT_MS // 3,
    )
    await consumer.start()
    loop = asyncio.get_running_loop()
    again_s = loop.time()
    while True:
        for records in (await consumer.getmany(timeout_ms=200)).values():
            tell([one.value.decode() for one in records])
        if consumer.assignment() and loop.time() >= again_s:
            again_s = loop.time() + COMMIT_S
            try:
                await consumer.commit()
            except KafkaError:
                continue  # The group has changed, or its coordinator is away: what was read comes again.


if __name__ == "__main__":
    live({"idempotent": write, "transactional": transact, "reader": read})
