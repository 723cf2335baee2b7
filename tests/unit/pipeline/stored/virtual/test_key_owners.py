from bifrost.pipeline.stored.topic_log import StoredBatch
from bifrost.pipeline.stored.virtual.key_owners import key_rows, keys_of
from bifrost.records.codec.client_batch import as_batch
from bifrost.records.codec.columns import ColumnRecord
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.tenancy.virtual_partitions.virtual_batches import marked_batch
from support.records.record_columns import batch_of

MAP = PartitionMap(4, 2)


def stored(group: int, *keys: bytes | None, offset: int = 0) -> StoredBatch:
    records = [ColumnRecord(i, i, key, b"secret", ()) for i, key in enumerate(keys)]
    made = batch_of(records, codec=4, base_offset=offset, producer=(5, 0, 0))
    data = b"".join(marked_batch(made, group)) if group else made
    return StoredBatch("t", 1, offset, offset + as_batch(data).last_offset_delta, 0, memoryview(data))


def test_keys_are_hashes_with_their_virtual_partition_and_offset() -> None:
    first = [*keys_of(stored(0, b"a", None, b"b", offset=7), MAP)]
    second = [*keys_of(stored(1, b"a"), MAP)]

    assert [(key[0], key[1], key[3], offset) for key, offset in first] == [("t", 1, 1, 7), ("t", 1, 1, 9)]
    assert first[0][0][2] == second[0][0][2] != first[1][0][2]
    assert second[0][0][3] == 3
    assert all(b"a" not in key[2] or len(key[2]) == 16 for key, _ in first)


def test_a_batch_without_an_owner_or_that_cannot_be_read_has_no_keys() -> None:
    spoilt = stored(0, b"a")
    spoilt = spoilt._replace(data=memoryview(bytes(spoilt.data[:-1]) + bytes([spoilt.data[-1] ^ 1])))

    assert [*keys_of(stored(2, b"a"), MAP), *keys_of(spoilt, MAP)] == []


def test_a_key_is_one_row_of_a_task_with_its_first_offset() -> None:
    (rows,) = key_rows({"t": MAP}, iter([stored(0, b"a", b"b"), stored(0, b"a", offset=5), stored(1, b"a")]))

    found = rows.to_pydict()
    assert (found["virtual"], found["first_offset"]) == ([1, 1, 3], [0, 1, 0])
