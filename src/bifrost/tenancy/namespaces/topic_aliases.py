"""Moved and shared topics of all tenants, by physical names: the index that the names of a running gateway look into.

`AliasTable` knows places, and decides about changes. Here each place gets the physical name that it means, by the
prefixes of the configuration, and each tenant its part of the index (`TenantAliases`). It is a `StateModel` of the kind
`alias`.

    alias:acme:eu/orders  {"owner": "acme:billing/o", "shares": {"globex/p": "read"}}

    of acme     eu/orders   ▶ nothing (the topic is away)        __vt_acme_--eu.orders ▶ billing/o (its owner)
                billing/o   ▶ __vt_acme_--eu.orders
    of globex   p           ▶ __vt_acme_--eu.orders              __vt_acme_--eu.orders ▶ p (may read)

Topics of a tenant that the configuration does not have, or that has another physical cluster, mean nothing there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.alias_table import KIND, Access, AliasTable, Place
from bifrost.tenancy.namespaces.namespace_path import KNOWN_PATHS
from bifrost.tenancy.namespaces.relative_names import RelativeNames

NOWHERE = b""
"""In place of a physical name: the place means no topic, for its own was moved away."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a namespace has of a topic that was moved or shared."""

    place: Place
    access: Access | None
    """What it may do; None: all, because it owns the topic."""
    is_home: bool = False
    """Whether the place is the topic's home, where the tenant would have it anyway."""


@dataclass(frozen=True, slots=True)
class TenantPlace:
    """Where a tenant's own names are."""

    upstream: str
    """The configuration's name of its physical cluster."""
    prefix: str
    """Of the physical names of its topics."""
    is_dotted: bool = False
    """Whether tiers are dotted, so that it has no places in namespaces below; see `NamePrefixes.below`."""


@dataclass(slots=True)
class TenantAliases:
    """The part of one tenant: its places of moved and shared topics, and its topics that are elsewhere."""

    topics: dict[Place, bytes] = field(default_factory=dict)
    """The physical name that a place means, or NOWHERE; all other places mean what they are called."""
    limited: set[Place] = field(default_factory=set)
    """The places of which the tenant is not the owner."""
    standings: dict[bytes, tuple[Standing, ...]] = field(default_factory=dict)
    """What the tenant's namespaces have of a physical topic, nothing if it is away; all other topics that begin with
    the tenant's prefix are at home."""
    owners: dict[bytes, Place] = field(default_factory=dict)
    """Where the tenant's moved and shared topics are owned, by their physical names."""
    homes: dict[bytes, Place] = field(default_factory=dict)
    """Where these were created, likewise."""
    version: int = 0
    """Counts changes."""

    def origins(self, physical: bytes) -> Iterator[Place]:
        """Yield where a topic was created, and where it is owned, as far as these places are the tenant's."""
        if (home := self.homes.get(physical)) is not None:
            yield home
        yield from (one.place for one in self.standings.get(physical, ()) if one.access is None)


