"""Sealed batches of virtual partitions: the producer that the gateway changes on the way is the client's own again."""

import random

import pytest

from bifrost.encryption.errors import BrokenSeal
from bifrost.encryption.place import Place
from bifrost.encryption.sealed_batch import seal_batch
from bifrost.records.codec.client_batch import read_columns
from bifrost.tenancy.virtual_partitions.tagged_batches import TransactionalBatch
from bifrost.tenancy.virtual_partitions.virtual_batches import marked_batch, own_records
from support.encryption.sealing import (
    KEY,
    PLACE,
    TRANSACTIONAL,
    WRAPPED,
    opened,
    packed_again,
    produced,
    sealed,
    sealing,
    with_header,
)
from support.records.record_columns import CODECS, HEADER, batch_of, only_batch, plenty

GROUP = 5
ALL = range(len(CODECS))
COUNTS = (1, 2, 65, 700)


def sealed_virtual(data: bytes) -> bytes:
    return seal_batch(only_batch(data), PLACE.binding, sealing(), plenty(), is_virtual=True)


def joined(pieces: object) -> bytes:
    return b"".join(pieces) if isinstance(pieces, tuple) else bytes(pieces)  # type: ignore[call-overload]


def read_back(stored: bytes, group: int) -> bytes:
    """Return what the consumer of a group gets of a stored batch, before it is opened."""
    return joined(own_records(stored, {group: 0}, 0).records[group])  # type: ignore[dict-item, index]


@pytest.mark.parametrize("codec", ALL)
@pytest.mark.parametrize("group", [0, GROUP])
def test_a_marked_batch_comes_back_bit_for_bit(codec: int, group: int) -> None:
    for count in COUNTS:
        data = produced(random.Random(codec), count, codec)
        stored = joined(marked_batch(sealed_virtual(data), group))

        assert opened(read_back(stored, group)) == data


@pytest.mark.parametrize("codec", ALL)
@pytest.mark.parametrize("group", [0, GROUP])
def test_a_batch_of_a_transaction_comes_back_with_its_own_sequence(codec: int, group: int) -> None:
    for count in COUNTS:
        data = produced(random.Random(codec), count, codec, TRANSACTIONAL)
        stored = joined(TransactionalBatch(sealed_virtual(data)).tagged(group, 900))

        assert only_batch(stored).base_sequence == 900
        assert opened(read_back(stored, group)) == data


@pytest.mark.parametrize("group", [0, GROUP])
def test_so_it_does_after_a_broker_has_packed_it_again(group: int) -> None:
    for attributes in (0, TRANSACTIONAL):
        data = produced(random.Random(3), 40, 4, attributes)
        ready = sealed_virtual(data)
        marked = TransactionalBatch(ready).tagged(group, 1) if attributes else marked_batch(ready, group)
        for codec in ALL:
            assert opened(read_back(packed_again(joined(marked), codec), group)) == data


def test_a_batch_without_a_producer_comes_back_without_one() -> None:
    data = batch_of(read_columns(only_batch(produced(random.Random(1), 3)), plenty()).records())
    for stored in (sealed_virtual(data), joined(marked_batch(sealed_virtual(data), GROUP, 4000, 9))):
        assert only_batch(opened(stored)).producer_id == -1
        assert opened(stored) == data


def test_an_envelope_is_opened_as_the_page_says() -> None:
    """The page's recipe, without the gateway's code."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    data = produced(random.Random(1), 3)
    value = read_columns(only_batch(sealed_virtual(data)), plenty()).records()[0].value
    assert value is not None
    begin = 52 + len(WRAPPED.as_bytes())
    stored = joined(marked_batch(sealed_virtual(data), GROUP))
    bound = b"\x00\x00" + stored[23:27] + value[begin - 14 : begin] + stored[57:61]

    records = AESGCM(KEY).decrypt(value[8:20], value[begin:], PLACE.binding + value[:begin] + bound)

    assert value[:8] == b"BFST\x01\x06\x01\x00"
    assert records == data[HEADER.size :]


MARK = GROUP << 40
CHANGES = [
    (0, {"producer_id": 8}),
    (0, {"producer_id": -1}),
    (0, {"producer_epoch": 4}),
    (0, {"base_sequence": 41}),
    (0, {"count": 2}),
    (0, {"last_offset_delta": 7}),
    (0, {"attributes": TRANSACTIONAL, "base_sequence": 41}),
    (TRANSACTIONAL, {"producer_id": 7 + MARK}),
    (TRANSACTIONAL, {"producer_epoch": 4}),
    (TRANSACTIONAL, {"attributes": 0}),
]


@pytest.mark.parametrize(("attributes", "changes"), CHANGES)
def test_a_header_that_no_gateway_makes_is_an_error(attributes: int, changes: dict[str, int]) -> None:
    data = produced(random.Random(1), 3, attributes=attributes)

    with pytest.raises(BrokenSeal):
        opened(with_header(sealed_virtual(data), **changes))


def test_what_the_gateway_makes_of_a_header_opens() -> None:
    plain, transactional = (produced(random.Random(1), 3, attributes=one) for one in (0, TRANSACTIONAL))

    assert opened(with_header(sealed_virtual(plain), producer_id=7 + MARK)) == plain
    assert opened(with_header(sealed_virtual(transactional), base_sequence=0)) == transactional


def test_it_does_not_open_at_another_place_nor_with_another_producer_in_its_envelope() -> None:
    data = produced(random.Random(1), 3)
    stored = sealed_virtual(data)
    with pytest.raises(BrokenSeal):
        opened(stored, Place(PLACE.cluster, PLACE.topic, PLACE.partition + 1))

    at = stored.index(WRAPPED.as_bytes()) + len(WRAPPED.as_bytes()) + 18
    for changed in range(at, at + 14):
        spoilt = bytearray(stored)
        spoilt[changed] ^= 1
        spoilt[43:57] = spoilt[at : at + 14]
        with pytest.raises(BrokenSeal):
            opened(with_header(bytes(spoilt)))


def test_neither_kind_opens_as_the_other() -> None:
    data = produced(random.Random(1), 3)
    for stored, mode in ((sealed_virtual(data), 1), (sealed(data), 6)):
        spoilt = bytearray(stored)
        spoilt[stored.index(b"BFST") + 5] = mode
        with pytest.raises(BrokenSeal):
            opened(with_header(bytes(spoilt)))
