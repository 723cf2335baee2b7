"""A client in a process of its own that can be killed at any moment, and what it had done until then.

It writes numbered records, by an idempotent producer or in transactions, or reads them as a member of a group. A line
of its output is a record that was acknowledged, or whose transaction was, or that was read; it is written at once, so
the last whole line of a killed process is true.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from bifrost.embedded.child import Child
from support.clients.endpoint import Endpoint

FIRST_OF_NEXT = 1_000_000
"""How far the numbers of a successor are from those of the one before: more than any has written."""
TRANSACTIONAL_ID = "mortal"
AT_ONCE = 20
PAUSE_S = 0.02
WAIT_S = 90.0


class MortalClient:
    """One kind of client; each that is killed has a successor."""

    def __init__(self, directory: Path, kind: str, endpoint: Endpoint, topic: str, partitions: int) -> None:
        """Describe it.

        Args:
            directory: where its output goes.
            kind: `idempotent`, `transactional`, or `reader` of the group `readers`.
            endpoint: where it connects.
            topic: the one that it writes to or reads.
            partitions: how many the topic has.
        """
        self._directory, self.kind = directory, kind
        self._settings = {
            "kind": kind,
            "client": endpoint.for_confluent,
            "topic": topic,
            "partitions": partitions,
        }
        self._child: Child | None = None
        self._lives = 0

    def start(self) -> None:
        """Start it, or its successor."""
        settings = json.dumps(self._settings | {"first": self._lives * FIRST_OF_NEXT})
        self._lives += 1
        log = self._directory / f"{self.kind}-{self._lives}.log"
        env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
        self._child = Child([sys.executable, __file__, settings], log_file=log, env=env)

    def kill(self) -> None:
        """End it at once."""
        assert self._child is not None
        self._child.kill()
        self._child = None

    def end(self) -> None:
        """End it if it runs."""
        if self._child is not None:
            self.kill()

    @property
    def done(self) -> list[str]:
        """The values of the records of all its lives, in the order in which they were told."""
        found: list[str] = []
        for life in range(1, self._lives + 1):
            text = (self._directory / f"{self.kind}-{life}.log").read_text(encoding="utf-8")
            whole = text[: text.rfind("\n") + 1].splitlines()
            # librdkafka's log begins with a %.
            failed = [line for line in whole if not line.startswith((">", "%"))]
            assert failed == [], failed
            found += [line[1:] for line in whole if line.startswith(">")]
        return found


def _tell(values: list[str]) -> None:
    os.write(1, "".join(f">{value}\n" for value in values).encode())


def _write(settings: dict[str, Any]) -> None:
    producer = Producer(settings["client"] | {"enable.idempotence": True, "linger.ms": 5})

    def told(value: str) -> Callable[[Any, Any], None]:
        def tell(error: KafkaError | None, _: Any) -> None:
            if error is not None:
                raise KafkaException(error)
            _tell([value])

        return tell

    number = settings["first"]
    while True:
        for _ in range(AT_ONCE):
            value = f"idempotent {number}"
            partition = number % settings["partitions"]
            producer.produce(settings["topic"], value.encode(), partition=partition, callback=told(value))
            number += 1
        producer.poll(PAUSE_S)
        while len(producer) > 10 * AT_ONCE:
            producer.poll(PAUSE_S)


def _write_transactions(settings: dict[str, Any]) -> None:
    number = settings["first"]
    # To end a fenced producer, librdkafka 2.x now and then aborts the process: "unaligned tcache chunk detected".
    fenced = []
    while True:
        producer = Producer(settings["client"] | {"transactional.id": TRANSACTIONAL_ID, "linger.ms": 0})
        try:
            producer.init_transactions(WAIT_S)
            while True:
                producer.begin_transaction()
                values = [f"transactional {number + one}" for one in range(AT_ONCE)]
                for one, value in enumerate(values):
                    partition = (number + one) % settings["partitions"]
                    producer.produce(settings["topic"], value.encode(), partition=partition)
                number += AT_ONCE
                try:
                    producer.commit_transaction(WAIT_S)
                except KafkaException as error:
                    if not error.args[0].txn_requires_abort():
                        raise
                    producer.abort_transaction(WAIT_S)
                    continue
                _tell(values)
                time.sleep(PAUSE_S)
        except KafkaException as error:
            if not error.args[0].fatal():
                raise
            fenced.append(producer)


def _read(settings: dict[str, Any]) -> None:
    own = {"group.id": "readers", "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    consumer = Consumer(
        settings["client"] | own | {"auto.commit.interval.ms": 200, "session.timeout.ms": 6000}
    )
    consumer.subscribe([settings["topic"]])
    while True:
        messages = consumer.consume(500, 0.2)
        for message in messages:
            error = message.error()
            if error is not None and not error.retriable():
                raise KafkaException(error)
        _tell([one.value().decode() for one in messages if one.error() is None])


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    {"idempotent": _write, "transactional": _write_transactions, "reader": _read}[given["kind"]](given)
