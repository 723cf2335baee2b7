"""Puts moves and shares of topics in the state into force, on open connections as well."""

from collections.abc import Callable, Iterable
from typing import ClassVar

from bifrost.gateway.reload.context import ReloadContext
from bifrost.gateway.reload.displaced import Displaced
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.alias_table import KIND


class AliasChanges:
    """The `StateModel` of a running gateway's moved and shared topics."""

    kind: ClassVar[str] = KIND

    def __init__(self, gateway: ReloadContext, note: Callable[[Iterable[str]], None] | None = None) -> None:
        """Change the names of `gateway`; `note` is told the tenants whose names have changed."""
        self._gateway, self._note = gateway, note
        self._displaced = Displaced(gateway, "aliases")
        self._tenants: set[str] = set()
        """Whose names have changed since the others were told."""

    def apply(self, key: StateKey, record: StateRecord | None) -> None:
        """Take what the state has of a moved or shared topic.

        Raises:
            ValueError: the record cannot be understood.
        """
        clusters = self._gateway.shared.virtual_clusters
        assert clusters.aliases is not None, "a gateway with a state has them"
        self._tenants.update(clusters.aliases.take(key, record))

    def tell(self) -> None:
        """Let the namespaces of the tenants look their names up anew."""
        tenants = sorted(self._tenants)
        self._tenants.clear()
        if not tenants:
            return
        clusters = self._gateway.shared.virtual_clusters
        assert clusters.aliases is not None, "a gateway with a state has them"
        clusters.aliases.changed(tenants)
        if self._note is not None:
            self._note(tenants)
        if clusters.has_displaced:
            clusters.has_displaced = False
            self._displaced.look()
