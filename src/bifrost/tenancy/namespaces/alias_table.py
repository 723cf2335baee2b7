"""Topics whose namespace is not the one that their physical name shows: moved and shared ones, and how they become so.

    home     where the physical name puts a topic: acme:eu/orders for __vt_acme_--eu.orders; it never changes
    owner    the namespace and name that it has now, its home unless it was moved
    shares   further namespaces that see it under a name of their own, and may read it, or read and write it

A move changes these records alone: the physical topic stays, with its records, offsets and transactions. A topic has
one owner, and a namespace and name mean one topic; to make that true for all writers, each place but a home has a
record of its own in the state:

    alias:acme:eu/orders             {"owner": "acme:billing/orders", "shares": {"acme:us/o": "read"}}
    alias-name:acme:billing/orders   {"of": "acme:eu/orders"}
    alias-name:acme:us/o             {"of": "acme:eu/orders"}

While a topic is away, its home's name means no topic there, unless another one gets it: that also writes the first
one's record anew, so that it cannot come back at the same time.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple, Self

from bifrost.config.tiers import SEPARATOR
from bifrost.state.state_change import Change
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import Body, StateRecord
from bifrost.tenancy.namespaces.alias_fields import read_place, read_usual
from bifrost.tenancy.namespaces.namespace_path import InvalidNamespace, Path, read_path, shown

KIND, NAME_KIND = "alias", "alias-name"
"""The kinds of the records in the state."""

MAX_SHARES = 100
"""Most shares of one topic: they are in one record, which every change of one writes anew."""


class Access(StrEnum):
    """What a namespace may do with a topic that is shared with it."""

    READ = "read"
    READ_WRITE = "read-write"


_ACCESS: dict[object, Access] = {one.value: one for one in Access}
"""To make one of its value is a call of Python's."""


class Place(NamedTuple):
    """A topic's name in a namespace. A tuple: the table and the index look places up by the hundred thousand."""

    namespace: Path
    topic: str

    def __str__(self) -> str:
        return f"{shown(self.namespace)}/{self.topic}"

    @property
    def full_name(self) -> str:
        """The topic's name by the path from the tenant, with `:` between tiers."""
        return SEPARATOR.join((*self.namespace[1:], self.topic))

    @classmethod
    def read(cls, text: str) -> "Place":
        """Read a place as it is in the state.

        Raises:
            InvalidNamespace: it is none.
        """
        found = read_place(text, read_path, cls)
        if found is None:
            raise InvalidNamespace(f"{text[:100]!r}: write a namespace and a topic, such as acme:eu/orders")
        return found


class Alias(NamedTuple):
    """Who has a topic that was moved or shared."""

    owner: Place
    shared: tuple[tuple[Place, Access], ...] = ()
    """Where it is shared to, and how; a dictionary for each topic would take three times the memory."""

    @classmethod
    def of(cls, owner: Place, shares: Mapping[Place, Access]) -> Self:
        """Return the alias with these shares."""
        return cls(owner, tuple(shares.items()))

    @property
    def shares(self) -> dict[Place, Access]:
        """Where the topic is shared to, and how."""
        return dict(self.shared)

    @property
    def places(self) -> list[Place]:
        """Every place that means the topic, its owner first."""
        return [self.owner, *(place for place, _ in self.shared)] if self.shared else [self.owner]


class AliasRefused(ValueError):
    """A topic cannot be moved or shared so; the text says why."""


