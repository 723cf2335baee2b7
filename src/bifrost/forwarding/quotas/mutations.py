"""The partitions that one request creates or deletes, charged to its client's quota (KIP-599)."""

from bifrost.filters.topics.mutation_quota import STRICT_SINCE
from bifrost.forwarding.clock import monotonic_ns
from bifrost.forwarding.quotas.budget import Budget
from bifrost.forwarding.quotas.quota import Quota


def has_permissive_quota(api_key: int, api_version: int) -> bool:
    """Whether a request changes partitions, and is too old to be refused for a quota: then it waits."""
    return api_version < STRICT_SINCE.get(api_key, 0)


class Mutations:
    """What one request is charged."""

    __slots__ = ("_deepest", "_quota", "throttle_ms")

    def __init__(self, quota: Quota) -> None:
        """Charge nothing yet."""
        self._quota = quota
        self.throttle_ms = 0
        """How long the client is told to wait, in milliseconds."""
        self._deepest: Budget | None = None

    def note_told(self) -> None:
        """Count how long the client is told to wait."""
        if self._deepest is not None and self.throttle_ms and self._quota.on_throttle is not None:
            self._quota.on_throttle(self._deepest, self.throttle_ms)

    def take(self, partitions: int, *, is_strict: bool) -> bool:
        """Charge partitions; return False, and charge nothing, if the quota is used up and `is_strict`.

        As with Kafka the last partitions before the limit may exceed it (StrictControllerMutationQuota).
        """
        now_ns, budgets = monotonic_ns(), self._quota.mutated
        is_used_up = any(budget.debt_ns(now_ns) > 0 for budget in budgets)
        if not (is_strict and is_used_up):
            for budget in budgets:
                budget.charge(partitions, now_ns)
        deepest = max(budgets, key=lambda one: one.debt_ns(now_ns))
        self.throttle_ms = max(0, -(-deepest.debt_ns(now_ns) // 1_000_000))
        self._deepest = deepest
        return not (is_strict and is_used_up)
