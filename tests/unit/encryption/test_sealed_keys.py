import random

import pytest

from bifrost.encryption.errors import BrokenSeal, NotSealed, UnknownEnvelope, UnknownKek
from bifrost.encryption.place import Place
from bifrost.encryption.sealed_keys import open_keys, seal_keys
from bifrost.encryption.topic_key import TopicKey
from bifrost.records.codec.columns import BytesColumn, ColumnRecord, Columns
from bifrost.records.codec.errors import TooLarge
from bifrost.records.codec.memory import MemoryBudget
from support.encryption.sealing import PLACE
from support.records.record_columns import plenty, random_records

KEY = bytes(range(64))
TOPIC_KEY = TopicKey(KEY)
SOME = Columns.of(
    [ColumnRecord(i, 0, key, b"v") for i, key in enumerate((b"one", None, b"", b"one", b"other"))]
)


def sealed(columns: Columns = SOME) -> Columns:
    return seal_keys(columns, PLACE.binding, TopicKey(KEY), plenty())


def opened(
    columns: Columns, place: Place = PLACE, key: TopicKey = TOPIC_KEY, *, plain: bool = False
) -> Columns:
    return open_keys(columns, place.binding, key, plenty(), accepts_plaintext=plain)


def with_key(columns: Columns, row: int, key: bytes) -> Columns:
    keys = list(columns.keys)
    keys[row] = key
    return columns.with_keys(BytesColumn.of(keys))


def test_keys_come_back_as_they_were() -> None:
    for seed in range(30):
        columns = Columns.of(random_records(random.Random(seed), 40))

        assert opened(sealed(columns)).records() == columns.records()


def test_equal_keys_are_sealed_alike_and_others_are_not() -> None:
    found, again = list(sealed().keys), list(sealed().keys)

    assert found == again
    assert found[1] is None
    assert found[0] == found[3]
    assert len({found[0], found[2], found[4]}) == 3
    assert b"one" not in b"".join(one for one in found if one)


def test_a_sealed_key_is_what_the_page_says() -> None:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    found = sealed().keys[0]
    assert found is not None

    assert found[:16] == b"BFST\x01\x03\x02\x00" + TOPIC_KEY.key_id
    assert AESSIV(KEY).decrypt(found[16:], [PLACE.binding, found[:16]]) == b"\x01one"
    assert len(found) == 16 + 16 + 1 + 3


def test_every_flipped_bit_is_an_error() -> None:
    columns = sealed()
    key = columns.keys[0]
    assert key is not None
    outcomes = set()
    for bit in range(8 * len(key)):
        spoilt = bytearray(key)
        spoilt[bit // 8] ^= 1 << bit % 8
        try:
            opened(with_key(columns, 0, bytes(spoilt)))
            outcomes.add("data")
        except (BrokenSeal, NotSealed, UnknownEnvelope, UnknownKek) as error:
            outcomes.add(type(error).__name__)

    assert outcomes == {"BrokenSeal", "NotSealed", "UnknownEnvelope", "UnknownKek"}


def test_keys_of_another_place_or_another_topic_key_are_not_opened() -> None:
    for place in (
        Place("x", PLACE.topic, 3),
        Place(PLACE.cluster, "x", 3),
        Place(PLACE.cluster, PLACE.topic, 4),
    ):
        with pytest.raises(BrokenSeal, match="another place"):
            opened(sealed(), place)
    with pytest.raises(UnknownKek, match="record 0"):
        opened(sealed(), key=TopicKey(bytes(64)))


def test_keys_that_are_not_sealed_pass_only_where_they_may() -> None:
    columns = with_key(sealed(), 4, b"plain")

    with pytest.raises(NotSealed, match="record 4"):
        opened(columns)
    assert list(opened(columns, plain=True).keys) == [b"one", None, b"", b"one", b"plain"]


def test_a_sealed_key_that_is_cut_off_is_broken() -> None:
    key = sealed().keys[2]
    assert key is not None
    for size in (4, 15, 16, 32):
        with pytest.raises(BrokenSeal, match="cut off"):
            opened(with_key(SOME, 0, key[:size]))


def test_records_without_keys_stay_as_they_are() -> None:
    columns = Columns.of([ColumnRecord(0, 0, None, b"v")])

    assert sealed(columns) is columns
    assert opened(columns).records() == columns.records()


def test_memory_has_a_bound_and_is_given_back() -> None:
    budget = MemoryBudget("batch", 400)
    found = seal_keys(SOME, PLACE.binding, TOPIC_KEY, budget)
    back = open_keys(found, PLACE.binding, TOPIC_KEY, budget)
    assert budget.used == sum(len(one) for one in found.keys if one) + 11
    del back, found

    assert budget.used == 0
    with pytest.raises(TooLarge):
        seal_keys(SOME, PLACE.binding, TOPIC_KEY, MemoryBudget("batch", 100))
