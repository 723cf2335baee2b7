"""Limits of the requests that await their answers: see load.pyx."""

from collections.abc import Callable

ITEM_NS: int
"""What an item of a request costs a broker, about, in nanoseconds of CPU time."""

UNLIMITED_NS: int
"""More of the brokers' time than a tenant could ever use, in nanoseconds."""

class Spending:
    """The loads that have spent time of the event loop since the last check.

    Args:
        on_due: called with the time, in nanoseconds, when a load spends time at or after `due_ns`.
    """

    spenders: list[Load]
    due_ns: int

    def __init__(self, on_due: Callable[[int], object]) -> None: ...

class Load:
    """How many requests await their answers, and the time they took: of one tenant, and in `whole` of all tenants.

    Args:
        whole: the load of all tenants.
        share: with other processes that count in the same limits: memory of pairs of 8-byte numbers, how many such
            numbers there are from one process's pair to the next, how many processes there are, and which this is.
            Two that take the last place at the same moment exceed the limit, by fewer than there are processes.
    Raises:
        ValueError: the memory is too small.
    """

    most: int
    """The limit, for all processes together."""
    on_room: Callable[[], object] | None
    """Called after an answer while a connection waits, here or in `whole`; must not raise. It is not called for room
    that another process makes: check again from time to time."""

    spending: Spending | None
    """Where spending is noted; None: nowhere."""
    is_over_budget: bool
    """Whether the tenant has used up its time: then there is no room for its requests."""
    broker_left_ns: int
    """What the tenant's requests may still cost the brokers, in nanoseconds; at 0 or below there is no room for them.
    Begins with UNLIMITED_NS."""
    throttle_ms: int
    """How long its clients are told to wait then, in milliseconds."""

    def __init__(
        self, whole: Load | None = None, share: tuple[memoryview, int, int, int] | None = None
    ) -> None: ...
    def spend(self, ns: int, now_ns: int) -> int:
        """Note time that the tenant's messages took, or stand for, in nanoseconds."""

    def take_spent(self) -> int:
        """Return what was noted since the last time, in nanoseconds."""

    @property
    def waiting(self) -> int:
        """How many connections wait for room: while there are any, no other connection gets any."""

    @waiting.setter
    def waiting(self, count: int) -> None: ...
    @property
    def has_room(self) -> bool:
        """Whether a further request is within the limit here; connections that wait in this process do not count."""

    @property
    def in_flight(self) -> int:
        """The number of requests in flight."""

    @property
    def is_full(self) -> bool:
        """Whether a further request has to wait, here or in `whole`."""
