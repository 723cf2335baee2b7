"""Ends the connections of clients that have lost their place, some time after the state says so."""

import asyncio

from bifrost.gateway.clients.client_connection import ClientConnection
from bifrost.gateway.loop.sweep import visit
from bifrost.gateway.reload.context import ReloadContext


class Displaced:
    """Looks at all connections, one look after the other."""

    def __init__(self, gateway: ReloadContext, name: str) -> None:
        """Look at the connections of `gateway`; `name` says why, for the log."""
        self._gateway, self._name = gateway, name
        self._look: asyncio.Task[None] | None = None
        self._is_asked = False

    def look(self) -> None:
        """Look at all of them soon: some may have lost their place."""
        self._is_asked = True
        if self._look is None:
            self._look = asyncio.get_running_loop().create_task(self._end_them())

    async def _end_them(self) -> None:
        try:
            while self._is_asked:
                self._is_asked = False
                await visit(self._gateway.connections(), _end_if_lost, self._name)
        finally:
            self._look = None


def _end_if_lost(connection: ClientConnection) -> None:
    lost = connection.lost_place()
    if lost is not None:
        connection.end(*lost)
