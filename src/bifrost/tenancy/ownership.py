"""Who owns a physical name. The only module that knows how a name shows its owner: by the prefix it begins with.

    OwnNames     the physical names of one kind (topics, groups or transactional IDs) that one namespace owns
    NameOwners   all owners on a physical cluster: which of them owns a name

That is a topic's home, where it was created. One that was moved or is shared has other owners and names, which
`namespaces.topic_aliases` knows; `names.TenantNames` asks both, and other code asks it who sees a name, and as what.

Other code compares no prefixes. Whether a tenant may see a topic that it owns is another question: `names.py`
has the allow-lists and the internal topics. The pipeline answers the same question for the journal's rows in Spark:
`bifrost.pipeline.certificates.name_owners`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

Virtual = TypeVar("Virtual", bound=bytes)
Physical = TypeVar("Physical", bound=bytes)
Owner = TypeVar("Owner")


@dataclass(frozen=True, slots=True)
class OwnNames(Generic[Virtual, Physical]):
    """The physical names of one kind that a namespace owns, and what the tenant calls them."""

    shared_prefix: bytes
    """The bytes with which all of these names begin, and no other namespace's. Not empty.

    Only for code that cannot ask about each name: the engine's `prune`, patterns that a broker matches, and error texts
    in which names are quoted. A topic that was moved or is shared begins otherwise: before `prune`, ask
    `TenantNames.topics_elsewhere`; patterns do not find it."""

    def physical(self, virtual: Virtual) -> Physical:
        """Return what the physical cluster calls a name."""
        return cast(Physical, self.shared_prefix + virtual)

    def virtual(self, physical: Physical) -> Virtual | None:
        """Return what the tenant calls a physical name; None when the namespace does not own it."""
        if not physical.startswith(self.shared_prefix):
            return None
        return cast(Virtual, physical[len(self.shared_prefix) :])

    def owns(self, physical: Physical) -> bool:
        """Whether a physical name is the namespace's."""
        return physical.startswith(self.shared_prefix)

    def owned(self, physical: Iterable[Physical]) -> list[Physical]:
        """Return those of many names that the namespace owns."""
        prefix = self.shared_prefix
        return [name for name in physical if name.startswith(prefix)]

    @property
    def first_possible_name(self) -> Physical:
        """Where to begin to read a list that a broker sorts by name: the namespace owns no lower name.

        That saves reading other tenants' names, and decides nothing: ask `owns` about each name of the list.
        """
        return cast(Physical, self.shared_prefix)

    def is_past_all(self, name: Physical) -> bool:
        """Whether a sorted list, read from `first_possible_name` on, has no more own names from this one on."""
        return not name.startswith(self.shared_prefix)


class NameOwners(Generic[Owner]):
    """All owners of physical names of one kind on a physical cluster."""

    __slots__ = ("_by_prefix", "_lengths")

    def __init__(self, owners: Iterable[tuple[OwnNames[Virtual, Physical], Owner]] = ()) -> None:
        """Take the names of each owner."""
        self._by_prefix: dict[bytes, Owner] = {}
        self._lengths: list[int] = []
        for names, owner in owners:
            self.add(names, owner)

    def add(self, names: OwnNames[Virtual, Physical], owner: Owner) -> None:
        """Add the names of an owner. The names of two owners must not overlap (`config.checks.clashes`)."""
        prefix = names.shared_prefix
        self._by_prefix[prefix] = owner
        if len(prefix) not in self._lengths:
            self._lengths = sorted([*self._lengths, len(prefix)], reverse=True)

    def owner_of(self, physical: bytes) -> Owner | None:
        """Return the owner of a physical name; None when the name has none."""
        for length in self._lengths:
            owner = self._by_prefix.get(physical[:length])
            if owner is not None:
                return owner
        return None
