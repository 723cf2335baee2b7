"""One Kubernetes-style document and the file it stands in."""

from collections.abc import Mapping
from dataclasses import dataclass

from bifrost.config.files.document import Document
from bifrost.config.files.source import Place
from bifrost.config.loc import Loc


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """A document, asked by places of its own such as `spec.listener.port`."""

    file: str
    """The file, as the one who named it or its folder called it."""

    document: Document

    @property
    def root(self) -> Mapping[str, object]:
        """The whole document; empty when it is no mapping."""
        return self.document.data if isinstance(self.document.data, dict) else {}

    @property
    def broken(self) -> set[Loc]:
        """Places of which it is known already that they cannot be read."""
        return {loc for loc, _, _ in self.document.problems if loc is not None}

    def find(self, at: Loc) -> tuple[bool, object]:
        """Return whether there is something at a place, and what."""
        value: object = self.root
        for step in at:
            if not isinstance(value, dict) or step not in value:
                return False, None
            value = value[step]
        return True, value

    def get(self, *at: str) -> object:
        """Return what is at a place, None when there is nothing."""
        return self.find(at)[1]

    def place_of(self, at: Loc) -> Place:
        """Return where the value at a place was written, or the nearest thing around it that was."""
        return Place(self.file, self.document.line_of(at))
