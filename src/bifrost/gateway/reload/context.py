"""What a reload needs from the gateway whose configuration changes."""

from collections.abc import Callable
from typing import Protocol

from bifrost.config.model import Config
from bifrost.gateway.brokers.tenant_settings import TenantSettings
from bifrost.gateway.clients.client_connection import ClientConnection
from bifrost.gateway.clients.context import ClientContext
from bifrost.gateway.clients.listener import Listener
from bifrost.gateway.issuers.client_authenticators import ClientAuthenticators, Secured


class Move(Protocol):
    """A port of the operator that is open beside the old one, or the same as before."""

    def take_effect(self) -> None:
        """Use the new port, and close the old one."""

    def abandon(self) -> None:
        """Close the new port; the old one stays."""


class Movable(Protocol):
    """The operator's port, which can move."""

    async def prepare(self, config: Config) -> Move:
        """Open the port of another configuration.

        Raises:
            StartError: it cannot be bound; nothing has changed.
        """


class ReloadContext(ClientContext, Protocol):
    """The gateway whose configuration changes."""

    client_authenticators: ClientAuthenticators
    listeners: list[Listener]
    now_ms: Callable[[], int]

    @property
    def admin(self) -> Movable:
        """The operator's port."""

    def connections(self) -> tuple[ClientConnection, ...]:
        """Return the connections that are open."""

    def take_settings(self, config: Config, settings: TenantSettings, secured: Secured) -> None:
        """Use the settings of another configuration from now on."""