class AliasTable:
    """All moved and shared topics.

    It is made from records, or follows them as a `StateModel`. Changes are decided by what it has.
    """

    def __init__(self, records: Iterable[StateRecord] = (), *, decides: bool = True) -> None:
        """Take the records of both kinds.

        Args:
            records: those of both kinds.
            decides: whether changes are asked for, which need the versions of all records.
        Raises:
            ValueError: a record cannot be understood.
        """
        self._aliases: dict[Place, Alias] = {}
        self._versions: dict[StateKey, int] | None = {} if decides else None
        self._homes: dict[Place, Place] = {}
        """The home of the topic at each place that is not its home."""
        for record in records:
            self.apply(record.key, record)

    def __len__(self) -> int:
        """Return the number of moved and shared topics."""
        return len(self._aliases)

    def __contains__(self, home: Place) -> bool:
        """Whether the topic with this home was moved or is shared."""
        return home in self._aliases

    def homes(self) -> list[Place]:
        """Return the homes of all moved and shared topics, in order."""
        return sorted(self._aliases)

    def apply(self, key: StateKey, record: StateRecord | None) -> None:
        """Take what is stored under a key.

        Raises:
            ValueError: the record cannot be understood.
        """
        place = Place.read(key.name)
        body = None if record is None else record.body
        if key.kind == KIND:
            self.take(place, body)
        if self._versions is None:
            return
        if record is None or body is None:
            self._versions.pop(key, None)
        else:
            self._versions[key] = record.version

    def take(self, home: Place, body: Body | None) -> tuple[Alias | None, Alias | None]:
        """Take what is stored about the topic with this home; return what was known of it, and what is now.

        Raises:
            ValueError: the body cannot be understood.
        """
        alias = None if body is None else read_body(body)
        before = self._aliases.pop(home, None)
        if before is not None:
            for one in before.places:
                if self._homes.get(one) == home:
                    del self._homes[one]
        if alias is not None:
            self._aliases[home] = alias
            owner, shared = alias
            if owner != home:
                self._homes[owner] = home
            for one, _ in shared:
                if one != home:
                    self._homes[one] = home
        return before, alias

    # -- questions

    def home_of(self, place: Place) -> Place | None:
        """Return the home of the topic that a place means; None when it means none, because that was moved away."""
        home, alias = self._homes.get(place), self._aliases.get(place)
        if home is not None:
            return home
        return place if alias is None or place in alias.places else None

    def home_at(self, place: Place) -> Place | None:
        """Return the home of the topic from elsewhere that a place means; None when it means none of them."""
        return self._homes.get(place)

    def alias_of(self, home: Place) -> Alias | None:
        """Return who has the topic with this home; None: it was neither moved nor shared."""
        return self._aliases.get(home)

    def owner_of(self, home: Place) -> Place:
        """Return where the topic with this home is owned."""
        alias = self._aliases.get(home)
        return home if alias is None else alias.owner

    def shares_of(self, home: Place) -> Mapping[Place, Access]:
        """Return where the topic with this home is shared to, and how."""
        alias = self._aliases.get(home)
        return {} if alias is None else alias.shares

    def access_at(self, place: Place) -> Access | None:
        """Return what may be done at a place with the topic that it means; None when it means none."""
        home = self.home_of(place)
        if home is None:
            return None
        return Access.READ_WRITE if self.owner_of(home) == place else self.shares_of(home)[place]

    def places_of(self, home: Place) -> list[Place]:
        """Return every place that means the topic with this home, its owner first."""
        alias = self._aliases.get(home)
        return [home] if alias is None else alias.places

    # -- changes

    def move(self, source: Place, target: Place, *, keeps_name: bool = False) -> list[Change]:
        """Return the changes that give a topic another owner or name. The caller has checked that both namespaces
        exist, that the topic exists, and that no topic exists at the target.

        Args:
            source: where it is owned.
            target: where it is owned from then on. It may be one of the places that it is shared to.
            keeps_name: whether `source` becomes a place that it is shared to, to read and write.
        Raises:
            AliasRefused: the topic is not owned at `source`, the target is taken, or there are too many shares.
        """
        home = self._owned(source)
        shares = dict(self.shares_of(home))
        if shares.pop(target, None) is None:
            self._check_free(target, home)
        if keeps_name:
            shares[source] = Access.READ_WRITE
            self._check_count(source, shares)
        return self._become(home, Alias.of(target, shares))

    def share(self, source: Place, target: Place, access: Access) -> list[Change]:
        """Return the changes that show a topic at another place as well, or change what may be done there.

        The caller has checked as for `move`.

        Raises:
            AliasRefused: the topic is not owned at `source`, the target is taken, or there are too many shares.
        """
        home = self._owned(source)
        shares = {**self.shares_of(home), target: access}
        if target not in self.shares_of(home):
            self._check_free(target, home)
            self._check_count(source, shares)
        return self._become(home, Alias.of(source, shares))

    def revoke(self, source: Place, target: Place) -> list[Change]:
        """Return the changes that end a share.

        Raises:
            AliasRefused: the topic is not owned at `source`, or not shared to `target`.
        """
        home = self._owned(source)
        if target not in self.shares_of(home):
            raise AliasRefused(f"{source} is not shared to {target}")
        left = {one: access for one, access in self.shares_of(home).items() if one != target}
        return self._become(home, Alias.of(source, left))

    def _owned(self, place: Place) -> Place:
        home = self.home_of(place)
        if home is None:
            raise AliasRefused(f"{place} was moved to {self.owner_of(place)}")
        if self.owner_of(home) != place:
            raise AliasRefused(
                f"{place} is shared by {self.owner_of(home)}, which alone can move and share it"
            )
        return home

    def _check_free(self, target: Place, home: Place) -> None:
        if target == home == self.owner_of(home):
            raise AliasRefused(f"{target} is the topic itself")
        if target in self._homes or (target in self._aliases and self.home_of(target) == target):
            raise AliasRefused(f"{target} means another topic already")

    @staticmethod
    def _check_count(source: Place, shares: Mapping[Place, Access]) -> None:
        if len(shares) > MAX_SHARES:
            raise AliasRefused(f"{source} is shared {MAX_SHARES} times already")

    def _become(self, home: Place, alias: Alias) -> list[Change]:
        """Return the changes of the records of one topic."""
        assert self._versions is not None, "the table was made to decide"
        before = self._aliases.get(home, Alias(home))
        is_plain = alias.owner == home and not alias.shared
        key = StateKey(KIND, str(home))
        version = self._versions.get(key, 0)
        changes = (
            [] if is_plain and not version else [Change(key, version, None if is_plain else _body(alias))]
        )
        old = {one for one in before.places if one != home}
        new = {one for one in alias.places if one != home}
        for place in sorted(old ^ new):
            name = StateKey(NAME_KIND, str(place))
            body = {"of": str(home)} if place in new else None
            changes.append(Change(name, self._versions.get(name, 0), body))
            away = self._aliases.get(place)
            if place in new and away is not None:
                other = StateKey(KIND, str(place))
                changes.append(Change(other, self._versions[other], _body(away)))
        return changes


def _body(alias: Alias) -> Body:
    return {
        "owner": str(alias.owner),
        "shares": {str(place): str(access) for place, access in alias.shared},
    }


def read_body(body: Body) -> Alias:
    """Return the alias in a record's body.

    Raises:
        ValueError: it is none.
    """
    found = read_usual(body, read_path, Place, Alias, _ACCESS)
    if found is not None:
        return found
    owner, shares = body.get("owner"), body.get("shares")
    if not isinstance(owner, str) or not isinstance(shares, dict):
        raise ValueError("a record of an alias has an owner and shares")
    shared = [(Place.read(str(place)), Access(access)) for place, access in shares.items()]
    return Alias(Place.read(owner), tuple(shared))
