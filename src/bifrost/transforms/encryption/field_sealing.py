"""Sealed fields: of JSON values those that paths lead to; all else stays readable, and keeps its bytes."""

from collections.abc import Sequence

from bifrost.config.records.masking_config import ANY, split_path
from bifrost.encryption.dek import Dek, WritingDek
from bifrost.encryption.errors import EncryptionError
from bifrost.encryption.sealed_fields import FieldFinder, FieldOpener, FieldSealer
from bifrost.records.codec.client_batch import ClientBatch
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.encryption.dek_needs import DekToOpen
from bifrost.transforms.encryption.placed_sealing import PartitionSeal, PlacedSealing
from bifrost.transforms.encryption.seal_rules import SealRules, marked
from bifrost.transforms.masking.json_masker import JsonMasker, mask_values
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

MAX_REJECTIONS = 1_000
"""Most records of a batch that the client is told of one by one; the batch is refused for all of them."""


class PartitionFieldSealing(PartitionSeal):
    """The sealing of the fields of a partition's values."""

    def __init__(self, rules: SealRules, partition: int, masker: JsonMasker) -> None:
        """Seal and open as `rules` say, where `masker` finds fields."""
        super().__init__(rules, partition)
        self._masker = masker

    def transform(
        self,
        batch: ClientBatch,
        columns: Columns,
        direction: Direction,
        known: Known,
        budget: MemoryBudget,
    ) -> Outcome:
        """Return the records with their fields sealed or opened; see `RecordTransform`."""
        if direction is Direction.FETCH:
            try:
                return self._opened(batch, columns, known, budget)
            except EncryptionError as error:
                return self._rules.refused(batch, str(error), error.error_code)
        dek = self._dek(batch, known)
        if not isinstance(dek, WritingDek):
            return dek
        sealer = FieldSealer(columns, self._binding, dek)
        sealed, unreadable = mask_values(columns, self._masker, budget, sealer)
        if unreadable:
            reason = f"{self.name}: the value is no JSON, so its fields cannot be encrypted"
            return Rejected(tuple(Rejection(one, reason) for one in unreadable[:MAX_REJECTIONS]))
        return sealed

    def _opened(self, batch: ClientBatch, columns: Columns, known: Known, budget: MemoryBudget) -> Outcome:
        rules, found = self._rules, FieldFinder()
        _, unreadable = mask_values(columns, self._masker, budget, found)
        if unreadable:
            return rules.refused(batch, "a value is no JSON", ErrorCode.CORRUPT_MESSAGE)
        if found.not_sealed:
            # Fields are sealed together with all others of their batch, so none of it may be plaintext.
            if found.dek_headers or not rules.accepts_plaintext(batch):
                return rules.refused(batch, "fields are not encrypted", ErrorCode.CORRUPT_MESSAGE)
            return Noted(marked(columns, budget), "plaintext")
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
        return mask_values(columns, self._masker, budget, FieldOpener(columns, self._binding, deks))[0]


class FieldSealing(PlacedSealing[PartitionFieldSealing]):
    """The sealing of the fields of a topic's values."""

    def __init__(self, rules: SealRules, paths: Sequence[str]) -> None:
        """Seal and open as `rules` say, the fields that paths lead to."""
        super().__init__(rules)
        self._masker = JsonMasker([_names(path) for path in paths], _no_mask)

    def _made(self, partition: int) -> PartitionFieldSealing:
        return PartitionFieldSealing(self._rules, partition, self._masker)


def _names(path: str) -> tuple[list[bytes | None], bool]:
    names, of_elements = split_path(path)
    return [None if name == ANY else name.encode() for name in names], of_elements


def _no_mask(_path: int, _kind: int, _content: bytes) -> bytes:
    raise AssertionError("fields are sealed, not masked")
