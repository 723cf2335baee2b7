"""Copies the committed records of a partition into the same partition of another topic; and verifies the copy.

    source:  committed batches ──opened──▶ contents ─┐
    copy:    batches that are there ──opened──▶ the same contents, else the job ends
                                                     └──▶ the rest is appended

What a batch of the copy opens to, and how it is stored, `Contents` says: here it is sealed anew.

A copy that was begun is verified up to its end and then goes on, so a task that is repeated, or a job that is started
again, does no batch twice. Only one job may write the copy: an offset that is not the expected one ends it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from bifrost.encryption.kek import Kek
from bifrost.encryption.place import Place
from bifrost.encryption.sealing_key import read_sealing_key
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.filter_sealing import FilterSealing
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
    sealing: FilterSealing | None = None
    """The filter of the topic, where that says how its records are sealed."""
    to_sealing: FilterSealing | None = None
    """Likewise how those of the copy are."""


class CopiedRun(NamedTuple):
    """Batches that follow each other, and whose offsets differ by the same number in the copy."""

    partition: int
    first_offset: int
    last_offset: int
    copied_first_offset: int
    """-1: the copy has nothing of these batches."""
    batches: int
    records: int
    """Of the source."""
    without_producer: int
    """Batches that lost their producer or transaction."""
    left_out: int = 0
    """Records that the copy does not have."""
    passed: int = 0
    """Batches that are as they were because they could not be transformed."""


class Copied(NamedTuple):
    """What the copy has of a batch."""

    content: Content | None
    """None: nothing of it."""
    without_producer: bool = False
    left_out: int = 0
    passed: bool = False


class Contents(Protocol):
    """What batches of a partition become in the copy."""

    def copied(self, source: StoredBatch) -> Copied:
        """Return what the copy has of a batch.

        Raises:
            PipelineError, RecordsError: it cannot be copied.
        """

    def stored(self, content: Content) -> bytes:
        """Return the batch that is appended.

        Raises:
            RecordsError: it cannot be built.
        """

    def found(self, there: StoredBatch) -> bytes:
        """Return what a batch of the copy opens to: `Content.data`.

        Raises:
            PipelineError, RecordsError: it does not open.
        """


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


class ResealedContents:
    """Batches that are sealed anew; see `Contents`."""

    def __init__(self, plan: CopyPlan, keys: JobKeys, partition: int) -> None:
        """Prepare for a partition.

        Raises:
            PipelineError: another KEK than the new one wraps the key that seals keys of the copy.
        """
        to_key = None if plan.to_sealing is None else plan.to_sealing.config.sealing_key
        if to_key is not None and not keys.is_of_seals(read_sealing_key(to_key).wrapped.as_bytes()):
            raise PipelineError("--sealing-key: it is not wrapped by the new KEK")
        self._keeps_producers = plan.keeps_producers
        self._from = Resealer(
            Place(plan.cluster, plan.topic, partition),
            keys,
            is_by_value=plan.is_by_value,
            accepts_plaintext=plan.accepts_plaintext,
            sealing=plan.sealing,
        )
        # A copy of a tombstone has nothing to seal, and in a compacted topic it stays as it is.
        self._to = Resealer(
            Place(plan.cluster, plan.to, partition),
            keys,
            is_by_value=plan.is_by_value,
            accepts_plaintext=False,
            sealing=plan.to_sealing,
        )

    def copied(self, source: StoredBatch) -> Copied:
        """See `Contents`."""
        content = self._from.opened(source.data)
        batch = parse(content.data)
        if batch.producer_id < 0 or (self._keeps_producers and not batch.is_transactional):
            return Copied(content)
        return Copied(content._replace(data=without_producer(content.data)), without_producer=True)

    def stored(self, content: Content) -> bytes:
        """See `Contents`."""
        return self._to.sealed(content)

    def found(self, there: StoredBatch) -> bytes:
        """See `Contents`."""
        return self._to.opened(there.data, by_new_kek=True).data


class PartitionCopy:
    """One partition of the copy."""

    def __init__(
        self,
        client: TopicClient,
        source: OffsetRange,
        to: str,
        contents: Contents,
        there: TopicClient | None = None,
    ) -> None:
        """Prepare; nothing is read yet.

        Args:
            client: asks the brokers of the source.
            source: what is copied.
            to: the topic that is the copy.
            contents: of the partition.
            there: asks the brokers of the copy; None: they are the same.
        """
        self._client, self._source, self._to = client, source, to
        self._contents, self._target = contents, there or client

    def copied(self) -> Iterator[CopiedRun]:
        """Copy what the copy does not have yet; yield how offsets differ.

        Raises:
            PipelineError: the copy has something else, or a batch cannot be copied.
        """
        for attempt in range(ATTEMPTS):
            runs = _Runs(self._source.partition)
            try:
                for source, offset, made in self._copy():
                    runs.add(source, offset, made)
            except UnknownOutcome:
                if attempt == ATTEMPTS - 1:
                    raise PipelineError(f"{self._to}: the broker did not say what was written") from None
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
            made = self._made(source)
            if made.content is None:
                runs.add(source, None, made)
                continue
            found = next(there, None)
            if found is None:
                raise PipelineError(f"{_at(source)}: the copy ends before it")
            self._compare(source, made.content, found)
            runs.add(source, found.base_offset, made)
        extra = next(there, None)
        if extra is not None:
            raise PipelineError(f"{self._to}-{extra.partition} has more at offset {extra.base_offset}")
        yield from runs.all()

    def _there(self) -> Iterator[StoredBatch]:
        partition = self._source.partition
        end = self._target.offset(self._to, partition, LATEST)
        copy = OffsetRange(self._to, partition, 0, end)
        for step in read_range(self._target, copy, skips_deleted=False):
            yield from step.batches

    def _copy(self) -> Iterator[tuple[StoredBatch, int | None, Copied]]:
        there: Iterator[StoredBatch] | None = self._there()
        next_offset = 0
        for source in committed_batches(self._client, self._source):
            made = self._made(source)
            if made.content is None:
                yield source, None, made
                continue
            found = next(there, None) if there is not None else None
            if found is not None:
                next_offset = found.last_offset + 1
                self._compare(source, made.content, found)
                yield source, found.base_offset, made
                continue
            there = None
            try:
                data = self._contents.stored(made.content)
            except RecordsError as error:
                raise PipelineError(f"{_at(source)}: {error}") from None
            offset = self._target.produce(self._to, self._source.partition, data)
            if offset != next_offset:
                raise PipelineError(
                    f"{self._to}: offset {offset} where {next_offset} was next: who else writes?"
                )
            next_offset += parse(made.content.data).record_count
            yield source, offset, made

    def _made(self, source: StoredBatch) -> Copied:
        try:
            return self._contents.copied(source)
        except RecordsError as error:
            raise PipelineError(f"{_at(source)}: {error}") from None

    def _compare(self, source: StoredBatch, content: Content, found: StoredBatch) -> None:
        try:
            there = self._contents.found(found)
        except RecordsError as error:
            raise PipelineError(f"{_at(found)}: {error}") from None
        if there != content.data:
            raise PipelineError(
                f"{self._to}-{found.partition} at offset {found.base_offset} is no copy of {_at(source)}"
            )


def _at(stored: StoredBatch) -> str:
    return f"{stored.topic}-{stored.partition} at offset {stored.base_offset}"


class _Runs:
    """Adds up batches while their offsets differ by the same number."""

    def __init__(self, partition: int) -> None:
        self._partition = partition
        self._difference: int | None = None
        self._runs: list[list[int]] = []

    def add(self, source: StoredBatch, offset: int | None, made: Copied) -> None:
        difference = None if offset is None else offset - source.base_offset
        if not self._runs or difference != self._difference:
            self._difference = difference
            self._runs.append([source.base_offset, 0, -1 if offset is None else offset, 0, 0, 0, 0, 0])
        last = self._runs[-1]
        last[1] = source.last_offset
        last[3] += 1
        last[4] += parse(source.data).record_count
        last[5] += made.without_producer
        last[6] += made.left_out
        last[7] += made.passed

    def all(self) -> Iterator[CopiedRun]:
        for run in self._runs:
            yield CopiedRun(self._partition, *run)
