"""What a connection to a broker tells the client's connection that it was made for."""

from typing import Protocol

from bifrost.session.close_reason import CloseReason
from bifrost.wire.engine import Framer


class BrokerEvents(Protocol):
    """The client's side of a connection to a broker: a ClientConnection."""

    def broker_bytes_received(self, framer: Framer, nbytes: int) -> None:
        """Take what came from the broker: `nbytes` more bytes in its framer."""

    def update_reading(self) -> None:
        """See anew whether either side is to be read."""

    def broker_login_due(self) -> None:
        """Send nothing more until the login at the broker is renewed (KIP-368)."""

    def end(self, reason: CloseReason, detail: str) -> None:
        """End, for there is no broker any more."""
