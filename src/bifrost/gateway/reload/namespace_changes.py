"""Puts changes of namespaces in the state into force: names mean something else, and clients of deleted ones leave."""

from typing import ClassVar

from bifrost.gateway.reload.context import ReloadContext
from bifrost.gateway.reload.displaced import Displaced
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.namespace_tree import KIND


class NamespaceChanges:
    """The `StateModel` of a running gateway's namespaces."""

    kind: ClassVar[str] = KIND

    def __init__(self, gateway: ReloadContext) -> None:
        """Change the namespaces of `gateway`."""
        self._gateway = gateway
        self._displaced = Displaced(gateway, "namespaces")
        self._tenants: set[str] = set()
        """Whose namespaces have changed since the others were told."""

    def apply(self, key: StateKey, record: StateRecord | None) -> None:
        """Take what the state has of a namespace."""
        self._tenants.update(self._gateway.shared.virtual_clusters.namespaces.take(key, record))
        if record is None:
            self._displaced.look()

    def tell(self) -> None:
        """Let the namespaces of the tenants look their names up anew."""
        namespaces = self._gateway.shared.virtual_clusters.namespaces
        for tenant in sorted(self._tenants):
            namespaces.changed(tenant)
        self._tenants.clear()
