"""The operator's port while the configuration changes: it moves, comes or goes, and is never closed for a port in use.

open ──prepare──▶ old and new are open ──take_effect──▶ new
  ▲                        └──abandon──▶ old
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bifrost.config.model import Config

if TYPE_CHECKING:
    from bifrost.gateway.admin.admin_port import Admin


class AdminPlace:
    """Where the operator's port of one gateway is."""

    def __init__(self, config: Config, build: "Callable[[Config], Admin | None]") -> None:
        """Listen nowhere yet.

        Args:
            config: the configuration to start with.
            build: returns the port of a configuration, not open yet; None if it has none.
        """
        self._build = build
        self._settings = config.proxy.admin
        self.admin = build(config)
        """The port that is open; None without one."""

    async def open(self) -> None:
        """Listen.

        Raises:
            StartError: the port cannot be bound.
        """
        if self.admin is not None:
            await self.admin.open()

    async def prepare(self, config: Config) -> "AdminMove":
        """Open the port of another configuration beside the one that is open.

        Raises:
            StartError: it cannot be bound; nothing has changed.
        """
        if config.proxy.admin == self._settings:
            return AdminMove(self, config, self.admin)
        # In a thread: the first port imports the metrics, which takes a tenth of a second.
        new = await asyncio.to_thread(self._build, config)
        if new is not None:
            await new.open(self.admin)
        return AdminMove(self, config, new)

    @asynccontextmanager
    async def moved(self, config: Config) -> AsyncIterator[None]:
        """Move to the port of another configuration at the end of the block, unless the block raises an exception.

        Raises:
            StartError: the port cannot be bound; nothing has changed.
        """
        move = await self.prepare(config)
        try:
            yield
        except BaseException:
            move.abandon()
            raise
        move.take_effect()

    def close(self) -> None:
        """Stop listening."""
        if self.admin is not None:
            self.admin.close()


class AdminMove:
    """A port that is open, and is not the gateway's yet."""

    def __init__(self, place: AdminPlace, config: Config, new: "Admin | None") -> None:
        """Take the port of `config`; the same as before if it has not changed."""
        self._place, self._config, self._new = place, config, new

    def take_effect(self) -> None:
        """Use the new port, and close the old one."""
        place = self._place
        if self._new is not place.admin:
            place.close()
        place.admin, place._settings = self._new, self._config.proxy.admin

    def abandon(self) -> None:
        """Close the new port; the old one stays."""
        if self._new is not None and self._new is not self._place.admin:
            self._new.close()
