"""Real clients as a cross-check of the raw frames: librdkafka, and Kafka's own producer in Java.

By bytes they send records of 1 KiB in batches; by requests a record of 100 bytes in each, a hundred in flight.
"""

import subprocess
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.measure import Sample
from bench.subjects import Subject
from bench.topics import CONSUMED, PARTITIONS, PRODUCED, RECORD_BYTES, SINGLE, Topics
from bifrost.embedded.kafka import DEFAULT_VERSION
from bifrost.jars.java import find_java
from bifrost.jars.locked_jars import broker_coordinates, resolve, tool_coordinates

TIMEOUT_S = 60.0
SMALL_RECORD_BYTES = 100
MOST_IN_FLIGHT = 100
QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
JVM_OPTIONS = ("-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx256m", QUIET)


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


def measure_requests(subject: Subject, count: int) -> Sample:
    """Let librdkafka produce `count` small records, each in a request of its own, acks=1."""
    producer = Producer(
        _config(subject)
        | {
            "acks": 1,
            "batch.num.messages": 1,
            "linger.ms": 0,
            "max.in.flight.requests.per.connection": MOST_IN_FLIGHT,
            "queue.buffering.max.messages": 100_000,
        }
    )
    topic, value = subject.space(0).called(SINGLE), bytes(SMALL_RECORD_BYTES)
    producer.list_topics(topic, timeout=TIMEOUT_S)
    cpu_s, started = subject.cpu_s(), time.perf_counter()
    for _ in range(count):
        producer.produce(topic, value, partition=0)
        producer.poll(0)
    assert producer.flush(TIMEOUT_S) == 0
    wall_s, cpu_s = time.perf_counter() - started, subject.cpu_s() - cpu_s
    return Sample(count, count * SMALL_RECORD_BYTES, wall_s, cpu_s)


class JavaProducer:
    """Kafka's own ProducerPerformance, which does the same in a JVM of its own."""

    def __init__(self, directory: Path) -> None:
        """Find Java and the jars; the configuration may lie in `directory`."""
        coordinates = tool_coordinates(DEFAULT_VERSION), broker_coordinates(DEFAULT_VERSION)
        jars = dict.fromkeys(jar for one in coordinates for jar in resolve(one))
        main = "org.apache.kafka.tools.ProducerPerformance"
        self._command = [str(find_java()), *JVM_OPTIONS, "-cp", ":".join(map(str, jars)), main]
        self._config = directory / "producer.properties"

    def measure(self, subject: Subject, count: int) -> Sample:
        """Produce `count` records; the JVM's start counts as time."""
        config = {
            "acks": 1,
            "batch.size": 1,
            "linger.ms": 0,
            "max.in.flight.requests.per.connection": MOST_IN_FLIGHT,
            "enable.idempotence": "false",
            **_java_config(subject),
        }
        self._config.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
        topic = subject.space(0).called(SINGLE)
        what = ["--topic", topic, "--num-records", str(count), "--record-size", str(SMALL_RECORD_BYTES)]
        cpu_s, started = subject.cpu_s(), time.perf_counter()
        subprocess.run(
            [*self._command, *what, "--throughput", "-1", "--producer.config", str(self._config)],
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
        )
        wall_s, cpu_s = time.perf_counter() - started, subject.cpu_s() - cpu_s
        return Sample(count, count * SMALL_RECORD_BYTES, wall_s, cpu_s)


def _java_config(subject: Subject) -> dict[str, str]:
    config = {"bootstrap.servers": f"{subject.host}:{subject.bootstrap_port or subject.port}"}
    credentials = subject.space(0).credentials
    if credentials is not None:
        login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        config |= {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{login} username="{credentials[0]}" password="{credentials[1]}";',
        }
    return config
