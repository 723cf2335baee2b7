"""What routers need: of their client's connection, and of their gateway."""

from collections import Counter
from typing import Protocol

from bifrost.config.fields.limits import Limits
from bifrost.gateway.loop.paced_calls import PacedCalls
from bifrost.session.close_reason import CloseReason
from bifrost.session.shared_state import SharedState
from bifrost.wire.framer import Framer


class RoutedClient(Protocol):
    """The client's connection."""

    @property
    def tenant(self) -> str | None:
        """The client's tenant."""

    def broker_frames(self, frames: list[bytes | memoryview], framer: Framer) -> None:
        """Take answers, in the order of the requests."""

    def flush(self) -> None:
        """Write the answers that the session has for the client."""

    def update_reading(self) -> None:
        """Update which side is read."""

    def end(self, reason: CloseReason, detail: str) -> None:
        """End the connection."""


class RouteContext(Protocol):
    """The gateway of a router."""

    broker_connections: Counter[str]
    connects: PacedCalls
    limits: Limits
    shared: SharedState
