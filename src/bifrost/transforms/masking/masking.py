"""Masking: hides fields of JSON and Avro values from consumers, other than those that may see everything."""

import hmac
import json
from typing import TYPE_CHECKING

from bifrost.config.records.filter_configs import FilterConfig
from bifrost.config.records.masking_config import MaskAction, MaskedField, UnreadableValue
from bifrost.config.records.registry_config import ValueFormat
from bifrost.records.codec.client_batch import ClientBatch
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.masking.field_path import path_of
from bifrost.transforms.masking.json_masker import NOTHING, NUMBER, TEXT, JsonMasker
from bifrost.transforms.masking.masked_values import FieldMasker, mask_values
from bifrost.transforms.record_transform import Direction, Failure, Known, Needs, Outcome, Rejected
from bifrost.transforms.schema_registry import SOURCE, registry_of
from bifrost.transforms.transform_kind import Topic, TransformKind
from bifrost.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from bifrost.schemas.wire_format import SchemaId
    from bifrost.transforms.masking.fields_by_schema import FieldsBySchema

    Maskers = FieldMasker | dict[SchemaId, FieldMasker]

_LAST = 4
_HIDDEN = "****"
"""Before the last four characters, as many as there may be: the length of the value is not told."""


class Masking:
    """Puts something else in the place of fields."""

    def __init__(self, name: str, config: FilterConfig) -> None:
        """Prepare what `config` says; `name` is what the operator knows the transform by."""
        self._name = name
        self._fields = config.fields
        # The key is in the memory of the process with the configuration; no one but `hmac` gets it.
        self._key = b"" if config.hash_key is None else config.hash_key.reveal()
        self._is_error = config.unreadable is UnreadableValue.ERROR
        self._masker = JsonMasker([path_of(one.path) for one in config.fields], self._mask)
        self._by_schema = self._fields_by_schema(config) if config.format is ValueFormat.SCHEMA else None

    @property
    def name(self) -> str:
        """What the operator knows it by."""
        return self._name

    def transform(
        self,
        batch: ClientBatch,
        columns: Columns,
        direction: Direction,
        known: Known,
        budget: MemoryBudget,
    ) -> Outcome:
        """Return the records with masked values; see `RecordTransform`."""
        maskers = self._maskers(columns, known)
        if isinstance(maskers, Rejected | Needs):
            return maskers
        masked, unreadable = mask_values(columns, maskers, budget)
        if unreadable and self._is_error:
            offset = batch.base_offset + columns.offset_deltas[unreadable[0]]
            reason = f"{self._name}: the value at offset {offset} does not read"
            return Rejected((), reason, ErrorCode.CORRUPT_MESSAGE)
        return masked

    def _fields_by_schema(self, config: FilterConfig) -> "FieldsBySchema":
        # What finds fields by schemas takes memory.
        from bifrost.transforms.masking.avro_masks import MaskTargets, mask_field
        from bifrost.transforms.masking.fields_by_schema import FieldRules, FieldsBySchema

        paths = tuple(path_of(one.path) for one in config.fields)
        targets = MaskTargets(config.fields, [one.of_elements for one in paths], self._masked_text)
        rules = FieldRules(paths, frozenset(), lambda: targets, mask_field, self._mask)
        return FieldsBySchema(rules, registry_of(config))

    def _maskers(self, columns: Columns, known: Known) -> "Maskers | Rejected | Needs":
        """Return what finds the fields of a batch, or what becomes of it without."""
        if self._by_schema is None:
            return self._masker
        found = self._by_schema.find(columns, known, is_checked=False)
        if found.missing:
            return Needs(frozenset(found.missing))
        if found.failure is not None and (found.failure.is_retriable or self._is_error):
            named = Failure(f"{self._name}: {found.failure.reason}", found.failure.is_retriable)
            return named.rejected(Direction.FETCH, ErrorCode.CORRUPT_MESSAGE)
        # Under a schema that cannot be used no value reads, so none passes as it is.
        return found.maskers

    def _masked_text(self, field: MaskedField, text: str) -> str:
        """Return the hash or the last four characters of a text."""
        if field.action is MaskAction.HASH:
            return hmac.digest(self._key, text.encode(), "sha256").hex()
        shown = min(_LAST, len(text) // 2)
        return _HIDDEN + text[len(text) - shown :]

    def _mask(self, path: int, kind: int, content: bytes) -> bytes:
        """Return the JSON in place of a field; see `JsonMasker`."""
        field = self._fields[path]
        if field.action is MaskAction.CONSTANT:
            assert field.value is not None
            return field.value.encode()
        if kind == NOTHING or field.action is MaskAction.SET_NULL:
            return b"null"
        if field.action is MaskAction.HASH:
            # A text has one hash, however its characters are written.
            text = json.loads(content).encode("utf-8", "surrogatepass") if kind == TEXT else content
            return b'"%s"' % hmac.digest(self._key, text, "sha256").hex().encode()
        return _last_four(kind, content)


def _last_four(kind: int, content: bytes) -> bytes:
    """Return the last four characters of a text or number, of short ones no more than half; else null."""
    if kind not in (TEXT, NUMBER):
        return b"null"
    text = json.loads(content) if kind == TEXT else content.decode()
    shown = min(_LAST, len(text) // 2)
    return json.dumps(_HIDDEN + text[len(text) - shown :]).encode()


def _make(name: str, config: FilterConfig, topic: Topic) -> Masking:
    return Masking(name, config)


KIND = TransformKind(
    frozenset({Direction.FETCH}),
    _make,
    sources_of=lambda config: frozenset({SOURCE}) if config.format is ValueFormat.SCHEMA else frozenset(),
    is_exempt=lambda config, user: user in config.unmasked,
)
