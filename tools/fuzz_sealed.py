"""Throw spoilt sealed batches at what opens them: it may open the batch that was sealed, or raise RecordsError.

    python tools/fuzz_sealed.py --batches 1000000 --seed 1

Batches of every codec are sealed, some packed again as a broker does, and spoilt (frame_mutations.py) at one of four
places, with a checksum that is right in most cases:

    whole       any byte of the sealed batch
    records     the records of the sealed batch before they are packed
    envelope    the envelope, with lengths around it that fit
    header      the header of the batch, in fields that a broker writes and in fields that it does not

and the values and keys of records that are sealed one by one, and the arrays of their columns.

What opens must be the client's batch bit for bit, with nothing in its header but what a broker writes there. Batches
that are spoilt before they are sealed must come back as they were, or not be sealed at all. All memory is given back to
its budget, and what is read ends where the batch ends, so AddressSanitizer sees a byte that is read beyond (`make
fuzz-asan`). Exits 1 at the first failure and prints it.
"""

import random
import sys
from array import array
from collections import Counter
from itertools import count

from bifrost.encryption import sealed_batch
from bifrost.encryption.dek import Dek, DekLimits, WritingDek
from bifrost.encryption.place import Place
from bifrost.encryption.sealed_batch import read_sealed, seal_batch
from bifrost.encryption.sealed_keys import open_keys, seal_keys
from bifrost.encryption.sealed_values import read_sealed_values, seal_values
from bifrost.encryption.topic_key import TopicKey
from bifrost.encryption.wrapped_dek import WrappedDek
from bifrost.records.codec.client_batch import ClientBatch, build_batch, read_columns, split_batches
from bifrost.records.codec.columns import BytesColumn, Columns
from bifrost.records.codec.errors import RecordsError
from bifrost.records.codec.memory import MemoryBudget
from frame_mutations import pick
from fuzz_command import fuzz, repeatable, show_progress
from fuzz_records import CODECS, HEADER, header_of, some_records, spoil, spoilt_column, with_section

BUDGET = 1 << 20
RENEWAL = 20
"""Spoilt batches for one that is sealed anew, which takes longer."""
BINDING = Place("cluster", "topic", 0).binding
WRAPPED = WrappedDek("vault:transit/kek", 1, bytes(range(60)))
DEK = Dek(bytes(range(32)), WRAPPED)
TOPIC_KEY = TopicKey(bytes(range(64)))
LOG_APPEND_TIME = 0x08
BROKERS_OWN = (*range(16), *range(17, 21))
"""Bytes of a header that brokers write: base offset, length, leader epoch, checksum."""


class Failure(AssertionError):
    """What was opened is not what was sealed."""


def plenty() -> MemoryBudget:
    """Return a budget that is enough."""
    return MemoryBudget("batch", 1 << 30)


def produced(rng: random.Random) -> bytes:
    """Make a batch of a client's, sometimes of very many small records."""
    records = some_records(rng)
    if pick(rng, 4) == 0:
        records = [records[0]._replace(offset_delta=i) for i in range(30 + pick(rng, 200))]
    header = header_of(pick(rng, len(CODECS)), len(records))
    return build_batch(header, Columns.of(records), plenty())


def only_batch(data: bytes) -> ClientBatch:
    """Return the one batch in memory of its own, which ends with its last byte."""
    (batch,) = split_batches(memoryview(array("B", data)), is_whole=True)
    return batch


def packed_again(rng: random.Random, data: bytes) -> bytes:
    """Return a batch in another codec."""
    batch = only_batch(data)
    columns = read_columns(batch, plenty())
    return build_batch(
        batch._replace(attributes=batch.attributes & ~7 | pick(rng, len(CODECS))), columns, plenty()
    )


def spoilt_batch(rng: random.Random, data: bytes) -> bytes:
    """Spoil a sealed batch at one of four places."""
    place = pick(rng, 4)
    if place == 0 or len(data) <= HEADER:
        spoilt = spoil(rng, data)
        return with_section(spoilt, spoilt[HEADER:]) if len(spoilt) >= HEADER and pick(rng, 8) else spoilt
    if place == 1:
        mutable = bytearray(data)
        mutable[pick(rng, HEADER)] ^= 1 << pick(rng, 8)
        return with_section(bytes(mutable), bytes(mutable[HEADER:]))
    batch = only_batch(data)
    columns = read_columns(batch, plenty())
    plain = batch._replace(attributes=batch.attributes & ~7)
    if place == 2:
        whole = build_batch(plain, columns, plenty())
        return with_section(whole, spoil(rng, whole[HEADER:]))
    values = list(columns.values)
    values[0] = spoil(rng, values[0] or b"\0")
    return build_batch(plain, columns.with_values(BytesColumn.of(values)), plenty())


