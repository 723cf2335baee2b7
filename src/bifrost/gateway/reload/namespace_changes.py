"""Puts changes of namespaces in the state into force: names mean something else, and clients of deleted ones leave."""

import asyncio
from typing import ClassVar

from bifrost.gateway.clients.client_connection import ClientConnection
from bifrost.gateway.loop.sweep import visit
from bifrost.gateway.reload.context import ReloadContext
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.namespace_tree import KIND


class NamespaceChanges:
    """The `StateModel` of a running gateway's namespaces."""

    kind: ClassVar[str] = KIND

    def __init__(self, gateway: ReloadContext) -> None:
        """Change the namespaces of `gateway`."""
        self._gateway = gateway
        self._look: asyncio.Task[None] | None = None
        self._is_asked = False

    def apply(self, key: StateKey, record: StateRecord | None) -> None:
        """Take what the state has of a namespace."""
        self._gateway.shared.virtual_clusters.namespaces.apply(key, record)
        if record is None:
            self._is_asked = True
            if self._look is None:
                self._look = asyncio.get_running_loop().create_task(self._end_the_displaced())

    async def _end_the_displaced(self) -> None:
        try:
            while self._is_asked:
                self._is_asked = False
                await visit(self._gateway.connections(), _end_if_lost, "namespaces")
        finally:
            self._look = None


def _end_if_lost(connection: ClientConnection) -> None:
    lost = connection.lost_place()
    if lost is not None:
        connection.end(*lost)
