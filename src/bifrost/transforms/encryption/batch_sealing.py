"""Sealed batches: the records of a batch are one encrypted value, and the batch comes back bit for bit."""

from bifrost.encryption.dek import Dek, WritingDek
from bifrost.encryption.errors import EncryptionError
from bifrost.encryption.sealed_batch import read_sealed, seal_batch
from bifrost.records.codec.client_batch import ClientBatch, build_batch, read_columns
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.encryption.dek_needs import DekToOpen
from bifrost.transforms.encryption.placed_sealing import PartitionSeal, PlacedSealing
from bifrost.transforms.encryption.seal_steps import OpenStep, SealStep
from bifrost.transforms.record_transform import (
    BatchOutcome,
    BatchTransform,
    Direction,
    Failure,
    Known,
    Needs,
    Noted,
    SteppedTransform,
)
from bifrost.wire.error_codes import ErrorCode


class PartitionSealing(PartitionSeal, BatchTransform, SteppedTransform):
    """The sealing of the batches of a partition."""

    def step(self, direction: Direction) -> SealStep | OpenStep | None:
        """Return what seals or opens batches whose DEK is at hand; None: messages of virtual partitions are decoded."""
        if self._rules.is_virtual:
            return None
        if direction is Direction.PRODUCE:
            return SealStep(self.name, self._binding, self._dek_to_seal)
        return OpenStep(self.name, self._binding, self._rules.kek, self._context)

    def transform_batch(
        self, batch: ClientBatch, direction: Direction, known: Known, budget: MemoryBudget
    ) -> BatchOutcome:
        """Return a batch sealed or opened; see `BatchTransform`."""
        if direction is Direction.FETCH:
            return self._opened(batch, known, budget)
        dek = self._dek(batch, known)
        if not isinstance(dek, WritingDek):
            return dek
        return seal_batch(batch, self._binding, dek, budget, is_virtual=self._rules.is_virtual)

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
        return Noted(build_batch(batch, self._rules.marked(columns, budget), budget), "plaintext")


class BatchSealing(PlacedSealing[PartitionSealing]):
    """The sealing of a topic's batches."""

    hides_timestamps = True

    def _made(self, partition: int) -> PartitionSealing:
        return PartitionSealing(self._rules, partition)
