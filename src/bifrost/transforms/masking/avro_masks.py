"""What stands in place of a masked field of Avro: a value of the field's own type, so that the record still reads.

A mask that does not suit the type becomes null where the type is a union with null, else the type's empty value: an
empty text, 0, false, the first symbol of an enum.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

from bifrost.config.records.masking_config import MaskAction
from bifrost.schemas import avro_check as avro
from bifrost.schemas.avro_numbers import long_of, read_long
from bifrost.schemas.readers.reader import SchemaError
from bifrost.transforms.masking.avro_fields import AvroFields

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bifrost.config.records.masking_config import MaskedField

MAX_PARTS = 1_000
"""Most parts of an empty value: types may multiply what a short schema says."""


class MaskForm:
    """A masked field of one type."""

    def __init__(
        self, fields: AvroFields, schema: Any, field: MaskedField, masked: Callable[[str], str]
    ) -> None:
        """Prepare what does not depend on values.

        Args:
            fields: what resolves types.
            schema: the type of the field.
            field: what the configuration says.
            masked: returns a hash or the last four characters of a text, as the action says.
        Raises:
            SchemaError: the type has no value that ends.
        """
        self._action, self._masked = field.action, masked
        found, _ = fields.resolved(schema)
        self._is_union = isinstance(found, list)
        self._types = [fields.resolved(one)[0] for one in found] if self._is_union else [found]
        self._null = self._types.index("null") if "null" in self._types else None
        self._empty = [_Empty(fields).of(one) for one in self._types]
        self._constant: bytes | None = None
        if field.action is MaskAction.CONSTANT:
            assert field.value is not None
            value = json.loads(field.value)
            suiting = ((at, _constant(one, value)) for at, one in enumerate(self._types))
            self._constant = next((self._of(at, one) for at, one in suiting if one is not None), None)

    def mask(self, content: bytes) -> bytes:
        """Return what stands in place of a field that reads under its schema."""
        branch, at = read_long(content, 0) if self._is_union else (0, 0)
        if self._constant is not None:
            return self._constant
        kind = self._types[branch]
        if kind == "null":
            return content
        if self._action in (MaskAction.HASH, MaskAction.LAST_FOUR) and kind == "string":
            _, at = read_long(content, at)
            text = self._masked(content[at:].decode()).encode()
            return self._of(branch, long_of(len(text)) + text)
        if self._null is not None:
            return self._of(self._null, b"")
        return self._of(branch, self._empty[branch])

    def _of(self, branch: int, value: bytes) -> bytes:
        return long_of(branch) + value if self._is_union else value


class MaskTargets:
    """Masks fields; `Targets` of one schema."""

    def __init__(
        self,
        fields: Sequence[MaskedField],
        of_elements: Sequence[bool],
        masked: Callable[[MaskedField, str], str],
    ) -> None:
        """Mask as the configuration says; `of_elements` has by path whether elements of arrays are masked."""
        self._fields, self._of_elements, self._masked = fields, of_elements, masked

    def place(self, fields: AvroFields, schema: Any, path: int) -> int:
        """Return the node of a field; see `Targets`."""
        found, _ = fields.resolved(schema)
        if self._of_elements[path]:
            types = found if isinstance(found, list) else [found]
            plain = [fields.resolved(one)[0] for one in types]
            if any(isinstance(one, dict) and one["type"] == "array" for one in plain):
                return self._of_arrays(fields, found, path)
        field = self._fields[path]
        form = MaskForm(fields, found, field, lambda text: self._masked(field, text))
        return fields.target(found, form)

    def _of_arrays(self, fields: AvroFields, found: Any, path: int) -> int:
        """Return the node of an array, or of a union that may be one: its elements are masked."""
        if isinstance(found, list):
            place = fields.add(avro.UNION)
            fields.give(place, [(self.place(fields, one, path), None) for one in found])
            return place
        place = fields.add(avro.ARRAY)
        fields.give(place, [(self.place(fields, found["items"], path), None)])
        return place


def mask_field(form: MaskForm, content: bytes) -> bytes:
    """Return what stands in place of a field; what an `AvroMasker` asks."""
    return form.mask(content)


def _constant(kind: Any, value: object) -> bytes | None:
    """Return a constant as a value of a type; None: it does not suit it."""
    if isinstance(value, bool):
        return bytes([value]) if kind == "boolean" else None
    if isinstance(value, str):
        if kind in ("string", "bytes"):
            text = value.encode()
            return long_of(len(text)) + text
        if isinstance(kind, dict) and kind["type"] == "enum" and value in kind["symbols"]:
            return long_of(kind["symbols"].index(value))
        return None
    assert isinstance(value, int | float)
    if kind in ("float", "double"):
        try:
            return struct.pack("<f" if kind == "float" else "<d", value)
        except (OverflowError, struct.error):
            return None
    bits = {"int": 32, "long": 64}.get(kind) if isinstance(kind, str) else None
    if bits is None or not isinstance(value, int) or not -(1 << bits - 1) <= value < 1 << bits - 1:
        return None
    return long_of(value)


_EMPTY = {
    "null": b"",
    "boolean": b"\0",
    "int": b"\0",
    "long": b"\0",
    "float": bytes(4),
    "double": bytes(8),
    "bytes": b"\0",
    "string": b"\0",
}


class _Empty:
    """Makes values that say nothing."""

    def __init__(self, fields: AvroFields) -> None:
        self._fields = fields
        self._parts = 0

    def of(self, schema: Any, outer: tuple[str, ...] = ()) -> bytes:
        """Return the empty value of a type.

        Args:
            schema: the type.
            outer: the records that it is in.
        Raises:
            SchemaError: it has no value that ends, or one of too many parts.
        """
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise SchemaError(f"a masked field has more than {MAX_PARTS} parts")
        found, _ = self._fields.resolved(schema)
        if isinstance(found, str):
            return _EMPTY[found]
        if isinstance(found, list):
            return self._of_union(found, outer)
        if found["type"] == "fixed":
            return bytes(found["size"])
        if found["type"] in ("array", "map", "enum"):
            return b"\0"
        if found["name"] in outer:
            raise SchemaError("a masked field has no value that ends")
        inner = (*outer, found["name"])
        return b"".join(self.of(one["type"], inner) for one in found["fields"])

    def _of_union(self, branches: list[Any], outer: tuple[str, ...]) -> bytes:
        plain = [self._fields.resolved(one)[0] for one in branches]
        for at in sorted(range(len(plain)), key=lambda at: plain[at] != "null"):
            try:
                return long_of(at) + self.of(plain[at], outer)
            except SchemaError:
                continue
        raise SchemaError("a masked field has no value that ends")
