"""What one connection may cost before it has authenticated: requests, bytes and CPU time, each in total.

Kafka's clients need fewer than ten requests and, with a large Kerberos ticket, some 100 KiB. The limits of single
frames and of time are elsewhere; this bounds the sum of many frames that are within those.
"""

from bifrost.authentication.address_costs import Cost
from bifrost.config.fields.limits import Limits
from bifrost.session.close_reason import CloseReason, SessionEnded


class UnauthenticatedBudget:
    """The budget of one connection."""

    __slots__ = ("_cpu_ns", "_limits", "_nbytes", "_requests")

    def __init__(self, limits: Limits) -> None:
        """Start with the whole budget."""
        self._limits = limits
        self._requests = self._nbytes = self._cpu_ns = 0

    @property
    def requests_left(self) -> int:
        """Number of requests that the client may still send."""
        return max(0, self._limits.max_unauthenticated_requests - self._requests)

    @property
    def bytes_left(self) -> int:
        """Number of bytes that the client may still send."""
        return max(0, self._limits.max_unauthenticated_bytes - self._nbytes)

    def spend(self, cost: Cost) -> None:
        """Count a cost.

        Raises:
            SessionEnded: the connection has exceeded its budget.
        """
        limits = self._limits
        self._requests += cost.requests
        self._nbytes += cost.nbytes
        self._cpu_ns += cost.cpu_ns
        if self._requests > limits.max_unauthenticated_requests:
            detail = f"more than {limits.max_unauthenticated_requests} requests before authentication"
            raise SessionEnded(CloseReason.UNAUTHENTICATED_REQUESTS, detail)
        if self._nbytes > limits.max_unauthenticated_bytes:
            detail = f"more than {limits.max_unauthenticated_bytes} bytes before authentication"
            raise SessionEnded(CloseReason.UNAUTHENTICATED_BYTES, detail)
        if self._cpu_ns > limits.max_unauthenticated_cpu_ms * 1_000_000:
            detail = f"more than {limits.max_unauthenticated_cpu_ms} ms of CPU before authentication"
            raise SessionEnded(CloseReason.UNAUTHENTICATED_CPU, detail)
