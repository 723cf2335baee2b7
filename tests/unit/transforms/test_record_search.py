import pytest

from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.transforms.record_search import find_records

UNBOUNDED = 1 << 31


def columns_of(*records: ColumnRecord) -> Columns:
    return Columns.of(records)


def test_records_without_a_key_are_found() -> None:
    columns = columns_of(
        ColumnRecord(0, 0, None, b"v"), ColumnRecord(1, 0, b"", b"v"), ColumnRecord(2, 0, None, None)
    )

    assert find_records(columns, True, [], UNBOUNDED, 10) == [(0, -1), (2, -1)]
    assert find_records(columns, False, [], UNBOUNDED, 10) == []


def test_records_without_a_header_are_found_with_the_first_that_they_lack() -> None:
    columns = columns_of(
        ColumnRecord(0, 0, None, b"", ((b"a", b""), (b"b", None))),
        ColumnRecord(1, 0, None, b"", ((b"a", b""),)),
        ColumnRecord(2, 0, None, b""),
        ColumnRecord(3, 0, None, b"", ((b"b", b""), (b"b", b""))),
    )

    assert find_records(columns, False, [b"a", b"b"], UNBOUNDED, 10) == [(1, 1), (2, 0), (3, 0)]


def test_the_size_is_that_of_key_value_and_headers() -> None:
    columns = columns_of(
        ColumnRecord(0, 0, b"kk", b"vvv", ((b"h", b"1234"),)), ColumnRecord(1, 0, None, None)
    )

    assert find_records(columns, False, [], 10, 10) == []
    assert find_records(columns, False, [], 9, 10) == [(0, -2)]


def test_the_search_ends_with_as_many_as_are_asked_for() -> None:
    columns = columns_of(*[ColumnRecord(i, 0, None, b"") for i in range(50)])

    assert find_records(columns, True, [], UNBOUNDED, 3) == [(0, -1), (1, -1), (2, -1)]


def test_every_one_of_32_headers_counts() -> None:
    keys = [b"%d" % i for i in range(32)]
    all_of_them = tuple((key, None) for key in keys)
    columns = columns_of(
        ColumnRecord(0, 0, b"", b"", all_of_them), ColumnRecord(1, 0, b"", b"", all_of_them[:31])
    )

    assert find_records(columns, False, keys, UNBOUNDED, 10) == [(1, 31)]
    with pytest.raises(ValueError, match="at most 32"):
        find_records(columns, False, [*keys, b"one more"], UNBOUNDED, 10)
