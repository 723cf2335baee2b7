"""Checks stored records by the filter SchemaValidator itself, and adds up those that it would refuse.

    batches ──opened──▶ records ──SchemaValidator──▶ refused: index, reason ──▶ Breaks adds them up ──▶ rows

The filter tells of a batch as much as a client needs. Here records that it refuses are taken out, and it is asked again
until it lets the others pass; so each record that it would refuse by itself is found.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bifrost.config.records.fail_mode import FailMode
from bifrost.config.records.filter_configs import FilterConfig
from bifrost.encryption.errors import KekUnavailable
from bifrost.encryption.kek import Kek
from bifrost.encryption.place import Place
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.filter_sealing import FilterSealing
from bifrost.pipeline.stored.job_keks import JobKeys
from bifrost.pipeline.stored.job_schemas import JobSchemas
from bifrost.pipeline.stored.opening import Opener
from bifrost.pipeline.stored.sealing_facts import LATEST_MS, MAX_UNPACKED_BYTES
from bifrost.pipeline.stored.topic_log import NO_TIMESTAMP, StoredBatch
from bifrost.records.codec.client_batch import ClientBatch, split_batches
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.errors import RecordsError
from bifrost.records.codec.memory import MemoryBudget
from bifrost.schemas.readers.reader import NO_BOUND
from bifrost.transforms.record_transform import Direction, Known, Needs, Rejected
from bifrost.transforms.schema_validator import SchemaValidator
from bifrost.transforms.transform_kind import Topic

if TYPE_CHECKING:
    import pyarrow as pa

VALID, BROKEN, UNREADABLE = "valid", "broken", "unreadable"
MAX_GROUPS = 50_000
"""Rows of a task that are added up at a time; more are given more than once, and Spark adds them up."""
MAX_REASON = 500
HOUR_MS = 3_600_000
_KEY = "topic partition tenant filter kind producer_id producer_epoch hour"
GROUP_COLUMNS = tuple(_KEY.split())
SCHEMA = (
    "topic STRING, partition INT, tenant STRING, filter STRING, kind STRING, producer_id LONG, "
    "producer_epoch INT, hour STRING, first_offset LONG, last_offset LONG, first_timestamp_ms LONG, "
    "last_timestamp_ms LONG, records LONG, reason STRING"
)
"""Columns of the rows, as Spark writes them. `reason` is that of the first record."""
COLUMNS = tuple(one.split()[0] for one in SCHEMA.split(", "))


@dataclass(frozen=True, slots=True)
class TopicCheck:
    """What a topic's records are checked by; Spark sends it to the executors."""

    tenant: str
    path: str
    physical: str
    cluster: str
    """What binds sealed records to the cluster."""
    filters: tuple[tuple[str, FilterConfig], ...]
    """What operators know each by, and its config."""
    keks: tuple[Kek, ...]
    sealing: FilterSealing | None = None
    """The filter that seals it, where that says how."""


class TopicChecker:
    """The filters of one topic, in one task."""

    def __init__(self, check: TopicCheck, schemas: JobSchemas) -> None:
        """Prepare.

        Raises:
            PipelineError, KekUnavailable, UnknownKek: a KEK cannot be used.
        """
        self.tenant = check.tenant
        self._check, self._schemas = check, schemas
        topic = Topic(check.tenant, check.path, check.physical.encode(), check.cluster)
        # The job tells of each record, also where the gateway only counts.
        strict = {"enforce": True, "fail": FailMode.CLOSED}
        self._filters = [
            SchemaValidator(name, config.model_copy(update=strict), topic, most_ns=NO_BOUND)
            for name, config in check.filters
        ]
        self._keys = JobKeys(check.keks)
        self._openers: dict[int, Opener] = {}

    def opened(self, partition: int, batch: ClientBatch, budget: MemoryBudget) -> tuple[ClientBatch, Columns]:
        """Return a batch in plain; see `Opener`."""
        opener = self._openers.get(partition)
        if opener is None:
            place = Place(self._check.cluster, self._check.physical, partition)
            opener = self._openers[partition] = Opener(place, self._keys, self._check.sealing)
        return opener.opened(batch, budget)

    def broken(
        self, batch: ClientBatch, columns: Columns, budget: MemoryBudget
    ) -> Iterator[tuple[str, int, str]]:
        """Yield each record that a filter would refuse: the filter, the record's place in `columns`, and why.

        Raises:
            PipelineError: a registry gives no answer.
        """
        for one in self._filters:
            begin = f"{one.name}: "
            for index, reason in broken_records(one, batch, columns, self._schemas, budget):
                yield one.name, index, reason.removeprefix(begin)

    def close(self) -> None:
        """Close the connections to the services of its KEKs."""
        self._keys.close()


