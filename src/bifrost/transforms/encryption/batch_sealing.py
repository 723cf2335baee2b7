"""Sealed batches: the records of a batch are one encrypted value, and the batch comes back bit for bit."""

from bifrost.encryption.dek import Dek, WritingDek
from bifrost.encryption.errors import EncryptionError
from bifrost.encryption.sealed_batch import read_sealed, seal_batch
from bifrost.records.codec.client_batch import ClientBatch, build_batch, read_columns
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.encryption.dek_needs import DekToOpen, DekToSeal
from bifrost.transforms.encryption.seal_rules import SealRules, marked
from bifrost.transforms.record_transform import (
    BatchOutcome,
    BatchTransform,
    Direction,
    Failure,
    Known,
    Needs,
    Noted,
    PlacedTransform,
)
from bifrost.wire.error_codes import ErrorCode

MAX_PARTITIONS = 1_000
"""Partitions of a topic for which the transform is kept."""


class BatchSealing(PlacedTransform):
    """The sealing of a topic's batches."""

    def __init__(self, rules: SealRules) -> None:
        """Seal and open as `rules` say."""
        self._rules = rules
        self._placed: dict[int, PartitionSealing] = {}

    def at(self, partition: int) -> "PartitionSealing":
        """Return the sealing of a partition."""
        found = self._placed.get(partition)
        if found is None:
            if len(self._placed) >= MAX_PARTITIONS:
                self._placed.clear()
            found = self._placed[partition] = PartitionSealing(self._rules, partition)
        return found


class PartitionSealing(BatchTransform):
    """The sealing of the batches of a partition."""

    def __init__(self, rules: SealRules, partition: int) -> None:
        """Seal and open as `rules` say."""
        self._rules = rules
        self._binding = rules.place(partition).binding
        self._context = rules.context
        self._dek_to_seal = DekToSeal(rules.kek, self._context)

    @property
    def name(self) -> str:
        """What the operator knows it by."""
        return self._rules.name

    def transform_batch(
        self, batch: ClientBatch, direction: Direction, known: Known, budget: MemoryBudget
    ) -> BatchOutcome:
        """Return a batch sealed or opened; see `BatchTransform`."""
        if direction is Direction.FETCH:
            return self._opened(batch, known, budget)
        dek = known.get(self._dek_to_seal)
        if dek is None:
            return Needs(frozenset({self._dek_to_seal}))
        if isinstance(dek, Failure):
            return self._rules.without_dek(batch, dek, direction)
        assert isinstance(dek, WritingDek)
        return seal_batch(batch, self._binding, dek, budget)

    def _opened(self, batch: ClientBatch, known: Known, budget: MemoryBudget) -> BatchOutcome:
        rules = self._rules
        if not batch.record_count:
            return batch.data  # Compaction, or another gateway, has left nothing in it.
        try:
            sealed = read_sealed(batch, budget)
            if sealed is None:
                return self._plain(batch, budget)
            key = DekToOpen(rules.kek, self._context, sealed.dek_header)
            dek = known.get(key)
            if dek is None:
                return Needs(frozenset({key}))
            if isinstance(dek, Failure):
                return rules.without_dek(batch, dek, Direction.FETCH)
            assert isinstance(dek, Dek)
            return sealed.open(self._binding, dek, budget)
        except EncryptionError as error:
            return rules.refused(batch, str(error), error.error_code)

    def _plain(self, batch: ClientBatch, budget: MemoryBudget) -> BatchOutcome:
        if not self._rules.accepts_plaintext(batch):
            reason = "the batch is not encrypted"
            return self._rules.refused(batch, reason, ErrorCode.CORRUPT_MESSAGE)
        columns = read_columns(batch, budget)
        return Noted(build_batch(batch, marked(columns, budget), budget), "plaintext")
