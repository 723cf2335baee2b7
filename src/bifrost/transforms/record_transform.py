"""The contract of a transform: the records of a batch in, changed records, rejections or needs out.

A transform is made for one topic and one rule, and is pure: it reads no clock, opens nothing, and gives the same answer
for the same arguments. What it needs from outside, a key or a schema, it asks for by a `Key`; its caller gets that from
the source that the key names, and runs the chain again from its beginning.

Source: KIP-467 for rejections by record.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from bifrost.records.codec.client_batch import ClientBatch
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget
from bifrost.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from bifrost.transforms.batch_step import BatchStep


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


class Key(Protocol):
    """What is needed from outside: a frozen dataclass of the transform's own room; equal keys have one answer."""

    source: ClassVar[str]
    """The name of the source that answers it."""

    def __hash__(self) -> int:
        """Return the same for equal keys."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The answer to a key for which there is none; the transform decides whether its records pass without."""

    reason: str
    """In one sentence, for the client: without any content of a record, and without a secret."""
    is_retriable: bool
    """Whether it may be there when the client tries again."""

    def rejected(self, direction: Direction, error_code: ErrorCode) -> Rejected:
        """Return why the records of a batch must not pass; `error_code` is for a failure that stays.

        Clients send a Produce again that timed out; consumers fetch again after KAFKA_STORAGE_ERROR, and end with an
        error after most others.
        """
        if self.is_retriable:
            is_produce = direction is Direction.PRODUCE
            error_code = ErrorCode.REQUEST_TIMED_OUT if is_produce else ErrorCode.KAFKA_STORAGE_ERROR
        return Rejected((), self.reason, error_code)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a transform must have before it can tell; `known` has it by these keys in the next call."""

    names: frozenset[Key]


Known = Mapping[Key, object]
"""What is there, by its key: what the source of the key makes of it, or a `Failure`."""

Buffer = bytes | memoryview


class Noted(NamedTuple):
    """Records that pass, and what is counted about their batch."""

    outcome: Columns | Buffer
    what: str
    """A number of the metrics: one of NOTES."""
    reason: str | None = None
    """What the journal says of it, without any content of a record; None: nothing."""


NOTES = ("plaintext", "skipped", "unenforced", "unchecked", "passed")
"""What is counted: batches that were not encrypted and passed, batches that were left out, batches with records that
are not valid and passed all the same, batches that could not be checked and passed, and batches that passed as they are
because their transform failed."""

Outcome = Columns | Rejected | Needs | Noted
"""The columns that were given: nothing changes, and the batch keeps its bytes. Other columns: these are its records."""

BatchOutcome = Buffer | Rejected | Needs | Noted
"""`batch.data`: nothing changes. Other bytes: a batch, whole."""


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
        known: Known,
        budget: MemoryBudget,
    ) -> Outcome:
        """Transform the records of a batch. Its loops over records are in steps (`wire/steps.pyx`).

        Args:
            batch: its header; never that of a marker. Its bytes are those before the transforms of columns.
            columns: its records, as the transforms before this one left them.
            direction: which way it goes.
            known: by its key what was needed and is there now.
            budget: what new columns are taken from.
        Raises:
            RecordsError: the new columns come to more than the budget has.
        """


class BatchTransform(ABC):
    """A transform that takes a batch whole, as bytes: it need not unpack its records."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the operator knows it by."""

    @abstractmethod
    def transform_batch(
        self, batch: ClientBatch, direction: Direction, known: Known, budget: MemoryBudget
    ) -> BatchOutcome:
        """Transform a batch; see `RecordTransform.transform`.

        Args:
            batch: as the transforms before this one left it; never a marker.
            direction: which way it goes.
            known: by its key what was needed and is there now.
            budget: what the memory is taken from that is needed meanwhile, and what the new batch must fit into.
        Raises:
            RecordsError: the batch cannot be read, or comes to more than the budget has.
        """


class SteppedTransform(ABC):
    """A transform that has a compiled step for batches about which it has nothing to decide."""

    @abstractmethod
    def step(self, direction: Direction) -> "BatchStep | None":
        """Return its step on one way; None: it has to look at each batch."""


class PlacedTransform(ABC):
    """A transform of a topic for which it matters in which partition a batch is."""

    hides_timestamps: ClassVar[bool] = False
    """Whether a broker sees other timestamps of records than clients do, so that it cannot look offsets up by them."""

    @abstractmethod
    def at(self, partition: int) -> "RecordTransform | BatchTransform":
        """Return the transform of a partition."""