def broken_records(
    check: SchemaValidator, batch: ClientBatch, columns: Columns, schemas: JobSchemas, budget: MemoryBudget
) -> Iterator[tuple[int, str]]:
    """Yield the place in `columns` of each record that a filter refuses, and why.

    Raises:
        PipelineError: a registry gives no answer.
    """
    left: Sequence[int] = range(len(columns))
    known: Known = {}
    while left:
        outcome = check.transform(batch, columns, Direction.PRODUCE, known, budget)
        if isinstance(outcome, Needs):
            assert not outcome.names <= known.keys()
            known = {**known, **{key: schemas.answer(key) for key in outcome.names}}  # type: ignore[arg-type]
            continue
        if not isinstance(outcome, Rejected):
            return
        if not outcome.rejections:
            yield from ((index, outcome.reason or "") for index in left)
            return
        for one in outcome.rejections:
            yield left[one.index], one.reason
        out = {one.index for one in outcome.rejections}
        columns = Columns.of([one for at, one in enumerate(columns.records()) if at not in out])
        left = [one for at, one in enumerate(left) if at not in out]


class Breaks:
    """Broken records of many batches, added up by topic, partition, filter, producer and hour."""

    def __init__(self) -> None:
        self._rows: dict[tuple[Any, ...], list[Any]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, stored: StoredBatch, checker: TopicChecker) -> None:
        """Check a batch, and add what is wrong with it.

        Raises:
            PipelineError: a registry or a KEK cannot be asked.
        """
        producer, budget = (-1, -1), MemoryBudget("batch", MAX_UNPACKED_BYTES)
        try:
            batch = next(split_batches(stored.data, is_whole=True))
            producer = (batch.producer_id, batch.producer_epoch)
            if batch.is_control or not batch.record_count:
                return
            batch, columns = checker.opened(stored.partition, batch, budget)
        except KekUnavailable as error:
            raise PipelineError(str(error)) from None
        except RecordsError as error:
            at = (stored.base_offset, stored.last_offset, stored.timestamp_ms)
            self._note(stored, checker, ("", UNREADABLE, *producer), at, str(error))
            return
        bad = set()
        for name, index, reason in checker.broken(batch, columns, budget):
            bad.add(index)
            offset = batch.base_offset + columns.offset_deltas[index]
            at_ms = batch.base_timestamp_ms + columns.timestamp_deltas[index]
            at = (offset, offset, batch.max_timestamp_ms if batch.is_log_append_time else at_ms)
            self._note(stored, checker, (name, BROKEN, *producer), at, reason)
        if len(bad) < len(columns):
            at = (stored.base_offset, stored.last_offset, stored.timestamp_ms)
            self._note(stored, checker, ("", VALID, -1, -1), at, "", len(columns) - len(bad))

    def _note(
        self,
        stored: StoredBatch,
        checker: TopicChecker,
        what: tuple[Any, ...],
        at: tuple[int, int, int],
        reason: str,
        records: int = 1,
    ) -> None:
        first, last, timestamp_ms = at
        at_ms = min(max(timestamp_ms, NO_TIMESTAMP), LATEST_MS)
        key = (stored.topic, stored.partition, checker.tenant, *what, _hour(at_ms))
        row = self._rows.get(key)
        if row is None:
            self._rows[key] = [first, last, at_ms, at_ms, records, reason[:MAX_REASON]]
            return
        row[0], row[1] = min(row[0], first), max(row[1], last)
        row[2], row[3] = min(row[2], at_ms), max(row[3], at_ms)
        row[4] += records

    def take(self) -> dict[str, list[Any]]:
        """Return the rows as columns, and begin anew."""
        rows = [(*key, *row) for key, row in self._rows.items()]
        self._rows.clear()
        return {name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)}


def _hour(timestamp_ms: int) -> str:
    """Return the hour (UTC) of a timestamp, empty where there is none."""
    if timestamp_ms <= NO_TIMESTAMP:
        return ""
    begin = datetime.datetime.fromtimestamp(timestamp_ms // HOUR_MS * 3600, datetime.UTC)
    return begin.strftime("%Y-%m-%d %H:00")


def break_rows(
    checks: Mapping[str, Sequence[TopicCheck]], batches: Iterator[StoredBatch]
) -> Iterator[pa.RecordBatch]:
    """Make rows of what is wrong with batches, in an executor.

    Args:
        checks: by physical topic, one for each tenant that has filters for it.
        batches: of topics that are in `checks`.
    """
    schemas, breaks, checkers = JobSchemas(), Breaks(), dict[str, list[TopicChecker]]()
    try:
        for stored in batches:
            if stored.topic not in checkers:
                checkers[stored.topic] = [TopicChecker(one, schemas) for one in checks[stored.topic]]
            for one in checkers[stored.topic]:
                breaks.add(stored, one)
            if len(breaks) >= MAX_GROUPS:
                yield _record_batch(breaks)
        if len(breaks):
            yield _record_batch(breaks)
    except RecordsError as error:
        # A KEK that is in no key file, before a batch was read.
        raise PipelineError(str(error)) from None
    finally:
        for several in checkers.values():
            for one in several:
                one.close()


def _record_batch(breaks: Breaks) -> pa.RecordBatch:
    import pyarrow as pa

    small, text = {"partition", "producer_epoch"}, {"topic", "tenant", "filter", "kind", "hour", "reason"}
    types = [pa.int32() if name in small else pa.string() if name in text else pa.int64() for name in COLUMNS]
    schema = pa.schema(list(zip(COLUMNS, types, strict=True)))
    return pa.RecordBatch.from_pydict(breaks.take(), schema=schema)
