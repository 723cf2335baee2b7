"""A client by Kafka's Java clients, for `mortal_client.py`: in this process's JVM, by JPype."""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path
from typing import Any

import jpype

from support.java.java_driver import JVM_OPTIONS
from support.mortal.life import AT_ONCE, PAUSE_S, SESSION_TIMEOUT_MS, Life, live, tell

_TEXT = "org.apache.kafka.common.serialization.String"


def _clients(life: Life) -> Any:
    """Start the JVM; return Kafka's package of clients."""
    java = Path(life.client["java"]).resolve().parents[1]
    library = next(java.glob("lib/**/libjvm.so"), None) or next(java.glob("lib/**/libjvm.*"))
    jpype.startJVM(str(library), *JVM_OPTIONS, classpath=life.client["classpath"])
    return jpype.JPackage("org").apache.kafka.clients


def _settings(life: Life, **own: str) -> Any:
    settings = jpype.JClass("java.util.HashMap")()
    for name, value in {
        **life.client["properties"],
        **{key.replace("_", "."): value for key, value in own.items()},
    }.items():
        settings.put(name, value)
    return settings


def _producer(clients: Any, life: Life, **own: str) -> Any:
    serializer = f"{_TEXT}Serializer"
    return clients.producer.KafkaProducer(
        _settings(life, key_serializer=serializer, value_serializer=serializer, **own)
    )


def write(life: Life) -> None:
    clients = _clients(life)
    producer, record = _producer(clients, life, linger_ms="5"), clients.producer.ProducerRecord
    values, number = life.values(), jpype.JClass("java.lang.Integer")
    while True:
        some = list(islice(values, AT_ONCE))
        sent = [producer.send(record(life.topic, number(one), None, value)) for one, value in some]
        for future, (_, value) in zip(sent, some, strict=True):
            future.get()
            tell([value])


def transact(life: Life) -> None:
    clients = _clients(life)
    values, number = life.values(), jpype.JClass("java.lang.Integer")
    while True:
        producer = _producer(clients, life, transactional_id=life.transactional_id)
        try:
            producer.initTransactions()
            while True:
                producer.beginTransaction()
                some = list(islice(values, AT_ONCE))
                try:
                    for one, value in some:
                        producer.send(clients.producer.ProducerRecord(life.topic, number(one), None, value))
                    producer.commitTransaction()
                except jpype.JException:
                    producer.abortTransaction()
                    continue
                tell([value for _, value in some])
                time.sleep(PAUSE_S)
        except jpype.JException:
            # It is fenced: its application makes a new one.
            producer.close(jpype.JClass("java.time.Duration").ZERO)


def read(life: Life) -> None:
    clients, deserializer = _clients(life), f"{_TEXT}Deserializer"
    consumer = clients.consumer.KafkaConsumer(
        _settings(
            life,
            key_deserializer=deserializer,
            value_deserializer=deserializer,
            group_id=life.group,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            auto_commit_interval_ms="200",
            session_timeout_ms=str(SESSION_TIMEOUT_MS),
            heartbeat_interval_ms=str(SESSION_TIMEOUT_MS // 3),
        )
    )
    consumer.subscribe(jpype.JClass("java.util.List").of(life.topic))
    while True:
        # What it has given before is committed by the next poll at the earliest.
        tell([str(one.value()) for one in consumer.poll(jpype.JClass("java.time.Duration").ofMillis(200))])


if __name__ == "__main__":
    live({"idempotent": write, "transactional": transact, "reader": read})
