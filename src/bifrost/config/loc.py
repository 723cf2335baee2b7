"""Places in a configuration, and how checks read the values there."""

from typing import Protocol

Loc = tuple[str | int, ...]
"""The place of a value: keys and indexes from the root."""


class Tree(Protocol):
    """Reads values of the file, and None for what is absent or malformed."""

    def get(self, *loc: str | int) -> object:
        """Return the value at `loc`."""

    def text(self, *loc: str | int) -> str | None:
        """Return the text at `loc`."""

    def number(self, *loc: str | int) -> int | None:
        """Return the whole number at `loc`."""

    def indexes(self, *loc: str | int) -> range:
        """Return the indexes of the list at `loc`."""
