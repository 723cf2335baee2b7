import random

import pytest

from bifrost.records.codec.columns import BytesColumn, ColumnRecord, Columns, Header
from bifrost.records.codec.errors import TooLarge
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.header_edit import REMOVED, edit_headers
from support.records.record_columns import plenty, random_records


def edited(
    columns: Columns,
    changes: dict[bytes, int],
    texts: list[bytes],
    first: int = 0,
    budget: MemoryBudget | None = None,
) -> list[tuple[Header, ...]]:
    found = edit_headers(columns, changes, texts, first, budget or plenty())
    return [record.headers for record in found.records()]


def columns_of(*headers: tuple[Header, ...]) -> Columns:
    return Columns.of([ColumnRecord(i, 0, b"k", b"v", of) for i, of in enumerate(headers)])


def test_headers_are_added_behind_those_of_each_record() -> None:
    columns = columns_of(((b"a", b"1"),), (), ((b"b", None), (b"a", b"")))

    assert edited(columns, {}, [b"new", b"value", b"", b""]) == [
        ((b"a", b"1"), (b"new", b"value"), (b"", b"")),
        ((b"new", b"value"), (b"", b"")),
        ((b"b", None), (b"a", b""), (b"new", b"value"), (b"", b"")),
    ]


def test_headers_are_removed_each_time_they_are_there() -> None:
    columns = columns_of(((b"a", b"1"), (b"b", b"2"), (b"a", None)), ((b"ab", b"3"),))

    assert edited(columns, {b"a": REMOVED}, []) == [((b"b", b"2"),), ((b"ab", b"3"),)]


def test_a_renamed_header_stays_where_it_is_with_its_value() -> None:
    columns = columns_of(((b"x", b"0"), (b"old", None), (b"old", b"1")))

    assert edited(columns, {b"old": 0}, [b"new"], first=1) == [((b"x", b"0"), (b"new", None), (b"new", b"1"))]


def test_what_nothing_changes_stays_the_same_object() -> None:
    columns = columns_of(((b"a", b"1"),), ())

    assert edit_headers(columns, {b"other": REMOVED}, [], 0, plenty()) is columns


def test_all_headers_may_go() -> None:
    assert edited(columns_of(((b"a", b"1"),)), {b"a": REMOVED}, []) == [()]


def test_a_batch_without_records_stays_without() -> None:
    assert edited(Columns.of([]), {}, [b"a", b"b"]) == []


def test_random_records_get_what_a_plain_reader_gives_them() -> None:
    chance = random.Random(18)
    for _ in range(200):
        records = random_records(chance, chance.randrange(1, 30))
        keys = sorted({key for record in records for key, _ in record.headers})
        removed = frozenset(chance.sample(keys, len(keys) // 3))
        renamed = [key for key in keys if key not in removed][:2]
        changes = dict.fromkeys(removed, REMOVED) | {key: place for place, key in enumerate(renamed)}
        texts = [b"to-%d" % place for place in range(len(renamed))]
        added = [(b"added", b"x" * chance.randrange(5))] * chance.randrange(3)

        found = edited(
            Columns.of(records), changes, texts + [one for pair in added for one in pair], len(texts)
        )

        assert found == [
            (
                *(
                    (texts[renamed.index(key)] if key in renamed else key, value)
                    for key, value in record.headers
                    if key not in removed
                ),
                *added,
            )
            for record in records
        ]


def test_headers_of_many_records_come_out_of_the_budget() -> None:
    columns = columns_of(*[()] * 1000)
    budget = MemoryBudget("batch", 20_000)

    with pytest.raises(TooLarge):
        edit_headers(columns, {}, [b"a", b"b", b"c", b"d"], 0, budget)
    assert budget.used == 0
    assert edited(columns, {}, [b"a", b"b"], budget=MemoryBudget("batch", 30_000)) == [((b"a", b"b"),)] * 1000


def test_columns_that_do_not_fit_together_are_refused() -> None:
    columns = columns_of(((b"a", b"1"),))
    broken = columns.with_headers(columns.header_starts, columns.header_keys, BytesColumn.of([]))

    with pytest.raises(ValueError, match="bytes where"):
        edit_headers(broken, {}, [b"a", b"b"], 0, plenty())
