from dataclasses import dataclass

import pytest

from bifrost.records.codec.client_batch import ClientBatch, read_columns
from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.quarantine import (
    MAX_NAMED,
    QUARANTINED,
    BadRecords,
    Quarantine,
    QuarantinePlace,
    ToQuarantine,
)
from bifrost.transforms.record_transform import (
    Direction,
    Failure,
    Known,
    Needs,
    Outcome,
    Rejected,
    Rejection,
)
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.records.record_columns import batch_of, only_batch, plenty

PLACE = QuarantinePlace("acme", "orders", "bad", physical_name("acme", "bad").encode())
RECORDS = [ColumnRecord(place, 0, b"k", b"v%d" % place) for place in range(3)]
BATCH, OTHER = only_batch(batch_of(RECORDS)), only_batch(batch_of(RECORDS[:1]))
REFUSED = Rejected((Rejection(1, "checks: odd"),))


@dataclass
class Answers:
    """A filter that has this answer."""

    outcome: Outcome
    name: str = "checks"

    def transform(
        self,
        batch: ClientBatch,
        columns: Columns,
        direction: Direction,
        known: Known,
        budget: MemoryBudget,
    ) -> Outcome:
        return self.outcome


def outcome(
    inner: Outcome, known: Known | None = None, batch: ClientBatch = BATCH, partition: int = 2
) -> Outcome:
    transform = Quarantine(Answers(inner), PLACE).at(partition)
    assert transform.name == "checks"
    columns = read_columns(batch, plenty())
    return transform.transform(batch, columns, Direction.PRODUCE, {} if known is None else known, plenty())


def need(batch: ClientBatch = BATCH, partition: int = 2) -> ToQuarantine:
    found = outcome(REFUSED, None, batch, partition)
    assert isinstance(found, Needs)
    (key,) = found.names
    assert isinstance(key, ToQuarantine)
    return key


def test_records_are_refused_when_they_are_put_aside() -> None:
    key = need()

    assert (key.source, key.place, key.filter, key.partition) == ("quarantine", PLACE, "checks", 2)
    assert key.given.columns is not None
    assert key.given.reasons(3) == {1: "checks: odd"}
    assert outcome(REFUSED, {key: QUARANTINED}) is REFUSED


def test_each_batch_and_partition_has_a_need_of_its_own() -> None:
    assert need() == need()
    assert len({need(), need(OTHER), need(partition=1)}) == 3


@pytest.mark.parametrize(
    "inner",
    [
        Columns.of(RECORDS),
        Needs(frozenset()),
        Rejected((), "away", ErrorCode.REQUEST_TIMED_OUT),
        Rejected((), "codec", ErrorCode.POLICY_VIOLATION),
    ],
)
def test_what_is_not_refused_for_its_records_is_not_put_aside(inner: Outcome) -> None:
    assert outcome(inner) is inner


def test_a_producer_sends_again_what_could_not_be_put_aside() -> None:
    found = outcome(REFUSED, {need(): Failure("bad cannot be written", is_retriable=True)})

    assert found == Rejected((), "checks: bad cannot be written", ErrorCode.REQUEST_TIMED_OUT)


def test_records_that_can_never_be_put_aside_stay_refused() -> None:
    found = outcome(REFUSED, {need(): Failure("bad cannot be written", is_retriable=False)})

    assert found == Rejected(REFUSED.rejections, "records are not valid; bad cannot be written")


def test_a_batch_that_is_refused_as_a_whole_is_put_aside_as_a_whole() -> None:
    given = BadRecords(BATCH, Columns.of(RECORDS), Rejected((), "too many schemas"))

    assert given.reasons(3) == dict.fromkeys(range(3), "too many schemas")


def test_records_behind_the_last_that_was_looked_at_are_put_aside_too() -> None:
    rejected = Rejected(tuple(Rejection(2 * index, "odd") for index in range(MAX_NAMED)))

    reasons = BadRecords(BATCH, Columns.of(RECORDS), rejected).reasons(2 * MAX_NAMED + 5)

    assert 1 not in reasons
    assert reasons[2 * MAX_NAMED - 2] == "odd"
    assert list(reasons)[-6:] == [2 * MAX_NAMED + at for at in range(-1, 5)]