def check_opened(spoilt: bytes, original: bytes) -> str:
    """Open a spoilt batch; return what came of it.

    Raises:
        Failure: see there.
    """
    budget, outcome = MemoryBudget("batch", BUDGET), "refused"
    try:
        batch = only_batch(spoilt)
        found = read_sealed(batch, budget)
        outcome = "not sealed"
        if found is not None:
            outcome = "refused"
            opened = found.open(BINDING, DEK, budget)
            outcome = "opened"
            check_equal(opened, original)
    except (RecordsError, ValueError) as error:
        if not isinstance(error, RecordsError) and "not enough values" not in str(error):
            raise
    found = None
    if budget.used:
        raise Failure(f"{budget.used} bytes are not given back")
    return outcome


def check_equal(opened: bytes, original: bytes) -> None:
    """Compare what was opened with what was sealed, but for what a broker writes."""
    one, other = bytearray(opened), bytearray(original)
    if one[22] & LOG_APPEND_TIME:
        one[22] &= ~LOG_APPEND_TIME
        one[35:43] = other[35:43]  # the time at which the broker appended it
    for at in BROKERS_OWN:
        one[at] = other[at]
    if one != other:
        raise Failure("what was opened is not what was sealed")


def check_sealed(rng: random.Random, data: bytes, dek: WritingDek) -> str:
    """Seal a batch that is spoilt, and open it again; return what came of it."""
    mutable = bytearray(data)
    for _ in range(1 + pick(rng, 3)):
        mutable[pick(rng, HEADER)] = rng.getrandbits(8)
    mutable[16] = 2
    spoilt = with_section(bytes(mutable), spoil(rng, bytes(mutable[HEADER:])))
    budget = MemoryBudget("batch", BUDGET)
    try:
        sealed = seal_batch(only_batch(spoilt), BINDING, dek, budget, is_virtual=bool(pick(rng, 2)))
    except RecordsError:
        return "not sealed by us"
    finally:
        if budget.used:
            raise Failure(f"{budget.used} bytes are not given back")
    if spoilt[22] & LOG_APPEND_TIME:
        return "sealed"  # a broker refuses it
    found = read_sealed(only_batch(sealed), plenty())
    if found is None or found.open(BINDING, DEK, plenty()) != spoilt:
        raise Failure("what was sealed comes back as something else")
    return "sealed"


def check_records(rng: random.Random, original: bytes, dek: WritingDek) -> str:
    """Seal records one by one, spoil their values or keys, and open them; return what came of it.

    Raises:
        Failure: a value or a key that was opened is not what was sealed.
    """
    columns = read_columns(only_batch(original), plenty())
    sealed = seal_values(seal_keys(columns, BINDING, TOPIC_KEY, plenty()), BINDING, dek, plenty())
    of_keys, how = pick(rng, 2), pick(rng, 2)
    column = sealed.keys if of_keys else sealed.values
    if how:
        column = spoilt_column(rng, column)
    else:
        rows = list(column)
        row = pick(rng, len(rows))
        rows[row] = spoil(rng, rows[row] or b"\0")
        column = BytesColumn.of(rows)
    spoilt = sealed.with_keys(column) if of_keys else sealed.with_values(column)
    budget = MemoryBudget("batch", BUDGET)
    try:
        opened = (
            open_keys(spoilt, BINDING, TOPIC_KEY, budget).keys if of_keys else open_values(spoilt, budget)
        )
        known = set(columns.keys if of_keys else columns.values) | {None}
        # An array that was spoilt may repeat a row or make it null, which the codec has no way to see.
        if not set(opened) <= known:
            raise Failure("a value or a key that was opened is none that was sealed")
        return "records opened"
    except ValueError:
        return "records refused"
    finally:
        opened = None
        if budget.used:
            raise Failure(f"{budget.used} bytes are not given back")


def open_values(spoilt: Columns, budget: MemoryBudget) -> BytesColumn:
    """Open values, each with the one key that there is."""
    found = read_sealed_values(spoilt)
    return found.open(BINDING, dict.fromkeys(found.dek_headers, DEK), budget).values


def run(batches: int, seed: int, *, started: float | None = None) -> Counter[str]:
    """Spoil and check that many batches; return how many came out how.

    Raises:
        Exception: a Failure or whatever else was raised; notes tell the batch and how to repeat it.
    """
    rng, outcomes, prefixes = random.Random(seed), Counter[str](), count(seed << 32)
    dek = WritingDek(DEK, next(prefixes).to_bytes(8, "big"), DekLimits(), 0)
    for number in range(batches):
        if number % RENEWAL == 0:
            original = produced(rng)
            is_virtual = bool(pick(rng, 2))
            sealed = seal_batch(only_batch(original), BINDING, dek, plenty(), is_virtual=is_virtual)
            if pick(rng, 2):
                sealed = packed_again(rng, sealed)
        spoilt = spoilt_batch(rng, sealed)
        with repeatable("batches", number, seed, spoilt):
            outcomes[check_opened(spoilt, original)] += 1
            if number % 4 == 0:
                outcomes[check_sealed(rng, original, dek)] += 1
                outcomes[check_records(rng, original, dek)] += 1
        show_progress("batches", number, started, outcomes)
    return outcomes


def main() -> int:
    """Fuzz as the arguments say; return the exit code."""
    return fuzz(run, "Throw spoilt sealed batches at what opens them.", "batches", sealed_batch)


if __name__ == "__main__":
    sys.exit(main())
