"""How fast batches are sealed and opened, beside the cipher alone.

CPU time of one core, by the bytes of the client's batch. The cipher encrypts and decrypts the same bytes into memory
that is there already; records one by one are sealed and opened as columns, without reading and writing their batch.
"""

from collections.abc import Callable, Sequence

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bench.records.batches import HEADER, NONE, SHAPES, ZSTD, batch_of, json_values, only_batch
from bench.records.speed import speed
from bench.table import Table
from bifrost.encryption.dek import Dek, DekLimits, WritingDek
from bifrost.encryption.place import Place
from bifrost.encryption.sealed_batch import read_sealed, seal_batch
from bifrost.encryption.sealed_values import read_sealed_values, seal_values
from bifrost.encryption.wrapped_dek import WrappedDek
from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.records.codec.compression import NAMES
from bifrost.records.codec.memory import MemoryBudget

KEY, NONCE = bytes(range(32)), bytes(12)
WRAPPED = WrappedDek("vault:transit/payments", 1, bytes(89))
"""As large as Vault's."""
BINDING = Place("a-cluster-id-of-22-ch", "a-topic-of-a-tenant", 3).binding
FOREVER = DekLimits(max_messages=1 << 32, max_bytes=1 << 62)
TAG = 16


def measure_sealing(rounds: int) -> Table:
    """Measure encryption by batches and by values."""
    table = Table("Encryption", "one core", "MB/s", 0, is_less_better=False)
    for _ in range(rounds):
        for count, size in SHAPES:
            found = json_values(count, size)
            shape = f"{count} x {size:,} B"
            for codec in (NONE, ZSTD):
                ways, n_bytes = ways_of_batches(codec, found)
                for subject, way in ways.items():
                    table.add(f"batch, {NAMES[codec]}, {shape}", subject, speed(way, n_bytes))
            ways, n_bytes = ways_of_values(found)
            for subject, way in ways.items():
                table.add(f"values, {shape}", subject, speed(way, n_bytes))
    return table


def sizes() -> str:
    """Say how much larger batches become."""
    found = [
        f"{size_ratio(codec, json_values(count, size)):.3f} ({NAMES[codec]}, {count} x {size:,} B)"
        for count, size in SHAPES
        for codec in (NONE, ZSTD)
    ]
    return f"A sealed batch is so many times as large as the client's: {', '.join(found)}."


def ways_of_batches(codec: int, values: Sequence[bytes]) -> tuple[dict[str, Callable[[], object]], int]:
    """Return what is measured with a batch sealed whole, and the bytes of that batch."""
    batch, budget = batch_of(codec, values), MemoryBudget("batch", 1 << 26)
    dek = Dek(KEY, WRAPPED)
    writing = WritingDek(dek, bytes(8), FOREVER, 0)
    sealed = only_batch(seal_batch(batch, BINDING, writing, budget))
    plain = bytes(batch.data[HEADER:])
    room, cipher = bytearray(len(plain) + TAG), AESGCM(KEY)
    cipher.encrypt_into(NONCE, plain, BINDING, room)
    text, into = bytes(room), memoryview(bytearray(len(plain)))

    def open_sealed() -> bytes:
        found = read_sealed(sealed, budget)
        assert found is not None
        return found.open(BINDING, dek, budget)

    return {
        "seal": lambda: seal_batch(batch, BINDING, writing, budget),
        "open": open_sealed,
        "cipher encrypts": lambda: cipher.encrypt_into(NONCE, plain, BINDING, room),
        "cipher decrypts": lambda: cipher.decrypt_into(NONCE, text, BINDING, into),
    }, len(batch.data)


def ways_of_values(values: Sequence[bytes]) -> tuple[dict[str, Callable[[], object]], int]:
    """Return what is measured with records sealed one by one, and the bytes of their values."""
    columns = Columns.of([ColumnRecord(i, i, b"key-%d" % i, value) for i, value in enumerate(values)])
    budget, dek = MemoryBudget("batch", 1 << 26), Dek(KEY, WRAPPED)
    writing = WritingDek(dek, bytes(8), FOREVER, 0)
    sealed = seal_values(columns, BINDING, writing, budget)
    deks = {writing.header: dek}
    plain, cipher = values[0], AESGCM(KEY)
    room, into = bytearray(len(plain) + TAG), bytearray(len(plain))
    cipher.encrypt_into(NONCE, plain, BINDING, room)
    text = bytes(room)
    return {
        "seal": lambda: seal_values(columns, BINDING, writing, budget),
        "open": lambda: read_sealed_values(sealed).open(BINDING, deks, budget),
        "cipher encrypts": lambda: [cipher.encrypt_into(NONCE, plain, BINDING, room) for _ in values],
        "cipher decrypts": lambda: [cipher.decrypt_into(NONCE, text, BINDING, into) for _ in values],
    }, sum(map(len, values))


def size_ratio(codec: int, values: Sequence[bytes]) -> float:
    """Return how many times as large a batch is when it is sealed."""
    batch = batch_of(codec, values)
    writing = WritingDek(Dek(KEY, WRAPPED), bytes(8), FOREVER, 0)
    return len(seal_batch(batch, BINDING, writing, MemoryBudget("batch", 1 << 26))) / len(batch.data)
