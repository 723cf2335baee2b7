"""Copies the committed records of a partition into the same partition of another topic, sealed anew; and verifies it.

    source:  committed batches ──opened──▶ contents ─┐
    copy:    batches that are there ──opened──▶ the same contents, else the job ends
                                                     └──▶ the rest is sealed and appended

A copy that was begun is verified up to its end and then goes on, so a task that is repeated, or a job that is started
again, does no batch twice. Only one job may write the copy: an offset that is not the expected one ends it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from bifrost.encryption.kek import Kek
from bifrost.encryption.place import Place
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.job_keks import JobKeys
from bifrost.pipeline.stored.resealing import Content, Resealer, parse, without_producer
from bifrost.pipeline.stored.topic_client import LATEST, READ_COMMITTED, TopicClient, UnknownOutcome
from bifrost.pipeline.stored.topic_log import OffsetRange, StoredBatch, read_range
from bifrost.records.batch_reader import read_batches
from bifrost.records.codec.errors import RecordsError

ATTEMPTS = 5
"""Beginnings after a batch of which the broker did not say whether it was written."""


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """What a job copies; Spark sends it to the executors."""

    topic: str
    to: str
    cluster: str
    """What binds sealed records to the cluster: by default Kafka's ID of it."""
    opens: tuple[Kek, ...]
    seals: Kek
    is_by_value: bool
    accepts_plaintext: bool
    keeps_producers: bool
    """Whether producers and their sequences are copied: where compaction made no gaps."""


class CopiedRun(NamedTuple):
    """Batches that follow each other, and whose offsets differ by the same number in the copy."""

    partition: int
    first_offset: int
    last_offset: int
    copied_first_offset: int
    batches: int
    records: int
    without_producer: int
    """Batches that lost their producer or transaction."""


def committed_batches(client: TopicClient, wanted: OffsetRange) -> Iterator[StoredBatch]:
    """Yield the batches that a reader of committed records gets, without markers and without empty ones.

    Raises:
        PipelineError: the range cannot be read, or retention deletes it meanwhile.
    """
    for step in read_range(client, wanted, isolation=READ_COMMITTED, skips_deleted=False):
        waiting = sorted(step.aborted, key=lambda one: one[1], reverse=True)
        dropped: set[int] = set()
        for stored in step.batches:
            while waiting and waiting[-1][1] <= stored.last_offset:
                dropped.add(waiting.pop()[0])
            batch = parse(stored.data)
            if batch.is_control:
                if any(one.is_abort for one in read_batches(stored.data)):
                    dropped.discard(batch.producer_id)
            elif batch.record_count and not (batch.is_transactional and batch.producer_id in dropped):
                yield stored


