"""Runs the transforms of a topic over one batch, in their order; what nothing changes keeps its bytes."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from bifrost.records.codec.client_batch import ClientBatch, build_batch, read_columns
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.errors import RecordsError
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.record_transform import Direction, Needs, RecordTransform, Rejected


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


class _Uncounted:
    def begin(self) -> None:
        """Note nothing."""

    def end(self, name: str, records: int, rejections: int) -> None:
        """Count nothing."""


UNCOUNTED: ChainMeter = _Uncounted()


def transform_batch(
    batch: ClientBatch,
    transforms: Sequence[RecordTransform],
    direction: Direction,
    known: Mapping[str, object],
    budget: MemoryBudget,
    meter: ChainMeter = UNCOUNTED,
) -> memoryview | bytes | Rejected | Needs:
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
    read = columns = read_columns(batch, budget)
    changed_by = ""
    for one in transforms:
        meter.begin()
        outcome = one.transform(batch, columns, direction, known, budget)
        if isinstance(outcome, Needs):
            if outcome.names <= known.keys():
                raise BrokenTransform(one.name, "it asks for what it has")
            return outcome
        if isinstance(outcome, Rejected):
            meter.end(one.name, len(columns), max(1, len(outcome.rejections)))
            _check_rejections(one.name, outcome, len(columns))
            return outcome
        meter.end(one.name, len(columns), 0)
        if direction is Direction.PRODUCE and not _same_offsets(outcome, read):
            raise BrokenTransform(one.name, "on produce the number and offsets of records must stay")
        if outcome is not columns:
            columns, changed_by = outcome, one.name
    if columns is read:
        return batch.data
    try:
        return build_batch(batch, columns, budget)
    except RecordsError:
        raise
    except ValueError as error:
        raise BrokenTransform(changed_by, str(error)) from None


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
