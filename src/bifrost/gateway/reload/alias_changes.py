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

    def apply(self, key: StateKey, record: StateRecord | None) -> None:
        """Take what the state has of a moved or shared topic.

        Raises:
            ValueError: the record cannot be understood.
        """
        clusters = self._gateway.shared.virtual_clusters
        assert clusters.aliases is not None, "a gateway with a state has them"
        tenants = clusters.aliases.apply(key, record)
        if self._note is not None:
            self._note(tenants)
        if clusters.has_displaced:
            clusters.has_displaced = False
            self._displaced.look()
