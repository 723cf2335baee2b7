"""Packs and unpacks the records of a batch: see compression.pyx."""

from typing_extensions import Buffer

from bifrost.records.codec.memory import Memory, MemoryBudget

NAMES: tuple[str, ...]
"""Kafka's names of the codecs, by their numbers: none, gzip, snappy, lz4, zstd."""

def unpack(codec: int, packed: Buffer, budget: MemoryBudget) -> Memory:
    """Return the unpacked records of a batch.

    Args:
        codec: 1 (gzip) to 4 (zstd).
        packed: what stands behind the header of the batch.
        budget: what the unpacked bytes are taken from.
    Raises:
        CorruptBatch: the bytes are not of this codec, or not in the form that Kafka reads.
        TooLarge, NoRoom: they come to more than the budget has.
    """

def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """Return records packed as Kafka packs them.

    Args:
        codec: 1 (gzip) to 4 (zstd).
        data: the records.
        level: of gzip and zstd, in their own measure (KIP-390); None is Kafka's default. lz4 always has Kafka's
            default, for the library takes no other for blocks, and snappy has none.
    """

def compress_pieces(codec: int, pieces: tuple[bytes | memoryview, ...], level: int | None = None) -> bytes:
    """Return likewise records that stand in several pieces, which are not copied into one."""
