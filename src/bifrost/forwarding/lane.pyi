"""Lanes: see lane.pyx."""

from typing import Any

from bifrost.forwarding.lane_names import LaneNames
from bifrost.forwarding.load import Load
from bifrost.forwarding.traffic import Traffic
from bifrost.journal.usage import Usage
from bifrost.wire.rewriting import Names

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

    def __init__(
        self, plan: Any, traffic: Traffic, load: Load, names: LaneNames, usage: Usage | None = None
    ) -> None: ...

class Awaited:
    """A request that the broker will answer, with the data of the filters when it was decoded.

    It counts in its lane's load from now on until it is finished or abandoned.
    """

    correlation_id: int
    lane: Lane
    exchange: Any

    def __init__(self, correlation_id: int, lane: Lane, exchange: Any, began_ns: int = 0) -> None:
        """Note a request that is sent now; `began_ns` is when the gateway began with it, by `monotonic_ns`."""

    def finish(self, size: int, came_ns: int = 0) -> None:
        """Count the broker's answer, `size` bytes for the client, and the time it took since this was made.

        `came_ns` is when it came, 0 for just now.
        """

    def abandon(self) -> None:
        """Stop counting it in its load, because it was answered or never will be."""
