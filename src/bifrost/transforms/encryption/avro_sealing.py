"""Which fields of Avro have room for an envelope: texts and bytes, and unions that may be one of them.

All in a field is sealed: of an array or a map each value, of a record each field.
"""

from typing import Any

from bifrost.encryption.field_forms import MARK, OF_AVRO, from_text, in_text
from bifrost.schemas import avro_check as avro
from bifrost.schemas.avro_numbers import long_of, read_long
from bifrost.schemas.readers.reader import SchemaError
from bifrost.transforms.masking.avro_fields import AvroFields, identity

_ROOMY = ("string", "bytes")


class AvroForm:
    """A text or bytes of Avro, also as a branch of a union."""

    start = OF_AVRO

    def __init__(self, *, is_text: bool, branch: int | None = None, null: int | None = None) -> None:
        """Say what the field is.

        Args:
            is_text: whether what is sealed stands there as text, else as bytes.
            branch: that of a union that is this text or bytes; None: the field is no union.
            null: the branch that is null; None: there is none.
        """
        self._is_text = is_text
        self._before = b"" if branch is None else long_of(branch)
        self._null = None if null is None else long_of(null)

    def is_null(self, content: bytes) -> bool:
        """See `FieldForm`."""
        return content == self._null

    def wrap(self, envelope: bytes) -> bytes:
        """See `FieldForm`."""
        shown = in_text(envelope) if self._is_text else envelope
        return self._before + long_of(len(shown)) + shown

    def unwrap(self, content: bytes) -> bytes | None:
        """See `FieldForm`; the content reads under its schema."""
        if not content.startswith(self._before):
            return None
        _, at = read_long(content, len(self._before))
        if not content.startswith(MARK if self._is_text else OF_AVRO, at):
            return None
        return from_text(content[at:]) if self._is_text else content[at:]


class SealTargets:
    """Seals fields; `Targets` of one schema."""

    def __init__(self) -> None:
        """Begin with a schema."""
        self._known: dict[object, int] = {}

    def place(self, fields: AvroFields, schema: Any, path: int) -> int:
        """Return the node of a field; see `Targets`."""
        found, _ = fields.resolved(schema)
        key = identity(found)
        if key in self._known:
            return self._known[key]
        if found in _ROOMY:
            return fields.target(found, AvroForm(is_text=found == "string"))
        if found == "null":
            return fields.place(found, frozenset(), looks=False)
        if isinstance(found, list):
            return self._of_union(fields, found, path)
        kind = found if isinstance(found, str) else found["type"]
        if kind in ("array", "map"):
            place = self._known[key] = fields.add(avro.ARRAY if kind == "array" else avro.MAP)
            items = found["items" if kind == "array" else "values"]
            fields.give(place, [(self.place(fields, items, path), None)])
        elif kind in ("record", "error"):
            place = self._known[key] = fields.add(avro.RECORD)
            parts = [(self.place(fields, one["type"], path), one["name"].encode()) for one in found["fields"]]
            fields.give(place, parts)
        else:
            raise SchemaError(
                f"a field of type {kind} has no room for an envelope: only string and bytes have"
            )
        return place

    def _of_union(self, fields: AvroFields, branches: list[Any], path: int) -> int:
        """Return the node of a union: all of it is sealed where one branch has room, else what each branch has."""
        plain = [fields.resolved(one)[0] for one in branches]
        roomy = [at for at, one in enumerate(plain) if one in _ROOMY]
        if not roomy:
            place = self._known[identity(branches)] = fields.add(avro.UNION)
            fields.give(place, [(self.place(fields, one, path), None) for one in plain])
            return place
        null = plain.index("null") if "null" in plain else None
        form = AvroForm(is_text=plain[roomy[0]] == "string", branch=roomy[0], null=null)
        return fields.target(branches, form)
