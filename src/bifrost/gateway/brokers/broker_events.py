"""What a connection to a broker tells the client's connection that it was made for."""

from typing import Protocol

from bifrost.session.close_reason import CloseReason
from bifrost.wire.framer import Framer


class BrokerEvents(Protocol):
    """The client's side of a connection to a broker: a ClientConnection."""

    def broker_bytes_received(self, framer: Framer, nbytes: int) -> None:
        """Process `nbytes` more bytes of the broker, which are in its framer."""

    def update_reading(self) -> None:
        """Update which side is read."""

    def broker_login_due(self) -> None:
        """Send nothing more until the login at the broker is renewed (KIP-368)."""

    def end(self, reason: CloseReason, detail: str) -> None:
        """End the connection: its broker side is lost."""
