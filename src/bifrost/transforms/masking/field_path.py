"""A path to fields, as maskers take it."""

from collections.abc import Sequence
from typing import NamedTuple

from bifrost.config.records.masking_config import ANY, split_path


class Path(NamedTuple):
    """A path: names, None for any; and whether it is for the elements of an array."""

    names: Sequence[bytes | None]
    of_elements: bool = False


def path_of(text: str) -> Path:
    """Return a path of the configuration."""
    names, of_elements = split_path(text)
    return Path(tuple(None if name == ANY else name.encode() for name in names), of_elements)
