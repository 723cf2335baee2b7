"""Masks fields of JSON values: see json_masker.pyx."""

from collections.abc import Callable, Sequence

from bifrost.transforms.masking.masked_values import FieldMasker

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

class JsonMasker(FieldMasker):
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
