"""Seals the values of a batch one by one, and opens them: see sealed_values.pyx."""

from collections.abc import Mapping

from bifrost.encryption.dek import Dek, WritingDek
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget

def seal_values(columns: Columns, binding: bytes, dek: WritingDek, budget: MemoryBudget) -> Columns:
    """Return the records with every value sealed that is not null.

    Args:
        columns: the records, with the keys that the broker will have.
        binding: of their place.
        dek: what seals them.
        budget: what the sealed values are taken from.
    Raises:
        DekUsedUp: they need another DEK.
        TooLarge, NoRoom: they come to more than the budget has.
    """

def read_sealed_values(columns: Columns) -> SealedValues:
    """Return the values that were sealed, and those that were not.

    Raises:
        UnknownEnvelope: one is sealed in a way that is not known here.
        BrokenSeal: an envelope is cut off.
    """

class SealedValues:
    """Values of which some or all were sealed. It holds the columns that it was read from."""

    dek_headers: tuple[bytes, ...]
    """What names their DEKs, each once: see `read_wrapped_dek`. Mostly one, for a batch is sealed together."""
    not_sealed: int
    """How many values were not sealed; nulls are neither."""

    def open(
        self,
        binding: bytes,
        deks: Mapping[bytes, Dek],
        budget: MemoryBudget,
        *,
        accepts_plaintext: bool = False,
    ) -> Columns:
        """Return the records with their values opened.

        Args:
            binding: of the place where they were found.
            deks: by each of `dek_headers`.
            budget: what the values are taken from.
            accepts_plaintext: whether values that were not sealed pass.
        Raises:
            NotSealed: some were not sealed.
            BrokenSeal: one was changed, or belongs to another place or another key of a record.
            TooLarge, NoRoom: they come to more than the budget has.
        """