class PartitionCopy:
    """One partition of the copy."""

    def __init__(self, client: TopicClient, plan: CopyPlan, keys: JobKeys, source: OffsetRange) -> None:
        """Prepare; nothing is read yet."""
        self._client, self._plan, self._source = client, plan, source
        options = {"is_by_value": plan.is_by_value, "accepts_plaintext": plan.accepts_plaintext}
        partition = source.partition
        self._from = Resealer(Place(plan.cluster, plan.topic, partition), keys, **options)
        # A copy of a tombstone has nothing to seal, and in a compacted topic it stays as it is.
        self._to = Resealer(
            Place(plan.cluster, plan.to, partition),
            keys,
            is_by_value=plan.is_by_value,
            accepts_plaintext=False,
        )

    def copied(self) -> Iterator[CopiedRun]:
        """Copy what the copy does not have yet; yield how offsets differ.

        Raises:
            PipelineError: the copy has something else, or a batch cannot be copied.
        """
        for attempt in range(ATTEMPTS):
            runs = _Runs(self._source.partition)
            try:
                for source, offset, is_bare in self._copy():
                    runs.add(source, offset, is_bare=is_bare)
            except UnknownOutcome:
                if attempt == ATTEMPTS - 1:
                    raise PipelineError(f"{self._plan.to}: the broker did not say what was written") from None
                continue
            yield from runs.all()
            return

    def verified(self) -> Iterator[CopiedRun]:
        """Compare the whole copy with its source; yield how offsets differ.

        Raises:
            PipelineError: they are not the same.
        """
        runs, there = _Runs(self._source.partition), self._there()
        for source in committed_batches(self._client, self._source):
            found = next(there, None)
            if found is None:
                raise PipelineError(f"{self._at(source)}: the copy ends before it")
            runs.add(source, found.base_offset, is_bare=self._compare(source, found))
        extra = next(there, None)
        if extra is not None:
            raise PipelineError(f"{self._plan.to}-{extra.partition} has more at offset {extra.base_offset}")
        yield from runs.all()

    def _there(self) -> Iterator[StoredBatch]:
        partition = self._source.partition
        end = self._client.offset(self._plan.to, partition, LATEST)
        copy = OffsetRange(self._plan.to, partition, 0, end)
        for step in read_range(self._client, copy, skips_deleted=False):
            yield from step.batches

    def _copy(self) -> Iterator[tuple[StoredBatch, int, bool]]:
        there: Iterator[StoredBatch] | None = self._there()
        next_offset = 0
        for source in committed_batches(self._client, self._source):
            found = next(there, None) if there is not None else None
            if found is not None:
                next_offset = found.last_offset + 1
                yield source, found.base_offset, self._compare(source, found)
                continue
            there = None
            content, is_bare = self._content(source)
            offset = self._client.produce(
                self._plan.to, self._source.partition, self._sealed(content, source)
            )
            if offset != next_offset:
                raise PipelineError(
                    f"{self._plan.to}: offset {offset} where {next_offset} was next: who else writes?"
                )
            next_offset += parse(content.data).record_count
            yield source, offset, is_bare

    def _content(self, source: StoredBatch) -> tuple[Content, bool]:
        """Return what the copy of a batch opens to, and whether it is without its producer."""
        content = self._opened(self._from, source)
        batch = parse(content.data)
        if batch.producer_id < 0 or (self._plan.keeps_producers and not batch.is_transactional):
            return content, False
        return content._replace(data=without_producer(content.data)), True

    def _compare(self, source: StoredBatch, found: StoredBatch) -> bool:
        content, is_bare = self._content(source)
        there = self._opened(self._to, found, by_new_kek=True)
        if there.data != content.data:
            raise PipelineError(
                f"{self._plan.to}-{found.partition} at offset {found.base_offset} is no copy of {self._at(source)}"
            )
        return is_bare

    def _opened(self, resealer: Resealer, stored: StoredBatch, *, by_new_kek: bool = False) -> Content:
        try:
            return resealer.opened(stored.data, by_new_kek=by_new_kek)
        except RecordsError as error:
            raise PipelineError(f"{self._at(stored)}: {error}") from None

    def _sealed(self, content: Content, source: StoredBatch) -> bytes:
        try:
            return self._to.sealed(content)
        except RecordsError as error:
            raise PipelineError(f"{self._at(source)}: {error}") from None

    @staticmethod
    def _at(stored: StoredBatch) -> str:
        return f"{stored.topic}-{stored.partition} at offset {stored.base_offset}"


class _Runs:
    """Adds up batches while their offsets differ by the same number."""

    def __init__(self, partition: int) -> None:
        self._partition = partition
        self._runs: list[list[int]] = []

    def add(self, source: StoredBatch, offset: int, *, is_bare: bool) -> None:
        records = parse(source.data).record_count
        last = self._runs[-1] if self._runs else None
        if last is None or last[2] - last[0] != offset - source.base_offset:
            last = [source.base_offset, 0, offset, 0, 0, 0]
            self._runs.append(last)
        last[1] = source.last_offset
        last[3] += 1
        last[4] += records
        last[5] += is_bare

    def all(self) -> Iterator[CopiedRun]:
        for run in self._runs:
            yield CopiedRun(self._partition, *run)
