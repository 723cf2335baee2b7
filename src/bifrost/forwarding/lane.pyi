"""Lanes: see lane.pyx."""

from enum import IntEnum
from typing import Any

from bifrost.forwarding.lane_names import LaneNames
from bifrost.forwarding.load import Load
from bifrost.forwarding.traffic import Traffic
from bifrost.journal.usage import Usage
from bifrost.tenancy.broker_state.kept_entries import KeptEntries
from bifrost.wire.rewriting import Names, RecordTrip

class Reason(IntEnum):
    """Whether a message is sent on as it is, or why not. What is no member means: it is not sent on."""

    PASSES = 1
    """It is sent on, or may be."""
    HELD = 2
    """Others come first: an authentication, messages that are held, or too many that await their answers."""
    NO_LANE = 3
    """The session has no lane for requests of this API, version and client ID yet, or treats each of them itself."""
    NO_ROOM = 4
    """A limit of requests that await their answers is reached: the tenant's, or that of all tenants."""
    UNUSUAL_HEADER = 5
    """The header has tagged fields, no room for the tenant's prefix, or nothing behind it."""
    FOR_FILTERS = 6
    """Filters have to see the message, so it is decoded."""
    UNANSWERED = 7
    """A Produce with acks=0: it is sent on, but no answer is awaited."""
    LOST_SESSION = 8
    """A Fetch that goes on with a fetch session that is not the namespace's own."""
    NOT_IN_PLACE = 9
    """It cannot be changed where it stands: it has an unknown name, an unusual field, or too many items."""
    NOT_AWAITED = 10
    """A response to no request, or not to the one that is to be answered next."""
    KEPT = 11
    """The session kept something with the request, which it needs for the response."""
    NEW_SESSION = 12
    """A Fetch response with a fetch session that is not known to be the namespace's own."""
    OVER_BUDGET = 13
    """The tenant has used up its time, or the client its quota: if the response has a place for it, the client is told
    to wait."""
    OVER_QUOTA = 14
    """The client has used up a quota, or others wait for it: the request is held until the debt is paid."""
    PART = 15
    """A response to one of several requests that one became (virtual partitions): it is kept; if it is the last one, it
    goes back with those that were kept."""

class Lane:
    """How one tenant's messages of one API and version are treated, which names they get, and where they are counted.

    With a `usage` it is for one client only, whose requests are also counted there.
    """

    plan: Any
    traffic: Traffic
    load: Load
    usage: Usage | None
    to_physical: Names
    """The names in requests."""
    to_virtual: Names
    """The names in answers."""
    client_id_prefix: bytes | None
    """The prefix that the broker sees before the client ID of each request; None: no prefix."""
    kept: KeptEntries | None
    """What requests make brokers keep; None: its number is not bounded."""

    def __init__(
        self, plan: Any, traffic: Traffic, load: Load, names: LaneNames, usage: Usage | None = None
    ) -> None: ...
    def admits(self, frame: bytes | memoryview, start: int) -> bool:
        """Whether brokers may keep what a request, whose body begins at `start`, makes them keep but its client ID.

        Raises:
            MalformedFrame: the request cannot be read.
        """

    def fail(self, code: int, times: int) -> int:
        """Count an error code that stands so often in a broker's answer, and charge the tenant what it cost."""

class Awaited:
    """A request that the broker will answer, with the data of the filters when it was decoded.

    It counts in its lane's load from now on until it is finished or abandoned.
    """

    correlation_id: int
    lane: Lane
    exchange: Any
    trip: RecordTrip | None
    """What the request's way keeps for the answer; None: it took none with places."""
    is_part: bool
    """Whether it is one of several requests that one became, and not the last of these."""
    charged: int
    """What a quota was charged for the answer when the request was sent."""

    def __init__(
        self, correlation_id: int, lane: Lane, exchange: Any, began_ns: int = 0, read_ns: int = 0
    ) -> None:
        """Note a request that is sent now.

        Args:
            correlation_id: of the request.
            lane: along which it is sent.
            exchange: the data of the filters, or None.
            began_ns: when the gateway began to work on it, by `monotonic_ns`; 0 for just now.
            read_ns: when it was read; 0 for when the gateway began to work on it.
        """

    def finish(self, size: int, came_ns: int = 0) -> None:
        """Count the broker's answer, `size` bytes for the client, and the time it took since it was read.

        `came_ns` is when it came, 0 for just now.
        """

    def abandon(self) -> None:
        """Stop counting it in its load, because it was answered or never will be."""

class AwaitedQueue:
    """What one connection awaits, in the order of its requests: each an Awaited, or an answer of the gateway's own.

    As far as it goes it is a deque.
    """

    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> Awaited | bytes:
        """Return what is first (0), or behind it; IndexError: nothing is there."""

    def append(self, one: Awaited | bytes) -> int:
        """Put it behind all others."""

    def popleft(self) -> Awaited | bytes:
        """Remove what is first; IndexError: nothing is awaited."""
