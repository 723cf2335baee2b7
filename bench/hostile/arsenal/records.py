"""Record batches that are larger inside than outside, broken, or of another time; and ones as they should be."""

import gzip
import struct
from collections.abc import Iterator

import cramjam
from kafka.record.default_records import DefaultRecordBatchBuilder

from bench.frames import LONG_AGO_MS, produce, record_batch
from bench.hostile.attack import attack
from bench.hostile.field import Field
from bifrost.records.codec.compression import NAMES, compress

BOMB_BYTES = 200 << 20
_CRC_AT, _ATTRIBUTES_AT, _RECORDS_AT = 17, 21, 61
CODECS = GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
SNAPPY_BOMB_BYTES = 20 << 20
"""snappy makes a twentieth of zeros: what a broker takes as a batch, 1 MiB, has no more of them."""


def bomb(
    codec: int,
    content: bytes,
    *,
    timestamp_ms: int = LONG_AGO_MS,
    transaction: tuple[int, int, int] | None = None,
) -> bytes:
    """Return a batch of one record, which is `content`, compressed; its head is as it should be.

    Args:
        codec: its number.
        content: compressed.
        timestamp_ms: of the record.
        transaction: the producer's ID and epoch, and the batch's sequence; None: it is in no transaction.
    """
    producer_id, epoch, sequence = (-1, -1, -1) if transaction is None else transaction
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=transaction is not None,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        batch_size=1 << 20,
    )
    builder.append(0, timestamp=timestamp_ms, key=None, value=b"x", headers=[])
    head = bytearray(builder.build())[:_RECORDS_AT]
    batch = head + content
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    batch[_ATTRIBUTES_AT + 1] |= codec
    struct.pack_into(">I", batch, _CRC_AT, _crc32c(bytes(batch[_ATTRIBUTES_AT:])))
    return bytes(batch)


def _crc32c(data: bytes) -> int:
    from kafka.record.util import calc_crc32c

    return int(calc_crc32c(data))


def record_of(size: int, key: bytes | None = None) -> bytes:
    """Return one record with a value of zeros, as it stands in a batch."""
    keyed = b"\1" if key is None else zigzag(len(key)) + key
    body = b"\0\0\0" + keyed + zigzag(size) + bytes(size) + b"\0"
    return zigzag(len(body)) + body


def zigzag(number: int) -> bytes:
    number = number << 1
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def undecompressible() -> dict[str, bytes]:
    """Return batches that do not decompress, by codec."""
    codecs = {"gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD, "unknown codec": 7}
    return {name: bomb(codec, b"\x1f\x8b" + bytes(4000)) for name, codec in codecs.items()}


def malformed() -> dict[str, bytes]:
    """Return batches that are not what their headers say, by what is wrong."""
    good, _ = record_batch(4000, 200)
    found = {}
    for name, at, form, value in (
        ("CRC", _CRC_AT, ">I", 1),
        ("count", 57, ">i", 2**31 - 1),
        ("length", 8, ">i", 2**31 - 1),
        ("format", 16, ">b", 9),
        ("last offset", 23, ">i", -5),
    ):
        bad = bytearray(good)
        struct.pack_into(form, bad, at, value)
        found[name] = bytes(bad)
    return found


def bombs(size: int, snappy_size: int) -> dict[str, bytes]:
    """Return a batch of each codec, small outside, whose one record has `size` or, with snappy, `snappy_size` bytes."""
    record, of_snappy = record_of(size), record_of(snappy_size)
    level = 19 if size == BOMB_BYTES else 3
    return {
        NAMES[codec]: bomb(codec, packed(codec, of_snappy if codec == SNAPPY else record, level))
        for codec in CODECS
    }


def packed(codec: int, record: bytes, zstd_level: int = 3) -> bytes:
    """Return a record packed as small as it goes."""
    if codec == GZIP:
        return gzip.compress(record, 9)
    return bytes(cramjam.zstd.compress(record, zstd_level)) if codec == ZSTD else compress(codec, record)


@attack("compressed batches of 200 MiB of zeros (gzip, lz4, zstd), or of 20 MiB (snappy)")
def decompression_bombs(field: Field) -> Iterator[None]:
    found = bombs(field.size(BOMB_BYTES), field.size(SNAPPY_BOMB_BYTES))
    frames = [
        (name, field.frame(produce(field.target.topic, b"", 9, 0, one), 9)) for name, one in found.items()
    ]
    field.note("batches of " + ", ".join(f"{len(one) >> 10} KiB ({name})" for name, one in found.items()))
    yield
    field.flood(frames, connections=2)


@attack("compressed batches that do not decompress")
def broken_compression(field: Field) -> Iterator[None]:
    frames = [
        field.frame(produce(field.target.topic, b"", 9, 0, one), 9) for one in undecompressible().values()
    ]
    yield
    field.flood(frames, connections=4)


@attack("batches with a wrong CRC, a record count of 2 thousand million, or a length that lies")
def broken_batches(field: Field) -> Iterator[None]:
    frames = [field.frame(produce(field.target.topic, b"", 9, 0, one), 9) for one in malformed().values()]
    yield
    field.flood(frames, connections=4)


@attack("batches of one record, 16 KiB of them in a request")
def tiny_batches(field: Field) -> Iterator[None]:
    batch, _ = record_batch(100, 10)
    frame = field.frame(produce(field.target.topic, b"", 9, 0, batch * (16 * 1024 // len(batch))), 9)
    yield
    field.flood([frame], connections=4)


@attack("records in batches of 64 KiB, as fast as they go: what a tenant may do")
def records_large(field: Field) -> Iterator[None]:
    batch, _ = record_batch(64 * 1024, 1024)
    frame = field.frame(produce(field.target.topic, b"", 9, 0, batch), 9)
    yield
    field.flood([frame], connections=4, depth=5)


@attack("records of 100 bytes, a request each, as fast as they go: what a tenant may do")
def records_small(field: Field) -> Iterator[None]:
    batch, _ = record_batch(200, 100)
    frame = field.frame(produce(field.target.topic, b"", 9, 0, batch), 9)
    yield
    field.flood([frame], connections=4, depth=5)
