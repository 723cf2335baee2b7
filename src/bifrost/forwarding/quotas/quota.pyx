# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What the requests of one client are charged to, and how long it waits.

    a request comes     one of `requested`; a Produce its bytes of `produced`; a Fetch what its answer will about have
    the engine worked   its time of `worked`
    a Fetch's answer    its bytes of `fetched`, less what was charged before

A Produce waits for debts of `produced`, a Fetch for those of `fetched`, and every request for the other two. So does its
connection, which is not read, as a broker mutes one (Kafka's ClientQuotaManager, KIP-13, KIP-124, KIP-219).
"""

cimport cython
from cpython.bytes cimport PyBytes_CheckExact

from bifrost.forwarding.clock cimport clock_ns
from bifrost.forwarding.quotas.budget cimport Budget

from bifrost.wire.api_keys import ApiKey

cdef enum:
    MEAN_OF = 4     # answers in the mean, about
    TOLD_NS = 1_000_000_000
    # The longest wait that is told where this gateway has a share of the budget, 1 s: the share may grow meanwhile. The
    # connection is not read until all is paid.

cdef int PRODUCE_KEY = ApiKey.PRODUCE
cdef int FETCH_KEY = ApiKey.FETCH


cdef int kind_of(int api_key) noexcept:
    """What requests of an API are for quotas."""
    return PRODUCE if api_key == PRODUCE_KEY else FETCH if api_key == FETCH_KEY else OTHER

cdef Budget deeper(tuple budgets, Budget deepest, double units, int64_t now_ns):
    """The one with the deepest debt of these and `deepest`, once so much is charged to each of these."""
    cdef Budget one
    for item in budgets:
        one = <Budget>item
        if one.debt_after(units, now_ns) > 0 and (
                deepest is None or one.debt_after(units, now_ns) > deepest.debt_after(0, now_ns)):
            deepest = one
    return deepest

cdef Budget queued(tuple budgets, Budget found):
    """One for which others wait already."""
    if found is None:
        for item in budgets:
            if (<Budget>item).waiting > 0:
                return <Budget>item
    return found

cdef void charge_all(tuple budgets, double units, int64_t now_ns) noexcept:
    for item in budgets:
        (<Budget>item).take(units, now_ns)


@cython.final
cdef class Quota:
    """What the requests of one client are charged to."""

    def __init__(self, tuple produced=(), tuple fetched=(), tuple requested=(), tuple worked=(), tuple mutated=(),
                 tuple connected=(), client_id=None, bint is_of_any_client=False, on_throttle=None):
        if client_id is not None and not PyBytes_CheckExact(client_id):
            raise TypeError("a client ID is bytes")
        self.produced, self.fetched, self.requested, self.worked = produced, fetched, requested, worked
        self.mutated, self.connected = mutated, connected
        self.client_id = client_id
        self.is_of_any_client = is_of_any_client
        self.on_throttle = on_throttle
        if not all([isinstance(one, Budget) for one in self.budgets]):
            raise TypeError("a quota is charged to budgets")
        self.is_on = len(self.budgets) > 0 or not is_of_any_client

    def expire(self):
        self.is_on = self.is_stale = True

    @property
    def budgets(self):
        return self.produced + self.fetched + self.requested + self.worked + self.mutated + self.connected

    def is_client(self, client_id):
        return not self.is_stale and (self.is_of_any_client or client_id == self.client_id)

    def waits_for(self, int api_key, bint is_its_turn=False):
        cdef int64_t now_ns = clock_ns()
        cdef int kind = kind_of(api_key)
        return self.debtor(kind, now_ns) if is_its_turn else self.owed(kind, now_ns)

    def spend(self, int64_t ns):
        self.work(ns, clock_ns())

    cdef Budget debtor(self, int kind, int64_t now_ns):
        cdef Budget found = deeper(self.worked, deeper(self.requested, None, 0, now_ns), 0, now_ns)
        if kind == PRODUCE:
            found = deeper(self.produced, found, 0, now_ns)
        elif kind == FETCH:
            found = deeper(self.fetched, found, 0, now_ns)
        return found

    cdef Budget owed(self, int kind, int64_t now_ns):
        """The budget for which a request of this kind has to wait now; None: it need not."""
        cdef Budget found = self.debtor(kind, now_ns)
        if found is None:
            found = queued(self.worked, queued(self.requested, None))
            if kind == PRODUCE:
                found = queued(self.produced, found)
            elif kind == FETCH:
                found = queued(self.fetched, found)
        return found

    cdef void work(self, int64_t ns, int64_t now_ns) noexcept:
        """Charge time of the engine."""
        charge_all(self.worked, ns, now_ns)

    cdef int64_t begin(self, int kind, Py_ssize_t size, int64_t now_ns) noexcept:
        """Charge a request of so many bytes; return what was charged for its answer."""
        charge_all(self.requested, 1, now_ns)
        if kind == PRODUCE:
            charge_all(self.produced, size, now_ns)
        elif kind == FETCH and self.fetched:
            charge_all(self.fetched, <int64_t>self.mean_fetch, now_ns)
            return <int64_t>self.mean_fetch
        return 0

    cdef void end(self, int kind, Py_ssize_t size, int64_t charged, int64_t now_ns) noexcept:
        """Charge the answer to a request, for which so much was charged before."""
        if kind == FETCH and self.fetched:
            charge_all(self.fetched, size - charged, now_ns)
            self.mean_fetch += (size - self.mean_fetch) / MEAN_OF

    cdef int32_t throttle(self, int kind, Py_ssize_t size, int64_t charged, int64_t now_ns) except -1:
        """How long the client is told to wait, in milliseconds, by the answer that comes to `end` next."""
        cdef Budget found = deeper(self.worked, deeper(self.requested, None, 0, now_ns), 0, now_ns)
        cdef int64_t debt_ns
        if kind == PRODUCE:
            found = deeper(self.produced, found, 0, now_ns)
        debt_ns = 0 if found is None else found.debt_after(0, now_ns)
        if kind == FETCH:
            for item in self.fetched:
                if (<Budget>item).debt_after(size - charged, now_ns) > debt_ns:
                    found = <Budget>item
                    debt_ns = found.debt_after(size - charged, now_ns)
        if found is None or debt_ns < 1_000_000:
            return 0
        self.deepest = found
        if found.stretching[0] > 1:
            debt_ns = min(debt_ns, TOLD_NS)
        return <int32_t>(debt_ns // 1_000_000)

    cdef int tell(self, int32_t throttle_ms) except -1:
        """Note that the client was told to wait so long, which `throttle` has said last."""
        if self.on_throttle is not None:
            self.on_throttle(self.deepest, throttle_ms)
        return 0
