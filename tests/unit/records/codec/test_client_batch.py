import random
from itertools import pairwise

import pytest

from bifrost.records.codec.client_batch import build_batch, read_columns, split_batches, without_records
from bifrost.records.codec.columns import BytesColumn, ColumnRecord, Columns
from bifrost.records.codec.errors import CorruptBatch, NoRoom, OldFormat, RecordsError, TooLarge
from bifrost.records.codec.memory import MemoryBudget
from bifrost.records.crc32c import crc32c
from support.records.record_columns import (
    CODECS,
    HEADER,
    batch_of,
    only_batch,
    plenty,
    random_records,
)

LOG_APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x08, 0x10, 0x20, 0x40
ALL = range(len(CODECS))
ONE = [ColumnRecord(0, 0, b"key", b"value", ((b"h", b"1"),))]


def with_fields(data: bytes, **changes: int) -> bytes:
    """Return a batch with other bytes in its header, and the checksum that they need."""
    places = {"length": (8, 4), "magic": (16, 1), "attributes": (21, 2), "count": (57, 4)}
    changed = bytearray(data)
    for name, value in changes.items():
        at, size = places[name]
        changed[at : at + size] = value.to_bytes(size, "big", signed=True)
    changed[17:21] = crc32c(changed[21:]).to_bytes(4, "big")
    return bytes(changed)


@pytest.mark.parametrize("codec", ALL)
def test_records_come_back_as_they_were_with_every_codec(codec: int) -> None:
    chance = random.Random(codec)
    for count in (1, 2, 3, 8, 9, 500):
        records = random_records(chance, count)
        batch = only_batch(batch_of(records, codec=codec))

        assert read_columns(batch, plenty()).records() == records
        assert (batch.codec, batch.record_count) == (codec, count)


@pytest.mark.parametrize("codec", ALL)
def test_what_is_built_again_from_its_own_columns_is_the_same_batch(codec: int) -> None:
    for seed in range(20):
        data = batch_of(random_records(random.Random(seed), 30), codec=codec, producer=(7, 3, 40))
        batch = only_batch(data)

        assert build_batch(batch, read_columns(batch, plenty()), plenty()) == data


def test_everything_but_the_records_stays() -> None:
    attributes = LOG_APPEND_TIME | TRANSACTIONAL | DELETE_HORIZON
    data = batch_of(
        ONE * 3,
        codec=4,
        attributes=attributes,
        base_offset=90,
        producer=(2**40, 7, 2**31 - 1),
        last_offset_delta=9,
    )
    batch = only_batch(data)
    columns = read_columns(batch, plenty())

    changed = only_batch(
        build_batch(batch, columns.with_values(BytesColumn.of([b"", None, b"new"])), plenty())
    )

    assert [one.value for one in read_columns(changed, plenty()).records()] == [b"", None, b"new"]
    alike = [name for name in batch._fields if name not in ("data", "length", "crc")]
    assert [getattr(changed, name) for name in alike] == [getattr(batch, name) for name in alike]
    assert changed.is_transactional
    assert changed.is_log_append_time
    assert changed.has_delete_horizon


def test_the_maximum_timestamp_is_that_of_the_records() -> None:
    records = [ColumnRecord(i, delta, b"", b"") for i, delta in enumerate((5, -7, 90, 3))]
    batch = only_batch(batch_of(records, base_timestamp_ms=1000))
    assert batch.max_timestamp_ms == 1090

    fewer = only_batch(build_batch(batch, Columns.of(records[:2]), plenty()))

    assert (fewer.max_timestamp_ms, fewer.record_count, fewer.last_offset_delta) == (1005, 2, 3)


def test_a_batch_that_grows_ends_behind_its_last_record() -> None:
    batch = only_batch(batch_of(ONE))

    more = only_batch(build_batch(batch, Columns.of([*ONE, ColumnRecord(4, 0, None, None)]), plenty()))

    assert (more.last_offset_delta, more.record_count) == (4, 2)


@pytest.mark.parametrize("codec", ALL)
def test_a_batch_without_records_has_none(codec: int) -> None:
    data = batch_of([], codec=codec, last_offset_delta=5)
    batch = only_batch(data)

    assert len(data) == HEADER.size
    assert read_columns(batch, plenty()).records() == []
    assert build_batch(batch, read_columns(batch, plenty()), plenty()) == data


def test_several_batches_are_split_and_keep_their_bytes() -> None:
    parts = [batch_of(ONE, codec=codec, base_offset=codec) for codec in ALL]

    batches = list(split_batches(memoryview(b"".join(parts)), is_whole=True))

    assert [bytes(one.data) for one in batches] == parts
    assert [one.base_offset for one in batches] == list(ALL)


def test_a_marker_is_known_by_its_attributes() -> None:
    assert only_batch(with_fields(batch_of(ONE), attributes=CONTROL)).is_control


def test_the_last_batch_may_be_cut_off_in_fetch_and_not_in_produce() -> None:
    whole, cut = batch_of(ONE), batch_of(ONE)[:-1]

    for rest in (cut, cut[:30], cut[:5]):
        data = memoryview(whole + rest)
        assert len(list(split_batches(data, is_whole=False))) == 1
        with pytest.raises(CorruptBatch, match="cut off"):
            list(split_batches(data, is_whole=True))


