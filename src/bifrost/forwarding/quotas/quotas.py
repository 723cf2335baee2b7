"""The quotas in force: what each client is charged to.

    given by the operator, set by tenants ──▶ QuotaTable ──limits──▶ Budget (one for each limit and bucket) ──▶ Quota

A client's Quota is looked up by its first request, and made when the first connection needs it. A budget lives as long
as a quota is charged to it, and afterwards until its debt is paid: a client that connects again has the same one.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from weakref import WeakValueDictionary

from bifrost.forwarding.clock import monotonic_ns
from bifrost.forwarding.in_flight_limits import Again
from bifrost.forwarding.quotas.budget import Budget
from bifrost.forwarding.quotas.quota import Quota
from bifrost.forwarding.quotas.quota_turns import QuotaTurns
from bifrost.tenancy.quotas.quota_entity import QuotaEntity
from bifrost.tenancy.quotas.quota_key import QuotaKey
from bifrost.tenancy.quotas.quota_table import Bucket, QuotaLimit, QuotaTable, Values
from bifrost.tenancy.quotas.quota_tables import QuotaTables

BURST_NS = 250_000_000
"""How much of a rate may be used at once after a pause, 250 ms: any 10 s then stay within 2.5 % of the rate."""

MOST_NS = 10_000_000_000
"""The longest debt, 10 s: as long as Kafka's quota window (`quota.window.num`), and shorter than a client waits for an
answer (`request.timeout.ms`, 30 s)."""

MOST_WORK_NS = 1_000_000_000
"""The same of the time of requests, 1 s, as a broker's (ClientRequestQuotaManager.maxThrottleTimeMs)."""

MUTATION_BURST_NS, MOST_MUTATION_NS = 10_000_000_000, 3_600_000_000_000
"""The same of partitions: requests name many at once, and what KIP-599 refuses may be tried again much later."""

CONNECTION_BURST_NS = 1_000_000_000
"""The same of connections, 1 s: a client opens one to each broker."""

SWEPT_FROM = 1000
"""Budgets from which on those are forgotten that no client needs any more."""

NewMemory = Callable[[str], memoryview | None]
"""Returns the shared memory of the budget of this name; None: the process has it alone."""


def _never(delay_s: float, call: Callable[[], None]) -> None:
    raise AssertionError("without a timer no connection may have to wait")


