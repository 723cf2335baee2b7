"""The source of a configuration: its values, and the file and line of each.

The loader and the checks name places in the terms of the flat dialect (`proxy.listener_sets[0].name`), whichever
dialect the files use. A source turns such a place into the file and line where it was written, and a message into the
terms of that file. The class here is for a file of the flat dialect, whose terms are the same; `virtual_clusters.py`
has the one for the second dialect.
"""

from pathlib import Path
from typing import NamedTuple

from bifrost.config.files.document import Document
from bifrost.config.files.process_settings import ProcessSettings
from bifrost.config.loc import Loc


class Place(NamedTuple):
    """The file and line of a value."""

    file: str
    """The file, as the caller named it or its folder."""

    line: int
    """The line, from 1."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Source:
    """A configuration in the terms of the flat dialect."""

    def __init__(self, file: str, document: Document) -> None:
        """Use one document without translation."""
        self.file = file
        self._document = document
        self.data: object = document.data
        """The configuration as mappings and lists, keys as in the model."""
        self.problems: list[tuple[Loc | None, Place, str]] = [
            (loc, Place(file, line), text) for loc, line, text in document.problems
        ]
        """Mistakes already known, each with the place it makes unusable, so that its consequences are not reported."""
        self.unreported: set[Loc] = set()
        """Places that the operator did not write; a mistake there is reported at the value that it comes from."""
        self.process: ProcessSettings | None = None
        """What the files say to the process that reads them; None: nothing."""

    def let_go(self) -> None:
        """Free the values piece by piece, see `Document.let_go`; the source cannot be used any more."""
        self._document.let_go()

    @property
    def folder(self) -> Path:
        """Where relative paths start."""
        return Path(self.file).parent

    def place_of(self, loc: Loc) -> Place:
        """Return the file and line of the value at `loc`, or of the nearest enclosing value that was written."""
        return Place(self.file, self._document.line_of(loc))

    def word(self, loc: Loc, text: str) -> str:
        """Return a message about the value at `loc` in the terms of the file."""
        return text

    def hint(self, *locs: Loc) -> str:
        """Return the text to add to the message about a clash of these places."""
        return ""
