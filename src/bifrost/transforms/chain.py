"""Runs the transforms of a topic over one batch, in their order; what nothing changes keeps its bytes."""

from collections.abc import Sequence
from typing import Protocol

from bifrost.records.codec.client_batch import ClientBatch, as_batch, build_batch, read_columns
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.errors import RecordsError
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.record_transform import (
    BatchTransform,
    Buffer,
    Direction,
    Known,
    Needs,
    Noted,
    RecordTransform,
    Rejected,
)


class BrokenTransform(Exception):
    """A transform broke its contract: nothing of the batch may pass.

    Attributes:
        name: of the transform.
    """

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"transform {name}: {reason}")
        self.name = name


class ChainMeter(Protocol):
    """Counts what transforms do."""

    def begin(self) -> None:
        """Note that a transform begins."""

    def end(self, name: str, records: int, rejections: int) -> None:
        """Note that the transform of this name has ended, and what it did."""

    def note(self, name: str, what: str, reason: str | None) -> None:
        """Note what the transform of this name says about a batch: one of NOTES, and why where the journal tells."""


class _Uncounted:
    def begin(self) -> None:
        """Note nothing."""

    def end(self, name: str, records: int, rejections: int) -> None:
        """Count nothing."""

    def note(self, name: str, what: str, reason: str | None) -> None:
        """Count nothing."""


UNCOUNTED: ChainMeter = _Uncounted()


def transform_batch(
    batch: ClientBatch,
    transforms: Sequence[RecordTransform | BatchTransform],
    direction: Direction,
    known: Known,
    budget: MemoryBudget,
    meter: ChainMeter = UNCOUNTED,
) -> Buffer | Rejected | Needs:
    """Return a batch as its transforms leave it, or why it cannot pass, or not yet.

    Markers and batches without transforms are returned as they are, unread.

    Args:
        batch: see `split_batches`.
        transforms: in the order in which they apply: that of the configuration on produce, its reverse on fetch.
        direction: which way the batch goes.
        known: what was needed and is there now.
        budget: what memory is taken from while they run.
        meter: counts what each of them does.
    Raises:
        RecordsError: the batch cannot be read, or not be built again within its bounds.
        BrokenTransform: see there.
    """
    if batch.is_control or not transforms:
        return batch.data
    way = _Way(batch, direction, known, budget, meter)
    try:
        for one in transforms:
            stopped = way.whole(one) if isinstance(one, BatchTransform) else way.columns(one)
            if stopped is not None:
                return stopped
        return way.built()
    finally:
        budget.give_back(way.taken)


class _Way:
    """The way of one batch through its transforms: its bytes, or its records when a transform has asked for these."""

    def __init__(
        self, batch: ClientBatch, direction: Direction, known: Known, budget: MemoryBudget, meter: ChainMeter
    ) -> None:
        self._batch, self._direction, self._known = batch, direction, known
        self._budget, self._meter = budget, meter
        self._read: Columns | None = None
        self._columns: Columns | None = None
        self._changed_by = ""
        self.taken = 0
        """Bytes of batches between two transforms, which the budget has given."""

    def columns(self, one: RecordTransform) -> Rejected | Needs | None:
        """Let a transform see the records; return why they do not go on, None where they do."""
        if self._columns is None:
            self._read = self._columns = read_columns(self._batch, self._budget)
        columns = self._columns
        self._meter.begin()
        outcome = one.transform(self._batch, columns, self._direction, self._known, self._budget)
        if isinstance(outcome, Needs | Rejected):
            return self._stopped(one.name, outcome, len(columns))
        self._meter.end(one.name, len(columns), 0)
        made = self._noted(one.name, outcome)
        assert isinstance(made, Columns)
        assert self._read is not None
        if self._direction is Direction.PRODUCE and not _same_offsets(made, self._read):
            raise _broken_offsets(one.name)
        if made is not columns:
            self._columns, self._changed_by = made, one.name
        return None

    def whole(self, one: BatchTransform) -> Rejected | Needs | None:
        """Let a transform see the batch; return why it does not go on, None where it does."""
        self._keep(self.built())
        batch = self._batch
        self._meter.begin()
        outcome = one.transform_batch(batch, self._direction, self._known, self._budget)
        if isinstance(outcome, Needs | Rejected):
            return self._stopped(one.name, outcome, batch.record_count)
        self._meter.end(one.name, batch.record_count, 0)
        made = self._noted(one.name, outcome)
        assert not isinstance(made, Columns)
        self._keep(made)
        if self._direction is Direction.PRODUCE and self._batch.record_count != batch.record_count:
            raise _broken_offsets(one.name)
        return None

    def built(self) -> Buffer:
        """Return the batch as it is now."""
        if self._columns is self._read:
            return self._batch.data
        assert self._columns is not None
        try:
            return build_batch(self._batch, self._columns, self._budget)
        except RecordsError:
            raise
        except ValueError as error:
            raise BrokenTransform(self._changed_by, str(error)) from None

    def _keep(self, data: Buffer) -> None:
        """Go on with these bytes."""
        if data is self._batch.data:
            return
        self._budget.take(len(data))
        self.taken += len(data)
        self._batch, self._read, self._columns = as_batch(data), None, None

    def _noted(self, name: str, outcome: Columns | Buffer | Noted) -> Columns | Buffer:
        if isinstance(outcome, Noted):
            self._meter.note(name, outcome.what, outcome.reason)
            return outcome.outcome
        return outcome

    def _stopped(self, name: str, outcome: Rejected | Needs, count: int) -> Rejected | Needs:
        if isinstance(outcome, Needs):
            if all(key in self._known for key in outcome.names):
                raise BrokenTransform(name, "it asks for what it has")
            return outcome
        self._meter.end(name, count, max(1, len(outcome.rejections)))
        _check_rejections(name, outcome, count)
        return outcome


def _broken_offsets(name: str) -> BrokenTransform:
    return BrokenTransform(name, "on produce the number and offsets of records must stay")


def _check_rejections(name: str, rejected: Rejected, count: int) -> None:
    indexes = [one.index for one in rejected.rejections]
    if not indexes and rejected.reason is not None:
        return
    if not indexes or indexes != sorted(set(indexes)) or not 0 <= indexes[0] <= indexes[-1] < count:
        raise BrokenTransform(name, f"it rejects records {indexes[:10]} of {count}")


def _same_offsets(columns: Columns, read: Columns) -> bool:
    """Whether records have the places that their producer gave them: its sequence numbers go with these."""
    if columns.offset_deltas is read.offset_deltas:
        return True
    return columns.offset_deltas.tobytes() == read.offset_deltas.tobytes()
