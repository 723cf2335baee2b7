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
from typing import NamedTuple

from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.alias_table import KIND, Access, Alias, AliasTable, Place
from bifrost.tenancy.namespaces.namespace_path import KNOWN_PATHS, Path
from bifrost.tenancy.namespaces.new_alias import put_new
from bifrost.tenancy.namespaces.relative_names import RelativeNames

NOWHERE = b""
"""In place of a physical name: the place means no topic, for its own was moved away."""


class Standing(NamedTuple):
    """What a namespace has of a topic that was moved or shared."""

    place: Place
    access: Access | None
    """What it may do; None: all, because it owns the topic."""
    is_home: bool = False
    """Whether the place is the topic's home, where the tenant would have it anyway."""


class TenantPlace(NamedTuple):
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
    home_of: Callable[[Place], Place | None] = lambda place: place
    """Returns where the topic at a place was created."""
    version: int = 0
    """Counts changes."""

    def owner_of(self, physical: bytes) -> Place | None:
        """Return who owns a topic that was moved or is shared, as far as the tenant can know: None for another
        tenant's, and for a topic that is at home.
        """
        owner = self.owners.get(physical)
        if owner is not None:
            return owner
        return next((one.place for one in self.standings.get(physical, ()) if one.access is None), None)

    def moved_in(self) -> Iterator[bytes]:
        """Yield the topics that the tenant owns and another tenant has created, by their physical names."""
        for physical, standings in self.standings.items():
            if physical not in self.owners and any(one.access is None for one in standings):
                yield physical

    def origins(self, physical: bytes) -> Iterator[Place]:
        """Yield where a topic was created, and where it is owned, as far as these places are the tenant's."""
        owner = self.owners.get(physical)
        home = None if owner is None else self.home_of(owner)
        if home is not None:
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
        self._prefixes: dict[Path, bytes] = {}
        """What the physical names of topics in a namespace begin with."""
        self.parts: dict[str, TenantAliases] = {}
        """By tenant; a tenant without moved and shared topics has none. The same dictionary for ever."""

    def __len__(self) -> int:
        """Return the number of moved and shared topics."""
        return len(self.table)

    def configure(self, tenants: Mapping[str, TenantPlace]) -> None:
        """Take the tenants of the configuration."""
        if tenants == self._tenants:
            return
        old, self._tenants = self._tenants, dict(tenants)
        self._prefixes.clear()
        if not any(old.get(name) != tenants.get(name) for name in self.parts):
            return  # No topic of the tenants that have changed was moved or is shared.
        before = set(self.parts)
        self.parts.clear()
        for home in self.table.homes():
            self._settle(home, self.table.alias_of(home), ())
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
        before, alias = self.table.take(home, None if record is None else record.body)
        if before is None and alias is not None:
            changed = self._settle_new(home, alias)
            if changed is not None:
                return changed
        return self._settle(home, alias, () if before is None else before.places)

    def _settle_new(self, home: Place, alias: Alias) -> list[str] | None:
        """As `_settle`, of a topic of which nothing was known; None: it is an unusual one, and nothing is changed."""
        tenant = home.namespace[0]
        part, physical = self.parts.get(tenant), self._physical(home, tenant)
        if part is None or physical is None or self.table.home_at(home) is not None:
            return None
        if not put_new(
            home,
            alias,
            physical,
            part.topics,
            part.limited,
            part.standings,
            part.owners,
            Standing,
            NOWHERE,
        ):
            return None
        part.version += 1
        return [tenant]

    def _settle(self, home: Place, alias: Alias | None, before: Sequence[Place]) -> list[str]:
        """Put what the table has of a topic into the index; return the tenants for which something has changed.

        Args:
            home: the topic's home.
            alias: what the table has of it; None: it is known no more.
            before: the places that it had in the index, if it was there.
        """
        touched = {home, *before} if alias is None else {home, *alias.places, *before}
        tenants = {place.namespace[0] for place in touched}
        physical = {tenant: self._physical(home, tenant) for tenant in tenants}
        changed = {place.namespace[0] for place in touched if self._put(place, home, alias, physical)}
        changed.update(tenant for tenant in tenants if self._stand(home, alias, tenant, physical[tenant]))
        return sorted(changed)

    def _stand(self, home: Place, alias: Alias | None, tenant: str, physical: bytes | None) -> bool:
        """Note what a tenant has of the topic with this home; return whether that has changed."""
        part = self.parts[tenant]
        if not part.topics:
            del self.parts[tenant]
        if physical is None:
            return False
        is_at_home = tenant == home.namespace[0]
        before = part.standings.get(physical)
        found = () if alias is None else tuple(_standings(home, alias, tenant))
        if found or (is_at_home and alias is not None):
            part.standings[physical] = found
        elif before is not None:
            del part.standings[physical]
        if alias is not None and is_at_home:
            part.owners[physical] = alias.owner
        elif alias is None:
            part.owners.pop(physical, None)
        if before is None or alias is None:
            plain = (Standing(home, None, True),) if is_at_home else ()
            return (plain if before is None else before) != (plain if alias is None else found)
        return before != found

    def _put(
        self, place: Place, settled: Place, alias: Alias | None, physicals: Mapping[str, bytes | None]
    ) -> bool:
        """Note what a place means now; return whether that has changed.

        Args:
            place: the place.
            settled: the home of the topic that is put into the index.
            alias: what the table has of that.
            physicals: its physical name for each tenant that has a place of it.
        """
        tenant = place.namespace[0]
        part = self.parts.get(tenant)
        if part is None:
            part = self.parts[tenant] = TenantAliases(home_of=self.table.home_of)
        home = self.table.home_of(place)
        part.version += 1
        before, found = part.topics.pop(place, None), None
        part.limited.discard(place)
        if home != place or place in self.table:
            if home is None:
                physical, owner = None, place
            elif home is settled or home == settled:
                physical, owner = physicals[tenant], home if alias is None else alias.owner
            else:
                physical, owner = self._physical(home, tenant), self.table.owner_of(home)
            part.topics[place] = found = NOWHERE if physical is None else physical
            if owner != place:
                part.limited.add(place)
        if before is None:  # It meant what it is called, which no other topic is.
            return found is not None and (home != place or found is NOWHERE)
        return before != (self._physical(place, tenant) if found is None else found)

    def _physical(self, home: Place, tenant: str) -> bytes | None:
        """Return the physical name of the topic with this home; None: `tenant` cannot reach it."""
        namespace, topic = home
        there, here = self._tenants.get(namespace[0]), self._tenants.get(tenant)
        if there is None or here is None or there.upstream != here.upstream:
            return None
        prefix = self._prefixes.get(namespace)
        if prefix is None:
            tiers = namespace[1:]
            if there.is_dotted and tiers:
                return None
            if len(self._prefixes) >= KNOWN_PATHS:
                self._prefixes.clear()
            prefix = self._prefixes[namespace] = there.prefix.encode() + RelativeNames.code(tiers, b"")
        return prefix + RelativeNames.code_here(topic.encode())


def _standings(home: Place, alias: Alias, tenant: str) -> Iterator[Standing]:
    """Yield what a tenant has of the topic with this home, its owner first, and the shares in order."""
    owner = alias.owner
    if owner.namespace[0] == tenant:
        yield Standing(owner, None, owner == home)
    for place, access in sorted(alias.shared) if len(alias.shared) > 1 else alias.shared:
        if place.namespace[0] == tenant:
            yield Standing(place, access, place == home)