def test_a_flipped_bit_is_seen_by_the_checksum() -> None:
    data = batch_of(ONE)
    for at in (17, 20, 21, 40, 61, len(data) - 1):
        flipped = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        with pytest.raises(CorruptBatch, match="checksum"):
            only_batch(flipped)


@pytest.mark.parametrize("magic", [0, 1])
def test_older_formats_are_no_longer_read(magic: int) -> None:
    with pytest.raises(OldFormat):
        only_batch(with_fields(batch_of(ONE), magic=magic))


@pytest.mark.parametrize(
    "changes",
    [{"magic": 3}, {"magic": 127}, {"length": 48}, {"length": 0}, {"length": -12}, {"length": -(2**31)}],
)
def test_what_is_no_batch_is_corrupt(changes: dict[str, int]) -> None:
    with pytest.raises(CorruptBatch):
        only_batch(with_fields(batch_of(ONE), **changes))


@pytest.mark.parametrize("count", [0, 2, 3, -1, 2**31 - 1, -(2**31)])
def test_another_count_than_there_are_records_is_corrupt(count: int) -> None:
    for codec in ALL:
        with pytest.raises(CorruptBatch):
            read_columns(only_batch(with_fields(batch_of(ONE, codec=codec), count=count)), plenty())


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_a_codec_that_does_not_exist_is_corrupt(codec: int) -> None:
    with pytest.raises(CorruptBatch, match="no codec"):
        read_columns(only_batch(with_fields(batch_of(ONE), attributes=codec)), plenty())


def test_columns_cost_memory_too_and_are_given_back() -> None:
    batch = only_batch(batch_of([ColumnRecord(i, 0, None, None) for i in range(10_000)]))
    budget = plenty()

    columns = read_columns(batch, budget)

    assert 10_000 * 32 <= budget.used <= 10_000 * 33
    assert len(columns) == 10_000
    del columns
    assert budget.used == 0


def test_many_tiny_records_and_headers_are_bounded_too() -> None:
    tiny = only_batch(batch_of([ColumnRecord(i, 0, None, None) for i in range(10_000)], codec=4))
    headers = only_batch(batch_of([ColumnRecord(0, 0, None, None, ((b"", None),) * 10_000)], codec=4))

    for batch in (tiny, headers):
        budget = MemoryBudget("batch", 150_000)
        with pytest.raises(TooLarge):
            read_columns(batch, budget)
        assert budget.used == 0


def test_building_a_batch_is_bounded_too() -> None:
    batch = only_batch(batch_of(ONE))
    same = BytesColumn(
        bytes(2**20), memoryview(bytes(4000)).cast("i"), memoryview((2**20).to_bytes(4, "little") * 1000)
    )
    columns = Columns.of([ONE[0]] * 1000).with_values(same)

    for codec in ALL:
        budget = MemoryBudget("batch", 2**26)
        with pytest.raises(TooLarge):
            build_batch(batch._replace(attributes=codec), columns, budget)
        assert budget.used == 0


def test_a_full_process_is_no_fault_of_the_batch() -> None:
    process = MemoryBudget("process", 10_000, is_shared=True)
    process.take(9_950)

    with pytest.raises(NoRoom):
        read_columns(only_batch(batch_of(ONE * 20)), MemoryBudget("request", 5000, process))


@pytest.mark.parametrize("codec", ALL)
def test_no_spoilt_batch_does_anything_but_raise_a_records_error(codec: int) -> None:
    chance = random.Random(codec)
    outcomes = set()
    for seed in range(60):
        data = batch_of(random_records(random.Random(seed), 10), codec=codec)
        for _ in range(30):
            mutable = bytearray(data)
            for _ in range(chance.choice((1, 2, 5))):
                mutable[chance.randrange(HEADER.size, len(data))] = chance.choice(
                    (0, 1, 0x80, 0xFF, 0x7F, 0x40)
                )
            batch = only_batch(with_fields(bytes(mutable)))
            try:
                columns = read_columns(batch, plenty())
                columns.records()
                again = only_batch(build_batch(batch, columns, plenty()))
                assert read_columns(again, plenty()).records() == columns.records()
                outcomes.add("read")
            except RecordsError:
                outcomes.add("refused")

    assert outcomes == {"read", "refused"}


def test_every_prefix_of_a_record_section_is_refused() -> None:
    data = batch_of(random_records(random.Random(5), 4))

    for first, second in pairwise(range(HEADER.size, len(data))):
        cut = with_fields(data[:first], length=first - 12)
        with pytest.raises(CorruptBatch):
            read_columns(only_batch(cut), plenty())
        assert second <= len(data)


@pytest.mark.parametrize("codec", ALL)
def test_a_batch_without_its_records_ends_at_the_same_offset(codec: int) -> None:
    records = [ColumnRecord(i, 0, None, b"v") for i in range(3)]
    batch = only_batch(batch_of(records, codec=codec, base_offset=5, producer=(7, 1, 40)))

    empty = only_batch(without_records(batch))

    assert (empty.base_offset, empty.last_offset_delta, empty.record_count, empty.codec) == (5, 2, 0, 0)
    assert (empty.producer_id, empty.base_sequence, len(empty.data)) == (7, 40, HEADER.size)
    assert len(read_columns(empty, plenty())) == 0
