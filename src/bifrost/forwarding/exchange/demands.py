"""What a gateway wants of each budget, by what its clients have used and whether they have to wait.

A budget whose clients wait wants all that there is, and so for a second afterwards; another one what it used of late,
with room to grow. What was not used for some seconds wants nothing, and is not published.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from bifrost.forwarding.exchange.exchange_record import MAX_BUDGETS, Stake
from bifrost.forwarding.exchange.shares import WHOLE
from bifrost.forwarding.quotas.shared_budgets import Use

HUNGRY_NS = 1_000_000_000
"""How long a budget wants all after its clients last had to wait, 1 s: traffic that comes in bursts keeps its share."""

IDLE_NS = 3_000_000_000
"""After so long without use a budget wants nothing."""

SMOOTHING_NS = 1_000_000_000
"""Over about which time use is averaged."""

NEARLY_ALL = 0.95
"""A budget of whose share so much is used wants more, even if no client waits at the moment."""

ROOM, ROOM_PARTS = 1.1, WHOLE // 50
"""By how much the demand is above the use: a factor, and parts of the whole."""


@dataclass(slots=True)
class _Wish:
    """What is known of a budget in use."""

    used: float = 0.0
    """Parts of the whole rate that were used of late."""
    hungry_until_ns: int = 0
    seen_ns: int = 0


class Demands:
    """The demands of one gateway."""

    def __init__(self) -> None:
        """Want nothing."""
        self._wishes: dict[int, _Wish] = {}
        self._at_ns: int | None = None

    def note(self, uses: Iterable[tuple[Use, int]], now_ns: int) -> None:
        """Take what was used since the last call.

        Args:
            uses: of each budget, with the share in parts that it has.
            now_ns: the engine's monotonic clock.
        """
        since_ns = 0 if self._at_ns is None else now_ns - self._at_ns
        self._at_ns = now_ns
        part = min(1.0, since_ns / SMOOTHING_NS)
        for wish in self._wishes.values():
            wish.used *= 1 - part
        for use, share in uses:
            wish = self._wishes.setdefault(use.tag, _Wish())
            wish.seen_ns = now_ns
            rate = WHOLE * use.used_ns / since_ns if since_ns else 0.0
            wish.used += rate * part
            if use.debt_ns > 0 or rate >= NEARLY_ALL * share:
                wish.hungry_until_ns = now_ns + HUNGRY_NS
        for tag in [tag for tag, one in self._wishes.items() if now_ns - one.seen_ns > IDLE_NS]:
            del self._wishes[tag]

    def demand(self, tag: int, now_ns: int) -> int:
        """Return what is wanted of a budget, in parts."""
        wish = self._wishes.get(tag)
        if wish is None:
            return 0
        if now_ns < wish.hungry_until_ns:
            return WHOLE
        return min(WHOLE, int(max(0.0, wish.used) * ROOM) + ROOM_PARTS)

    def tags(self, now_ns: int) -> list[int]:
        """Return the budgets in use, those that want most first: as many as a record may have."""
        wanted = sorted(self._wishes, key=lambda tag: (-self.demand(tag, now_ns), tag))
        return wanted[:MAX_BUDGETS]

    def stakes(self, shares: dict[int, int], now_ns: int) -> dict[int, Stake]:
        """Return what the gateway publishes.

        Args:
            shares: the share that it has of each budget, in parts, by tag.
            now_ns: the engine's monotonic clock.
        """
        return {tag: Stake(self.demand(tag, now_ns), shares.get(tag, 0)) for tag in self.tags(now_ns)}
