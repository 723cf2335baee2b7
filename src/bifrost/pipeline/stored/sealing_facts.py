"""What a stored batch says of its encryption without any key: how it is sealed, by which KEKs, and who produced it.

    batches ──▶ facts_of ──▶ Fact, Fact, … ──▶ Facts adds those that are alike ──▶ rows

What an envelope says is not proved here: that needs its key. A batch whose envelope is malformed is `unreadable`.
"""

import datetime
from typing import Any, NamedTuple

from bifrost.encryption.sealed_batch import read_sealed
from bifrost.encryption.sealed_fields import has_sealed_fields, headers_in
from bifrost.encryption.sealed_values import read_sealed_values
from bifrost.encryption.wrapped_dek import read_wrapped_dek
from bifrost.pipeline.stored.topic_log import NO_TIMESTAMP, StoredBatch
from bifrost.records.codec.client_batch import ClientBatch, read_columns, split_batches
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.errors import RecordsError
from bifrost.records.codec.memory import MemoryBudget

SEALED_BATCH, SEALED_VALUES, SEALED_FIELDS, PLAIN, MARKER, EMPTY, UNREADABLE = (
    "sealed batch",
    "sealed values",
    "sealed fields",
    "plain",
    "marker",
    "empty",
    "unreadable",
)
SEALED = (SEALED_BATCH, SEALED_VALUES, SEALED_FIELDS)
"""Kinds that have a KEK."""
LATEST_MS = 253_402_300_799_999
"""The end of the year 9999: later times, which clients may send, count as this one."""
MAX_UNPACKED_BYTES = 512 << 20
"""Of one batch: its records and their columns."""
MAX_GROUPS = 50_000
"""Rows of a task that are added up at a time: some 50 MB. A task with more producers, KEKs and days gives rows more
than once, and Spark adds them up."""
_FIELDS = "topic partition kind kek kek_version producer_id producer_epoch day"
GROUP_COLUMNS = tuple(_FIELDS.split())
SCHEMA = (
    "topic STRING, partition INT, kind STRING, kek STRING, kek_version LONG, producer_id LONG, producer_epoch INT, "
    "day STRING, first_offset LONG, last_offset LONG, first_timestamp_ms LONG, last_timestamp_ms LONG, "
    "batches LONG, records LONG, plain_records LONG, bytes LONG, reason STRING"
)
"""Columns of the rows, as Spark writes them."""
COLUMNS = tuple(one.split()[0] for one in SCHEMA.split(", "))


class Fact(NamedTuple):
    """What a batch says about one KEK, or about none."""

    kind: str
    kek: str = ""
    kek_version: int = 0
    records: int = 0
    plain_records: int = 0
    """Records of a value that no envelope hides; a null hides nothing, and has none."""
    reason: str = ""
    """Why it is unreadable, without any content."""


def facts_of(batch: ClientBatch, budget: MemoryBudget) -> list[Fact]:
    """Return what a batch says: one fact, or one for each KEK that its values are sealed by.

    A batch of sealed values counts its records with each of its KEKs, because which record has which is not counted.

    Raises:
        RecordsError: it cannot be read.
    """
    if batch.is_control:
        return [Fact(MARKER, records=batch.record_count)]
    if batch.record_count < 1:
        return [Fact(EMPTY)]
    sealed = read_sealed(batch, budget)
    if sealed is not None:
        dek = read_wrapped_dek(sealed.dek_header)
        return [Fact(SEALED_BATCH, dek.kek, dek.kek_version, batch.record_count)]
    return _facts_of_values(read_columns(batch, budget))


def _facts_of_values(columns: Columns) -> list[Fact]:
    values = read_sealed_values(columns)
    keks = {read_wrapped_dek(header)[:2] for header in values.dek_headers}
    if not keks:
        return _facts_of_fields(columns) or [
            Fact(PLAIN, records=len(columns), plain_records=values.not_sealed)
        ]
    first, *others = sorted(keks)
    found = [Fact(SEALED_VALUES, *first, len(columns), values.not_sealed)]
    return found + [Fact(SEALED_VALUES, *one, len(columns)) for one in others]


def _facts_of_fields(columns: Columns) -> list[Fact]:
    """Return what sealed fields say; a value counts as plain that has none, for nothing says if it has to."""
    headers: set[bytes] = set()
    plain = 0
    for value in columns.values:
        if value is None:
            continue
        found = headers_in(value) if has_sealed_fields(value) else set()
        plain += not found
        headers |= found
    keks = sorted({read_wrapped_dek(header)[:2] for header in headers})
    return [Fact(SEALED_FIELDS, *one, len(columns), 0 if place else plain) for place, one in enumerate(keks)]


class Facts:
    """Facts of many batches, added up by topic, partition, kind, KEK, producer and day."""

    def __init__(self) -> None:
        self._rows: dict[tuple[Any, ...], list[Any]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, stored: StoredBatch) -> None:
        """Add a batch."""
        producer, budget = (-1, -1), MemoryBudget("batch", MAX_UNPACKED_BYTES)
        try:
            batch = next(split_batches(stored.data, is_whole=True))
            producer = (batch.producer_id, batch.producer_epoch)
            facts = facts_of(batch, budget)
        except RecordsError as error:
            facts = [Fact(UNREADABLE, reason=str(error))]
        for fact in facts:
            self._note(stored, fact, producer)

    def _note(self, stored: StoredBatch, fact: Fact, producer: tuple[int, int]) -> None:
        at_ms = min(max(stored.timestamp_ms, NO_TIMESTAMP), LATEST_MS)
        key = (
            stored.topic,
            stored.partition,
            fact.kind,
            fact.kek,
            fact.kek_version,
            *producer,
            _day(at_ms),
        )
        row = self._rows.get(key)
        if row is None:
            row = [stored.base_offset, stored.last_offset, at_ms, at_ms, 0, 0, 0, 0, fact.reason]
            self._rows[key] = row
        row[0] = min(row[0], stored.base_offset)
        row[1] = max(row[1], stored.last_offset)
        row[2] = min(row[2], at_ms)
        row[3] = max(row[3], at_ms)
        row[4] += 1
        row[5] += fact.records
        row[6] += fact.plain_records
        row[7] += len(stored.data)

    def take(self) -> dict[str, list[Any]]:
        """Return the rows as columns, and begin anew."""
        rows = [(*key, *row) for key, row in self._rows.items()]
        self._rows.clear()
        return {name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)}


def _day(timestamp_ms: int) -> str:
    """Return the day (UTC) of a timestamp, empty where there is none."""
    if timestamp_ms <= NO_TIMESTAMP:
        return ""
    return datetime.datetime.fromtimestamp(timestamp_ms / 1000, datetime.UTC).strftime("%Y-%m-%d")
