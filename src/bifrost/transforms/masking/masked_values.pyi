"""Replaces fields of the values of a batch: see masked_values.pyx."""

from collections.abc import Callable
from typing import Any

from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget
from bifrost.schemas.wire_format import SchemaId

class FieldMasker:
    """What finds the fields of one kind of values."""

class NoFields(FieldMasker):
    """What leaves each value as it is: its schema has no field that is looked for."""

def mask_values(
    columns: Columns,
    maskers: FieldMasker | dict[SchemaId, FieldMasker],
    budget: MemoryBudget,
    replace: Callable[[int, list[bytes], bytes, Any], bytes | None] | None = None,
) -> tuple[Columns, list[int]]:
    """Return the records with masked values, the same columns if nothing changes, and which values do not read.

    A value that does not read is null in the new columns; one that was null stays so.

    Args:
        columns: the records.
        maskers: what finds the fields, in all values or by the schema that a value names; where there is none for a
            schema, its values do not read.
        budget: what new values are taken from.
        replace: asked in place of the masker's own: for the record, the names that led to the field, what stands
            there, and the form that the masker has for it (None with JSON), it returns what takes its place, None for
            the same. It gets texts where a path should go on as well, with JSON all scalars but null. What it raises
            comes through.
    Raises:
        ValueError: the columns do not fit together.
        TooLarge, NoRoom: the values come to more than the budget has.
    """
