"""Throw spoilt record batches at the codec; it may answer or raise RecordsError, and nothing else.

    python tools/fuzz_records.py --batches 1000000 --seed 1

Valid batches of every codec are made, and spoilt (frame_mutations.py) at one of four places:

    whole       any byte of the batch; its length and checksum are made right, or not
    packed      the compressed records
    records     the records before they are compressed
    columns     the arrays that a transform would return, which the codec writes

Besides surviving, the codec must agree with a plain reader (record_model.py): it reads the same records or refuses
what that refuses; what it builds is read as the same records again; and all memory is given back to its budget.

The memory it reads ends where the batch ends, so AddressSanitizer sees a byte that is read beyond (`make fuzz-asan`).
Exits 1 at the first failure and prints it.
"""

import random
import sys
from array import array
from collections import Counter

from bifrost.records.codec import section_reader
from bifrost.records.codec.client_batch import ClientBatch, build_batch, read_columns, split_batches
from bifrost.records.codec.columns import BytesColumn, ColumnRecord, Columns
from bifrost.records.codec.compression import compress, unpack
from bifrost.records.codec.errors import RecordsError
from bifrost.records.codec.memory import MemoryBudget
from bifrost.records.crc32c import crc32c
from frame_mutations import MUTATIONS, pick
from fuzz_command import fuzz, repeatable, show_progress
from record_model import Malformed, PlainReader

BUDGET = 1 << 20
"""Bytes of a batch: small, so that now and then it is too little."""
HEADER = 61
SIZES = (0, 0, 1, 5, 30, 63, 64, 70, 200)
RENEWAL = 20
"""Spoilt batches for one new valid one, which takes longer to make."""
CODECS = range(5)


class Failure(AssertionError):
    """The codec disagrees with itself or with the plain reader."""


def some_bytes(rng: random.Random) -> bytes | None:
    """Make a key or a value."""
    size = SIZES[pick(rng, len(SIZES))]
    return (None, bytes(size), rng.randbytes(size))[pick(rng, 3)]


def some_records(rng: random.Random) -> list[ColumnRecord]:
    """Make the records of a batch."""
    return [
        ColumnRecord(
            offset,
            pick(rng, 3) * (-1, 1, 2**40)[pick(rng, 3)],
            some_bytes(rng),
            some_bytes(rng),
            tuple((some_bytes(rng) or b"", some_bytes(rng)) for _ in range((0, 0, 0, 1, 3)[pick(rng, 5)])),
        )
        for offset in range((1, 2, 5, 20)[pick(rng, 4)])
    ]


def header_of(codec: int, count: int) -> ClientBatch:
    """Return a batch without bytes: what its header says."""
    return ClientBatch(memoryview(b""), 0, 0, -1, 2, 0, codec, count - 1, 10**12, -1, -1, -1, -1, count)


def with_section(data: bytes, section: bytes) -> bytes:
    """Return a batch with other bytes behind its header; length and checksum fit."""
    size = (HEADER + len(section) - 12).to_bytes(4, "big")
    behind = data[21:HEADER] + section
    return data[:8] + size + data[12:17] + crc32c(behind).to_bytes(4, "big") + behind


def spoil(rng: random.Random, data: bytes) -> bytes:
    """Return bytes with one mutation."""
    mutable = bytearray(data or b"\0")
    MUTATIONS[pick(rng, len(MUTATIONS))](rng, mutable, data or b"\0")
    return bytes(mutable)


def spoilt_batch(rng: random.Random, data: bytes, records: bytes, codec: int) -> bytes:
    """Spoil a batch at one of three places."""
    place = pick(rng, 3)
    if place == 0:
        spoilt = spoil(rng, data)
        if len(spoilt) >= HEADER and pick(rng, 8):
            spoilt = with_section(spoilt[:16] + b"\x02" + spoilt[17:], spoilt[HEADER:])
        return spoilt
    if place == 1:
        return with_section(data, spoil(rng, data[HEADER:]))
    spoilt = spoil(rng, records)
    return with_section(data, spoilt if codec == 0 else compress(codec, spoilt))


def check_batches(data: bytes) -> str:
    """Let the codec do everything with some bytes; return what came of it.

    Raises:
        Failure: see there.
    """
    budget, outcome = MemoryBudget("batch", BUDGET), "refused"
    try:
        # Memory that ends with the last byte; a bytes object has a zero behind it.
        for batch in split_batches(memoryview(array("B", data)), is_whole=len(data) % 2 == 0):
            columns = read_columns(batch, budget)
            outcome = "read"
            check_columns(batch, columns, budget)
            del columns
    except RecordsError:
        outcome = "refused"
    if budget.used:
        raise Failure(f"{budget.used} bytes are not given back")
    return outcome


