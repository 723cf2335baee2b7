"""Sealed values, for compacted topics: each value is encrypted by itself.

The key of a record stays readable, or is sealed so that equal keys stay equal; then it is the sealed key that its value
is bound to, as the broker has both.
"""

from bifrost.encryption.dek import Dek, WritingDek
from bifrost.encryption.errors import EncryptionError
from bifrost.encryption.sealed_keys import open_keys, seal_keys
from bifrost.encryption.sealed_values import SealedValues, read_sealed_values, seal_values
from bifrost.encryption.topic_key import TopicKey
from bifrost.records.codec.client_batch import ClientBatch
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.columns_step import ColumnsStep
from bifrost.transforms.encryption.dek_needs import DekToOpen, KeyOfTopic
from bifrost.transforms.encryption.placed_sealing import PartitionSeal, PlacedSealing
from bifrost.transforms.encryption.seal_rules import SealRules
from bifrost.transforms.record_transform import (
    Direction,
    Failure,
    Key,
    Known,
    Needs,
    Noted,
    Outcome,
    Rejected,
    SteppedTransform,
)
from bifrost.wire.error_codes import ErrorCode


class PartitionValueSealing(PartitionSeal, SteppedTransform):
    """The sealing of the values of a partition, and of its keys where the filter says so."""

    def __init__(self, rules: SealRules, partition: int) -> None:
        """Seal and open as `rules` say."""
        super().__init__(rules, partition)
        sealing = rules.sealing_key
        self._key_of_topic = None if sealing is None else KeyOfTopic(rules.kek, self._context, sealing)

    def step(self, direction: Direction) -> ColumnsStep:
        """Return the same for batches whose DEKs are at hand."""
        return ColumnsStep(self, direction)

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
        key = self._topic_key(batch, known, direction)
        if isinstance(dek, Needs):
            return Needs(dek.names | key.names) if isinstance(key, Needs) else dek
        if not isinstance(dek, WritingDek):
            return dek
        if isinstance(key, TopicKey):
            columns = seal_keys(columns, self._binding, key, budget)
        elif key is not None:
            return key
        return seal_values(columns, self._binding, dek, budget)

    def _topic_key(
        self, batch: ClientBatch, known: Known, direction: Direction
    ) -> TopicKey | Needs | Rejected | Noted | None:
        """Return what seals the keys of records, or what becomes of the batch without; None: nothing does."""
        need = self._key_of_topic
        if need is None:
            return None
        found = known.get(need)
        if found is None:
            return Needs(frozenset({need}))
        if isinstance(found, Failure):
            return self._without(batch, found, direction)
        assert isinstance(found, TopicKey)
        return found

    def _without(self, batch: ClientBatch, failure: Failure, direction: Direction) -> Rejected | Noted:
        outcome = self._rules.without_dek(batch, failure, direction)
        return Noted(Columns.of([]), outcome.what) if isinstance(outcome, Noted) else outcome

    def _opened(self, batch: ClientBatch, columns: Columns, known: Known, budget: MemoryBudget) -> Outcome:
        try:
            sealed = read_sealed_values(columns)
            deks: dict[bytes, Dek] = {}
            missing: set[Key] = set()
            for header in sealed.dek_headers:
                need = DekToOpen(self._rules.kek, self._context, header)
                dek = known.get(need)
                if dek is None:
                    missing.add(need)
                elif isinstance(dek, Failure):
                    return self._without(batch, dek, Direction.FETCH)
                else:
                    assert isinstance(dek, Dek)
                    deks[header] = dek
            key = self._topic_key(batch, known, Direction.FETCH)
            if isinstance(key, Needs):
                return Needs(key.names | missing)
            if missing:
                return Needs(frozenset(missing))
            if isinstance(key, Rejected | Noted):
                return key
            return self._plaintext_of(batch, columns, sealed, deks, key, budget)
        except EncryptionError as error:
            return self._rules.refused(batch, str(error), error.error_code)

    def _plaintext_of(
        self,
        batch: ClientBatch,
        columns: Columns,
        sealed: SealedValues,
        deks: dict[bytes, Dek],
        key: TopicKey | None,
        budget: MemoryBudget,
    ) -> Outcome:
        """Return the records as their producer wrote them.

        Raises:
            EncryptionError: they cannot be opened.
        """
        # Values are sealed together with all others of their batch, so none of it may be plaintext.
        is_plain = not deks and bool(sealed.not_sealed)
        accepted = not deks and self._rules.accepts_plaintext(batch)
        if is_plain and not accepted:
            reason = "values are not encrypted"
            return self._rules.refused(batch, reason, ErrorCode.CORRUPT_MESSAGE)
        found = sealed.open(self._binding, deks, budget) if deks else columns
        if key is not None:
            found = open_keys(found, self._binding, key, budget, accepts_plaintext=accepted)
        return Noted(self._rules.marked(found, budget), "plaintext") if is_plain else found


class ValueSealing(PlacedSealing[PartitionValueSealing]):
    """The sealing of the values of a topic."""

    def _made(self, partition: int) -> PartitionValueSealing:
        return PartitionValueSealing(self._rules, partition)
