"""Sealed fields of JSON and Avro: those that paths or tags lead to; all else stays readable, and keeps its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bifrost.encryption.dek import Dek, WritingDek
from bifrost.encryption.errors import EncryptionError
from bifrost.encryption.sealed_fields import FieldFinder, FieldOpener, FieldSealer
from bifrost.records.codec.columns import Columns
from bifrost.schemas.schema_ids import find_records_with
from bifrost.transforms.encryption.dek_needs import DekToOpen
from bifrost.transforms.encryption.placed_sealing import PartitionSeal, PlacedSealing
from bifrost.transforms.encryption.seal_rules import SealRules
from bifrost.transforms.masking.field_path import path_of
from bifrost.transforms.masking.json_masker import JsonMasker
from bifrost.transforms.masking.masked_values import mask_values
from bifrost.transforms.record_transform import (
    Direction,
    Failure,
    Key,
    Known,
    Needs,
    Noted,
    Outcome,
    Rejected,
    Rejection,
)
from bifrost.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bifrost.records.codec.client_batch import ClientBatch
    from bifrost.records.codec.memory import MemoryBudget
    from bifrost.schemas.wire_format import SchemaId
    from bifrost.transforms.masking.fields_by_schema import FieldsBySchema
    from bifrost.transforms.masking.masked_values import FieldMasker

    Maskers = FieldMasker | dict[SchemaId, FieldMasker]

MAX_REJECTIONS = 1_000
"""Most records of a batch that the client is told of one by one; the batch is refused for all of them."""


class PartitionFieldSealing(PartitionSeal):
    """The sealing of the fields of a partition's values."""

    def __init__(self, rules: SealRules, partition: int, fields: JsonMasker | FieldsBySchema) -> None:
        """Seal and open as `rules` say the fields that `fields` finds."""
        super().__init__(rules, partition)
        self._fields = fields

    def transform(
        self,
        batch: ClientBatch,
        columns: Columns,
        direction: Direction,
        known: Known,
        budget: MemoryBudget,
    ) -> Outcome:
        """Return the records with their fields sealed or opened; see `RecordTransform`."""
        maskers = self._maskers(batch, columns, direction, known)
        if isinstance(maskers, Rejected | Needs):
            return maskers
        if direction is Direction.FETCH:
            try:
                return self._opened(batch, columns, maskers, known, budget)
            except EncryptionError as error:
                return self._rules.refused(batch, str(error), error.error_code)
        dek = self._dek(batch, known)
        if not isinstance(dek, WritingDek):
            return dek
        sealer = FieldSealer(columns, self._binding, dek)
        sealed, unreadable = mask_values(columns, maskers, budget, sealer)
        if unreadable:
            reason = f"{self.name}: the value does not read, so its fields cannot be encrypted"
            return Rejected(tuple(Rejection(one, reason) for one in unreadable[:MAX_REJECTIONS]))
        return sealed

    def _maskers(
        self, batch: ClientBatch, columns: Columns, direction: Direction, known: Known
    ) -> Maskers | Rejected | Needs:
        """Return what finds the fields of a batch, or what becomes of it without."""
        if isinstance(self._fields, JsonMasker):
            return self._fields
        is_produce = direction is Direction.PRODUCE
        found = self._fields.find(columns, known, is_checked=is_produce)
        if found.missing:
            # The DEK is fetched meanwhile.
            more = {self._dek_to_seal} - known.keys() if is_produce else set()
            return Needs(frozenset(found.missing | more))
        if found.failure is not None:
            named = Failure(f"{self.name}: {found.failure.reason}", found.failure.is_retriable)
            code = ErrorCode.INVALID_RECORD if is_produce else ErrorCode.CORRUPT_MESSAGE
            return named.rejected(direction, code)
        if found.reasons:
            wrong = find_records_with(columns, False, found.reasons, MAX_REJECTIONS)
            if not is_produce:
                return self._rules.refused(batch, found.reasons[wrong[0][1]], ErrorCode.CORRUPT_MESSAGE)
            told = [Rejection(at, f"{self.name}: value: {found.reasons[one]}") for at, one in wrong]
            return Rejected(tuple(told))
        return found.maskers

    def _opened(
        self, batch: ClientBatch, columns: Columns, maskers: Maskers, known: Known, budget: MemoryBudget
    ) -> Outcome:
        rules, found = self._rules, FieldFinder()
        _, unreadable = mask_values(columns, maskers, budget, found)
        if unreadable:
            return rules.refused(batch, "a value does not read", ErrorCode.CORRUPT_MESSAGE)
        if found.not_sealed:
            # Fields are sealed together with all others of their batch, so none of it may be plaintext.
            if found.dek_headers or not rules.accepts_plaintext(batch):
                return rules.refused(batch, "fields are not encrypted", ErrorCode.CORRUPT_MESSAGE)
            return Noted(rules.marked(columns, budget), "plaintext")
        deks: dict[bytes, Dek] = {}
        missing: set[Key] = set()
        for header in found.dek_headers:
            need = DekToOpen(rules.kek, self._context, header)
            dek = known.get(need)
            if dek is None:
                missing.add(need)
            elif isinstance(dek, Failure):
                outcome = rules.without_dek(batch, dek, Direction.FETCH)
                return Noted(Columns.of([]), outcome.what) if isinstance(outcome, Noted) else outcome
            else:
                assert isinstance(dek, Dek)
                deks[header] = dek
        if missing:
            return Needs(frozenset(missing))
        if not deks:
            return columns
        return mask_values(columns, maskers, budget, FieldOpener(columns, self._binding, deks))[0]


class FieldSealing(PlacedSealing[PartitionFieldSealing]):
    """The sealing of the fields of a topic's values."""

    def __init__(self, rules: SealRules, fields: JsonMasker | FieldsBySchema) -> None:
        """Seal and open as `rules` say the fields that `fields` finds."""
        super().__init__(rules)
        self._fields = fields

    def _made(self, partition: int) -> PartitionFieldSealing:
        return PartitionFieldSealing(self._rules, partition, self._fields)


def fields_of_json(paths: Sequence[str]) -> JsonMasker:
    """Return what finds the fields of JSON that paths lead to."""
    return JsonMasker([path_of(one) for one in paths], no_mask)


def no_mask(*_: object) -> bytes:
    """Fail: fields are sealed, not masked."""
    raise AssertionError("fields are sealed, not masked")