class Quotas:
    """The quotas of all tenants, and their budgets."""

    def __init__(
        self,
        again: Again = _never,
        now_ns: Callable[[], int] = monotonic_ns,
        hits: Counter[tuple[str, str]] | None = None,
        throttled_ms: Counter[tuple[str, str]] | None = None,
        new_memory: NewMemory = lambda _name: None,
    ) -> None:
        """Begin without quotas.

        Args:
            again: calls back later; needed where there are quotas.
            now_ns: the engine's monotonic clock, in nanoseconds.
            hits: counts how often a connection had to wait, by limit and tenant.
            throttled_ms: counts how long clients were told to wait, by limit and tenant.
            new_memory: where budgets are that other processes charge as well.
        """
        self._now_ns, self._new_memory = now_ns, new_memory
        self.throttled_ms = Counter[tuple[str, str]]() if throttled_ms is None else throttled_ms
        """How long clients were told to wait, by limit and tenant."""
        self.turns = QuotaTurns(again, now_ns, Counter() if hits is None else hits)
        """The connections that wait until a debt is paid."""
        self._tables = QuotaTables()
        self._given: Mapping[str, Mapping[QuotaEntity, Values]] = {}
        self._tenants: set[str] | None = set()
        """Those that have quotas; None: that has to be asked again."""
        self._quotas: WeakValueDictionary[tuple[str, str, str | None], Quota] = WeakValueDictionary()
        self._budgets: dict[tuple[QuotaKey, Bucket], Budget] = {}
        self._sweep_at = SWEPT_FROM

    def give(self, given: Mapping[str, Mapping[QuotaEntity, Values]]) -> bool:
        """Replace what the operator gives, and return whether that changes anything.

        Args:
            given: the quotas of the entities of each namespace, by its path from the tenant on (`acme`, `acme:eu`).
        """
        before, self._given = self._given, {path: quotas for path, quotas in given.items() if quotas}
        if before == self._given:
            return False
        for path in {*before, *self._given}:
            self._tables.table(path).give(given.get(path, {}))
        self.forget()
        return True

    def use(self, tables: QuotaTables) -> None:
        """Use these tables from now on, in which tenants set quotas; call it before any are given."""
        self._tables = tables
        tables.on_change = self.forget

    def forget(self) -> None:
        """Let every connection look its client up again: limits have changed."""
        for quota in self._quotas.values():
            quota.expire()
        self._quotas.clear()
        self._tenants = None

    def quota(self, path: str, user: str, client_id: bytes | None) -> Quota:
        """Return what the requests of a client are charged to: the same object for all its connections.

        Args:
            path: of the client's namespace, from its tenant on.
            user: its user name.
            client_id: as its requests have it.
        """
        tenant = path.split(":")[0]
        if self._tenants is None:
            self._tenants = self._tables.tenants()
        if tenant not in self._tenants:
            return self._quotas.setdefault((tenant, "", None), Quota(is_of_any_client=True))
        name = "" if client_id is None else client_id.decode(errors="replace")
        is_of_any_client = not self._tells_client_ids_apart(path)
        key = (path, user, None if is_of_any_client else name)
        quota = self._quotas.get(key)
        if quota is None or not quota.is_client(client_id):
            quota = self._new_quota(path, user, name, client_id, is_of_any_client=is_of_any_client)
            self._quotas[key] = quota
        return quota

    def shares(self) -> dict[tuple[str, str], float]:
        """Return the smallest share that this gateway has of a budget, by limit and tenant: 1 is the whole."""
        found: dict[tuple[str, str], float] = {}
        for budget in tuple(self._budgets.values()):
            key = (budget.limit, budget.tenant)
            found[key] = min(found.get(key, 1.0), 1 / budget.stretch)
        return found

    def _new_quota(
        self, path: str, user: str, name: str, client_id: bytes | None, *, is_of_any_client: bool
    ) -> Quota:
        limits = self._tables.table(path).limits_of(user, name)
        tenant = path.split(":")[0]

        def budgets(key: QuotaKey) -> tuple[Budget, ...]:
            return tuple(self._budget(tenant, key, one) for one in limits.of(key))

        return Quota(
            budgets(QuotaKey.PRODUCER_BYTE_RATE),
            budgets(QuotaKey.CONSUMER_BYTE_RATE),
            budgets(QuotaKey.REQUEST_RATE),
            budgets(QuotaKey.REQUEST_PERCENTAGE),
            budgets(QuotaKey.CONTROLLER_MUTATION_RATE),
            budgets(QuotaKey.CONNECTION_CREATION_RATE),
            client_id,
            is_of_any_client,
            self._note_throttle,
        )

    def _tells_client_ids_apart(self, path: str) -> bool:
        table: QuotaTable | None = self._tables.table(path)
        while table is not None:
            if any(entity.client_id is not None for entity in (*table.given, *table.own)):
                return True
            table = table.parent
        return False

    def _budget(self, tenant: str, key: QuotaKey, limit: QuotaLimit) -> Budget:
        budget = self._budgets.get((key, limit.bucket))
        if budget is None:
            if len(self._budgets) >= self._sweep_at:
                self._sweep()
            budget = self._budgets[key, limit.bucket] = _new_budget(
                tenant, key, limit.rate, self._new_memory(f"{key} {tuple(limit.bucket)!r}")
            )
        budget.ns_per_unit = _ns_per_unit(key, limit.rate)
        return budget

    def _sweep(self) -> None:
        """Forget the budgets that no quota is charged to and that owe nothing."""
        used = {id(one) for quota in self._quotas.values() for one in quota.budgets}
        now_ns = self._now_ns()
        self._budgets = {
            key: one
            for key, one in self._budgets.items()
            if id(one) in used or one.waiting or not one.is_full(now_ns)
        }
        self._sweep_at = max(SWEPT_FROM, 2 * len(self._budgets))

    def _note_throttle(self, budget: Budget, throttle_ms: int) -> None:
        self.throttled_ms[budget.limit, budget.tenant] += throttle_ms


def _ns_per_unit(key: QuotaKey, rate: float) -> float:
    return 100 / rate if key is QuotaKey.REQUEST_PERCENTAGE else 1e9 / rate


def _new_budget(tenant: str, key: QuotaKey, rate: float, memory: memoryview | None) -> Budget:
    burst_ns, most_ns = {
        QuotaKey.REQUEST_PERCENTAGE: (BURST_NS, MOST_WORK_NS),
        QuotaKey.CONTROLLER_MUTATION_RATE: (MUTATION_BURST_NS, MOST_MUTATION_NS),
        QuotaKey.CONNECTION_CREATION_RATE: (CONNECTION_BURST_NS, MOST_NS),
    }.get(key, (BURST_NS, MOST_NS))
    return Budget(key.value, tenant, _ns_per_unit(key, rate), burst_ns, most_ns, memory)
