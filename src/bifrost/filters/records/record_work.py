"""The work on the records of one message: batch by batch, with pauses between them, within its memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bifrost.records.codec.client_batch import split_batches
from bifrost.records.codec.compression import NAMES
from bifrost.records.codec.errors import NoRoom, RecordsError, TooLarge
from bifrost.transforms.chain import transform_batch
from bifrost.transforms.record_transform import Direction, Needs, Rejected, Rejection
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.records.record_topics import RecordTopics, TopicChain
    from bifrost.records.codec.client_batch import ClientBatch
    from bifrost.tenancy.policies.record_rules import RecordRules

Buffer = bytes | memoryview

_ROUNDS = 1_000
"""A batch counts for so many rounds of a loop: there may be a pause behind each."""


class Refusal(NamedTuple):
    """Why records of a partition do not pass."""

    error_code: ErrorCode
    reason: str
    rejections: tuple[Rejection, ...] = ()


class RecordWork:
    """Transforms the records of one request or response.

    Use it as a context: what it made counts in the memory of the process until its end.
    """

    def __init__(
        self, topics: RecordTopics, direction: Direction, *, is_all_or_nothing: bool | None = None
    ) -> None:
        """Begin with nothing done.

        Args:
            topics: of the client.
            direction: the way of the message.
            is_all_or_nothing: whether the records of a partition go on only if all of them may; None: on produce.
        """
        records = topics.records
        self._memory, self._tenant = records.process.memory, records.tenant
        self._direction, self._meter = direction, records.meter(direction)
        self._budget = self._memory.of_request()
        self._made_bytes = 0
        self._is_all_or_nothing = (
            direction is Direction.PRODUCE if is_all_or_nothing is None else is_all_or_nothing
        )

    def __enter__(self) -> RecordWork:
        """Begin."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """Give back what is taken."""
        self._budget.give_back(self._made_bytes)

    def new_records(self, records: Buffer, chain: TopicChain) -> Buffer | Refusal:
        """Return the records of a partition as its transforms leave them: the same object if they change nothing.

        A consumer gets the batches before one that cannot pass: it asks for that one next, and is told then. So it is
        with those that have no room any more in the memory of the response.

        Raises:
            NoRoom: others use the memory of the process now.
        """
        is_produce = self._direction is Direction.PRODUCE
        made: list[Buffer] = []
        is_same = True
        try:
            for batch in in_steps(split_batches(memoryview(records), is_whole=is_produce), _ROUNDS):
                violation = None if chain.rules is None else _violation(batch, chain.rules)
                if violation is not None:
                    return violation
                budget = self._memory.of_batch(self._budget)
                outcome = transform_batch(batch, chain.transforms, self._direction, {}, budget, self._meter)
                assert not isinstance(outcome, Needs), "no kind of filter needs anything from outside"
                if isinstance(outcome, Rejected):
                    return self._partly(made) or _rejected(outcome)
                if outcome is not batch.data:
                    is_same = False
                    self._take(len(outcome))
                made.append(outcome)
        except NoRoom as error:
            self._memory.note(error, self._tenant)
            raise
        except RecordsError as error:
            if isinstance(error, TooLarge):
                self._memory.note(error, self._tenant)
                if error.bound == "request" and self._made_bytes and not self._is_all_or_nothing:
                    return b"".join(made)
            return self._partly(made) or Refusal(error.error_code, str(error))
        return records if is_same else b"".join(made)

    def _take(self, size: int) -> None:
        self._budget.take(size)
        self._made_bytes += size

    def _partly(self, made: list[Buffer]) -> bytes:
        """Return the batches before one that cannot pass, as far as a client may have these alone."""
        return b"" if self._is_all_or_nothing else b"".join(made)


def _violation(batch: ClientBatch, rules: RecordRules) -> Refusal | None:
    """Return why the policies of namespaces do not let a batch pass, by its header alone."""
    codec = NAMES[batch.codec] if batch.codec < len(NAMES) else str(batch.codec)
    found = rules.refuse_compression(codec)
    return None if found is None else Refusal(found.error_code, found.message)


def _rejected(outcome: Rejected) -> Refusal:
    reason = outcome.reason or "One or more records have been rejected"
    return Refusal(outcome.error_code, reason, outcome.rejections)
