"""Reads partitions with librdkafka."""

import time
from contextlib import closing
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from support.clients.endpoint import Endpoint

WAIT_S = 60.0


def read(endpoint: Endpoint, topic: str, count: int, **options: Any) -> list[Message]:
    """Return the first records of partition 0, at a gateway or at the broker itself.

    Raises:
        KafkaException: an error came.
        AssertionError: there are fewer.
    """
    own = {"group.id": "unused", "enable.auto.commit": False, **options}
    with closing(Consumer(endpoint.for_confluent | own)) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        found: list[Message] = []
        deadline = time.monotonic() + WAIT_S
        while len(found) < count:
            assert time.monotonic() < deadline, found
            message = consumer.poll(0.2)
            if message is not None:
                if message.error() is not None:
                    raise KafkaException(message.error())
                found.append(message)
        return found
