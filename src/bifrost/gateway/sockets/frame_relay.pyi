"""One direction of a client's connection in compiled code: see frame_relay.pyx."""

import asyncio
from typing import Protocol

from bifrost.forwarding.forwarding import Forwarding
from bifrost.wire.framer import Framer

class Owner(Protocol):
    """A client's connection, which decides about the frames that the forwarding leaves to it."""

    def client_frames(self, frames: list[bytes | memoryview]) -> None:
        """Process frames of the client; if there are none, the framer says why it has failed."""

    def broker_frames(self, frames: list[bytes | memoryview], framer: Framer) -> None:
        """Process frames of the broker, likewise."""

    def flush(self) -> None:
        """Write what the session has for both sides, and update which side is read."""

class FrameRelay(asyncio.BufferedProtocol):
    """Relays one direction of a connection; it is the protocol of the transport that is read."""

    def __init__(
        self,
        framer: Framer,
        session: Forwarding,
        owner: Owner,
        protocol: asyncio.BufferedProtocol,
        to: asyncio.Transport,
    ) -> None:
        """Write the frames that a framer splits to a transport.

        Args:
            framer: splits what the read side sends; it may hold a part of a frame.
            session: rewrites the frames, and says which of them `owner` has to decide about.
            owner: decides about those frames, and updates which side is read.
            protocol: the read side's protocol, for all events but received bytes; `owner` itself on the client's side.
            to: transport of the side that is written to.
        """
