"""Reads the journal's topic as the pipeline does: all records, from the broker itself."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition

from bifrost.config.fields.journal import JOURNAL_TOPIC
from support.clients.endpoint import Endpoint
from support.journal.journal_schema import misfits

Record = dict[str, Any]


class JournalReader:
    """Reads on from where it stopped: the journal of a broker that many tests share is long.

    With a gateway's ID, the records of all others are passed over unread.
    """

    def __init__(self, broker: Endpoint, gateway_id: str | None = None) -> None:
        self.records: list[Record] = []
        self._gateway_id = gateway_id
        settings = {"group.id": "journal-reader", "enable.auto.commit": False, "enable.partition.eof": False}
        self._consumer = Consumer(broker.for_confluent | settings)
        self._partitions: list[TopicPartition] = []
        self._seen: dict[int, int] = {}

    def read_on(self, timeout_s: float = 60.0) -> list[Record]:
        """Return all records up to now, in the order of their partitions; raise where reading takes too long."""
        if not self._partitions:  # A gateway that has just been started may not have made the topic yet.
            found = self._consumer.list_topics(JOURNAL_TOPIC, timeout=10).topics[JOURNAL_TOPIC]
            self._partitions = [
                TopicPartition(JOURNAL_TOPIC, one, OFFSET_BEGINNING) for one in found.partitions
            ]
            self._consumer.assign(self._partitions)
        bounds = {one.partition: self._consumer.get_watermark_offsets(one) for one in self._partitions}
        deadline = time.monotonic() + timeout_s
        while any(self._seen.get(partition, first) < end for partition, (first, end) in bounds.items()):
            assert time.monotonic() < deadline, f"read up to {self._seen} of {bounds}"
            for message in self._consumer.consume(500, timeout=1.0):
                assert message.error() is None, message.error()
                self._seen[message.partition()] = message.offset() + 1
                self._take(message)
        return self.records

    def _take(self, message: Message) -> None:
        value = message.value()
        if self._gateway_id is not None and self._gateway_id.encode() not in value:
            return
        record = json.loads(value)
        if self._gateway_id not in (None, record["gateway_id"].partition("/")[0]):
            return
        assert misfits(record) == []
        key = message.key()
        assert record.get("tenant") == (None if key is None else key.decode())
        assert message.timestamp()[1] == record["interval_end_ms"]
        self.records.append(record)

    def close(self) -> None:
        """Leave the broker."""
        self._consumer.close()


def read_journal(broker: Endpoint, gateway_id: str | None = None) -> list[Record]:
    """Return the records there are, of one gateway (all its workers) or of all, in the order of their partitions."""
    reader = JournalReader(broker, gateway_id)
    try:
        return reader.read_on()
    finally:
        reader.close()


def await_journal(
    broker: Endpoint, gateway_id: str, is_there: Callable[[list[Record]], bool], timeout_s: float = 20.0
) -> list[Record]:
    """Read until what is looked for has been written; return all records."""
    reader = JournalReader(broker, gateway_id)
    try:
        deadline = time.monotonic() + timeout_s
        while not is_there(reader.read_on()):
            assert time.monotonic() < deadline, f"not in the journal: {reader.records[-20:]}"
            time.sleep(0.2)
        return reader.records
    finally:
        reader.close()


def usage(records: Iterable[Record], scope: str, **wanted: object) -> Iterator[Record]:
    """Yield the rows of a scope with these fields."""
    for record in records:
        row = record.get("usage")
        if row and row["scope"] == scope and all(row.get(name) == value for name, value in wanted.items()):
            yield row


def total(rows: Iterable[Record], field: str) -> int:
    """Return the sum of a counter."""
    return sum(row.get(field, 0) for row in rows)


def events(records: Iterable[Record], type_: str, **wanted: object) -> list[Record]:
    """Return the events of a type with these fields."""
    found = [one["event"] for one in records if one["kind"] == "event" and one["event"]["type"] == type_]
    return [one for one in found if all(one.get(name) == value for name, value in wanted.items())]
