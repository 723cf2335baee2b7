"""Masks fields of Avro values: see avro_masker.pyx."""

from collections.abc import Callable
from typing import Any

from bifrost.transforms.masking.masked_values import FieldMasker

NO_TARGET: int
"""In place of a form: a value is walked through."""

class AvroMasker(FieldMasker):
    """The fields of the values of one schema, and what becomes of them."""

    def __init__(
        self,
        nodes: list[tuple[int, int, int, int]],
        children: list[tuple[int, bytes | None]],
        forms: list[Any],
        begin: list[bytes],
        max_values: int,
        replace: Callable[[Any, bytes], bytes | None],
        root: int = 0,
    ) -> None:
        """Prepare a program; avro_fields.py makes it.

        Args:
            nodes: kind, first, count and target of each type, by their places.
            children: of nodes, each with the name that leads to it.
            forms: what targets are, for what replaces them.
            begin: what the names begin with that `mask_values` asks for.
            max_values: most values of a payload.
            replace: returns what takes the place of a field, by its form and its bytes; None: the same.
            root: the node of the schema.
        Raises:
            ValueError: the program does not fit together.
        """
