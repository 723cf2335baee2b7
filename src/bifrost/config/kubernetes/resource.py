"""One Kubernetes-style document and its file."""

from collections.abc import Mapping
from dataclasses import dataclass

from bifrost.config.files.document import Document
from bifrost.config.files.source import Place
from bifrost.config.loc import Loc


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """A document, read by places in its own terms such as `spec.listener.port`."""

    file: str
    """The file, as the caller named it or its folder."""

    document: Document

    @property
    def root(self) -> Mapping[str, object]:
        """The whole document; empty when it is no mapping."""
        return self.document.data if isinstance(self.document.data, dict) else {}

    @property
    def broken(self) -> set[Loc]:
        """Places that are already known to be unreadable."""
        return {loc for loc, _, _ in self.document.problems if loc is not None}

    def find(self, at: Loc) -> tuple[bool, object]:
        """Return whether a place has a value, and the value."""
        value: object = self.root
        for step in at:
            if not isinstance(value, dict) or step not in value:
                return False, None
            value = value[step]
        return True, value

    def get(self, *at: str) -> object:
        """Return the value at a place, None when there is none."""
        return self.find(at)[1]

    def place_of(self, at: Loc) -> Place:
        """Return the file and line of the value at a place, or of the nearest enclosing value that was written."""
        return Place(self.file, self.document.line_of(at))
