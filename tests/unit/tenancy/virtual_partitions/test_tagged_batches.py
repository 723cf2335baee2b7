import random
import struct
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.records.codec.client_batch import as_batch, read_columns
from bifrost.records.codec.columns import ColumnRecord
from bifrost.records.codec.compression import compress
from bifrost.records.codec.errors import CorruptBatch, OldFormat, RecordsError, TooLarge
from bifrost.records.codec.memory import MemoryBudget
from bifrost.records.crc32c import crc32c
from bifrost.tenancy.virtual_partitions import tagged_batches, virtual_batches
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.tenancy.virtual_partitions.tagged_batches import (
    CLAIM,
    GROUPS,
    MAX_UNPACKED,
    TAG,
    ForeignTag,
    NotTransactional,
    TransactionalBatch,
    has_own_header,
    is_abort,
    mark_of,
    opened,
    without_tag,
)
from bifrost.tenancy.virtual_partitions.virtual_batches import first_batch, last_offsets, own_records
from support.clients.record_batches import build_batch
from support.stage.counted_pauses import counted_pauses

HEADER, TRANSACTIONAL, CONTROL = 61, 0x10, 0x20


def transactional(*values: bytes, codec: int = 0, sequence: int = 5, producer_id: int = 77) -> bytes:
    return build_batch(
        values,
        producer_id=producer_id,
        producer_epoch=3,
        base_sequence=sequence,
        is_transactional=True,
        compression_type=codec,
    )


def tagged(batch: bytes, group: int, sequence: int = 0) -> bytes:
    return b"".join(TransactionalBatch(batch).tagged(group, sequence))


def records_of(batch: bytes) -> list[ColumnRecord]:
    return read_columns(as_batch(batch), MemoryBudget("request", 1 << 24)).records()


def sealed(batch: bytes | bytearray) -> bytes:
    made = bytearray(batch)
    struct.pack_into(">i", made, 8, len(made) - 12)
    struct.pack_into(">I", made, 17, crc32c(bytes(made[21:])))
    return bytes(made)


def varint(value: int) -> bytes:
    left, made = value << 1, bytearray()
    while left > 0x7F:
        made.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*made, left])


def with_headers(*headers: tuple[bytes, bytes]) -> bytes:
    from kafka.record.default_records import DefaultRecordBatchBuilder

    options = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "batch_size": 1 << 20}
    builder = DefaultRecordBatchBuilder(magic=2, compression_type=0, is_transactional=True, **options)
    for offset in range(2):
        builder.append(
            offset,
            timestamp=1,
            key=None,
            value=b"value",
            headers=[(key.decode(), value) for key, value in headers],
        )
    return bytes(builder.build())


@given(
    st.lists(st.binary(max_size=300), min_size=1, max_size=40),
    st.integers(0, 4),
    st.integers(0, 511),
    st.integers(0, 2**31 - 1),
)
def test_a_tag_comes_and_goes_with_no_other_change(
    values: list[bytes], codec: int, group: int, sequence: int
) -> None:
    batch = transactional(*values, codec=codec)
    made = tagged(batch, group, sequence)
    found, section = opened(memoryview(made))

    assert found == group
    assert as_batch(made).base_sequence == sequence
    assert sealed(made) == made
    assert (as_batch(made).attributes, as_batch(made).producer_id) == (as_batch(batch).attributes, 77)
    assert [one[:4] for one in records_of(made)] == [one[:4] for one in records_of(batch)]
    back = without_tag(memoryview(made), section) if group else made
    assert records_of(back) == records_of(batch)
    assert back[21:53] == batch[21:53]
    if codec == 0:
        assert back[HEADER:] == batch[HEADER:]


