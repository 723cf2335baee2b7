from typing import Any

import pytest

from bifrost.records.codec.client_batch import as_batch
from bifrost.records.codec.columns import ColumnRecord
from bifrost.records.codec.errors import CorruptBatch, TooLarge
from bifrost.records.codec.memory import MemoryBudget
from bifrost.tenancy.virtual_partitions.compacted.key_groups import (
    MOST_GROWTH,
    first_group,
    with_group,
    without_group,
)
from support.clients.keyed_batches import plain_batch
from support.records.record_columns import batch_of
from support.stage.counted_pauses import counted_pauses

HEADER = 61


def section(*keys: bytes | None) -> memoryview:
    return as_batch(plain_batch(keys)).data[HEADER:]


def budget(size: int = 1 << 24) -> MemoryBudget:
    return MemoryBudget("batch", size)


def keyed(group: int, *keys: bytes | None) -> bytes:
    made, without = with_group(section(*keys), len(keys), group, budget())
    assert without == []
    return bytes(memoryview(made))


@pytest.mark.parametrize("group", [0, 1, 127])
@pytest.mark.parametrize(
    "key", [b"", b"k", bytes(62), bytes(63), bytes(64), bytes(8190), bytes(8191), bytes(8192)]
)
def test_a_group_comes_and_goes(group: int, key: bytes) -> None:
    made = keyed(group, key, b"other")

    assert first_group(made) == group
    assert made == bytes(section(bytes([group]) + key, bytes([group]) + b"other"))
    assert bytes(memoryview(without_group(made, 2, group, budget()))) == bytes(section(key, b"other"))


def test_records_without_a_key_are_told() -> None:
    made, without = with_group(section(None, b"k", None), 3, 1, budget())

    assert without == [0, 2]
    assert len(made) < len(section(None, b"k", None))


def test_a_hundred_of_them_at_the_most() -> None:
    _, without = with_group(section(*[None] * 150), 150, 1, budget())

    assert without == list(range(100))


def test_a_key_of_another_group_is_corrupt() -> None:
    with pytest.raises(CorruptBatch, match="record 1: its key does not begin with the group"):
        without_group(section(b"\1a", b"\2b"), 2, 1, budget())


@pytest.mark.parametrize("key", [None, b""])
def test_a_key_without_a_group_is_corrupt(key: bytes | None) -> None:
    assert first_group(section(key)) == 128
    with pytest.raises(CorruptBatch):
        without_group(section(key), 1, 0, budget())


def test_a_key_that_begins_with_no_group_is_of_none() -> None:
    assert first_group(section(b"\xff of a claim")) == 128
    assert first_group(section(b"\x80")) == 128


@pytest.mark.parametrize("count", [-1, 0, 1, 3, 1 << 40])
@pytest.mark.parametrize("change", [with_group, without_group])
def test_another_count_of_records_is_corrupt(change: Any, count: int) -> None:
    with pytest.raises(CorruptBatch):
        change(section(b"\1a", b"\1b"), count, 1, budget())


@pytest.mark.parametrize("change", [with_group, without_group])
def test_records_that_end_anywhere_are_corrupt(change: Any) -> None:
    whole = bytes(section(b"\1" + bytes(70), b"\1b"))
    for end in range(len(whole)):
        with pytest.raises(CorruptBatch):
            change(whole[:end], 2, 1, budget())


@pytest.mark.parametrize(
    "broken",
    [
        b"\x0d\0\0\0\1\1\0",  # a negative length
        b"\x0c\0\0\0\x7e\1\0",  # a key that is longer than its record
        b"\x0c\0\xff\xff\xff\xff\xff",  # a timestamp that does not end in its record
        b"\0\0\0\0\0\0\0",  # a record without anything
        b"\xff\xff\xff\xff\xff\xff\xff",  # a length of more than 5 bytes
    ],
)
@pytest.mark.parametrize("change", [with_group, without_group])
def test_broken_records_are_corrupt(change: Any, broken: bytes) -> None:
    with pytest.raises(CorruptBatch):
        change(broken, 1, 1, budget())
    with pytest.raises(CorruptBatch):
        change(b"", 1, 1, budget())


def test_there_is_no_group_128() -> None:
    with pytest.raises(ValueError, match="no group 128"):
        with_group(section(b"k"), 1, 128, budget())


def test_memory_is_taken_from_the_budget_and_given_back() -> None:
    own, records = budget(), section(b"k", b"l")
    made, _ = with_group(records, 2, 1, own)
    assert own.used == len(made) == len(records) + 2
    del made
    assert own.used == 0
    with pytest.raises(TooLarge):
        with_group(records, 2, 1, budget(len(records)))


def test_records_grow_by_a_bounded_part() -> None:
    least = bytes([12, 0, 0, 0, 0, 1, 0])
    made, _ = with_group(least * 100, 100, 1, budget())

    assert len(made) <= len(least) * 100 * MOST_GROWTH


def test_the_walk_pauses() -> None:
    least = bytes([12, 0, 0, 0, 0, 1, 0])
    with counted_pauses() as pauses:
        made, _ = with_group(least * 50_000, 50_000, 1, budget())
        before = pauses.count
        without_group(made, 50_000, 1, budget())

    assert before >= 20
    assert pauses.count >= 2 * before - 2


def test_a_record_of_16_mib_is_copied_with_pauses() -> None:
    """In one go that would take 8 ms."""
    value = bytes(16 * 1024 * 1024 - 4096)
    records = batch_of([ColumnRecord(0, 0, b"k", value)])[HEADER:]
    with counted_pauses() as pauses:
        made, _ = with_group(records, 1, 1, budget())
        before = pauses.count
        assert bytes(memoryview(without_group(made, 1, 1, budget(1 << 25)))) == records

    assert before >= 50
    assert pauses.count >= 2 * before
