"""Reads the journal's topic as the pipeline does: all records, from the broker itself."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from bifrost.config.fields.journal import JOURNAL_TOPIC
from support.clients import Endpoint
from support.journal_schema import misfits

Record = dict[str, Any]


def read_journal(broker: Endpoint, gateway_id: str | None = None, *, quiet_s: float = 1.0) -> list[Record]:
    """Return the records there are, of one gateway (all its workers) or of all, in the order of their partitions."""
    settings = {"group.id": "journal-reader", "enable.auto.commit": False, "enable.partition.eof": False}
    consumer = Consumer(broker.for_confluent | settings)
    try:
        found = consumer.list_topics(JOURNAL_TOPIC, timeout=10).topics[JOURNAL_TOPIC]
        consumer.assign([TopicPartition(JOURNAL_TOPIC, one, OFFSET_BEGINNING) for one in found.partitions])
        ends = {
            one: consumer.get_watermark_offsets(TopicPartition(JOURNAL_TOPIC, one))[1]
            for one in found.partitions
        }
        left = sum(ends.values())
        records = []
        deadline = time.monotonic() + 10
        while left > 0 and time.monotonic() < deadline:
            for message in consumer.consume(500, timeout=quiet_s):
                assert message.error() is None, message.error()
                left -= 1
                record = json.loads(message.value())
                assert misfits(record) == []
                key = message.key()
                assert record.get("tenant") == (None if key is None else key.decode())
                assert message.timestamp()[1] == record["interval_end_ms"]
                records.append(record)
        return [one for one in records if gateway_id in (None, one["gateway_id"].partition("/")[0])]
    finally:
        consumer.close()


def await_journal(
    broker: Endpoint, gateway_id: str, is_there: Callable[[list[Record]], bool], timeout_s: float = 20.0
) -> list[Record]:
    """Read until what is looked for has been written; return all records."""
    deadline = time.monotonic() + timeout_s
    while True:
        records = read_journal(broker, gateway_id)
        if is_there(records):
            return records
        assert time.monotonic() < deadline, f"not in the journal: {records[-20:]}"
        time.sleep(0.2)


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
