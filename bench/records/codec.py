"""How fast the record codec reads and writes batches, beside the compression library alone.

Reading is what a transform pays before its first record: checksum, unpacking, columns. Writing is columns to a whole
batch. Both are CPU time of one core, by the bytes of the unpacked records; the library packs and unpacks the same bytes
into memory that is there already.
"""

import zlib
from collections.abc import Callable, Sequence

import cramjam

from bench.records.batches import GZIP, HEADER, LZ4, SHAPES, SNAPPY, ZSTD, batch_of, json_values
from bench.records.speed import speed
from bench.table import Table
from bifrost.records.codec.client_batch import build_batch, read_columns, split_batches
from bifrost.records.codec.compression import NAMES
from bifrost.records.codec.memory import MemoryBudget


def measure_codecs(rounds: int) -> Table:
    """Measure all codecs."""
    table = Table("Record codec", "one core", "MB/s", 0, is_less_better=False)
    for _ in range(rounds):
        for count, size in SHAPES:
            for codec, name in enumerate(NAMES):
                row = f"{name}, {count} x {size:,} B"
                for subject, found in measure(codec, json_values(count, size)).items():
                    table.add(row, subject, found)
    return table


def measure(codec: int, found: Sequence[bytes]) -> dict[str, float]:
    """Return the speeds of one round in MB/s."""
    batch, budget = batch_of(codec, found), MemoryBudget("batch", 1 << 26)
    data, columns = batch.data, read_columns(batch, budget)
    plain = build_batch(batch._replace(attributes=0), columns, budget)[HEADER:]
    ways: dict[str, Callable[[], object]] = {
        "read": lambda: [read_columns(one, budget) for one in split_batches(data, is_whole=True)],
        "library unpacks": unpacking(codec, plain),
        "write": lambda: build_batch(batch, columns, budget),
        "library packs": packing(codec, plain),
    }
    return {name: speed(way, len(plain)) for name, way in ways.items() if codec or "library" not in name}


def packing(codec: int, plain: bytes) -> Callable[[], object]:
    """Return what packs records by the library alone."""
    if codec == GZIP:
        return lambda: zlib.compress(plain, wbits=31)
    if codec == SNAPPY:
        return lambda: cramjam.snappy.compress_raw(plain)
    if codec == LZ4:
        return lambda: cramjam.lz4.compress_block(plain)
    return lambda: cramjam.zstd.compress(plain, level=3)


def unpacking(codec: int, plain: bytes) -> Callable[[], object]:
    """Return what unpacks records by the library alone."""
    packed, room = bytes(packing(codec, plain)()), bytearray(len(plain))  # type: ignore[call-overload]
    into = {
        GZIP: cramjam.gzip.decompress_into,
        SNAPPY: cramjam.snappy.decompress_raw_into,
        LZ4: cramjam.lz4.decompress_block_into,
        ZSTD: cramjam.zstd.decompress_into,
    }.get(codec, lambda *_: None)
    return lambda: into(packed, room)
