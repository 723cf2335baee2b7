"""Limits each tenant's share of the event loop's time when there is not enough for all.

Kafka's request quota (KIP-124) does this for a broker's threads. The engine notes how long each tenant's messages take
(`Load.spend`). Here that is charged to a bucket of time:

    fills with    `percent` of the time that passes while the loop is busy and other tenants are active, else all of it
    holds         at most BURST_NS of that
    below zero    the tenant's connections are not read until it is filled again; clients are told by `throttle_time_ms`

So a tenant is never slowed down while it is alone or the loop has time left. A tenant that sends more than its share
while other tenants need theirs slows down only itself. What its requests cost the brokers has budgets of its own, which
are filled from here (`broker_budgets.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass

from bifrost.forwarding.broker_budgets import BrokerBudgets
from bifrost.forwarding.in_flight_limits import Again, InFlightLimits
from bifrost.forwarding.load import Load, Spending
from bifrost.forwarding.shares import Shares

LOOK_EVERY_NS = 20_000_000
"""Time between two looks, 20 ms: long enough to cost nothing, short enough that no tenant gets far beyond its share."""

LOOK_SOON_NS = 4_000_000
"""The same while a tenant waits for time at the brokers, 4 ms: what it gets then is sent at once, and others' requests
wait at the broker until that is done."""

BURST_NS = 1_000_000_000
"""A tenant may use its share of this time at once, 1 s: bursts are not slowed down."""

BUSY = 0.75
"""Part of the time that all tenants together use, above which there is not enough for all."""

OTHERS_FOR_NS = 1_000_000_000
"""How long a tenant counts as active after it spent time, 1 s: clients poll more often than that."""


@dataclass(slots=True)
class _Bucket:
    """One tenant's time."""

    percent: int
    level_ns: float
    filled_ns: int
    """When it was last filled."""


class TimeBudgets:
    """The buckets of all tenants that have spent something."""

    def __init__(
        self,
        in_flight_limits: InFlightLimits,
        again: Again,
        now_ns: Callable[[], int],
        brokers_of: Callable[[str], int] = lambda _tenant: 1,
    ) -> None:
        """Begin without limits.

        Args:
            in_flight_limits: of the tenants whose time is measured; a tenant that is over its budget waits there.
            again: calls back later, while a tenant is over its budget.
            now_ns: the engine's monotonic clock, in nanoseconds.
            brokers_of: returns the number of brokers in a tenant's cluster.
        """
        self._in_flight_limits, self._again, self._now_ns = in_flight_limits, again, now_ns
        self._shares = Shares(100)
        self._brokers = BrokerBudgets(in_flight_limits, brokers_of)
        self._buckets: dict[Load, _Bucket] = {}
        self._last_ns = self._contended_until_ns = 0
        self._last_spender: Load | None = None
        self._seen_ns = self._shared_until_ns = 0
        """Time when the last spender was seen; time until which more than one tenant counts as active."""
        self._is_waiting = False
        self._spending = Spending(self.look)
        in_flight_limits.spend_in(self._spending, self._note_short)

    def limit(self, shares: Shares, of_brokers: Shares) -> None:
        """Set the limits, or change them: tenants' shares of the loop's time, and of one core of each broker."""
        self._shares = shares
        self._brokers.limit(of_brokers)
        before, self._buckets = self._buckets, {}
        for load in before:
            load.is_over_budget = False
            self._in_flight_limits.have_turns(load)

    def look(self, now_ns: int) -> None:
        """Charge the time that was spent, and find the tenants that are over their budgets now."""
        elapsed_ns = max(1, now_ns - self._last_ns)
        self._last_ns, self._spending.due_ns = now_ns, now_ns + LOOK_EVERY_NS
        spenders, self._spending.spenders = self._spending.spenders, []
        spent = {load: load.take_spent() for load in spenders}
        self._note_spenders(spenders, now_ns)
        is_busy = sum(spent.values()) > BUSY * min(elapsed_ns, OTHERS_FOR_NS) or self._has_waiting()
        if is_busy and now_ns < self._shared_until_ns:
            self._contended_until_ns = now_ns + LOOK_EVERY_NS * 5
        self._brokers.fill(spenders, elapsed_ns, is_shared=now_ns < self._shared_until_ns)
        if self._brokers.is_short:
            self._look_again_later(LOOK_SOON_NS)
        is_contended = now_ns < self._contended_until_ns
        for load in {**spent, **self._buckets}:
            self._charge(load, spent.get(load, 0), now_ns, is_contended=is_contended)

    def _has_waiting(self) -> bool:
        """Return whether a tenant wants more than its share: the loop has time only because that tenant waits."""
        return any(load.is_over_budget and load.waiting for load in self._buckets)

    def _note_spenders(self, spenders: list[Load], now_ns: int) -> None:
        if not spenders:
            return
        is_other = self._last_spender not in (None, spenders[0]) and now_ns < self._seen_ns + OTHERS_FOR_NS
        if len(spenders) > 1 or is_other:
            self._shared_until_ns = now_ns + OTHERS_FOR_NS
        self._last_spender, self._seen_ns = spenders[-1], now_ns

    def _charge(self, load: Load, spent_ns: int, now_ns: int, *, is_contended: bool) -> None:
        bucket = self._buckets.get(load)
        if bucket is None:
            if spent_ns < LOOK_EVERY_NS // 10:
                return  # No tenant's share is so small; most tenants never have a bucket.
            percent = self._shares.of(self._in_flight_limits.tenant_of(load))
            bucket = self._buckets[load] = _Bucket(percent, BURST_NS * percent / 100, now_ns)
        rate = bucket.percent / 100 if is_contended else 1.0
        most_ns = BURST_NS * bucket.percent / 100
        level_ns = bucket.level_ns + rate * (now_ns - bucket.filled_ns)
        if load.is_over_budget and not is_contended:
            # The loop has time because this tenant was told to wait: that time is not its own to use later.
            level_ns = min(level_ns, 0)
        level_ns = min(most_ns, level_ns) - spent_ns
        # However long one message took, no tenant waits longer than its bucket takes to fill from empty.
        bucket.level_ns, bucket.filled_ns = max(level_ns, -most_ns), now_ns
        was_over, load.is_over_budget = load.is_over_budget, bucket.level_ns < 0 and bucket.percent < 100
        if load.is_over_budget:
            load.throttle_ms = int(-bucket.level_ns / rate / 1e6) + 1
            self._look_again_later()
        elif was_over:
            self._in_flight_limits.have_turns(load)
        elif bucket.level_ns >= most_ns and not spent_ns:
            del self._buckets[load]

    def _note_short(self, load: Load) -> None:
        self._brokers.note_short(load)
        self._look_again_later(LOOK_SOON_NS)

    def _look_again_later(self, delay_ns: int = LOOK_EVERY_NS) -> None:
        """Look again even if no tenant spends time: tenants that wait spend none."""
        if not self._is_waiting:
            self._is_waiting = True
            self._again(delay_ns / 1e9, self._look_again)

    def _look_again(self) -> None:
        self._is_waiting = False
        try:
            self.look(self._now_ns())
        except Exception:
            self._look_again_later(BURST_NS)  # Else tenants that wait might wait for ever.
            raise