def test_the_producers_own_headers_stay() -> None:
    batch = with_headers((b"mine", b"1"), (b"other", b"2"))
    made = tagged(batch, 3)
    _, section = opened(memoryview(made))

    assert records_of(made)[0].headers == ((TAG, b"\3"), (b"mine", b"1"), (b"other", b"2"))
    assert records_of(made)[1] == records_of(batch)[1]
    assert without_tag(memoryview(made), section)[HEADER:] == batch[HEADER:]


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("value", [b"\1", b"", b"anything"])
def test_a_client_sends_no_tag(place: int, value: bytes) -> None:
    headers = [(b"mine", b"1"), (b"other", b"2")]
    headers.insert(place, (TAG, value))

    with pytest.raises(ForeignTag):
        TransactionalBatch(with_headers(*headers))


BATCH = transactional(b"one", b"two")
PLAIN = build_batch([b"one"], producer_id=7, base_sequence=0)


@pytest.mark.parametrize(
    ("records", "error"),
    [
        (b"", CorruptBatch),
        (BATCH[:40], CorruptBatch),
        (BATCH[:-1], CorruptBatch),
        (BATCH[:-1] + b"?", CorruptBatch),
        (BATCH + BATCH, CorruptBatch),
        (BATCH[:16] + b"\1" + BATCH[17:], OldFormat),
        (PLAIN, NotTransactional),
        (sealed(BATCH[:22] + b"\x30" + BATCH[23:]), NotTransactional),
        (transactional(b"one", producer_id=-1), NotTransactional),
        (transactional(b"one", producer_id=1 << 40), NotTransactional),
        (transactional(b"one", sequence=-1), NotTransactional),
        (sealed(BATCH[:57] + b"\0\0\0\3" + BATCH[61:]), CorruptBatch),
        (sealed(BATCH[:HEADER] + b"\x7f" + BATCH[HEADER + 1 :]), CorruptBatch),
        (sealed(BATCH[:HEADER]), CorruptBatch),
        (sealed(BATCH[:22] + b"\x12" + BATCH[23:]), CorruptBatch),
    ],
)
def test_what_a_broker_would_not_take_gets_no_number(records: bytes, error: type[RecordsError]) -> None:
    with pytest.raises(error):
        TransactionalBatch(records)


def test_what_is_unpacked_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = transactional(b"x" * 5000, codec=1)
    made = tagged(batch, 2)
    monkeypatch.setattr(tagged_batches, "MAX_UNPACKED", 4000)

    with pytest.raises(TooLarge):
        TransactionalBatch(batch)
    assert opened(memoryview(made))[0] == 0, "the gateway has tagged none that is so large"
    assert MAX_UNPACKED == 16 * 1024 * 1024


@given(st.integers(0, 2**32), st.integers(0, 4))
def test_spoilt_batches_are_refused_or_read(seed: int, codec: int) -> None:
    """Nothing but a refusal comes of it, whatever a client sends with a right checksum."""
    source = random.Random(seed)
    spoilt = bytearray(transactional(b"one", b"two" * 50, codec=codec))
    for _ in range(source.randint(1, 4)):
        spoilt[source.randrange(HEADER, len(spoilt))] = source.randrange(256)
    try:
        made = b"".join(TransactionalBatch(sealed(spoilt)).tagged(1, 0))
    except RecordsError:
        return
    assert opened(memoryview(made))[0] == 1


def marker(*, is_commit: bool, producer_id: int = 77) -> bytes:
    """Return the marker of a transaction, as a coordinator writes it."""
    record = bytes([0, 0, 0, 8, 0, 0, 0, int(is_commit), 12, 0, 0, 0, 0, 0, 0, 0])
    batch = bytearray(transactional(b"x", producer_id=producer_id)[:HEADER])
    batch[22] = TRANSACTIONAL | CONTROL
    struct.pack_into(">i", batch, 53, -1)
    return sealed(bytes(batch) + bytes([len(record) << 1]) + record)


COMMIT, ABORT = marker(is_commit=True), marker(is_commit=False)


def log_of(*batches: bytes) -> bytes:
    """Return batches as a broker has them."""
    log, offset = b"", 0
    for batch in batches:
        log += struct.pack(">q", offset) + batch[8:]
        offset += as_batch(batch).record_count
    return log


