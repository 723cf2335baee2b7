"""Seals the records of a batch whole, and opens sealed batches: see sealed_batch.pyx."""

from bifrost.encryption.dek import Dek, WritingDek
from bifrost.records.codec.client_batch import ClientBatch
from bifrost.records.codec.memory import MemoryBudget

def seal_batch(
    batch: ClientBatch, binding: bytes, dek: WritingDek, budget: MemoryBudget, *, is_virtual: bool = False
) -> bytes:
    """Return the batch with its records sealed, as they are: compressed or not, read by nothing.

    Args:
        batch: as a client produced it; no marker.
        binding: of its place.
        dek: what seals it.
        budget: what the sealed batch must fit into.
        is_virtual: whether it is one of a virtual partition: then the envelope has its producer ID, epoch and sequence,
            for it gets others on its way to the broker.
    Raises:
        CorruptBatch: it has no records, or is a marker.
        DekUsedUp: it needs another DEK.
        TooLarge, NoRoom: it comes to more than the budget has.
    """

def read_sealed(batch: ClientBatch, budget: MemoryBudget) -> SealedBatch | None:
    """Return a batch that was sealed, or None if it was not.

    Args:
        batch: as a broker has it.
        budget: what its records are taken from, if they are packed, as long as the sealed batch lives.
    Raises:
        UnknownEnvelope: it is sealed in a way that is not known here.
        BrokenSeal: its envelope is cut off.
        CorruptBatch: its compression is malformed.
        TooLarge, NoRoom: it comes to more than the budget has.
    """

class SealedBatch:
    """A batch that was sealed. It holds the memory of the batch that it was read from."""

    dek_header: bytes
    """What names its DEK, and is equal where the DEK is: see `read_wrapped_dek`."""

    def open(self, binding: bytes, dek: Dek, budget: MemoryBudget) -> bytes:
        """Return the batch as its client produced it, bit for bit, with what the broker gave to it: base offset, leader
        epoch, timestamp type, and the time at which it was appended where that is the type.

        Args:
            binding: of the place where it was found.
            dek: that of `dek_header`.
            budget: what the opened batch must fit into.
        Raises:
            BrokenSeal: anything of it is not as it was sealed.
            TooLarge, NoRoom: it comes to more than the budget has.
        """
