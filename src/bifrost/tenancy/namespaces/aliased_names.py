"""Moved and shared topics as one namespace sees them. Pure; asked only about names that the engine does not know yet.

A namespace sees a topic once, though it may be at several places in it and below it. The place counts at which it may
do most; of those the one in the namespace itself; then the owner's; then the first by name. So both directions stay
each other's reverse, whatever is moved and shared (tests/property).
"""

from collections.abc import Sequence

from bifrost.tenancy.namespaces.alias_table import Access, Place
from bifrost.tenancy.namespaces.namespace_path import Path
from bifrost.tenancy.namespaces.relative_names import RelativeNames
from bifrost.tenancy.namespaces.topic_aliases import NOWHERE, Standing, TenantAliases


class AliasedNames:
    """The moved and shared topics that a namespace of one tenant may see."""

    __slots__ = ("_aliases", "_path", "_relative", "_sees_shared", "_tiers", "_version", "_visible")

    def __init__(
        self,
        tenant: str,
        tiers: Sequence[str],
        relative: RelativeNames | None,
        aliases: TenantAliases,
        *,
        sees_shared: bool,
    ) -> None:
        """Look into the tenant's part of the index, which changes with the state.

        Args:
            tenant: the tenant's name.
            tiers: the namespace below it.
            relative: how names of namespaces below are called; None: tiers are dotted, and names have them in front.
            aliases: the tenant's part.
            sees_shared: whether topics of other owners can be seen.
        """
        self._path = Path((tenant, *tiers)) if relative is not None else Path((tenant,))
        self._tiers, self._relative, self._aliases = tuple(tiers), relative, aliases
        self._sees_shared = sees_shared
        self._visible: dict[bytes, bytes] = {}
        self._version = 0

    def is_of(self, aliases: TenantAliases) -> bool:
        """Whether this looks into that part."""
        return self._aliases is aliases

    def physical(self, name: bytes) -> bytes | None:
        """Return what a virtual name means; NOWHERE: no topic; None: what it is called."""
        place = self._place(name)
        found = None if place is None else self._aliases.topics.get(place)
        if not found:
            return found
        seen = self._seen(found)
        return found if seen is not None and seen[0] == name else NOWHERE

    def virtual(self, physical: bytes) -> bytes | None:
        """Return what a topic is called here; NOWHERE: it cannot be seen; None: what its physical name says."""
        if physical not in self._aliases.standings:
            return None
        seen = self._seen(physical)
        return NOWHERE if seen is None else seen[0]

    def access(self, name: bytes) -> Access | None:
        """Return what may be done with a topic; None: all."""
        place = self._place(name)
        if place is None or place not in self._aliases.limited:
            return None
        for one in self._aliases.standings.get(self._aliases.topics.get(place, NOWHERE), ()):
            if one.place == place:
                return one.access
        return Access.READ  # It means no topic that can be reached.

    @property
    def visible(self) -> dict[bytes, bytes]:
        """The names of all moved and shared topics that can be seen, by their physical names."""
        if self._version != self._aliases.version:
            self._version = self._aliases.version
            found = ((physical, self._seen(physical)) for physical in self._aliases.standings)
            self._visible = {physical: seen[0] for physical, seen in found if seen is not None}
        return self._visible

    def _seen(self, physical: bytes) -> tuple[bytes, Standing] | None:
        """Return the name of a topic and its place; None when it cannot be seen."""
        standings, depth = self._aliases.standings.get(physical, ()), len(self._path)
        below = [
            one
            for one in standings
            if one.place.namespace[:depth] == self._path and (one.access is None or self._sees_shared)
        ]
        if len(below) > 1:
            below.sort(key=self._rank)
        for one in below:
            # While a large change is applied, the index may be ahead in one direction.
            if self._aliases.topics.get(one.place) == physical:
                name = self._name(one.place)
                if name is not None:
                    return name, one
        return None

    def _rank(self, one: Standing) -> tuple[bool, bool, bool, Place]:
        is_here = one.place.namespace == self._path
        return one.access is Access.READ, not is_here, one.access is not None, one.place

    def _place(self, name: bytes) -> Place | None:
        """Return the place that a name means; None: no topic can be called so."""
        try:
            if self._relative is None:
                below = "".join(f"{tier}." for tier in self._tiers)
                return Place(self._path, below + name.decode("ascii"))
            tiers, rest = self._relative.split(name)
            return Place(Path((*self._path, *tiers)), rest.decode("ascii"))
        except UnicodeDecodeError:
            return None

    def _name(self, place: Place) -> bytes | None:
        if self._relative is not None:
            return self._relative.join(place.namespace[len(self._path) :], place.topic.encode())
        below = "".join(f"{tier}." for tier in self._tiers)
        return place.topic.removeprefix(below).encode() if place.topic.startswith(below) else None
