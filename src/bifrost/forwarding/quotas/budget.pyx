# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Token buckets: what the clients that share a limit may use.

    paid_ns                       when all that was charged is paid for: the only number that changes
    paid_ns - now_ns  > 0         a debt: the clients wait so long
                      <= 0        there is credit, at most `burst_ns` of the rate
    charge(units)                 paid_ns += units / rate, from at least now_ns - burst_ns on

That is the virtual scheduling form of a token bucket (GCRA, ITU-T I.371). What is charged is known only when it has
been used, so the last request before the limit may exceed it, and its excess is a debt.
"""

cimport cython

from bifrost.forwarding.clock cimport clock_ns
from bifrost.forwarding.cells cimport Cells


@cython.final
cdef class Budget:
    """What the clients that share a limit have used, and may use."""

    def __init__(self, str limit not None, str tenant not None, double ns_per_unit, int64_t burst_ns, int64_t most_ns,
                 memory=None):
        if not ns_per_unit > 0 or burst_ns < 0 or most_ns < 0:
            raise ValueError("a budget has a rate above 0 and bounds that are not negative")
        self.limit, self.tenant = limit, tenant
        self.ns_per_unit = ns_per_unit
        self.burst_ns, self.most_ns = burst_ns, most_ns
        self.paid_ns = &self.own
        if memory is not None:
            self.cells = Cells(memory)
            if self.cells.count < 1:
                raise ValueError("not enough memory for a budget")
            self.paid_ns = self.cells.at

    def charge(self, double units, int64_t now_ns):
        self.take(units, now_ns)

    def debt_ns(self, int64_t now_ns):
        return self.debt_after(0, now_ns)

    def is_full(self, int64_t now_ns):
        return bifrost_load(self.paid_ns) <= now_ns - self.burst_ns
