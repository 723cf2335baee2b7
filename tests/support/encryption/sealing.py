"""A key for tests, batches sealed with it, and the same batches as a broker may change them."""

import random
from itertools import count

from bifrost.encryption.dek import Dek, DekLimits, WritingDek
from bifrost.encryption.place import Place
from bifrost.encryption.sealed_batch import read_sealed, seal_batch
from bifrost.encryption.wrapped_dek import WrappedDek
from bifrost.records.codec.client_batch import read_columns
from bifrost.records.crc32c import crc32c
from support.records.record_columns import HEADER, batch_of, only_batch, plenty, random_records

KEY = bytes(range(32))
PLACE = Place("cluster", "physical.orders", 3)
WRAPPED = WrappedDek("vault:transit/payments", 3, bytes(range(90)))
LOG_APPEND_TIME, TRANSACTIONAL = 0x08, 0x10
_prefixes = count()


def opening(key: bytes = KEY) -> Dek:
    """Return a key that opens."""
    return Dek(key, WRAPPED)


def sealing(key: bytes = KEY, limits: DekLimits | None = None) -> WritingDek:
    """Return a key that seals, with nonces of its own."""
    return WritingDek(Dek(key, WRAPPED), next(_prefixes).to_bytes(8, "big"), limits or DekLimits(), 0)


def produced(chance: random.Random, records: int, codec: int = 0, attributes: int = 0) -> bytes:
    """Return a batch as a producer sends it: offsets without gaps, with idempotence."""
    found = [one._replace(offset_delta=i) for i, one in enumerate(random_records(chance, records))]
    return batch_of(found, codec=codec, attributes=attributes, producer=(7, 3, 40))


def sealed(data: bytes, place: Place = PLACE, dek: WritingDek | None = None) -> bytes:
    """Return a batch sealed."""
    return seal_batch(only_batch(data), place.binding, dek or sealing(), plenty())


def opened(data: bytes, place: Place = PLACE, key: bytes = KEY) -> bytes:
    """Return a sealed batch opened.

    Raises:
        RecordsError: it cannot be.
    """
    found = read_sealed(only_batch(data), plenty())
    assert found is not None
    return found.open(place.binding, opening(key), plenty())


def with_checksum(data: bytes | bytearray) -> bytes:
    """Return a batch whose checksum fits its bytes."""
    return bytes(data[:17]) + crc32c(bytes(data[21:])).to_bytes(4, "big") + bytes(data[21:])


def with_header(data: bytes, **changes: int) -> bytes:
    """Return a batch with other fields in its header, and the checksum that they need."""
    names = ("base_offset", "length", "leader_epoch", "magic", "crc", "attributes", "last_offset_delta")
    names += ("base_timestamp", "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "count")
    fields = dict(zip(names, HEADER.unpack_from(data), strict=True)) | changes
    return with_checksum(HEADER.pack(*fields.values()) + data[HEADER.size :])


def packed_again(data: bytes, codec: int, append_time_ms: int | None = None) -> bytes:
    """Return a batch as a broker packs it again: the first record's timestamp becomes the base.

    Args:
        data: the batch.
        codec: that of the topic.
        append_time_ms: the broker's time, where the topic has that type.
    """
    batch = only_batch(data)
    records = read_columns(batch, plenty()).records()
    first = records[0].timestamp_delta
    again = batch_of(
        [one._replace(timestamp_delta=one.timestamp_delta - first) for one in records],
        codec=codec,
        attributes=batch.attributes & ~7 | (0 if append_time_ms is None else LOG_APPEND_TIME),
        base_timestamp_ms=batch.base_timestamp_ms + first,
        producer=(batch.producer_id, batch.producer_epoch, batch.base_sequence),
    )
    return again if append_time_ms is None else with_header(again, max_timestamp=append_time_ms)
