# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Budgets as the hot path charges them."""

cimport cython
from libc.stdint cimport int64_t

from bifrost.forwarding.cells cimport Cells

cdef extern from *:
    """
    #include <stdint.h>
    static inline int64_t bifrost_load(int64_t* at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
    static inline int bifrost_swap(int64_t* at, int64_t* seen, int64_t next) {
        return __atomic_compare_exchange_n(at, seen, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    static inline void bifrost_add(int64_t* at, int64_t more) { __atomic_fetch_add(at, more, __ATOMIC_RELAXED); }
    """
    int64_t bifrost_load(int64_t* at) noexcept nogil
    bint bifrost_swap(int64_t* at, int64_t* seen, int64_t next) noexcept nogil
    void bifrost_add(int64_t* at, int64_t more) noexcept nogil

cdef enum:
    # The memory of a budget that gateways share, in numbers of 8 bytes; the first is the memory of every other one.
    PAID_CELL = 0
    STRETCH_CELL = 1
    USED_CELL = 2
    BURST_CELL = 3
    MOST_CELL = 4
    EXCHANGED_CELLS = 5


@cython.final
cdef class Budget:
    cdef readonly str limit, tenant
    cdef public double ns_per_unit
    cdef readonly int64_t burst_ns, most_ns
    cdef public Py_ssize_t waiting
    cdef int64_t own
    cdef double whole
    cdef int64_t* paid_ns
    cdef double* stretching
    cdef int64_t* using_ns      # NULL: what is used is not counted
    cdef Cells cells

    cdef inline int64_t cost_ns(self, double units) noexcept:
        """How long the rate takes to allow so much; no more than fits into the number, beyond every bound."""
        return <int64_t>max(-1e18, min(units * self.ns_per_unit * self.stretching[0], 1e18))

    cdef inline int64_t debt_after(self, double units, int64_t now_ns) noexcept:
        """How long it would take to pay for all, in nanoseconds, once so much was charged; 0 or less: it is paid."""
        cdef int64_t paid_ns = max(bifrost_load(self.paid_ns), now_ns - self.burst_ns)
        return min(paid_ns + self.cost_ns(units) - now_ns, self.most_ns)

    cdef inline void take(self, double units, int64_t now_ns) noexcept:
        """Charge so much; below 0 it is given back."""
        cdef int64_t seen = bifrost_load(self.paid_ns), next
        cdef int64_t cost_ns = self.cost_ns(units)
        while True:
            next = min(max(seen, now_ns - self.burst_ns) + cost_ns, now_ns + self.most_ns)
            if bifrost_swap(self.paid_ns, &seen, next):
                break
        if self.using_ns != NULL:
            bifrost_add(self.using_ns, <int64_t>max(-1e15, min(units * self.ns_per_unit, 1e15)))
