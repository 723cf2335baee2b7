import pytest

from bifrost.gateway.loop.steps import at_once
from bifrost.records.batch_reader import LogRecord
from bifrost.state.staged_transaction import STEP_BYTES, STEP_RECORDS, StagedTransaction
from bifrost.state.state_record import UnreadableState
from bifrost.state.state_table import StateLimits, StateTable
from support.state_log import change, key, put, table

LARGE = StateLimits(10_000, 65_536, 2**28)


def test_a_table_stays_as_it_was_until_it_takes_all_of_a_transaction() -> None:
    one, other = table(), table()
    first = change(one, put("a", 0, {"n": 1}), put("b", 0, {"n": 1}))
    second = change(one, put("a", 1, {"n": 2}), put("b", 1, None), put("c", 0, {}))
    other.apply(first)
    before = list(other.entries())

    staged = StagedTransaction(other)
    for _ in staged.read([*second, LogRecord(9, 0, b"alias:d", None)]):
        assert list(other.entries()) == before
    other.take(staged)

    assert staged.changed == {key("a"), key("b"), key("c")}
    assert list(other.entries()) == list(one.entries())
    assert (len(other), other.size, other.counts()) == (len(one), one.size, one.counts())


def test_a_step_decodes_few_records_and_looks_up_one(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = StateTable(LARGE), StateTable(LARGE)
    other.apply(change(one, *(put(f"n{number}", 0, {"n": number}) for number in range(1000))))
    records = change(one, *(put(f"n{number}", 1, {"n": -number}) for number in range(1000)))
    work = {"decoded": 0, "looked up": 0}
    decoded, entry = other.decoded, other.entry

    def count_decoded(part: list[LogRecord]) -> object:
        work["decoded"] += len(part)
        return decoded(part)

    def count_entries(wanted: object) -> object:
        work["looked up"] += 1
        return entry(wanted)  # type: ignore[arg-type]

    monkeypatch.setattr(other, "decoded", count_decoded)
    monkeypatch.setattr(other, "entry", count_entries)

    steps = []
    for _ in (staged := StagedTransaction(other)).read(records):
        steps.append(dict(work))
        work.update(dict.fromkeys(work, 0))

    assert max(one["decoded"] for one in steps) == STEP_RECORDS
    assert max(one["looked up"] for one in steps) == 1
    assert sum(one["decoded"] for one in steps) == sum(one["looked up"] for one in steps) == 1000
    assert len(list(staged.let_go())) >= 1000


def test_a_step_decodes_few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = StateTable(LARGE), StateTable(LARGE)
    records = change(one, *(put(f"n{number}", 0, {"text": "x" * 20_000}) for number in range(10)))
    parts = []
    decoded = other.decoded

    def count(part: list[LogRecord]) -> object:
        parts.append(sum(len(one.value or b"") for one in part))
        return decoded(part)

    monkeypatch.setattr(other, "decoded", count)
    at_once(StagedTransaction(other).read(records))

    assert len(parts) == 5
    assert max(parts) < STEP_BYTES + 20_000


def test_nothing_of_a_transaction_that_cannot_be_read_is_taken() -> None:
    other = table()
    good = change(table(), put("a", 0, {}))

    with pytest.raises(UnreadableState, match="offset 9"):
        at_once(StagedTransaction(other).read([*good, LogRecord(9, 0, b"alias:b", b"{")]))

    assert len(other) == 0


def test_a_transaction_for_which_there_is_no_room_is_not_taken() -> None:
    other, one = table(StateLimits(2, 1000, 1000)), table()
    first = change(one, put("a", 0, {}), put("b", 0, {}))
    other.apply(first)
    in_place_of_both = [LogRecord(7, 0, b"alias:a", None), *change(one, put("c", 0, {}))]

    staged = StagedTransaction(other)
    at_once(staged.read(in_place_of_both))
    other.take(staged)
    with pytest.raises(UnreadableState, match="the state has 3 records, and max_records is 2"):
        at_once(StagedTransaction(other).read(change(one, put("d", 0, {}))))

    assert {record.key.name for record in other.of_kind("alias")} == {"b", "c"}
