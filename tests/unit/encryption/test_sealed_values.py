import random
from array import array

import pytest

from bifrost.encryption.dek import Dek, DekLimits, WritingDek
from bifrost.encryption.errors import BrokenSeal, DekUsedUp, NotSealed, UnknownEnvelope
from bifrost.encryption.place import Place
from bifrost.encryption.sealed_values import read_sealed_values, seal_values
from bifrost.encryption.wrapped_dek import WrappedDek
from bifrost.records.codec.client_batch import build_batch, read_columns
from bifrost.records.codec.columns import BytesColumn, ColumnRecord, Columns
from bifrost.records.codec.errors import TooLarge
from bifrost.records.codec.memory import MemoryBudget
from support.encryption.sealing import KEY, PLACE, WRAPPED, opening, sealing
from support.records.record_columns import CODECS, batch_of, only_batch, plenty, random_records

SOME = Columns.of(
    [
        ColumnRecord(0, 0, b"a", b"a plain value", ((b"h", b"header"),)),
        ColumnRecord(1, 5, b"b", None),
        ColumnRecord(2, 6, None, b"another"),
        ColumnRecord(3, 7, b"", b""),
    ]
)
DEKS = {WRAPPED.as_bytes(): opening()}


def sealed(columns: Columns = SOME, place: Place = PLACE) -> Columns:
    return seal_values(columns, place.binding, sealing(), plenty())


def opened(columns: Columns, place: Place = PLACE, *, accepts_plaintext: bool = False) -> Columns:
    found = read_sealed_values(columns)
    return found.open(place.binding, DEKS, plenty(), accepts_plaintext=accepts_plaintext)


def with_value(columns: Columns, row: int, value: bytes | None) -> Columns:
    values = list(columns.values)
    values[row] = value
    return columns.with_values(BytesColumn.of(values))


def test_values_come_back_as_they_were() -> None:
    for seed in range(30):
        columns = Columns.of(random_records(random.Random(seed), 40))

        assert opened(sealed(columns)).records() == columns.records()


@pytest.mark.parametrize("codec", range(len(CODECS)))
def test_a_batch_of_sealed_values_is_a_batch_of_its_codec(codec: int) -> None:
    batch = only_batch(batch_of(random_records(random.Random(1), 30), codec=codec))
    columns = read_columns(batch, plenty())

    again = only_batch(build_batch(batch, sealed(columns), plenty()))

    assert again.codec == codec
    assert opened(read_columns(again, plenty())).records() == columns.records()


def test_all_but_the_values_stays_and_a_null_stays_null() -> None:
    found = sealed().records()

    assert [one._replace(value=None) for one in found] == [one._replace(value=None) for one in SOME.records()]
    assert [one.value is None for one in found] == [False, True, False, False]
    assert not any(b"plain" in (one.value or b"") for one in found)


def test_nothing_is_sealed_where_all_values_are_null() -> None:
    columns = Columns.of([ColumnRecord(0, 0, b"k", None)])
    dek = sealing(limits=DekLimits(max_messages=1))

    assert seal_values(columns, PLACE.binding, dek, plenty()) is columns
    assert dek.take(1, 0) == 0
    assert opened(columns) is columns


def test_every_value_has_another_nonce_and_an_envelope_as_the_page_says() -> None:
    dek = sealing()
    first = seal_values(SOME, PLACE.binding, dek, plenty())
    second = seal_values(SOME, PLACE.binding, dek, plenty())
    values = [one for column in (first.values, second.values) for one in column if one is not None]

    assert [one[8:20] for one in values] == [dek.nonce_prefix + i.to_bytes(4, "big") for i in range(6)]
    assert {one[:8] for one in values} == {b"BFST\x01\x02\x01\x00"}
    assert {one[20 : 20 + len(dek.header)] for one in values} == {dek.header}
    assert len(values[0]) == 20 + len(dek.header) + len(b"a plain value") + 16


def test_a_value_is_opened_as_the_page_says() -> None:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    begin = 20 + len(WRAPPED.as_bytes())
    found = sealed().records()
    for row, key in ((0, b"\x00\x00\x00\x01a"), (2, b"\xff\xff\xff\xff"), (3, bytes(4))):
        value = found[row].value
        assert value is not None
        bound = PLACE.binding + value[:begin] + key
        assert AESGCM(KEY).decrypt(value[8:20], value[begin:], bound) == SOME.values[row]


