"""A real client as a cross-check of the raw frames: librdkafka produces and consumes records of 1 KiB."""

import time
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.measure import Sample
from bench.subjects import Subject
from bench.topics import CONSUMED, PARTITIONS, PRODUCED, RECORD_BYTES, Topics

TIMEOUT_S = 60.0


def _config(subject: Subject) -> dict[str, Any]:
    config: dict[str, Any] = {
        "bootstrap.servers": f"{subject.host}:{subject.bootstrap_port or subject.port}",
        "security.protocol": "PLAINTEXT" if subject.ca_file is None else "SSL",
    }
    if subject.ca_file is not None:
        config["ssl.ca.location"] = str(subject.ca_file)
    credentials = subject.space(0).credentials
    if credentials is not None:
        config |= {
            "security.protocol": "SASL_PLAINTEXT" if subject.ca_file is None else "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": credentials[0],
            "sasl.password": credentials[1],
        }
    return config


def measure_producer(subject: Subject, mib: int) -> Sample:
    """Produce `mib` MiB of records, uncompressed, in batches of at most 64 KiB, acks=1."""
    producer = Producer(
        _config(subject)
        | {"acks": 1, "batch.size": 65536, "linger.ms": 5, "queue.buffering.max.messages": 100_000}
    )
    topic, value = subject.space(0).called(PRODUCED), bytes(range(256)) * (RECORD_BYTES // 256)
    producer.list_topics(topic, timeout=TIMEOUT_S)
    count = mib * 1024 * 1024 // RECORD_BYTES
    cpu_s, started = subject.cpu_s(), time.perf_counter()
    for number in range(count):
        while True:
            try:
                producer.produce(topic, value, partition=number // 64 % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.01)
    assert producer.flush(TIMEOUT_S) == 0
    return Sample(count, count * RECORD_BYTES, time.perf_counter() - started, subject.cpu_s() - cpu_s)


def measure_consumer(subject: Subject, topics: Topics) -> Sample:
    """Consume the whole topic once, with librdkafka's own fetch sizes."""
    consumer = Consumer(
        _config(subject)
        | {
            "group.id": subject.space(0).called("bench"),
            "enable.auto.commit": False,
            "queued.min.messages": 200_000,
        }
    )
    expected = topics.batches * topics.records_per_batch * PARTITIONS
    topic = subject.space(0).called(CONSUMED)
    consumer.list_topics(topic, timeout=TIMEOUT_S)
    cpu_s, started = subject.cpu_s(), time.perf_counter()
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    seen = 0
    while seen < expected and time.perf_counter() - started < TIMEOUT_S:
        for message in consumer.consume(10_000, 0.1):
            assert message.error() is None, message.error()
            seen += 1
    sample = Sample(seen, seen * RECORD_BYTES, time.perf_counter() - started, subject.cpu_s() - cpu_s)
    assert seen == expected
    consumer.close()
    return sample
