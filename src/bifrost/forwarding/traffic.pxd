# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Counters of a tenant's messages as the hot path adds to them."""

cimport cython
from libc.stdint cimport int64_t

from bifrost.forwarding.cells cimport Cells
from bifrost.forwarding.gateway_time cimport BOUNDS as ALL_BOUNDS

cdef enum:
    FIRST_BOUND = 3          # requests take longer than the first bounds of the gateway's own time
    BOUNDS = ALL_BOUNDS - FIRST_BOUND

    # The numbers of a Traffic, in this order.
    REQUESTS = 0
    RECEIVED = 1
    SENT = 2
    DURATION = 3
    BUCKETS = 4
    TRAFFIC = BUCKETS + BOUNDS + 1


@cython.final
cdef class Traffic:
    cdef int64_t own[TRAFFIC]
    cdef int64_t* at
    cdef Cells cells
    cdef dict known_errors
    cdef object new_cell
    cdef void finish(self, int64_t ns) noexcept
    cdef int add_errors(self, int code, bint is_own, int64_t more) except -1

    cdef inline void count_request(self, Py_ssize_t size) noexcept:
        self.at[REQUESTS] += 1
        self.at[RECEIVED] += size

    cdef inline void count_answer(self, Py_ssize_t size) noexcept:
        self.at[SENT] += size
