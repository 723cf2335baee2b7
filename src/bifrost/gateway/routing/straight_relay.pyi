"""The compiled sides of a router: see straight_relay.pyx."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from bifrost.forwarding.forwarding import Forwarding
from bifrost.gateway.brokers.broker_connection import BrokerConnection
from bifrost.gateway.routing.broker_link import BrokerLink
from bifrost.gateway.routing.context import RoutedClient
from bifrost.gateway.routing.request import Request
from bifrost.gateway.routing.router import Turn
from bifrost.gateway.sockets.socket_transport import SocketTransport
from bifrost.routes.split_request import SentPart, SplitRequest
from bifrost.routes.straight import StraightRequest
from bifrost.wire.framer import Framer

Buffer = bytes | memoryview

class StraightLink:
    """What a router's connection to a broker is to straight requests; the rest of it is `BrokerLink`."""

    connection: BrokerConnection | None
    """The connection, once it is made and logged in."""
    task: asyncio.Task[None] | None
    """What connects, or logs in again: nothing is sent meanwhile."""
    timer: asyncio.TimerHandle | None
    """Set while something is awaited, or waits to be sent."""
    looks_s: float
    """When it looks at these, by the loop's time."""
    awaited: deque[Any]
    """What the broker has still to answer, in order: who gets the answer, and until when, by the loop's time."""
    unsent: deque[Any]
    """What is not sent yet, in order."""
    waits_unanswered: bool
    """Whether requests that the broker does not answer may wait to be written."""
    has_unanswered: bool
    """Whether the broker was sent such requests."""

    def __init__(self) -> None:
        """Begin without a connection."""

    def is_open(self) -> bool:
        """Whether something can be written now."""

    def is_ready(self) -> bool:
        """Whether what is sent now leaves at once, and behind all that was sent before."""

class StraightRouter:
    """What a router is to straight requests and their answers; the rest of it is `Router`.

    Args:
        client: gets the answers.
        session: the client's, which rewrites them.
        read: `StraightRoutes.read` of the cluster.
        waiting: has the tenants whose requests wait to be routed.
        loop: the event loop.
    """

    turns: deque[Turn | StraightRequest | SplitRequest]
    """The requests that await an answer, in order, and those whose answer waits for others."""
    held: deque[Request]
    """Requests that wait for a look-up."""
    fresh: deque[list[Buffer]]
    """Frames that wait to be routed, behind those."""
    links: dict[int, BrokerLink]
    """The links for requests, but for long polls, by the brokers' node IDs."""
    to: SocketTransport | None
    """The client's transport, into which answers go without Python; None: the client writes them."""
    is_closed: bool
    """Whether the client's connection is over."""

    def __init__(
        self,
        client: RoutedClient,
        session: Forwarding,
        read: Callable[[list[Buffer], int], StraightRequest | SplitRequest | None],
        waiting: dict[str | None, Any],
        loop: asyncio.AbstractEventLoop,
    ) -> None: ...
    def receive(self, segments: list[Buffer]) -> None:
        """Send whole frames of requests on.

        What is answered at once is given back later: the session still writes.

        Args:
            segments: the frames, with their lengths; the list stays the caller's.
        """

    def send_straight(self, straight: StraightRequest) -> None:
        """Send a request to the one broker that leads its partitions."""

    def send_split(self, whole: SplitRequest, elsewhere: int) -> None:
        """Send each broker its part of a request.

        Args:
            whole: the request.
            elsewhere: the broker that gets a request without partitions.
        """

    def take_part(self, part: SentPart, frame: Buffer | None, may_be_done: bool) -> bool:
        """Take the answer of a broker to its part; return whether the request is answered now.

        After the last one it is, or in another turn of the loop if it has very many partitions.

        Args:
            part: what awaits it.
            frame: the answer, in memory that stays as it is; None: it is lost.
            may_be_done: whether the broker may have had the part.
        """

    def deliver(self) -> None:
        """Give the client the answers that are next, unless more of them come at once."""

    def begin_batch(self) -> bool:
        """Let answers wait until `end_batch`, so that the client gets them in one write; False: they do already."""

    def end_batch(self) -> None:
        """Give the answers that have waited."""

class StraightRelay(asyncio.BufferedProtocol):
    """Relays what a broker answers.

    Args:
        framer: splits what the broker sends.
        router: gives the answers to the client.
        link: the connection's link; decides about the answers that the relay leaves to Python.
        protocol: the broker's connection, which is told of everything but bytes.
    """

    def __init__(
        self, framer: Framer, router: StraightRouter, link: StraightLink, protocol: BrokerConnection
    ) -> None: ...
