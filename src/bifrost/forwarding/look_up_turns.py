"""Gives tenants turns to have topic IDs looked up, and limits how often each tenant gets one.

A look-up makes a broker work for a request that any client can send, with IDs that it made up. So look-ups have
budgets: one for each tenant and one for all of them, token buckets whose unit is a small request to a broker. A tenant
that has spent its budget waits until it fills up again; meanwhile the other tenants have turns, one step of a look-up
each.

A connection needs no budget of its own: it waits for one look-up at a time and is not read meanwhile, and one look-up
serves all connections of its tenant that wait (gateway/brokers/topic_look_ups.py).
"""

from collections import OrderedDict

LOOK_UPS_LIMIT = "topic_id_look_ups"
"""The name of a tenant's budget in the metrics, beside the settings that are limits."""

TENANT_PER_S, TENANT_BURST = 50.0, 100.0
"""The budget of one tenant, in small requests per second and at once. A tenant whose budget is spent waits 20 ms for a
turn, and the turn serves all its connections; 50 small requests per second are less than 1 % of a broker's time."""

ALL_PER_S, ALL_BURST = 500.0, 500.0
"""The budget of all tenants together: as much as ten tenants use that never stop."""

LISTING_COST = 5.0
"""Cost of one page of a listing, in small requests: to find its first topic a broker goes through all its topics."""


class TokenBucket:
    """A budget that fills up at a constant rate."""

    __slots__ = ("_at_ms", "_burst", "_left", "_per_ms")

    def __init__(self, per_s: float, burst: float) -> None:
        """Start full.

        Args:
            per_s: tokens that the bucket gets in a second.
            burst: tokens that the bucket holds at most.
        """
        self._per_ms, self._burst = per_s / 1000, burst
        self._left, self._at_ms = burst, 0

    def wait_ms(self, now_ms: int) -> int:
        """Return the time until the bucket has a token, 0 if it has one now."""
        self._fill(now_ms)
        return 0 if self._left > 0 else int(-self._left / self._per_ms) + 1

    def charge(self, tokens: float, now_ms: int) -> None:
        """Take tokens out; the level may fall below zero."""
        self._fill(now_ms)
        self._left -= tokens

    def _fill(self, now_ms: int) -> None:
        self._left = min(self._burst, self._left + max(0, now_ms - self._at_ms) * self._per_ms)
        self._at_ms = max(self._at_ms, now_ms)


class LookUpTurns:
    """The tenants of one physical cluster that wait for a step of a look-up, in the order of their turns."""

    def __init__(self, workers: int = 1) -> None:
        """Start with full budgets, divided evenly among `workers` processes."""
        self._workers = workers
        self._all = TokenBucket(ALL_PER_S / workers, ALL_BURST / workers)
        self._budgets: dict[str, TokenBucket] = {}  # As many as the configuration has tenants.
        self._waiting: OrderedDict[str, None] = OrderedDict()

    def enter(self, tenant: str, now_ms: int) -> bool:
        """Queue a tenant for a turn, behind the others; return whether its budget lets it have one now."""
        self._waiting.setdefault(tenant)
        return self._budget(tenant).wait_ms(now_ms) == 0

    def take(self, now_ms: int) -> str | None:
        """Remove and return the tenant whose turn it is; None while no tenant may have one."""
        if self._all.wait_ms(now_ms):
            return None
        for tenant in self._waiting:
            if not self._budget(tenant).wait_ms(now_ms):
                del self._waiting[tenant]
                return tenant
        return None

    def wait_ms(self, now_ms: int) -> int | None:
        """Return the time until a tenant may have a turn; None while no tenant waits."""
        if not self._waiting:
            return None
        first = min(self._budget(tenant).wait_ms(now_ms) for tenant in self._waiting)
        return max(first, self._all.wait_ms(now_ms))

    def charge(self, tenant: str, cost: float, now_ms: int) -> None:
        """Charge a step to the tenant's budget and to that of all; `cost` is in small requests."""
        self._all.charge(cost, now_ms)
        self._budget(tenant).charge(cost, now_ms)

    def clear(self) -> None:
        """Remove all tenants from the queue."""
        self._waiting.clear()

    def _budget(self, tenant: str) -> TokenBucket:
        found = self._budgets.get(tenant)
        if found is None:
            found = TokenBucket(TENANT_PER_S / self._workers, TENANT_BURST / self._workers)
            self._budgets[tenant] = found
        return found
