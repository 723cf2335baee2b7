# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Limits how many requests await their answers, and notes the time that they take.

`bifrost.forwarding.in_flight_limits` decides which connection sends next while a limit is reached, and
`bifrost.forwarding.time_budgets` what a tenant's time is worth.
"""

cimport cython

from bifrost.forwarding.clock cimport clock_ns

cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX

cdef enum:
    SLICE_NS = 4_000_000        # time for which the part of a limit that cannot be divided is one worker's

ITEM_NS = BROKER_ITEM_NS
UNLIMITED_NS = 2**62


@cython.final
cdef class Spending:
    """The loads that have spent time of the event loop since the last check, for the code that keeps the budgets."""

    def __init__(self, on_due):
        self.spenders = []
        self.on_due = on_due


@cython.final
cdef class Load:
    """How many requests await their answers: of one tenant, and in `whole` those of all.

    With `share` other processes count in the same limit. Each writes its own pair of (in flight, waiting) and reads
    all of them, so two that look at the same moment may both take the last place: together they exceed the limit
    by fewer than there are processes. While another one waits, each keeps to its part.
    """

    def __init__(self, Load whole=None, share=None):
        self.whole = whole
        self.most = PY_SSIZE_T_MAX
        self.broker_left_ns = UNLIMITED_NS
        if share is None:
            return
        memory, self.stride, self.processes, self.number = share
        self.cells = Cells(memory)
        if not (0 <= self.number < self.processes and 2 <= self.stride
                and (self.processes - 1) * self.stride + 2 <= self.cells.count):
            raise ValueError("not enough memory for every process")
        self.row = self.cells.at + self.number * self.stride
        self.row[0] = self.row[1] = 0

    @property
    def waiting(self):
        return self.waits

    @waiting.setter
    def waiting(self, Py_ssize_t count):
        self.waits = count
        if self.row != NULL:
            self.row[1] = count

    @property
    def is_full(self):
        return self.full()

    @property
    def has_room(self):
        return not self.exhausted()

    cdef bint exhausted(self) noexcept:
        """Whether the limit leaves no room here, without regard to connections that wait in this process."""
        if self.is_over_budget or self.broker_left_ns <= 0:
            return True
        if self.row == NULL or self.most == PY_SSIZE_T_MAX:
            return self.in_flight >= self.most
        cdef Py_ssize_t i, part, in_flight = 0
        cdef bint others_wait = False
        cdef int64_t* pair = self.cells.at
        for i in range(self.processes):
            in_flight += pair[0]
            if pair[1] > 0 and i != self.number:
                others_wait = True
            pair += self.stride
        if in_flight >= self.most or not others_wait:
            return in_flight >= self.most
        part = self.most // self.processes
        if clock_ns() // SLICE_NS % self.processes == self.number:
            part += self.most % self.processes
        return self.in_flight >= part

    cpdef int spend(self, int64_t ns, int64_t now_ns) except -1:
        """Note time that the tenant's messages took, or stand for."""
        if self.spending is None:
            return 0
        if not self.is_spender:
            self.is_spender = True
            self.spending.spenders.append(self)
        self.spent_ns += ns
        if now_ns >= self.spending.due_ns:
            self.spending.on_due(now_ns)
        return 0

    def take_spent(self):
        """Return what was noted, in nanoseconds, and begin anew."""
        cdef int64_t spent_ns = self.spent_ns
        self.spent_ns = 0
        self.is_spender = False
        return spent_ns

    cdef bint full(self) noexcept:
        # A connection that comes while others wait would overtake them.
        if self.waits > 0 or self.exhausted():
            return True
        return self.whole is not None and (self.whole.waits > 0 or self.whole.exhausted())

    cdef void finish(self) noexcept:
        cdef bint is_awaited = self.waits > 0
        self.count(-1)
        if self.whole is not None:
            self.whole.count(-1)
            is_awaited |= self.whole.waits > 0
        if is_awaited and self.on_room is not None:
            self.on_room()
