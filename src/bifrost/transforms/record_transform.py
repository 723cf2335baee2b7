"""The contract of a transform: the records of a batch in, changed records, rejections or needs out.

A transform is made for one topic and one rule, and is pure: it reads no clock, opens nothing, and gives the same answer
for the same arguments. What it needs from outside, a key or a schema, it asks for by name; its caller gets that and
runs the chain again from its beginning.

Source: KIP-467 for rejections by record.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from bifrost.records.codec.client_batch import ClientBatch
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget
from bifrost.wire.error_codes import ErrorCode


class Direction(Enum):
    """The way of a batch."""

    PRODUCE = "produce"
    """From a client to a broker: records may change and be rejected, their number stays."""
    FETCH = "fetch"
    """From a broker to a client: records may be left out as well."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A record that a transform does not let pass."""

    index: int
    """Of the record in its batch, from 0: `batch_index` of a Produce response."""
    reason: str
    """What the client is told, without any content of the record."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """Records that must not pass; so none of their batch does."""

    rejections: tuple[Rejection, ...]
    """In the order of their records; at least one, or `reason` says why the whole batch must not pass."""
    reason: str | None = None
    """Why, in one sentence without any content of a record; None: as the rejections say."""
    error_code: ErrorCode = ErrorCode.INVALID_RECORD
    """What the client is told of the batch."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a transform must have before it can tell; `known` has it by these names in the next call."""

    names: frozenset[str]


Outcome = Columns | Rejected | Needs
"""The columns that were given: nothing changes, and the batch keeps its bytes. Other columns: these are its records."""


class RecordTransform(Protocol):
    """A transform of the records of one topic."""

    @property
    def name(self) -> str:
        """What the operator knows it by: in errors, metrics and `explain`."""

    def transform(
        self,
        batch: ClientBatch,
        columns: Columns,
        direction: Direction,
        known: Mapping[str, object],
        budget: MemoryBudget,
    ) -> Outcome:
        """Transform the records of a batch. Its loops over records are in steps (`wire/steps.pyx`).

        Args:
            batch: its header; never that of a marker. Its bytes are those before any transform.
            columns: its records, as the transforms before this one left them.
            direction: which way it goes.
            known: by name what was needed and is there now.
            budget: what new columns are taken from.
        Raises:
            RecordsError: the new columns come to more than the budget has.
        """
