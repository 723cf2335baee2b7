from typing import Any

import pytest

from bifrost.pipeline.stored.topic_log import StoredBatch
from bifrost.pipeline.stored.virtual.virtual_owners import (
    BEYOND,
    CLAIM,
    MALFORMED,
    MARKER,
    OWNED,
    SURPLUS,
    UNREADABLE,
    Owners,
    owner_of,
    owner_rows,
)
from bifrost.records.codec.client_batch import as_batch
from bifrost.records.codec.columns import ColumnRecord, Header
from bifrost.records.codec.memory import MemoryBudget
from bifrost.records.crc32c import crc32c
from bifrost.tenancy.virtual_partitions.compacted.keyed_batches import keyed_batch
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.tenancy.virtual_partitions.tagged_batches import CLAIM as CLAIM_HEADER
from bifrost.tenancy.virtual_partitions.tagged_batches import TAG, TransactionalBatch
from bifrost.tenancy.virtual_partitions.virtual_batches import marked_batch
from support.records.record_columns import batch_of, marker_of

MAP = PartitionMap(7, 3)
TRANSACTIONAL = 0x10


def batch(
    *values: bytes | None,
    headers: tuple[Header, ...] = (),
    key: bytes | None = b"key",
    producer_id: int = 5,
    **more: Any,
) -> bytes:
    records = [
        ColumnRecord(i, i, key, value, headers if not i else ()) for i, value in enumerate(values or (b"v",))
    ]
    return batch_of(records, producer=(producer_id, 0, 0), **more)


def in_transaction(*headers: Header, **more: Any) -> bytes:
    return batch(headers=headers, attributes=TRANSACTIONAL, **more)


def of_group(group: int) -> bytes:
    return b"".join(marked_batch(batch(), group)) if group else batch()


def tagged(group: int) -> bytes:
    return b"".join(TransactionalBatch(in_transaction()).tagged(group, 0))


def claim() -> bytes:
    return TransactionalBatch(in_transaction()).claim(0, bytes(16))


@pytest.mark.parametrize("make", [of_group, tagged])
@pytest.mark.parametrize(
    ("group", "partition", "kind"),
    [(0, 0, OWNED), (1, 2, OWNED), (2, 0, OWNED), (2, 1, BEYOND), (3, 0, BEYOND), (0, 3, SURPLUS)],
)
def test_a_batch_is_of_the_virtual_partition_that_it_is_marked_for(
    make: Any, group: int, partition: int, kind: str
) -> None:
    owner = owner_of(as_batch(make(group)), MAP, partition)

    assert (owner.kind, owner.group) == (kind, group)


def test_without_a_producer_a_batch_is_of_the_first_group() -> None:
    assert owner_of(as_batch(batch(producer_id=-1)), MAP, 1)[:2] == (OWNED, 0)


@pytest.mark.parametrize("group", [512, 4_000_000])
def test_a_group_that_there_cannot_be_is_told_with_its_number(group: int) -> None:
    owner = owner_of(as_batch(batch(producer_id=(group << 40) + 5)), MAP, 1)

    assert (owner.kind, owner.group) == (BEYOND, group)


@pytest.mark.parametrize("value", [b"", None, b"\0", b"\0\1", b"\2\0", b"\1\1\1"])
@pytest.mark.parametrize("codec", [0, 4])
def test_a_header_that_says_no_group_is_malformed(value: bytes | None, codec: int) -> None:
    owner = owner_of(as_batch(in_transaction((TAG, value), codec=codec)), MAP, 1)

    assert (owner.kind, owner.group) == (MALFORMED, 0)


def test_a_header_behind_those_of_the_producer_is_malformed() -> None:
    assert owner_of(as_batch(in_transaction((b"own", b"x"), (TAG, b"\1"))), MAP, 1).kind == MALFORMED


def test_a_header_outside_a_transaction_is_the_producers_own() -> None:
    assert owner_of(as_batch(batch(headers=((TAG, b"\1"),))), MAP, 1)[:2] == (OWNED, 0)


def test_claims_and_markers_are_no_data() -> None:
    assert owner_of(as_batch(claim()), MAP, 1).kind == CLAIM
    assert owner_of(as_batch(marker_of(batch())), MAP, 1).kind == MARKER


@pytest.mark.parametrize("data", [{"key": None}, {"values": [None]}, {"key": None, "values": [None, None]}])
def test_a_claim_with_data_is_malformed(data: dict[str, Any]) -> None:
    values = data.pop("values", [b"v"])
    made = batch(*values, headers=((CLAIM_HEADER, bytes(16)),), attributes=TRANSACTIONAL, **data)

    assert owner_of(as_batch(made), MAP, 1)[:2] == (MALFORMED, -1)