def check_columns(batch: ClientBatch, columns: Columns, budget: MemoryBudget) -> None:
    """Compare columns with what a plain reader reads, and with what is read of the batch that is built of them."""
    section = bytes(batch.data[HEADER:])
    if batch.codec and section:
        section = bytes(unpack(batch.codec, section, budget))
    records = columns.records()
    if section and records != PlainReader(section).records(batch.record_count):
        raise Failure("the columns are not what the records say")
    if not batch.is_control:
        (again,) = split_batches(memoryview(build_batch(batch, columns, budget)), is_whole=True)
        if read_columns(again, budget).records() != records:
            raise Failure("what was built is read as something else")


def check_refusals(records: bytes, count: int) -> None:
    """Compare with the plain reader what is refused.

    Raises:
        Failure: one reads what the other refuses.
    """
    try:
        ours = section_reader.read_section(
            array("B", records), count, MemoryBudget("batch", 1 << 30)
        ).records()
    except RecordsError:
        ours = None
    try:
        theirs = PlainReader(records).records(count)
    except Malformed:
        theirs = None
    if ours != theirs:
        raise Failure(f"the codec reads {ours}, the plain reader {theirs}")


def spoilt_column(rng: random.Random, column: BytesColumn) -> BytesColumn:
    """Spoil one array of a column, whose length stays or not."""
    parts = [bytes(column.data), bytes(column.offsets), bytes(column.sizes), bytes(column.validity or b"")]
    which = pick(rng, 4)
    size = len(parts[which])
    parts[which] = spoil(rng, parts[which])
    if pick(rng, 8):
        parts[which] = parts[which][:size].ljust(size, b"\0")
    data, offsets, sizes, validity = (array("B", one) for one in parts)
    return BytesColumn(
        data, offsets, sizes, validity if column.validity is not None or pick(rng, 2) else None
    )


def check_written(rng: random.Random, codec: int, columns: Columns) -> str:
    """Let the codec write spoilt columns; return what came of it.

    Raises:
        Failure: what it writes is not what the columns say.
    """
    budget = MemoryBudget("batch", BUDGET)
    spoilt = columns.with_values(spoilt_column(rng, columns.values))
    if pick(rng, 2):
        starts = array("B", spoil(rng, bytes(columns.header_starts))[: columns.header_starts.nbytes])
        spoilt = spoilt.with_headers(starts, spoilt_column(rng, columns.header_keys), columns.header_values)
    try:
        data = build_batch(header_of(codec, len(columns)), spoilt, budget)
        (batch,) = split_batches(memoryview(data), is_whole=True)
        read = read_columns(batch, MemoryBudget("batch", 1 << 30))
        if [one.key for one in read.records()] != list(columns.keys):
            raise Failure("the keys are others than before")
        return "written"
    except ValueError:
        return "not written"
    finally:
        if budget.used:
            raise Failure(f"{budget.used} bytes are not given back")


def run(batches: int, seed: int, *, started: float | None = None) -> Counter[str]:
    """Spoil and check that many batches; return how many came out how.

    Raises:
        Exception: a Failure or whatever else the codec raised; notes tell the batch and how to repeat it.
    """
    rng, outcomes = random.Random(seed), Counter[str]()
    for number in range(batches):
        if number % RENEWAL == 0:
            codec = CODECS[pick(rng, len(CODECS))]
            columns = Columns.of(some_records(rng))
            data = build_batch(header_of(codec, len(columns)), columns, MemoryBudget("batch", 1 << 30))
            plain = build_batch(header_of(0, len(columns)), columns, MemoryBudget("batch", 1 << 30))[HEADER:]
        spoilt = spoilt_batch(rng, data, plain, codec)
        with repeatable("batches", number, seed, spoilt):
            outcomes[check_batches(spoilt)] += 1
            check_refusals(spoil(rng, plain), len(columns))
            if number % 4 == 0:
                outcomes[check_written(rng, codec, columns)] += 1
        show_progress("batches", number, started, outcomes)
    return outcomes


def main() -> int:
    """Fuzz as the arguments say; return the exit code."""
    return fuzz(run, "Throw spoilt record batches at the codec.", "batches", section_reader)


if __name__ == "__main__":
    sys.exit(main())