def shown(found: Any, group: int) -> list[tuple[int, int, list[bytes | None]]]:
    """Return the batches that a consumer gets: the first offset, the attributes, and the values of records."""
    data, seen = found.records[PartitionGroup(group)], []
    data = b"".join(data) if isinstance(data, tuple) else bytes(data)
    while data:
        batch = as_batch(data)
        one, data = data[: batch.length + 12], data[batch.length + 12 :]
        assert sealed(one) == one
        values = [] if batch.is_control else [record.value for record in records_of(one)]
        assert all(record.headers == () for record in ([] if batch.is_control else records_of(one)))
        seen.append((batch.base_offset, batch.attributes & ~7, values))
    return seen


def test_a_marker_is_known_by_its_key() -> None:
    assert (is_abort(memoryview(ABORT)), is_abort(memoryview(COMMIT))) == (True, False)
    assert not is_abort(memoryview(ABORT[:-10]))


@pytest.mark.parametrize("codec", range(5))
def test_each_group_gets_its_own_batches_and_the_markers_before_them(codec: int) -> None:
    one, two = transactional(b"a", b"b", codec=codec), transactional(b"c", codec=codec)
    log = log_of(
        tagged(one, 0), tagged(two, 1), ABORT, tagged(two, 0), tagged(one, 2), COMMIT, tagged(two, 1)
    )
    found = own_records(log, {PartitionGroup(group): 0 for group in range(4)}, 0)

    assert shown(found, 0) == [(0, 16, [b"a", b"b"]), (2, 48, []), (3, 48, []), (4, 16, [b"c"])]
    assert shown(found, 1) == [
        (0, 48, []),
        (2, 16, [b"c"]),
        (3, 48, []),
        (4, 48, []),
        (7, 48, []),
        (8, 16, [b"c"]),
    ]
    assert shown(found, 3) == []
    assert (found.positions, found.aborts, found.end) == ({0: 5, 1: 9, 2: 7, 3: 0}, [(77, 3)], 9)
    assert last_offsets(log, 9) == (9, {0: 4, 1: 8, 2: 6})
    end, batch = first_batch(log, 1, 3, -1)
    assert (end, None if batch is None else as_batch(batch).base_offset) == (9, 8)


@pytest.mark.parametrize(("codec", "times"), [(0, 8), (1, 2)])
def test_records_are_unpacked_once_for_all_groups_that_are_looked_for(
    monkeypatch: pytest.MonkeyPatch, codec: int, times: int
) -> None:
    """Otherwise a ListOffsets of 128 virtual partitions would unpack each batch 128 times."""
    log = log_of(*(tagged(transactional(b"a" * 999, codec=codec), group) for group in (2, 3)))
    asked, groups = list[memoryview](), dict[bytes, int]()

    def counted(batch: memoryview, *, is_keyed: bool) -> tuple[int, memoryview]:
        asked.append(batch)
        return opened(batch, is_keyed=is_keyed)

    monkeypatch.setattr(virtual_batches, "opened", counted)
    found = [first_batch(log, group, 0, -1, groups) for group in (1, 3, 4, 0)]

    assert [None if batch is None else as_batch(batch).base_offset for _, batch in found] == [
        None,
        1,
        None,
        None,
    ]
    assert {end for end, _ in found} == {2}
    assert len(asked) == times
    assert len(groups) == (2 if codec else 0)


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_so_many_batches_are_remembered_for_one_request(more: int) -> None:
    batch, groups = tagged(transactional(b"a" * 999, codec=1), 2), dict[bytes, int]()
    count = 4096 + more

    assert first_batch(log_of(*[batch] * count), 1, 0, -1, groups) == (count, None)
    assert len(groups) == min(count, 4096)


