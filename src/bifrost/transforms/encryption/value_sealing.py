"""Sealed values, for compacted topics: each value is encrypted by itself, and the key of a record stays readable."""

from bifrost.encryption.dek import Dek, WritingDek
from bifrost.encryption.errors import EncryptionError
from bifrost.encryption.sealed_values import read_sealed_values, seal_values
from bifrost.records.codec.client_batch import ClientBatch
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.encryption.dek_needs import DekToOpen
from bifrost.transforms.encryption.placed_sealing import PartitionSeal, PlacedSealing
from bifrost.transforms.encryption.seal_rules import marked
from bifrost.transforms.record_transform import (
    Direction,
    Failure,
    Known,
    Needs,
    Noted,
    Outcome,
)
from bifrost.wire.error_codes import ErrorCode


class PartitionValueSealing(PartitionSeal):
    """The sealing of the values of a partition."""

    def transform(
        self,
        batch: ClientBatch,
        columns: Columns,
        direction: Direction,
        known: Known,
        budget: MemoryBudget,
    ) -> Outcome:
        """Return the records with their values sealed or opened; see `RecordTransform`."""
        if direction is Direction.FETCH:
            return self._opened(batch, columns, known, budget)
        dek = self._dek(batch, known)
        return seal_values(columns, self._binding, dek, budget) if isinstance(dek, WritingDek) else dek

    def _opened(self, batch: ClientBatch, columns: Columns, known: Known, budget: MemoryBudget) -> Outcome:
        rules = self._rules
        try:
            sealed = read_sealed_values(columns)
            if not sealed.dek_headers:
                return self._plain(batch, columns, budget) if sealed.not_sealed else columns
            keys = {header: DekToOpen(rules.kek, self._context, header) for header in sealed.dek_headers}
            found = {header: known.get(key) for header, key in keys.items()}
            missing = frozenset(keys[header] for header, dek in found.items() if dek is None)
            if missing:
                return Needs(missing)
            deks: dict[bytes, Dek] = {}
            for header, dek in found.items():
                if isinstance(dek, Failure):
                    outcome = rules.without_dek(batch, dek, Direction.FETCH)
                    return Noted(Columns.of([]), outcome.what) if isinstance(outcome, Noted) else outcome
                assert isinstance(dek, Dek)
                deks[header] = dek
            # Values are sealed together with all others of their batch, so none of it may be plaintext.
            return sealed.open(self._binding, deks, budget)
        except EncryptionError as error:
            return rules.refused(batch, str(error), error.error_code)

    def _plain(self, batch: ClientBatch, columns: Columns, budget: MemoryBudget) -> Outcome:
        if not self._rules.accepts_plaintext(batch):
            reason = "values are not encrypted"
            return self._rules.refused(batch, reason, ErrorCode.CORRUPT_MESSAGE)
        return Noted(marked(columns, budget), "plaintext")


class ValueSealing(PlacedSealing[PartitionValueSealing]):
    """The sealing of the values of a topic."""

    def _made(self, partition: int) -> PartitionValueSealing:
        return PartitionValueSealing(self._rules, partition)
