# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Token buckets: what the clients that share a limit may use.

    paid_ns                       when all that was charged is paid for: the only number that changes
    paid_ns - now_ns  > 0         a debt: the clients wait so long
                      <= 0        there is credit, at most `burst_ns` of the rate
    charge(units)                 paid_ns += units / rate, from at least now_ns - burst_ns on

Where several gateways have a budget together, each may use a share of the rate: what it charges takes `stretch` times as
long to pay for. Its memory then has the stretch, and adds up what was used (`used_ns`, at the whole rate).

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
        self.whole = 1.0
        self.paid_ns, self.stretching, self.using_ns = &self.own, &self.whole, NULL
        if memory is not None:
            self.cells = Cells(memory)
            if self.cells.count < 1:
                raise ValueError("not enough memory for a budget")
            self.paid_ns = self.cells.at + PAID_CELL
            if self.cells.count >= EXCHANGED_CELLS:
                self.stretching = <double*>(self.cells.at + STRETCH_CELL)
                if not self.stretching[0] >= 1:
                    self.stretching[0] = 1
                self.using_ns = self.cells.at + USED_CELL
                self.cells.at[BURST_CELL], self.cells.at[MOST_CELL] = burst_ns, most_ns

    @property
    def stretch(self):
        return self.stretching[0]

    def charge(self, double units, int64_t now_ns):
        self.take(units, now_ns)

    def debt_ns(self, int64_t now_ns):
        return self.debt_after(0, now_ns)

    def is_full(self, int64_t now_ns):
        return bifrost_load(self.paid_ns) <= now_ns - self.burst_ns

    def stretch_to(self, double stretch, int64_t now_ns):
        cdef double ratio = stretch / self.stretching[0]
        cdef int64_t seen, left, next
        if not stretch >= 1:
            raise ValueError("a share is no more than the whole")
        if ratio == 1:
            return
        self.stretching[0] = stretch
        seen = bifrost_load(self.paid_ns)
        while True:
            left = seen - now_ns
            if left > 0:
                next = now_ns + min(<int64_t>min(left * ratio, 1e18), self.most_ns)
            elif left <= -self.burst_ns and ratio > 1:
                return  # All credit that there can be.
            else:
                next = now_ns - min(<int64_t>(min(-left, self.burst_ns) * ratio), self.burst_ns)
            if bifrost_swap(self.paid_ns, &seen, next):
                return


def take_used(memory, Py_ssize_t first, Py_ssize_t count, Py_ssize_t places, int width, int64_t now_ns):
    """Return what was used of each budget in a table since the last call: see budget.pyi."""
    cdef Cells cells = Cells(memory)
    cdef int64_t* place
    cdef int64_t used, more
    cdef Py_ssize_t number, at
    if first < 0 or count < 0 or count > places or first + count + places * width > cells.count:
        raise ValueError("the table is smaller")
    found = []
    for number in range(count):
        at = cells.at[first + number]
        if at < 0 or at >= places:
            continue
        place = cells.at + first + places + at * width
        used = bifrost_load(place + 2 + USED_CELL)
        more = used - place[2 + EXCHANGED_CELLS]
        place[2 + EXCHANGED_CELLS] = used
        if more > 0 or bifrost_load(place + 2 + PAID_CELL) > now_ns:
            found.append((at, place[1], more, bifrost_load(place + 2 + PAID_CELL) - now_ns))
    return found
