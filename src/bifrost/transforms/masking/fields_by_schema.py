"""Finds the fields of values that name their schema: Avro or JSON, each by what its schema says.

A masker is made for each schema of a topic, and kept as long as the registry's answer for it is the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bifrost.schemas.readers.reader import MAX_VALUES, SchemaError
from bifrost.schemas.registered_schema import SchemaType
from bifrost.schemas.schema_ids import find_schema_ids
from bifrost.schemas.schema_key import SchemaAnswer, SchemaKey, SubjectStrategy
from bifrost.schemas.wire_format import NO_ID, TWO_IDS, SchemaId
from bifrost.transforms.masking.avro_fields import AvroFields, Targets
from bifrost.transforms.masking.avro_masker import AvroMasker
from bifrost.transforms.masking.json_masker import MAX_NAMES, MAX_PATHS, JsonMasker
from bifrost.transforms.masking.json_tags import tagged_paths
from bifrost.transforms.masking.masked_values import FieldMasker, NoFields
from bifrost.transforms.record_transform import Failure
from bifrost.transforms.schema_registry import MAX_IDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bifrost.records.codec.columns import Columns
    from bifrost.schemas.readers.reader import Reader
    from bifrost.schemas.schema_key import RegistrySettings
    from bifrost.transforms.masking.field_path import Path
    from bifrost.transforms.record_transform import Known

MAX_MASKERS: Final = 1_000
"""Schemas of a topic whose maskers are kept."""

_MISSING = {
    NO_ID: "it names no schema, so its fields are not known",
    TWO_IDS: "the header that names its schema is there twice",
}


class FieldRules(NamedTuple):
    """Which fields, and what becomes of them."""

    paths: Sequence[Path]
    tags: frozenset[str]
    targets: Callable[[], Targets]
    """Makes the targets of a schema of Avro."""
    replace_avro: Callable[[Any, bytes], bytes | None]
    """See `AvroMasker`."""
    replace_json: Callable[[int, int, bytes], bytes]
    """See `JsonMasker`; the number is that of the path, and beyond these that of a tagged field."""


@dataclass(slots=True)
class FoundMaskers:
    """What finds the fields of a batch, by the schema that a value names."""

    maskers: dict[SchemaId, FieldMasker] = field(default_factory=dict)
    reasons: dict[SchemaId, str] = field(default_factory=dict)
    """Why there is none, in words for a client."""
    missing: set[SchemaKey] = field(default_factory=set)
    """What has to be known first."""
    failure: Failure | None = None
    """Why the registry does not say."""


class FieldsBySchema:
    """The fields of the values of a topic."""

    def __init__(
        self,
        rules: FieldRules,
        registry: RegistrySettings,
        subjects: tuple[tuple[str, ...], SubjectStrategy] = ((), SubjectStrategy.TOPIC),
    ) -> None:
        """Find fields.

        Args:
            rules: which ones.
            registry: where schemas are.
            subjects: what clients call the topic, and how the subject follows from that, where producers may name its
                schemas alone; consumers get what is stored, also under one that its subject has no more.
        """
        self._rules, self._registry = rules, registry
        self._topics, self._strategy = subjects
        self._made: dict[SchemaId, tuple[Reader, FieldMasker | str]] = {}

    def find(self, columns: Columns, known: Known, *, is_checked: bool) -> FoundMaskers:
        """Return what finds the fields of the values of a batch.

        Args:
            columns: its records.
            known: what is known of schemas.
            is_checked: whether a schema has to be one of the topic's subject.
        """
        found = FoundMaskers()
        ids = find_schema_ids(columns, False, MAX_IDS)
        if len(ids) > MAX_IDS:
            found.failure = Failure(
                f"the values of the batch name more than {MAX_IDS} schemas", is_retriable=False
            )
            return found
        for one in ids:
            self._look(one, known, found, self._topics if is_checked else ())
        return found

    def _look(self, one: SchemaId, known: Known, found: FoundMaskers, topics: tuple[str, ...]) -> None:
        if one in _MISSING:
            found.reasons[one] = _MISSING[one]
            return
        strategy = self._strategy if topics else SubjectStrategy.TOPIC
        key = SchemaKey(self._registry, one, topics, is_key=False, strategy=strategy, is_read=True)
        answer = known.get(key)
        if answer is None:
            found.missing.add(key)
        elif isinstance(answer, Failure):
            found.failure = answer
        else:
            assert isinstance(answer, SchemaAnswer)
            if answer.reason is not None:
                found.reasons[one] = answer.reason
                return
            assert answer.reader is not None, "the key asks for it"
            masker = self._masker(one, answer.reader)
            if isinstance(masker, str):
                found.reasons[one] = masker
            else:
                found.maskers[one] = masker

    def _masker(self, schema_id: SchemaId, reader: Reader) -> FieldMasker | str:
        """Return what finds the fields under a schema, or why nothing can."""
        known = self._made.get(schema_id)
        if known is not None and known[0] is reader:
            return known[1]
        try:
            made: FieldMasker | str = self._build(schema_id, reader)
        except SchemaError as error:
            made = f"its schema cannot be used for fields: {error}"
        if len(self._made) >= MAX_MASKERS:
            self._made.clear()
        self._made[schema_id] = (reader, made)
        return made

    def _build(self, schema_id: SchemaId, reader: Reader) -> FieldMasker:
        if reader.schema.kind is SchemaType.AVRO:
            return self._of_avro(schema_id, reader)
        if reader.schema.kind is SchemaType.JSON:
            return self._of_json(reader)
        raise SchemaError("fields of Protobuf are not known here")

    def _of_avro(self, schema_id: SchemaId, reader: Any) -> FieldMasker:
        if reader.is_bytes:
            raise SchemaError("bytes alone have no fields")
        rules = self._rules
        made = AvroFields(reader.parsed, reader.named, rules.paths, rules.tags, rules.targets())
        if not made.forms:
            return NoFields()
        # A field is bound to its schema: under another one its bytes might be another value.
        own = schema_id.to_bytes(4, "big") if isinstance(schema_id, int) else schema_id
        return AvroMasker(
            made.nodes, made.children, made.forms, [own], MAX_VALUES, rules.replace_avro, made.root
        )

    def _of_json(self, reader: Any) -> FieldMasker:
        paths = list(self._rules.paths)
        if self._rules.tags:
            paths += tagged_paths(reader.parsed, reader.references, self._rules.tags)
        if not paths:
            return NoFields()
        if len(paths) > MAX_PATHS or any(len(one.names) > MAX_NAMES for one in paths):
            raise SchemaError(f"more than {MAX_PATHS} fields have a tag, or one is below {MAX_NAMES} names")
        return JsonMasker(paths, self._rules.replace_json)
