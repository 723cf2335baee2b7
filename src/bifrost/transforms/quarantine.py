"""Quarantine: what a filter refuses for good is written to a topic of the tenant's before the producer is told.

    filter ──rejections──▶ Quarantine ──ToQuarantine──▶ source `quarantine` ──▶ the topic
                               ▲                               │
      Rejected ◀───────────────┴────── Quarantined, or a Failure

The batch is refused as it would be without. So the number of records of a batch never changes, nothing stands in the
place of a bad record, and the producer knows that it was not stored. A refusal that may pass by itself puts nothing
aside: the producer sends the same records again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from bifrost.transforms.batch_digest import digest_of
from bifrost.transforms.record_transform import (
    Failure,
    Needs,
    Outcome,
    PlacedTransform,
    RecordTransform,
    Rejected,
    SteppedTransform,
)
from bifrost.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from bifrost.records.codec.client_batch import ClientBatch
    from bifrost.records.codec.columns import Columns
    from bifrost.records.codec.memory import MemoryBudget
    from bifrost.transforms.batch_step import BatchStep
    from bifrost.transforms.record_transform import Direction, Known

SOURCE = "quarantine"

MAX_NAMED = 1_000
"""Where a filter has named so many records it has not looked at those behind them: these are put aside as well."""
_NOT_LOOKED_AT = "not checked: too many records before it are not valid"


class QuarantinePlace(NamedTuple):
    """Where the records of a topic are put aside."""

    tenant: str
    topic: str
    """The topic that the records were for, by the path from the tenant."""
    quarantine: str
    """The topic of quarantine, as clients call it."""
    physical: bytes
    """What the broker calls that."""
    unusable: str | None = None
    """Why nothing may be written there; None: it may."""


class BadRecords:
    """Records that are put aside. They are let go of when they were sent: their message is unpacked once more."""

    __slots__ = ("batch", "columns", "reason", "rejections")

    def __init__(self, batch: ClientBatch, columns: Columns, rejected: Rejected) -> None:
        self.batch: ClientBatch | None = batch
        self.columns: Columns | None = columns
        self.rejections, self.reason = rejected.rejections, rejected.reason

    def reasons(self, count: int) -> dict[int, str]:
        """Return why each record of a batch of `count` is put aside, by its index; the others are valid."""
        if not self.rejections:
            return dict.fromkeys(range(count), self.reason or "refused")
        found = {one.index: one.reason for one in self.rejections}
        if len(found) >= MAX_NAMED:
            found |= dict.fromkeys(range(self.rejections[-1].index + 1, count), _NOT_LOOKED_AT)
        return found


@dataclass(frozen=True, slots=True)
class ToQuarantine:
    """A need: the bad records of the batch with this digest are in the topic; answered by `QUARANTINED`."""

    source: ClassVar[str] = SOURCE
    place: QuarantinePlace
    filter: str
    """What the operator knows the filter by."""
    partition: int
    digest: bytes
    given: BadRecords = field(compare=False, repr=False)


class Quarantined:
    """The answer when all bad records of a batch are written."""


QUARANTINED = Quarantined()


class Quarantine(PlacedTransform):
    """A transform whose refusals are put aside."""

    def __init__(self, inner: RecordTransform, place: QuarantinePlace) -> None:
        """Put aside at `place` what `inner` refuses for good."""
        self._inner, self._place = inner, place

    def at(self, partition: int) -> RecordTransform:
        """Return the transform of a partition."""
        return _PlacedQuarantine(self._inner, self._place, partition)


class _PlacedQuarantine(SteppedTransform):
    """The same for one partition."""

    def __init__(self, inner: RecordTransform, place: QuarantinePlace, partition: int) -> None:
        self._inner, self._place, self._partition = inner, place, partition

    @property
    def name(self) -> str:
        """What the operator knows it by."""
        return self._inner.name

    def step(self, direction: Direction) -> BatchStep | None:
        """Return the step of the transform: nothing is put aside where nothing is refused."""
        return self._inner.step(direction) if isinstance(self._inner, SteppedTransform) else None

    def transform(
        self,
        batch: ClientBatch,
        columns: Columns,
        direction: Direction,
        known: Known,
        budget: MemoryBudget,
    ) -> Outcome:
        """Transform the records of a batch; see `RecordTransform`."""
        outcome = self._inner.transform(batch, columns, direction, known, budget)
        if not isinstance(outcome, Rejected) or outcome.error_code is not ErrorCode.INVALID_RECORD:
            return outcome
        key = ToQuarantine(
            self._place,
            self.name,
            self._partition,
            digest_of(batch.data),
            BadRecords(batch, columns, outcome),
        )
        answer = known.get(key)
        if answer is None:
            return Needs(frozenset({key}))
        if isinstance(answer, Failure):
            return _refused(self.name, outcome, answer, direction)
        return outcome


def _refused(name: str, outcome: Rejected, failure: Failure, direction: Direction) -> Rejected:
    """Return the refusal of a batch whose bad records could not be written."""
    if failure.is_retriable:
        # Nothing is lost: the producer has the records, and sends them again.
        return Failure(f"{name}: {failure.reason}", is_retriable=True).rejected(direction, outcome.error_code)
    reason = f"{outcome.reason or 'records are not valid'}; {failure.reason}"
    return Rejected(outcome.rejections, reason, outcome.error_code)
