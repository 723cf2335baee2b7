"""What the requests of one client are charged to: see quota.pyx."""

from collections.abc import Callable

from bifrost.forwarding.quotas.budget import Budget

class Quota:
    """What the requests of one client are charged to.

    Args:
        produced: budgets of the bytes of its Produce requests.
        fetched: budgets of the bytes of its Fetch responses.
        requested: budgets of its requests.
        worked: budgets of the engine's time, in nanoseconds.
        mutated: budgets of the partitions that it creates and deletes (KIP-599).
        connected: budgets of new connections.
        client_id: the client ID of its requests; None: they have none.
        is_of_any_client: whether they may have any client ID.
        on_throttle: called with a budget and milliseconds when an answer tells the client to wait so long for it.
    """

    produced: tuple[Budget, ...]
    fetched: tuple[Budget, ...]
    requested: tuple[Budget, ...]
    worked: tuple[Budget, ...]
    mutated: tuple[Budget, ...]
    connected: tuple[Budget, ...]
    client_id: bytes | None
    on_throttle: Callable[[Budget, int], object] | None
    is_on: bool
    """Whether it has a budget, or client IDs have to be compared; else the engine does nothing with it."""
    mean_fetch: float
    """Bytes of the client's Fetch responses in the mean, about."""

    def __init__(
        self,
        produced: tuple[Budget, ...] = (),
        fetched: tuple[Budget, ...] = (),
        requested: tuple[Budget, ...] = (),
        worked: tuple[Budget, ...] = (),
        mutated: tuple[Budget, ...] = (),
        connected: tuple[Budget, ...] = (),
        client_id: bytes | None = None,
        is_of_any_client: bool = False,
        on_throttle: Callable[[Budget, int], object] | None = None,
    ) -> None: ...
    @property
    def budgets(self) -> tuple[Budget, ...]:
        """All of them."""

    def expire(self) -> None:
        """Be the quota of no client any more: limits have changed, and each connection looks its client up again."""

    def is_client(self, client_id: bytes | None) -> bool:
        """Whether requests with this client ID are the client's."""

    def waits_for(self, api_key: int, is_its_turn: bool = False) -> Budget | None:
        """Return the budget for which a request has to wait now; None: it need not.

        That is the one with the deepest debt, or else one for which others wait already; not the latter if
        `is_its_turn`: it has waited behind them.
        """

    def spend(self, ns: int) -> None:
        """Charge time of the engine."""
