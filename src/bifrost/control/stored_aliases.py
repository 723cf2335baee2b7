"""The moved and shared topics in the state, as `bifrost control` reads them."""

from collections.abc import Sequence

from bifrost.control.backend import Backend
from bifrost.state.state_key import StateKey
from bifrost.tenancy.namespaces.alias_table import KIND, NAME_KIND, AliasTable
from bifrost.tenancy.namespaces.namespace_path import Path


class TopicsElsewhere(Exception):
    """A namespace cannot be deleted, because topics were moved out of it or into it, or are shared."""

    def __init__(self, topics: Sequence[str]) -> None:
        """Name the places."""
        self.topics = tuple(topics)
        some = ", ".join(topics[:5]) + (", ..." if len(topics) > 5 else "")
        super().__init__(f"{len(topics)} moved or shared topics have a place in it ({some})")


class StoredAliases:
    """The table of moved and shared topics, read whenever it has changed."""

    def __init__(self, backend: Backend) -> None:
        """Read them from the state of `backend`."""
        self._backend = backend
        self._table: AliasTable | None = None
        for kind in (KIND, NAME_KIND):
            backend.table.watch(kind, self._forget)

    @property
    def table(self) -> AliasTable:
        """All of them."""
        if self._table is None:
            state = self._backend.table
            self._table = AliasTable([*state.of_kind(KIND), *state.of_kind(NAME_KIND)])
        return self._table

    def check_unused(self, paths: Sequence[Path]) -> None:
        """Check that no moved or shared topic has a place in these namespaces.

        The physical name of one that was moved away still is that of its first namespace, with which it would be
        deleted.

        Raises:
            TopicsElsewhere: some have.
        """
        taken, table = set(paths), self.table
        places = {place for home in table.homes() for place in (home, *table.places_of(home))}
        found = sorted(place for place in places if place.namespace in taken)
        if found:
            raise TopicsElsewhere([str(one) for one in found])

    def _forget(self, _changed: Sequence[StateKey]) -> None:
        self._table = None
