"""Translates Kubernetes-style documents into the terms of the flat dialect, and remembers the origin of each value.

Its counterpart `virtual_clusters.py` knows the meaning of each section.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from pydantic import BaseModel

from bifrost.config.explain import section_at, show_loc, unknown_key_text
from bifrost.config.files.document import let_go_of_lists
from bifrost.config.files.source import Place, Source
from bifrost.config.kubernetes.camel_case import camel_keys, reword, to_camel
from bifrost.config.kubernetes.resource import Resource
from bifrost.config.loc import Loc
from bifrost.config.model import Config
from bifrost.config.secrets import READ_FROM_FILES


class Translation(Source):
    """A configuration in the terms of the flat dialect, translated from documents of the other."""

    def __init__(self, first: Resource, words: Mapping[str, str]) -> None:
        """Start an empty translation.

        Args:
            first: the document to report for a place that no document has.
            words: the keys of this dialect that are not the flat dialect's keys in camelCase, by the flat keys.
        """
        self.file = first.file
        self.problems = []
        self.unreported = set()
        self.process = None
        self.origins: dict[Loc, tuple[Resource, Loc]] = {(): (first, ())}
        """The document, and the place in it, for each place of the flat dialect."""
        self._words = words

    # -- called by the loader

    def let_go(self) -> None:
        """Free the values of all documents piece by piece; the source cannot be used any more."""
        resources = {id(resource): resource for resource, _ in self.origins.values()}
        while self.origins:
            self.origins.popitem()
        while resources:
            resources.popitem()[1].document.let_go()
        let_go_of_lists(self.data)

    def place_of(self, loc: Loc) -> Place:
        """Return the file and line of the value at `loc`, or of the nearest enclosing value that was written."""
        resource, shown = self._origin(loc)
        return resource.place_of(shown)

    def word(self, loc: Loc, text: str) -> str:
        """Return a message about the value at `loc` with the keys of this dialect."""
        _, shown = self._origin(loc)
        flat = show_loc(loc)
        if text.startswith(flat):
            text = show_loc(shown) + text.removeprefix(flat)
        if loc and shown:
            text = text.replace(f"e.g. {loc[-1]}: ", f"e.g. {shown[-1]}: ")
        return reword(text, Config, self._words)

    def _origin(self, loc: Loc) -> tuple[Resource, Loc]:
        rest: Loc = ()
        while loc not in self.origins:
            rest = (loc[-1], *rest)
            loc = loc[:-1]
        resource, shown = self.origins[loc]
        return resource, (*shown, *(to_camel(step) if isinstance(step, str) else step for step in rest))

    # -- used to build a translation

    def copy_fields(
        self,
        resource: Resource,
        at: Loc,
        to: Loc,
        content: Mapping[str, object],
        section: type[BaseModel],
        keys: Mapping[str, str],
    ) -> dict[str, object]:
        """Return some keys of a section as fields of the model, and remember their places."""
        return {
            keys[key]: self._copy(
                resource, (*at, key), (*to, keys[key]), value, section_at(section, (keys[key],))
            )
            for key, value in content.items()
            if key in keys
        }

    def _copy(
        self, resource: Resource, at: Loc, to: Loc, value: object, section: type[BaseModel] | None
    ) -> object:
        self.origins[to] = (resource, at)
        if isinstance(value, list):
            return [
                self._copy(resource, (*at, index), (*to, index), one, section)
                for index, one in enumerate(value)
            ]
        if not isinstance(value, dict):
            return value
        keys = camel_keys(section) if section else {key: key for key in value}
        for key in value.keys() - keys.keys():
            self.tell_unknown(
                resource, (*at, key), [key for key, name in keys.items() if name not in READ_FROM_FILES]
            )
        return self.copy_fields(resource, at, to, value, section or BaseModel, keys)

    def section(
        self,
        resource: Resource,
        at: Loc,
        known: Collection[str],
        *,
        spoils: Loc | None = None,
        needs: str = "",
    ) -> dict[str, object] | None:
        """Return a section's known keys, None when there is no such section; report what is wrong.

        Args:
            resource: the document.
            at: the place of the section in it.
            known: the keys that exist.
            spoils: the place of the flat dialect that has no meaning without the section.
            needs: its required keys, in words, for the message; if empty, the section may be absent.
        """
        is_there, value = resource.find(at)
        if isinstance(value, dict):
            return self.known(resource, at, known)
        if is_there and at not in resource.broken:
            what = " has no value: write one, or remove the line"
            self.tell(
                resource,
                at,
                what if value is None else ": expected a mapping of keys to values",
                spoils=spoils,
            )
        elif not is_there and needs:
            self.tell(resource, at, f" is missing: add it, with {needs}", spoils=spoils)
        return None

    def known(self, resource: Resource, at: Loc, known: Collection[str]) -> dict[str, object]:
        """Return the values of a mapping's known keys, and report the other keys."""
        _, value = resource.find(at)
        found = {}
        for key, content in value.items() if isinstance(value, dict) else ():
            if key in known:
                found[key] = content
            else:
                self.tell_unknown(resource, (*at, key), known)
        return found

    def tell_unknown(self, resource: Resource, loc: Loc, known: Collection[str]) -> None:
        """Report a key that does not exist."""
        plain = {re.sub("([a-z0-9])([A-Z])", r"\1_\2", key).lower(): key for key in known}
        self.problems.append((None, resource.place_of(loc), unknown_key_text(loc, plain)))

    def tell(self, resource: Resource, loc: Loc, text: str, spoils: Loc | None = None) -> None:
        """Report a mistake at a place of a document; the message is the place and then `text`."""
        self.problems.append((spoils, resource.place_of(loc), f"{show_loc(loc)}{text}"))

    def add_document_problems(self, resources: Sequence[Resource]) -> None:
        """Add the mistakes found while reading the documents; other errors about these values are consequences."""
        spoiled: dict[tuple[int, Loc], Loc] = {}
        for place, (resource, at) in self.origins.items():
            spoiled.setdefault((id(resource), at), place)
        for resource in resources:
            for broken, line, text in resource.document.problems:
                loc = None if broken is None else spoiled.get((id(resource), broken))
                self.problems.append((loc, Place(resource.file, line), text))