class TopicAliases:
    """The moved and shared topics of all tenants."""

    def __init__(self) -> None:
        """Begin without any, and without tenants."""
        self.changed: Callable[[Iterable[str]], None] = lambda _tenants: None
        """Is told the tenants whose names have changed."""
        self.table = AliasTable(decides=False)
        self._tenants: Mapping[str, TenantPlace] = {}
        self.parts: dict[str, TenantAliases] = {}
        """By tenant; a tenant without moved and shared topics has none. The same dictionary for ever."""

    def __len__(self) -> int:
        """Return the number of moved and shared topics."""
        return len(self.table)

    def configure(self, tenants: Mapping[str, TenantPlace]) -> None:
        """Take the tenants of the configuration."""
        if tenants == self._tenants:
            return
        self._tenants, before = dict(tenants), set(self.parts)
        self.parts.clear()
        for home in self.table.homes():
            self._settle(home, ())
        if before or self.parts:
            self.changed(sorted(before | self.parts.keys()))

    def apply(self, key: StateKey, record: StateRecord | None) -> None:
        """Take what the state has of a moved or shared topic.

        Raises:
            ValueError: the record cannot be understood.
        """
        self.changed(self.take(key, record))

    def take(self, key: StateKey, record: StateRecord | None) -> list[str]:
        """As `apply`; return the tenants whose names have changed, for a caller that tells them later."""
        if key.kind != KIND:
            return []
        home = Place.read(key.name)
        before = self.table.places_of(home) if home in self.table else ()
        self.table.apply(key, record)
        return self._settle(home, before)

    def _settle(self, home: Place, before: Sequence[Place]) -> list[str]:
        """Put what the table has of a topic into the index; return the tenants for which something has changed.

        Args:
            home: the topic's home.
            before: the places that it had in the index, if it was there.
        """
        places = self.table.places_of(home) if home in self.table else ()
        touched = {home, *places, *before}
        changed = {place.namespace[0] for place in touched if self._put(place)}
        for tenant in {place.namespace[0] for place in touched}:
            if self._stand(home, tenant, is_known=bool(places)):
                changed.add(tenant)
        return sorted(changed)

    def _stand(self, home: Place, tenant: str, *, is_known: bool) -> bool:
        """Note what a tenant has of the topic with this home; return whether that has changed."""
        part, physical = self.parts[tenant], self._physical(home, tenant)
        if not part.topics:
            del self.parts[tenant]
        if physical is None:
            return False
        is_at_home = tenant == home.namespace[0]
        before, is_home = part.standings.get(physical), is_known and is_at_home
        found = tuple(self._standings(home, tenant)) if is_known else ()
        if found or is_home:
            part.standings[physical] = found
        elif before is not None:
            del part.standings[physical]
        if is_home:
            part.owners[physical], part.homes[physical] = self.table.owner_of(home), home
        else:
            part.owners.pop(physical, None)
            part.homes.pop(physical, None)
        if before is None or not is_known:
            plain = (Standing(home, None, True),) if is_at_home else ()
            return (plain if before is None else before) != (found if is_known else plain)
        return before != found

    def _put(self, place: Place) -> bool:
        """Note what a place means now; return whether that has changed."""
        tenant = place.namespace[0]
        part = self.parts.get(tenant)
        if part is None:
            part = self.parts[tenant] = TenantAliases()
        home = self.table.home_of(place)
        part.version += 1
        before, found = part.topics.pop(place, None), None
        part.limited.discard(place)
        if home != place or place in self.table:
            physical = None if home is None else self._physical(home, tenant)
            part.topics[place] = found = NOWHERE if physical is None else physical
            if home is not None and self.table.owner_of(home) != place:
                part.limited.add(place)
        if before is None:  # It meant what it is called, which no other topic is.
            return found is not None and (home != place or found is NOWHERE)
        return before != (self._physical(place, tenant) if found is None else found)

    def _standings(self, home: Place, tenant: str) -> Iterable[Standing]:
        owner = self.table.owner_of(home)
        if owner.namespace[0] == tenant:
            yield Standing(owner, None, owner == home)
        for place, access in sorted(self.table.shares_of(home).items()):
            if place.namespace[0] == tenant:
                yield Standing(place, access, place == home)

    def _physical(self, home: Place, tenant: str) -> bytes | None:
        """Return the physical name of the topic with this home; None: `tenant` cannot reach it."""
        there, here = self._tenants.get(home.namespace[0]), self._tenants.get(tenant)
        if there is None or here is None or there.upstream != here.upstream:
            return None
        tiers = home.namespace[1:]
        if there.is_dotted and tiers:
            return None
        return _physical(there.prefix, tiers, home.topic)


@lru_cache(maxsize=8)  # The same topic is asked about some times while it is put into the index.
def _physical(prefix: str, tiers: tuple[str, ...], topic: str) -> bytes:
    return _prefix(prefix, tiers) + RelativeNames.code((), topic.encode())


@lru_cache(maxsize=KNOWN_PATHS)
def _prefix(prefix: str, tiers: tuple[str, ...]) -> bytes:
    return prefix.encode() + RelativeNames.code(tiers, b"")