@pytest.mark.parametrize("codec", range(5))
def test_a_claim_is_a_batch_of_no_group(codec: int) -> None:
    batch, mark = transactional(b"a", b"b", codec=codec), bytes(range(16))
    made = TransactionalBatch(batch).claim(9, mark)
    sent, claim = as_batch(batch), as_batch(made)

    assert sealed(made) == made
    assert (claim.attributes, claim.base_sequence, claim.record_count) == (TRANSACTIONAL, 9, 1)
    assert (claim.producer_id, claim.producer_epoch) == (sent.producer_id, sent.producer_epoch)
    assert (claim.base_timestamp_ms, claim.max_timestamp_ms) == (sent.max_timestamp_ms,) * 2
    (record,) = records_of(made)
    assert (record.key, record.value) == (None, None)
    assert [(bytes(key), value) for key, value in record.headers] == [(CLAIM, mark)]
    assert opened(memoryview(made))[0] == GROUPS
    log = log_of(made, tagged(batch, 1))
    found = own_records(log, {PartitionGroup(group): 0 for group in range(2)})
    assert [values for *_, values in shown(found, 0)] == [[]]
    assert shown(found, 1) == [(0, 48, []), (1, 16, [b"a", b"b"])]
    assert last_offsets(log, 9) == (3, {1: 2})


def test_the_mark_of_a_claim_is_read_from_what_is_stored() -> None:
    claim = TransactionalBatch(transactional(b"a")).claim(0, b"m" * 16)

    assert mark_of(claim) == mark_of(memoryview(claim + transactional(b"b"))) == b"m" * 16
    for other in (None, b"", claim[:30], claim[:-3], transactional(b"a"), COMMIT, b"\xff" * 80):
        assert mark_of(other) is None


def test_a_client_sends_no_claim() -> None:
    with pytest.raises(ForeignTag):
        TransactionalBatch(with_headers((b"a", b""), (CLAIM, b"m" * 16)))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], False),
        ([(b"mine", b"1")], False),
        ([(TAG, b"\1")], True),
        ([(TAG, b"")], True),
        ([(b"mine", b"1"), (TAG, b"\1")], True),
        ([(CLAIM, b"x")], True),
    ],
)
def test_a_header_of_the_gateway_is_seen_whatever_it_says(
    headers: list[tuple[bytes, bytes]], expected: bool
) -> None:
    _, section = opened(memoryview(with_headers(*headers)))

    assert has_own_header(section) == expected
    assert not has_own_header(memoryview(b""))


def test_millions_of_headers_in_a_few_kilobytes_are_looked_at_in_a_moment() -> None:
    """In Python it took half a minute, in which no client was served."""
    headers = bytes(MAX_UNPACKED - 100)
    count = len(headers) // 2
    body = b"\0\0\0\1\1" + varint(count) + headers
    header = bytearray(transactional(b"v")[:HEADER])
    header[22] |= 4  # zstd
    batch = sealed(bytes(header) + compress(4, varint(len(body)) + body))
    assert len(batch) < 20_000
    began = time.process_time()

    with counted_pauses() as pauses:
        TransactionalBatch(batch)

    assert time.process_time() - began < 2
    assert pauses.count > 1000


def test_the_batches_of_a_request_share_what_it_may_unpack() -> None:
    batch = transactional(bytes(10_000), codec=1)
    budget = MemoryBudget("request", 25_000)
    kept = [TransactionalBatch(batch, budget) for _ in range(2)]

    with pytest.raises(TooLarge) as raised:
        TransactionalBatch(batch, budget)

    assert raised.value.bound == "request"
    assert budget.used > 20_000
    del kept
    assert budget.used == 0
    with pytest.raises(TooLarge) as raised:
        TransactionalBatch(transactional(bytes(MAX_UNPACKED), codec=1), MemoryBudget("request", 1 << 30))
    assert raised.value.bound == "batch"


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_tags_are_put_in_and_taken_out_in_steps(codec: int) -> None:
    """A batch of a KiB may hold 16 MiB, which would take up to 100 ms to copy and to pack in one step."""
    batch = transactional(bytes(4 << 20), codec=codec)

    with counted_pauses() as pauses:
        made = tagged(batch, 3)
    assert pauses.count >= 15
    _, section = opened(memoryview(made))
    with counted_pauses() as pauses:
        back = without_tag(memoryview(made), section)
    assert pauses.count >= 15
    assert records_of(back) == records_of(batch)