def stored(data: bytes, offset: int, partition: int = 1, at_ms: int = 10) -> StoredBatch:
    found = as_batch(data)
    return StoredBatch("t", partition, offset, offset + found.last_offset_delta, at_ms, memoryview(data))


def test_owned_batches_are_added_up_and_others_are_not() -> None:
    owners = Owners({"t": MAP})
    spoilt = bytearray(of_group(1))
    spoilt[-1] ^= 1
    for one in (
        stored(of_group(1), 4, at_ms=30),
        stored(batch(b"a", b"b"), 5),
        stored(of_group(1), 7, at_ms=20),
        stored(of_group(2), 8),
        stored(of_group(2), 9),
        stored(claim(), 10),
        stored(in_transaction((TAG, b"")), 11),
        stored(bytes(spoilt), 12),
    ):
        owners.add(one)

    rows = owners.take()

    names = (
        "kind",
        "virtual",
        "partition_group",
        "first_offset",
        "last_offset",
        "last_timestamp_ms",
        "records",
    )
    found = sorted(zip(*(rows[name] for name in names), strict=True), key=lambda row: row[3])
    assert found == [
        (OWNED, 4, 1, 4, 7, 30, 2),
        (OWNED, 1, 0, 5, 6, 10, 2),
        (BEYOND, -1, 2, 8, 8, 10, 1),
        (BEYOND, -1, 2, 9, 9, 10, 1),
        (CLAIM, -1, -1, 10, 10, 10, 1),
        (MALFORMED, 1, 0, 11, 11, 10, 1),
        (UNREADABLE, -1, -1, 12, 12, 10, 0),
    ]
    assert len(owners) == 0


def test_a_batch_of_an_old_format_cannot_be_read() -> None:
    made = bytearray(of_group(0))
    made[16] = 1
    made[17:21] = crc32c(made[21:]).to_bytes(4, "big")
    owners = Owners({"t": MAP})
    owners.add(StoredBatch("t", 0, 0, 0, -1, memoryview(bytes(made))))

    rows = owners.take()

    assert (rows["kind"], rows["producer_id"], rows["records"]) == ([UNREADABLE], [-1], [0])
    assert "format v1" in rows["reason"][0]


def test_rows_are_batches_of_arrow() -> None:
    (rows,) = owner_rows({"t": MAP}, iter([stored(of_group(0), 0), stored(of_group(1), 1)]))

    assert rows.column("virtual").to_pylist() == [1, 4]
    assert list(owner_rows({"t": MAP}, iter([]))) == []


KEYED = MAP._replace(is_keyed=True)


def keyed(group: int, *, is_transactional: bool = False) -> bytes:
    if is_transactional:
        return b"".join(TransactionalBatch(in_transaction(), key_group=group).tagged(group, 0))
    made = marked_batch(keyed_batch(batch(), group, MemoryBudget("request", 1 << 20)), group)
    return b"".join(made) if isinstance(made, tuple) else bytes(made)


@pytest.mark.parametrize("is_transactional", [False, True])
@pytest.mark.parametrize(("group", "kind"), [(0, OWNED), (1, OWNED), (2, BEYOND)])
def test_a_batch_of_a_compacted_topic_is_of_the_group_in_its_keys(
    group: int, kind: str, is_transactional: bool
) -> None:
    owner = owner_of(as_batch(keyed(group, is_transactional=is_transactional)), KEYED, 1)

    assert (owner.kind, owner.group) == (kind, group)


def test_keys_of_a_compacted_topic_that_say_another_group_are_told_as_unreadable() -> None:
    owners = Owners({"t": KEYED})
    owners.add(stored(of_group(1), 4))
    rows = owners.take()

    assert rows["kind"] == [UNREADABLE]
    assert "does not begin with the group" in rows["reason"][0]


def test_a_claim_of_a_compacted_topic_has_a_key() -> None:
    made = TransactionalBatch(in_transaction(), key_group=1).claim(0, bytes(16))

    assert owner_of(as_batch(made), KEYED, 1).kind == CLAIM
    assert owner_of(as_batch(made), MAP, 1).kind == MALFORMED
    assert owner_of(as_batch(claim()), KEYED, 1).kind == MALFORMED


def test_a_batch_in_which_compaction_has_left_nothing_is_no_data() -> None:
    empty = batch_of([], producer=((1 << 40) + 5, 0, 0))

    assert owner_of(as_batch(empty), KEYED, 1).kind == MARKER
