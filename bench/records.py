"""`make bench-records`: how fast the record codec reads and writes batches, beside the compression library alone.

Then how fast encryption seals and opens them (sealing.py).

Reading is what a transform pays before its first record: checksum, unpacking, columns. Writing is columns to a whole
batch. Both are CPU time of one core, by the bytes of the unpacked records; the library packs and unpacks the same bytes
into memory that is there already.
"""

import argparse
import json
import random
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import cramjam

from bench import sealing
from bench.machine import Machine
from bench.page import replace_between
from bench.table import Table
from bifrost.records.codec.client_batch import ClientBatch, build_batch, read_columns, split_batches
from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.records.codec.compression import NAMES
from bifrost.records.codec.memory import MemoryBudget

PAGE = "records.md"
ROUNDS, ROUND_S = 7, 0.15
SHAPES = ((64, 1024), (640, 100), (1, 100))
"""Records of a batch, and bytes of a value."""
WORDS = [random.Random(word).randbytes(2 + word % 3).hex() for word in range(400)]
HEADER = 61
NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)


def main() -> None:
    """Measure, print, and write the page if asked to."""
    parser = argparse.ArgumentParser(prog="make bench-records", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of every figure")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="write the table to a folder's page")
    options = parser.parse_args()
    machine = Machine.now()
    print(machine)
    table = Table("Record codec", "one core", "MB/s", 0, is_less_better=False)
    sealed = Table("Encryption", "one core", "MB/s", 0, is_less_better=False)
    for _ in range(options.rounds):
        measure_sealing(sealed)
        for count, size in SHAPES:
            for codec, name in enumerate(NAMES):
                row = f"{name}, {count} x {size:,} B"
                for subject, speed in measure(codec, values(count, size)).items():
                    table.add(row, subject, speed)
    machine = machine.after()
    print(f"\n{table.as_text()}\n\n{sealed.as_text()}\n\n{sizes()}\n\n{machine.load}")
    if options.plot:
        head = f"{machine}. {machine.load}.\n\n"
        texts = {PAGE: table.as_markdown(), sealing.PAGE: f"{sealed.as_markdown()}\n\n{sizes()}"}
        for name, text in texts.items():
            page = options.plot / name
            page.write_text(replace_between(page.read_text(encoding="utf-8"), "speed", head + text), "utf-8")


def measure_sealing(table: Table) -> None:
    """Measure one round of encryption."""
    for count, size in SHAPES:
        found = values(count, size)
        shape = f"{count} x {size:,} B"
        for codec in (NONE, ZSTD):
            ways, n_bytes = sealing.ways_of_batches(codec, found)
            for subject, way in ways.items():
                table.add(f"batch, {NAMES[codec]}, {shape}", subject, speed(way, n_bytes))
        ways, n_bytes = sealing.ways_of_values(found)
        for subject, way in ways.items():
            table.add(f"values, {shape}", subject, speed(way, n_bytes))


def sizes() -> str:
    """Say how much larger batches become."""
    found = [
        f"{sealing.size_ratio(codec, values(count, size)):.3f} ({NAMES[codec]}, {count} x {size:,} B)"
        for count, size in SHAPES
        for codec in (NONE, ZSTD)
    ]
    return f"A sealed batch is so many times as large as the client's: {', '.join(found)}."


def values(count: int, size: int) -> list[bytes]:
    """Return values like those of real topics: JSON, some of it random."""
    chance = random.Random(1)
    found = []
    for number in range(count):
        order = {"order_id": number, "customer": f"customer-{chance.randrange(1000)}", "currency": "EUR"}
        note = " ".join(chance.choices(WORDS, k=size // 4))
        found.append(
            json.dumps(order | {"reference": chance.randbytes(8).hex(), "note": note}).encode()[:size]
        )
    return found


def measure(codec: int, found: Sequence[bytes]) -> dict[str, float]:
    """Return the speeds of one round in MB/s."""
    records = [ColumnRecord(i, i, b"key-%d" % i, value) for i, value in enumerate(found)]
    header = ClientBatch(
        memoryview(b""), 0, 0, -1, 2, 0, codec, len(records) - 1, 10**12, -1, 1, 0, 0, len(records)
    )
    budget = MemoryBudget("batch", 1 << 26)
    data = memoryview(build_batch(header, Columns.of(records), budget))
    (batch,) = split_batches(data, is_whole=True)
    columns = read_columns(batch, budget)
    plain = build_batch(header._replace(attributes=0), columns, budget)[HEADER:]
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


def speed(way: Callable[[], object], size: int) -> float:
    """Return the MB/s at which something is done with that many bytes, by CPU time."""
    times, started = 0, time.process_time()
    while (spent := time.process_time() - started) < ROUND_S:
        for _ in range(10):
            way()
        times += 10
    return times * size / spent / 1e6


if __name__ == "__main__":
    main()