def test_every_flipped_bit_is_an_error() -> None:
    columns = sealed()
    value = columns.values[0]
    assert value is not None
    outcomes = set()
    for bit in range(8 * len(value)):
        spoilt = bytearray(value)
        spoilt[bit // 8] ^= 1 << bit % 8
        try:
            found = read_sealed_values(with_value(columns, 0, bytes(spoilt)))
            deks = dict.fromkeys(found.dek_headers, opening())
            found.open(PLACE.binding, deks, plenty())
            outcomes.add("data")
        except (BrokenSeal, NotSealed, UnknownEnvelope) as error:
            outcomes.add(type(error).__name__)

    assert outcomes == {"BrokenSeal", "NotSealed", "UnknownEnvelope"}


@pytest.mark.parametrize(
    "place", [Place("x", PLACE.topic, 3), Place(PLACE.cluster, "x", 3), Place(PLACE.cluster, PLACE.topic, 4)]
)
def test_values_that_were_moved_are_not_opened(place: Place) -> None:
    with pytest.raises(BrokenSeal, match="record 0"):
        opened(sealed(), place)


def test_a_value_under_another_key_of_a_record_is_seen() -> None:
    columns = sealed()
    for row, key in ((0, b"b"), (0, None), (2, b""), (3, None)):
        keys = list(columns.keys)
        keys[row] = key
        with pytest.raises(BrokenSeal, match=f"record {row}"):
            opened(columns.with_keys(BytesColumn.of(keys)))


def test_keys_of_different_sizes_are_bound_each_to_its_value() -> None:
    records = [ColumnRecord(i, 0, bytes(size), b"value") for i, size in enumerate((3, 300, 3, 0, 5000, 3))]

    assert opened(sealed(Columns.of(records))).records() == records


def test_values_that_are_not_sealed_pass_only_where_they_may() -> None:
    columns = with_value(sealed(), 2, b"not sealed")

    assert read_sealed_values(columns).not_sealed == 1
    with pytest.raises(NotSealed, match="1 of 4"):
        opened(columns)
    assert list(opened(columns, accepts_plaintext=True).values) == [
        b"a plain value",
        None,
        b"not sealed",
        b"",
    ]
    plain = read_sealed_values(SOME)
    assert (plain.not_sealed, plain.dek_headers) == (3, ())
    assert plain.open(PLACE.binding, {}, plenty(), accepts_plaintext=True) is SOME


def test_values_of_several_deks_are_opened_each_with_its_own() -> None:
    other = WrappedDek("vault:transit/payments", 4, b"other")
    newer = WritingDek(Dek(bytes(32), other), bytes(8), DekLimits(), 0)
    columns = sealed()
    mixed = with_value(columns, 2, seal_values(SOME, PLACE.binding, newer, plenty()).values[2])
    found = read_sealed_values(mixed)

    assert found.dek_headers == (WRAPPED.as_bytes(), other.as_bytes())
    deks = DEKS | {other.as_bytes(): Dek(bytes(32), other)}
    assert found.open(PLACE.binding, deks, plenty()).records() == SOME.records()


def test_an_envelope_that_is_cut_off_is_broken() -> None:
    value = sealed().values[0]
    assert value is not None
    for size in (4, 7, 8, 27, 28, 60, 20 + len(WRAPPED.as_bytes()) + 15):
        with pytest.raises(BrokenSeal, match="record 0 is cut off"):
            read_sealed_values(with_value(SOME, 0, value[:size]))


def test_a_dek_that_is_used_up_seals_nothing() -> None:
    dek = sealing(limits=DekLimits(max_messages=2))

    with pytest.raises(DekUsedUp):
        seal_values(SOME, PLACE.binding, dek, plenty())


def test_memory_has_a_bound_and_is_given_back() -> None:
    budget = MemoryBudget("batch", 1000)
    found = seal_values(SOME, PLACE.binding, sealing(), budget)
    used = budget.used
    assert used == sum(len(one) for one in found.values if one is not None)
    back = read_sealed_values(found).open(PLACE.binding, DEKS, budget)
    assert budget.used == used + 20
    del back, found

    assert budget.used == 0
    with pytest.raises(TooLarge):
        seal_values(SOME, PLACE.binding, sealing(), MemoryBudget("batch", used - 1))


def test_columns_that_do_not_fit_together_are_refused() -> None:
    good = SOME.values
    for values in (
        BytesColumn(good.data, array("i", [0, 0, 0, 99]), good.sizes),
        BytesColumn(good.data, good.offsets, array("i", [-1, 0, 0, 0])),
        BytesColumn(good.data, array("i", [-4, 0, 0, 0]), good.sizes),
        BytesColumn(good.data, good.offsets, array("i", [2**31 - 1, 0, 0, 0])),
        BytesColumn(good.data, good.offsets, array("i", [0])),
        BytesColumn(good.data, array("i", [0]), array("i", [0])),
        BytesColumn(good.data, good.offsets, good.sizes, b""),
    ):
        with pytest.raises(ValueError, match=r"a column"):
            sealed(SOME.with_values(values))
        with pytest.raises(ValueError, match=r"a column"):
            read_sealed_values(SOME.with_values(values))
