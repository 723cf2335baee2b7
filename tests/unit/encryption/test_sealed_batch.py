import random
import zlib
from collections import Counter
from types import SimpleNamespace

import pytest

from bifrost.encryption.dek import DekLimits
from bifrost.encryption.errors import BrokenSeal, DekUsedUp, UnknownEnvelope
from bifrost.encryption.place import Place
from bifrost.encryption.sealed_batch import read_sealed, seal_batch
from bifrost.encryption.wrapped_dek import read_wrapped_dek
from bifrost.records.codec.client_batch import read_columns, split_batches
from bifrost.records.codec.columns import ColumnRecord
from bifrost.records.codec.errors import CorruptBatch, RecordsError, TooLarge
from bifrost.records.codec.memory import MemoryBudget
from support.encryption.sealing import (
    LOG_APPEND_TIME,
    PLACE,
    TRANSACTIONAL,
    WRAPPED,
    opened,
    packed_again,
    produced,
    sealed,
    sealing,
    with_checksum,
    with_header,
)
from support.records.record_columns import CODECS, HEADER, batch_of, only_batch, plenty

ALL = range(len(CODECS))
SMALL = [ColumnRecord(i, i, b"key", b"a plain value", ((b"h", b"header"),)) for i in range(3)]
SOME = batch_of(SMALL, producer=(7, 3, 40))
COUNTS = (1, 2, 63, 64, 65, 66, 128, 700)
PLAIN_HEADER = ("base_offset", "partition_leader_epoch", "magic", "last_offset_delta", "base_timestamp_ms")
PLAIN_HEADER += ("max_timestamp_ms", "producer_id", "producer_epoch", "base_sequence", "record_count")


@pytest.mark.parametrize("codec", ALL)
def test_a_batch_comes_back_bit_for_bit(codec: int) -> None:
    chance = random.Random(codec)
    for count in COUNTS:
        for attributes in (0, TRANSACTIONAL):
            data = produced(chance, count, codec, attributes)

            assert opened(sealed(data)) == data


def test_the_header_of_a_sealed_batch_is_the_clients() -> None:
    for codec in ALL:
        data = produced(random.Random(1), 3, codec, TRANSACTIONAL)
        before, after = only_batch(data), only_batch(sealed(data))

        assert {name: getattr(after, name) for name in PLAIN_HEADER} == {
            name: getattr(before, name) for name in PLAIN_HEADER
        }
        assert after.is_transactional
        assert not after.is_log_append_time


def test_a_sealed_batch_has_as_many_records_and_nothing_of_them() -> None:
    data = sealed(SOME)
    records = read_columns(only_batch(data), plenty()).records()

    assert [(one.offset_delta, one.key, one.headers) for one in records] == [(i, None, ()) for i in range(3)]
    assert [one.value for one in records[1:]] == [None, None]
    # The latest timestamp is the first one's, so a look-up by time finds the beginning of the batch.
    assert [one.timestamp_delta for one in records] == [2, 0, 0]
    for plain in (b"plain", b"key", b"header"):
        assert plain in SOME
        assert plain not in data


def test_an_envelope_is_what_the_page_says() -> None:
    dek = sealing()
    dek.take(258, 0)
    value = read_columns(only_batch(sealed(SOME, dek=dek)), plenty()).records()[0].value
    assert value is not None
    header = WRAPPED.as_bytes()

    assert value[:8] == b"BFST\x01\x01\x01\x00"
    assert value[8:20] == dek.nonce_prefix + b"\x00\x00\x01\x02"
    assert value[20 : 20 + len(header)] == header
    original = value[20 + len(header) : 38 + len(header)]
    assert original == SOME[21:23] + SOME[27:43]
    assert len(value) == 38 + len(header) + len(SOME) - HEADER.size + 16


