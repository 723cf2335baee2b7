"""PythonTransform: a function of the operator's own changes the records, in a process of its own.

A batch is sent there as what this transform needs from outside (`UserRun`), and its answer is the new batch.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar, NamedTuple

from bifrost.config.records.fail_mode import FailMode
from bifrost.config.records.filter_configs import FilterConfig
from bifrost.records.codec.client_batch import ClientBatch
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.batch_digest import digest_of
from bifrost.transforms.record_search import find_records
from bifrost.transforms.record_transform import Direction, Failure, Known, Needs, Noted, Outcome
from bifrost.transforms.transform_kind import Topic, TransformKind
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.steps import in_steps

SOURCE = "transforms"
_PIECE_RECORDS, _PIECE_ROUNDS = 1_024, 100
"""To compare so many places takes as long as so many rounds of a loop."""


class RunSpec(NamedTuple):
    """What runs, and its bounds: one process for each."""

    tenant: str
    filter: str
    """What the operator knows the filter by."""
    file: str | None
    entry_point: str | None
    timeout_ms: int
    max_memory_bytes: int


class Given:
    """The batch that a transform gets. It is let go of when it was sent, because the message is unpacked once more."""

    __slots__ = ("base_offset", "base_timestamp_ms", "columns")

    def __init__(self, batch: ClientBatch, columns: Columns) -> None:
        self.columns: Columns | None = columns
        self.base_offset, self.base_timestamp_ms = batch.base_offset, batch.base_timestamp_ms


@dataclass(frozen=True, slots=True)
class UserRun:
    """A need: the batch with this digest, as the transform leaves it; answered by `Columns`."""

    source: ClassVar[str] = SOURCE
    spec: RunSpec
    topic: str
    direction: Direction
    digest: bytes
    given: Given = field(compare=False, repr=False)


class PythonTransform:
    """Asks for the new records of each batch."""

    def __init__(self, name: str, config: FilterConfig, topic: Topic) -> None:
        """Prepare what `config` says; `name` is what the operator knows the transform by."""
        self._name, self._topic = name, topic.name
        self._spec = spec_of(topic.tenant, name, config)
        self._is_open, self._is_final = config.fail is FailMode.OPEN, config.fail is FailMode.QUARANTINE

    @property
    def name(self) -> str:
        """What the operator knows it by."""
        return self._name

    def transform(
        self,
        batch: ClientBatch,
        columns: Columns,
        direction: Direction,
        known: Known,
        budget: MemoryBudget,
    ) -> Outcome:
        """Return the new records, or ask for them; see `RecordTransform`."""
        if not len(columns):
            return columns
        key = UserRun(self._spec, self._topic, direction, digest_of(batch.data), Given(batch, columns))
        answer = known.get(key)
        if answer is None:
            return Needs(frozenset({key}))
        if isinstance(answer, Columns):
            why = _misfit(answer, columns, batch, direction)
            if why is None:
                return answer
            answer = Failure(f"{self._name}: {why}", is_retriable=False)
        assert isinstance(answer, Failure)
        if self._is_open:
            return Noted(columns, "passed")
        if self._is_final:
            answer = Failure(answer.reason, is_retriable=False)
        is_produce = direction is Direction.PRODUCE
        return answer.rejected(
            direction, ErrorCode.INVALID_RECORD if is_produce else ErrorCode.CORRUPT_MESSAGE
        )


def spec_of(tenant: str, name: str, config: FilterConfig) -> RunSpec:
    """Return what a filter of a tenant runs."""
    return RunSpec(
        tenant,
        name,
        config.transform_file,
        config.entry_point,
        config.timeout_ms,
        config.max_memory_bytes,
    )


def _misfit(made: Columns, given: Columns, batch: ClientBatch, direction: Direction) -> str | None:
    """Return why records from the process must not pass: the process checks them too, but is the user's."""
    try:
        find_records(made, False, [], 2**31, 1)
    except ValueError:
        return "the transform returned records that do not fit together"
    if made.offset_deltas.tobytes() == given.offset_deltas.tobytes():
        return None
    if direction is Direction.PRODUCE:
        return "on produce the number and offsets of records must stay"
    last = -1
    for at in in_steps(range(0, len(made), _PIECE_RECORDS), _PIECE_ROUNDS):
        places = [last, *made.offset_deltas[at : at + _PIECE_RECORDS]]
        if any(one >= other for one, other in pairwise(places)):
            return "the transform returned records in another order"
        last = places[-1]
    return None if last <= batch.last_offset_delta else "the transform returned records behind the batch"


def _make(name: str, config: FilterConfig, topic: Topic) -> PythonTransform:
    return PythonTransform(name, config, topic)


KIND = TransformKind(frozenset(Direction), _make, sources=frozenset({SOURCE}))
