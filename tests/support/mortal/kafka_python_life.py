"""A client by kafka-python, for `mortal_client.py`."""

from __future__ import annotations

import threading
import time
from itertools import islice

from kafka.errors import KafkaConnectionError, KafkaError

from kafka import KafkaConsumer, KafkaProducer
from support.mortal.life import (
    AT_ONCE,
    MAX_AWAITED,
    PAUSE_S,
    SESSION_TIMEOUT_MS,
    WAIT_S,
    Life,
    fail,
    live,
    tell,
)


def write(life: Life) -> None:
    producer = KafkaProducer(**life.client, enable_idempotence=True, linger_ms=5)
    room = threading.Semaphore(MAX_AWAITED)

    def told(value: str) -> None:
        tell([value])
        room.release()

    for partition, value in life.values():
        room.acquire()
        sent = producer.send(life.topic, value.encode(), partition=partition)
        sent.add_callback(lambda _, value=value: told(value))
        sent.add_errback(fail)


def transact(life: Life) -> None:
    values = life.values()
    while True:
        producer = KafkaProducer(**life.client, transactional_id=life.transactional_id)
        try:
            producer.init_transactions()
            while True:
                producer.begin_transaction()
                some = list(islice(values, AT_ONCE))
                try:
                    for partition, value in some:
                        producer.send(life.topic, value.encode(), partition=partition)
                    producer.commit_transaction()
                except KafkaError:
                    producer.abort_transaction()
                    continue
                tell([value for _, value in some])
                time.sleep(PAUSE_S)
        except KafkaError:
            # It is fenced, or its state cannot be mended: its application makes a new one.
            producer.close(0)


def read(life: Life) -> None:
    consumer = KafkaConsumer(
        life.topic,
        **life.client,
        group_id=life.group,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        auto_commit_interval_ms=200,
        session_timeout_ms=SESSION_TIMEOUT_MS,
        heartbeat_interval_ms=SESSION_TIMEOUT_MS // 3,
        request_timeout_ms=int(WAIT_S * 1000),
        connections_max_idle_ms=int(6 * WAIT_S * 1000),
    )
    while True:
        try:
            polled = consumer.poll(timeout_ms=200)
        except KafkaConnectionError:
            continue  # The gateway is away; with this library an application polls again.
        for records in polled.values():
            tell([one.value.decode() for one in records])


if __name__ == "__main__":
    live({"idempotent": write, "transactional": transact, "reader": read})
