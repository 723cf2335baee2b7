"""Types of the compiled parser."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from _typeshed import ReadableBuffer

STRUCT: int
STRING: int
LONG: int
INTEGER: int
BOOLEAN: int
LIST: int
MAP: int

Field: TypeAlias = tuple[str, int, tuple[Any, ...]]
Node: TypeAlias = tuple[str, int, range, int, int, bytes, bytes, bytes, bytes]

class JournalParser:
    room: int
    def __init__(self, fields: tuple[Field, ...], capacity: int, seed: int) -> None: ...
    def parse(
        self, values: Sequence[ReadableBuffer], keys: Sequence[ReadableBuffer], begin: int, end: int
    ) -> None: ...
    def page(self) -> tuple[bytes, list[Node]]: ...