def test_an_envelope_is_opened_as_the_page_says() -> None:
    """The page's recipe, without the gateway's code."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from support.encryption.sealing import KEY

    data = sealed(SOME)
    value = read_columns(only_batch(data), plenty()).records()[0].value
    assert value is not None
    begin = 38 + len(WRAPPED.as_bytes())
    bound = b"\x00\x00" + data[23:27] + data[43:61]

    records = AESGCM(KEY).decrypt(value[8:20], value[begin:], PLACE.binding + value[:begin] + bound)

    assert records == SOME[HEADER.size :]


def test_every_message_has_another_nonce() -> None:
    dek = sealing()
    nonces = set()
    for _ in range(50):
        value = read_columns(only_batch(sealed(SOME, dek=dek)), plenty()).records()[0].value
        assert value is not None
        nonces.add(value[8:20])

    assert len(nonces) == 50


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_many_small_records_that_are_compressed_stay_small(codec: int) -> None:
    records = [ColumnRecord(i, 0, None, b"x" * 20) for i in range(1000)]
    data = batch_of(records, codec=codec, producer=(7, 3, 40))

    found = sealed(data)

    assert only_batch(found).codec == 1
    assert len(found) < len(data) + 2_000
    assert opened(found) == data
    # Any reader of gzip reads it, in one member.
    assert zlib.decompressobj(31).decompress(found[HEADER.size :])[-7:-5] == b"\x00\x00"


def test_large_batches_are_stored_in_more_than_one_block() -> None:
    chance = random.Random(1)
    records = [ColumnRecord(i, 0, None, chance.randbytes(40)) for i in range(9000)]
    data = batch_of(records, codec=2, producer=(7, 3, 40))

    found = sealed(data)

    assert only_batch(found).codec == 1
    assert len(found) > 3 * 0xFFFF
    assert opened(found) == data


def test_the_key_of_an_envelope_is_found_without_opening_it() -> None:
    for data in (SOME, produced(random.Random(1), 400, 4)):
        found = read_sealed(only_batch(sealed(data)), plenty())

        assert found is not None
        assert read_wrapped_dek(found.dek_header) == WRAPPED


@pytest.mark.parametrize("codec", ALL)
def test_a_batch_that_a_broker_packs_again_comes_back_as_it_was(codec: int) -> None:
    chance = random.Random(codec)
    for count in COUNTS:
        data = produced(chance, count, chance.choice(ALL), TRANSACTIONAL)

        assert opened(packed_again(sealed(data), codec)) == data


@pytest.mark.parametrize("codec", [None, 0, 4])
def test_the_brokers_own_time_comes_through(codec: int | None) -> None:
    for count in COUNTS:
        data = produced(random.Random(count), count, 3)
        at = 1_800_000_000_123
        if codec is None:
            stored = with_header(sealed(data), attributes=LOG_APPEND_TIME, max_timestamp=at)
            if only_batch(sealed(data)).codec:
                stored = with_header(stored, attributes=LOG_APPEND_TIME | only_batch(sealed(data)).codec)
        else:
            stored = packed_again(sealed(data), codec, at)

        back = only_batch(opened(stored))

        assert (back.is_log_append_time, back.max_timestamp_ms) == (True, at)
        assert (
            with_header(bytes(back.data), attributes=3, max_timestamp=only_batch(data).max_timestamp_ms)
            == data
        )


def test_what_the_broker_assigns_comes_through() -> None:
    back = only_batch(opened(with_header(sealed(SOME), base_offset=90, leader_epoch=4)))

    assert (back.base_offset, back.partition_leader_epoch) == (90, 4)
    assert with_header(bytes(back.data), base_offset=0, leader_epoch=-1) == SOME


def test_timestamps_that_no_client_should_send_come_back_too() -> None:
    for base, latest in ((-1, -1), (5, 3), (-1, 9), (2**63 - 1, -(2**63)), (-(2**63), 2**63 - 1)):
        for count in (1, 3):
            data = with_header(batch_of(SMALL[:count]), base_timestamp=base, max_timestamp=latest)

            assert opened(sealed(data)) == data


def outcome(data: bytes) -> str:
    """Say what comes of a sealed batch that was changed."""
    try:
        found = read_sealed(only_batch(data), plenty())
        if found is None:
            return "not sealed"  # which is an error where batches have to be
        found.open(PLACE.binding, sealing().dek, plenty())
    except RecordsError:
        return "error"
    return "data"


@pytest.mark.parametrize("count", [1, 3])
def test_every_flipped_bit_is_an_error(count: int) -> None:
    data = sealed(batch_of(SMALL[:count], producer=(7, 3, 40)))
    assert outcome(data) == "data"
    checksum, type_of_timestamp = range(17, 21), (22, 3)
    found = Counter[str]()
    for at in range(16, len(data)):
        for bit in range(8):
            if at not in checksum and (at, bit) != type_of_timestamp:
                spoilt = bytearray(data)
                spoilt[at] ^= 1 << bit
                found[outcome(with_checksum(spoilt))] += 1

    assert found.keys() == {"error", "not sealed"}
    assert found.total() == 8 * (len(data) - 16 - 4) - 1


def test_only_the_time_changes_with_its_type() -> None:
    back = only_batch(opened(with_header(sealed(SOME), attributes=LOG_APPEND_TIME)))

    assert bytes(back.data[HEADER.size :]) == SOME[HEADER.size :]


def test_a_flipped_bit_in_a_packed_batch_is_an_error_or_changes_nothing() -> None:
    data = produced(random.Random(4), 100, 1)
    found = sealed(data)
    assert only_batch(found).codec == 1
    refused = 0
    for at in [
        *range(HEADER.size, HEADER.size + 40),
        *range(HEADER.size + 40, len(found), 97),
        *range(-40, 0),
    ]:
        spoilt = bytearray(found)
        spoilt[at] ^= 1 << at % 8
        try:
            assert opened(with_checksum(spoilt)) == data
        except RecordsError:
            refused += 1

    assert refused > 60


@pytest.mark.parametrize(
    "place",
    [
        Place("another", PLACE.topic, PLACE.partition),
        Place(PLACE.cluster, "physical.orders2", PLACE.partition),
        Place(PLACE.cluster, PLACE.topic, 4),
    ],
)
def test_a_batch_that_was_moved_is_not_opened(place: Place) -> None:
    with pytest.raises(BrokenSeal, match="another place"):
        opened(sealed(SOME), place)


def test_another_key_does_not_open_a_batch() -> None:
    with pytest.raises(BrokenSeal, match="another key"):
        opened(sealed(SOME), key=bytes(32))


def test_an_older_wrapped_key_in_its_place_is_seen() -> None:
    data = sealed(SOME)
    at = data.index(WRAPPED.wrapped)
    replayed = data[:at] + bytes(reversed(WRAPPED.wrapped)) + data[at + len(WRAPPED.wrapped) :]

    with pytest.raises(BrokenSeal):
        opened(with_checksum(replayed))


@pytest.mark.parametrize(
    "changes",
    [
        {"producer_id": 8},
        {"producer_epoch": 4},
        {"base_sequence": 41},
        {"count": 2, "last_offset_delta": 1},
        {"last_offset_delta": 7},
        {"attributes": TRANSACTIONAL},
        {"attributes": 0x40},
        {"base_timestamp": 1},
        {"max_timestamp": 1},
        {"count": 2**31 - 1},
        {"count": 0},
        {"count": -5},
    ],
)
def test_a_batch_in_the_place_of_another_is_seen(changes: dict[str, int]) -> None:
    found = read_sealed(only_batch(with_header(sealed(SOME), **changes)), plenty())
    if found is not None:
        with pytest.raises(BrokenSeal):
            found.open(PLACE.binding, sealing().dek, plenty())
    else:
        assert changes["count"] < 1


def test_records_in_another_order_are_seen() -> None:
    batch = only_batch(sealed(SOME))
    records = read_columns(batch, plenty()).records()
    swapped = [records[1]._replace(offset_delta=0), records[0]._replace(offset_delta=1), records[2]]

    with pytest.raises(BrokenSeal):
        opened(batch_of([records[0], records[2]._replace(offset_delta=1), records[1]], producer=(7, 3, 40)))
    assert read_sealed(only_batch(batch_of(swapped, producer=(7, 3, 40))), plenty()) is None


@pytest.mark.parametrize(("at", "value"), [(4, 2), (5, 2), (6, 2), (7, 1)])
def test_another_version_mode_or_cipher_is_unknown(at: int, value: int) -> None:
    data = bytearray(sealed(SOME))
    data[data.index(b"BFST") + at] = value

    with pytest.raises(UnknownEnvelope):
        read_sealed(only_batch(with_checksum(data)), plenty())


def test_plain_batches_are_not_taken_for_sealed_ones() -> None:
    for codec in ALL:
        for seed in range(20):
            data = produced(random.Random(seed), 5, codec)
            assert read_sealed(only_batch(data), plenty()) is None
    assert read_sealed(only_batch(batch_of([], last_offset_delta=4)), plenty()) is None


def test_an_envelope_that_is_cut_off_is_broken() -> None:
    whole = read_columns(only_batch(sealed(SOME)), plenty()).records()[0].value
    assert whole is not None
    header = 38 + len(WRAPPED.as_bytes())
    for size in (4, 7, 8, 27, 28, 40, header, header + 15):
        data = batch_of([ColumnRecord(0, 0, None, whole[:size])])
        with pytest.raises(BrokenSeal, match="cut off"):
            read_sealed(only_batch(data), plenty())


def test_only_batches_of_records_are_sealed() -> None:
    for data in (with_header(SOME, attributes=0x20), batch_of([]), with_header(SOME, count=-1)):
        with pytest.raises(CorruptBatch):
            sealed(data)


def test_a_count_that_would_need_too_much_memory_is_refused() -> None:
    for codec in (0, 1):
        data = with_header(SOME, attributes=codec, count=100_000_000, last_offset_delta=99_999_999)
        with pytest.raises(TooLarge):
            seal_batch(only_batch(data), PLACE.binding, sealing(), MemoryBudget("batch", 1 << 20))
    with pytest.raises(TooLarge):
        sealed(with_header(SOME, count=2**31 - 1))


def test_memory_is_given_back() -> None:
    budget = MemoryBudget("batch", 1 << 20)
    data = seal_batch(only_batch(produced(random.Random(1), 300, 4)), PLACE.binding, sealing(), budget)
    (batch,) = split_batches(memoryview(data), is_whole=True)
    found = read_sealed(batch, budget)
    assert found is not None
    assert budget.used > 0
    found.open(PLACE.binding, sealing().dek, budget)
    del found

    assert budget.used == 0


def test_a_dek_that_is_used_up_seals_nothing() -> None:
    dek = sealing(limits=DekLimits(max_messages=1))
    sealed(SOME, dek=dek)

    with pytest.raises(DekUsedUp):
        sealed(SOME, dek=dek)


def test_a_batch_has_to_be_one() -> None:
    with pytest.raises(CorruptBatch):
        seal_batch(SimpleNamespace(data=b"short"), PLACE.binding, sealing(), plenty())  # type: ignore[arg-type]
