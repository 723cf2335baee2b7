"""One direction of a client's connection in compiled code: see leg.pyx."""

import asyncio
from typing import Protocol

from bifrost.wire.engine import Forwarding, Framer

class Owner(Protocol):
    """A client's connection, which decides what the forwarding does not."""

    @property
    def is_reading(self) -> bool:
        """Whether both sides are read."""

    def client_frames(self, frames: list[bytes | memoryview]) -> None:
        """Take frames of the client; if there are none, the framer says why it has failed."""

    def broker_frames(self, frames: list[bytes | memoryview], framer: Framer) -> None:
        """Take frames of the broker, likewise."""

    def flush(self) -> None:
        """Write what the session has, and see who is to be read."""

class FrameRelay(asyncio.BufferedProtocol):
    """From one side of a connection to the other; the protocol of the transport that is read."""

    def __init__(
        self,
        framer: Framer,
        session: Forwarding,
        owner: Owner,
        protocol: asyncio.BufferedProtocol,
        to: asyncio.Transport,
    ) -> None:
        """Carry what a framer splits to a transport.

        Args:
            framer: of the side that is read; it may hold a part of a frame.
            session: has the frames rewritten, and says which of them have to be decided about.
            owner: decides then, and is told when it has to look who is to be read.
            protocol: of the side that is read, for all but what is received; `owner` itself on the client's side.
            to: the transport of the side that is written to.
        """
