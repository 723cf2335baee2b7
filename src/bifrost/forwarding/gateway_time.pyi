"""How long the gateway has kept the messages of a tenant: from reading a message to having it sent on."""

TIME_BOUNDS_S: tuple[float, ...]
"""Upper bounds of the buckets that times are counted in, in seconds; one more is for those above."""

GATEWAY_TIME_CELLS: int
"""Numbers of 8 bytes that a GatewayTime counts in."""

class GatewayTime:
    """Counts how long the gateway has kept one tenant's messages.

    Args:
        memory: where to count, GATEWAY_TIME_CELLS * 8 writable bytes that another process may read; None: its own.
    Raises:
        ValueError: the memory is too small.
    """

    def __init__(self, memory: memoryview | None = None) -> None: ...
    @property
    def numbers(self) -> tuple[int, ...]:
        """For requests, then for responses: all times together in nanoseconds, and how many messages took as long as
        each of TIME_BOUNDS_S, or longer."""

    def note(self, is_response: bool, ns: int) -> None:
        """Count a message that the gateway has kept for so long."""
