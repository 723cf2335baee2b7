"""Masks fields of JSON values: see json_masker.pyx."""

from collections.abc import Callable, Sequence

from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget

MAX_PATHS: int
"""Most paths of one mask."""
MAX_NAMES: int
"""Most names of a path."""

TEXT: int
NUMBER: int
OTHER: int
"""True, false, an object or an array."""
NOTHING: int
"""Null."""

class JsonMasker:
    """The paths, and what becomes of the fields there."""

    def __init__(
        self,
        paths: Sequence[tuple[Sequence[bytes | None], bool]],
        replace: Callable[[int, int, bytes], bytes],
    ) -> None:
        """Prepare the paths.

        Args:
            paths: for each the names that lead to its field, None for any name; and whether the elements of an array
                there are masked one by one.
            replace: returns the JSON in place of a field, by the number of its path, the kind of what is there (TEXT,
                NUMBER, OTHER, NOTHING), and its JSON.
        Raises:
            ValueError: too many paths, or names in one.
        """

def mask_values(
    columns: Columns,
    masker: JsonMasker,
    budget: MemoryBudget,
    replace: Callable[[int, list[bytes], bytes], bytes | None] | None = None,
) -> tuple[Columns, list[int]]:
    """Return the records with masked values, the same columns if nothing changes, and which values are no JSON.

    A value that is no JSON is null in the new columns; one that was null stays so.

    Args:
        columns: the records.
        masker: where the fields are.
        budget: what new values are taken from.
        replace: asked in place of the masker's own: for the record, the names that led to the field, and its JSON it
            returns the JSON in its place, None for the same. It gets scalars where a path should go on as well, and no
            null. What it raises comes through.
    Raises:
        ValueError: the columns do not fit together.
        TooLarge, NoRoom: the values come to more than the budget has.
    """
