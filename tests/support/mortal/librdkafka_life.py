"""A client by librdkafka, for `mortal_client.py`."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from support.mortal.life import AT_ONCE, MAX_AWAITED, PAUSE_S, SESSION_TIMEOUT_MS, WAIT_S, Life, live, tell


def write(life: Life) -> None:
    producer = Producer({**life.client, "enable.idempotence": True, "linger.ms": 5})

    def told(value: str) -> Callable[[Any, Any], None]:
        def tell_it(error: KafkaError | None, _: Any) -> None:
            if error is not None:
                raise KafkaException(error)
            tell([value])

        return tell_it

    values = life.values()
    while True:
        for partition, value in islice(values, AT_ONCE):
            producer.produce(life.topic, value.encode(), partition=partition, callback=told(value))
        producer.poll(PAUSE_S)
        while len(producer) > MAX_AWAITED:
            producer.poll(PAUSE_S)


def transact(life: Life) -> None:
    values = life.values()
    # To end a fenced producer, librdkafka 2.x now and then aborts the process: "unaligned tcache chunk detected".
    fenced = []
    while True:
        producer = Producer({**life.client, "transactional.id": life.transactional_id, "linger.ms": 0})
        try:
            producer.init_transactions(WAIT_S)
            while True:
                producer.begin_transaction()
                some = list(islice(values, AT_ONCE))
                for partition, value in some:
                    producer.produce(life.topic, value.encode(), partition=partition)
                try:
                    producer.commit_transaction(WAIT_S)
                except KafkaException as error:
                    if not error.args[0].txn_requires_abort():
                        raise
                    producer.abort_transaction(WAIT_S)
                    continue
                tell([value for _, value in some])
                time.sleep(PAUSE_S)
        except KafkaException as error:
            if not error.args[0].fatal():
                raise
            fenced.append(producer)


def read(life: Life) -> None:
    own = {"group.id": life.group, "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    timing = {"auto.commit.interval.ms": 200, "session.timeout.ms": SESSION_TIMEOUT_MS}
    consumer = Consumer({**life.client, **own, **timing})
    consumer.subscribe([life.topic])
    while True:
        messages = consumer.consume(500, 0.2)
        for message in messages:
            error = message.error()
            if error is not None and not error.retriable():
                raise KafkaException(error)
        tell([one.value().decode() for one in messages if one.error() is None])


if __name__ == "__main__":
    live({"idempotent": write, "transactional": transact, "reader": read})
