# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Loads as the hot path asks and counts them."""

cimport cython
from libc.stdint cimport int64_t

from bifrost.forwarding.cells cimport Cells

cdef enum:
    BROKER_ITEM_NS = 3000    # what an item of a request costs a broker, about (bench/broker_costs.py)


@cython.final
cdef class Spending:
    cdef public list spenders
    cdef public int64_t due_ns
    cdef public object on_due


@cython.final
cdef class Load:
    cdef readonly Py_ssize_t in_flight
    cdef Py_ssize_t waits
    cdef public Py_ssize_t most
    cdef public object on_room
    cdef public Spending spending
    cdef int64_t spent_ns
    cdef bint is_spender
    cdef public int throttle_ms
    cdef public bint is_over_budget
    cdef public int64_t broker_left_ns
    cdef int64_t turn                # of the event loop, in which connections of the tenant were last read
    cdef Py_ssize_t turn_bytes       # read in it
    cdef Load whole
    cdef Cells cells
    cdef int64_t* row
    cdef Py_ssize_t stride, processes, number
    cdef bint exhausted(self) noexcept
    cpdef int spend(self, int64_t ns, int64_t now_ns) except -1
    cdef bint full(self) noexcept
    cdef void finish(self) noexcept

    cdef inline void count(self, Py_ssize_t more) noexcept:
        self.in_flight += more
        if self.row != NULL:
            self.row[0] = self.in_flight

    cdef inline void begin(self) noexcept:
        self.count(1)
        if self.whole is not None:
            self.whole.count(1)
