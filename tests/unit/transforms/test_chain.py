from array import array
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from bifrost.records.codec.client_batch import ClientBatch, read_columns
from bifrost.records.codec.columns import BytesColumn, ColumnRecord, Columns
from bifrost.records.codec.errors import CorruptBatch, TooLarge
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.chain import BrokenTransform, transform_batch
from bifrost.transforms.record_transform import (
    BatchOutcome,
    BatchTransform,
    Direction,
    Known,
    Needs,
    Noted,
    Outcome,
    RecordTransform,
    Rejected,
    Rejection,
)
from support.records.needing import NeedsText, Text
from support.records.record_columns import batch_of, only_batch, plenty

RECORDS = [ColumnRecord(i, 0, b"key", b"value %d" % i) for i in range(3)]
CONTROL = 0x20
PRODUCE, FETCH = Direction.PRODUCE, Direction.FETCH


@dataclass
class Does:
    """A transform that a function does."""

    do: Callable[[Columns], Outcome]
    name: str = "does"

    def transform(
        self,
        batch: ClientBatch,
        columns: Columns,
        direction: Direction,
        known: Known,
        budget: MemoryBudget,
    ) -> Outcome:
        return self.do(columns)


@dataclass
class Whole(BatchTransform):
    """A transform of whole batches that a function does."""

    do: Callable[[ClientBatch], BatchOutcome]

    @property
    def name(self) -> str:
        return "whole"

    def transform_batch(
        self, batch: ClientBatch, direction: Direction, known: Known, budget: MemoryBudget
    ) -> BatchOutcome:
        return self.do(batch)


def adds(text: bytes) -> RecordTransform:
    return Does(
        lambda columns: columns.with_values(BytesColumn.of((v or b"") + text for v in columns.values))
    )


def run(
    data: bytes,
    *transforms: RecordTransform | BatchTransform,
    direction: Direction = PRODUCE,
    known: Known | None = None,
    budget: MemoryBudget | None = None,
) -> memoryview | bytes | Rejected | Needs:
    return transform_batch(only_batch(data), transforms, direction, known or {}, budget or plenty())


def records_of(outcome: object) -> list[ColumnRecord]:
    assert isinstance(outcome, bytes | memoryview)
    return read_columns(only_batch(outcome), plenty()).records()


def test_transforms_see_what_those_before_them_left() -> None:
    outcome = run(batch_of(RECORDS, codec=4), adds(b" a"), adds(b" b"))

    assert [one.value for one in records_of(outcome)] == [b"value 0 a b", b"value 1 a b", b"value 2 a b"]


def test_a_batch_that_nothing_changes_keeps_its_bytes() -> None:
    data = batch_of(RECORDS, codec=4)

    outcome = run(data, Does(lambda columns: columns))

    assert isinstance(outcome, memoryview)
    assert outcome == data


def test_markers_and_batches_without_transforms_are_not_read() -> None:
    nothing = MemoryBudget("batch", 0)
    marker = batch_of(RECORDS, attributes=0)
    control = only_batch(marker)._replace(attributes=CONTROL)

    assert transform_batch(control, [adds(b"x")], PRODUCE, {}, nothing) == marker
    assert run(batch_of(RECORDS, codec=4), budget=nothing) == batch_of(RECORDS, codec=4)


def test_a_rejected_record_stops_its_batch_before_later_transforms() -> None:
    rejected = Rejected((Rejection(0, "no schema"), Rejection(2, "no schema")))
    calls: list[Columns] = []

    def note(columns: Columns) -> Columns:
        calls.append(columns)
        return columns

    assert run(batch_of(RECORDS), Does(lambda _: rejected), Does(note)) == rejected
    assert calls == []


def test_what_is_needed_is_asked_for_and_used_when_it_is_there() -> None:
    data = batch_of([ColumnRecord(0, 0, None, b"a")])

    assert run(data, NeedsText()) == Needs(frozenset({Text("a")}))
    assert records_of(run(data, NeedsText(), known={Text("a"): b"secret"}))[0].value == b"secret"


def test_asking_for_what_is_there_is_broken() -> None:
    with pytest.raises(BrokenTransform, match="asks for what it has"):
        run(batch_of(RECORDS), Does(lambda _: Needs(frozenset({Text("a")}))), known={Text("a"): b""})


