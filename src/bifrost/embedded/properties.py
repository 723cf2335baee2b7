"""Kafka's properties files (`server.properties`, `meta.properties`), and the embedded cluster's properties. No I/O."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping


def cluster_properties(brokers: int) -> dict[str, str]:
    """Return the server properties that make a cluster of `brokers` nodes small and quick."""
    replicas = str(min(brokers, 3))
    in_sync = str(min(brokers, 2))
    several = {"broker.heartbeat.interval.ms": "1000", "broker.session.timeout.ms": "6000"}
    return (several if brokers > 1 else {}) | {
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": replicas,
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
        "share.coordinator.state.topic.num.partitions": "4",
        # By default a group's first rebalance waits 3 s for more members.
        "group.initial.rebalance.delay.ms": "0",
        # The cleaner allocates its whole buffer, by default 128 MiB of heap, at start.
        "log.cleaner.dedupe.buffer.size": str(8 * 1024 * 1024),
    }


def format_properties(properties: Mapping[str, str]) -> str:
    """Return a Java properties file. Backslashes are escaped; keys and values are otherwise plain."""
    escaped = ((key, value.replace("\\", "\\\\")) for key, value in properties.items())
    return "".join(f"{key}={value}\n" for key, value in escaped)


def read_properties(text: str) -> dict[str, str]:
    """Return the keys and values of a properties file as `format_properties` and Kafka write it."""
    pairs = (line.partition("=") for line in text.splitlines() if not line.startswith("#"))
    return {key: value.replace("\\\\", "\\") for key, _, value in pairs if key}


def change_properties(text: str, changes: Mapping[str, str]) -> str:
    """Return a properties file with the values of existing keys changed; everything else stays as it is."""
    lines = []
    for line in text.splitlines():
        key = line.partition("=")[0]
        lines.append(f"{key}={changes[key]}" if key in changes else line)
    return "\n".join([*lines, ""])


def random_id() -> str:
    """Return a random ID as Kafka writes it: 16 bytes in URL-safe base64 without padding.

    Source: org.apache.kafka.common.Uuid.randomUuid, which avoids a leading dash too (as of an option).
    """
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode("ascii")
        if not text.startswith("-"):
            return text
