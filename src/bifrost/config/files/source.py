"""Where a configuration comes from: its values, and the file and line of every one of them.

The loader and all that it asks speak of places in the terms of the flat dialect (`proxy.listener_sets[0].name`),
whatever the files say. A source turns such a place into the file and line where it was written, and what is said of it
into the words that stand there. This one is for a file of the flat dialect, where the words are the same;
`virtual_clusters.py` has the other.
"""

from pathlib import Path
from typing import NamedTuple

from bifrost.config.files.document import Document
from bifrost.config.loc import Loc


class Place(NamedTuple):
    """Where something was written."""

    file: str
    """The file, as the one who named it or its folder called it."""

    line: int
    """The line, from 1."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Source:
    """A configuration in the terms of the flat dialect."""

    def __init__(self, file: str, document: Document) -> None:
        """Take one document as it is."""
        self.file = file
        self._document = document
        self.data: object = document.data
        """The configuration as mappings and lists, keys as in the model."""
        self.problems: list[tuple[Loc | None, Place, str]] = [
            (loc, Place(file, line), text) for loc, line, text in document.problems
        ]
        """What is already known to be wrong; with the place it makes unusable, so that consequences are not told."""
        self.unreported: set[Loc] = set()
        """Places that nobody wrote, of which nothing is told: what is wrong there is told of where it comes from."""

    @property
    def folder(self) -> Path:
        """Where relative paths start."""
        return Path(self.file).parent

    def place_of(self, loc: Loc) -> Place:
        """Return where the value at `loc` was written, or the nearest thing around it that was."""
        return Place(self.file, self._document.line_of(loc))

    def word(self, loc: Loc, text: str) -> str:
        """Return what is said of the value at `loc` in the words of the file."""
        return text

    def hint(self, *locs: Loc) -> str:
        """Return what to add to a clash of these places."""
        return ""