def test_transforms_of_batches_and_of_records_see_what_those_before_them_left() -> None:
    seen: list[bytes] = []

    def note(batch: ClientBatch) -> BatchOutcome:
        seen.append(bytes(batch.data))
        return bytes(batch.data)

    budget = plenty()
    outcome = run(batch_of(RECORDS), Whole(note), adds(b" a"), Whole(note), adds(b" b"), budget=budget)

    assert [one.value for one in records_of(outcome)] == [b"value 0 a b", b"value 1 a b", b"value 2 a b"]
    assert [one.value for one in records_of(seen[1])] == [b"value 0 a", b"value 1 a", b"value 2 a"]
    assert seen[0] == batch_of(RECORDS)
    assert budget.used == 0


def test_a_batch_that_its_transforms_leave_is_not_read() -> None:
    data = batch_of(RECORDS, codec=4)
    spoilt = only_batch(data)._replace(record_count=9)

    assert transform_batch(spoilt, [Whole(lambda batch: batch.data)], FETCH, {}, plenty()) is spoilt.data


def test_a_batch_keeps_its_count_on_produce() -> None:
    fewer = Whole(lambda _: batch_of(RECORDS[:2]))

    assert len(records_of(run(batch_of(RECORDS), fewer, direction=FETCH))) == 2
    with pytest.raises(BrokenTransform, match="transform whole: on produce"):
        run(batch_of(RECORDS), fewer)


def test_what_is_to_be_counted_is_noted() -> None:
    notes: list[tuple[str, str]] = []

    class Notes:
        def begin(self) -> None: ...

        def end(self, name: str, records: int, rejections: int) -> None: ...

        def note(self, name: str, what: str, reason: str | None) -> None:
            notes.append((name, what))

    data = batch_of(RECORDS)
    steps = (
        Does(lambda columns: Noted(columns, "plaintext")),
        Whole(lambda batch: Noted(batch.data, "skipped")),
    )

    assert transform_batch(only_batch(data), steps, FETCH, {}, plenty(), Notes()) == data
    assert notes == [("does", "plaintext"), ("whole", "skipped")]


def test_a_rejected_batch_stops_there() -> None:
    rejected = Rejected((), "no")

    assert run(batch_of(RECORDS), Whole(lambda _: rejected), adds(b"x")) is rejected


@pytest.mark.parametrize("indexes", [(), (3,), (-1,), (1, 0), (1, 1)])
def test_rejections_of_records_that_are_not_there_are_broken(indexes: tuple[int, ...]) -> None:
    rejected = Rejected(tuple(Rejection(index, "no") for index in indexes))

    with pytest.raises(BrokenTransform, match="transform does: it rejects"):
        run(batch_of(RECORDS), Does(lambda _: rejected))


def fewer(_: Columns) -> Columns:
    return Columns.of(RECORDS[:2])


def test_records_may_be_left_out_on_fetch_and_not_on_produce() -> None:
    data = batch_of(RECORDS)

    assert records_of(run(data, Does(fewer), direction=FETCH)) == RECORDS[:2]
    with pytest.raises(BrokenTransform, match="must stay"):
        run(data, Does(fewer))


def test_new_columns_with_the_same_offsets_are_no_other_records() -> None:
    same = [one._replace(key=None) for one in RECORDS]

    assert records_of(run(batch_of(RECORDS), Does(lambda _: Columns.of(same)))) == same


def test_columns_that_do_not_fit_are_the_transform_s_fault() -> None:
    outside = BytesColumn(b"", array("i", [0, 0, 0]), array("i", [0, 0, 9]))

    with pytest.raises(BrokenTransform, match="transform spoils: row 2"):
        run(
            batch_of(RECORDS),
            Does(lambda columns: columns.with_values(outside), "spoils"),
            Does(lambda columns: columns),
        )


def test_faults_of_the_batch_are_its_own() -> None:
    with pytest.raises(TooLarge):
        run(batch_of(RECORDS, codec=4), adds(b""), budget=MemoryBudget("batch", 10))
    with pytest.raises(CorruptBatch):
        transform_batch(
            only_batch(batch_of(RECORDS))._replace(record_count=9), [adds(b"")], FETCH, {}, plenty()
        )
    large = Does(lambda columns: columns.with_values(BytesColumn.of([bytes(10_000)] * 3)))
    with pytest.raises(TooLarge):
        run(batch_of(RECORDS), large, budget=MemoryBudget("batch", 1000))
