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

    def apply(self, key: StateKey, record: StateRecord | None) -> None:
        """Take what the state has of a namespace."""
        self._gateway.shared.virtual_clusters.namespaces.apply(key, record)
        if record is None:
            self._displaced.look()
