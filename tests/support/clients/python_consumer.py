"""Polling with kafka-python, around a race of its own."""

from __future__ import annotations

from typing import Any

from kafka import KafkaConsumer, TopicPartition

JOIN_TIMEOUT_MS = 2000


def poll(consumer: KafkaConsumer, timeout_ms: int) -> dict[TopicPartition, list[Any]]:
    """Return what `poll` gives within `timeout_ms`, or within two seconds while nothing is assigned.

    kafka-python 3.0.12 never takes up an assignment that arrives just after a poll gave up on a rejoin for new
    metadata, with a broker as with a gateway: `join_group_async` asks `need_rejoin` again, which is content.
    """
    batches: dict[TopicPartition, list[Any]] = consumer.poll(
        timeout_ms=timeout_ms if consumer.assignment() else JOIN_TIMEOUT_MS
    )
    return batches
