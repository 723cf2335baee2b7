# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The gateway's own time, as the hot path adds to it."""

cimport cython
from libc.stdint cimport int64_t

from bifrost.forwarding.cells cimport Cells

cdef enum:
    BOUNDS = 20

    # The numbers of each direction, in this order.
    TOTAL = 0
    BUCKETS = 1
    DIRECTION = BUCKETS + BOUNDS + 1

cdef int bucket(int64_t ns, int first) noexcept


@cython.final
cdef class GatewayTime:
    cdef int64_t own[2 * DIRECTION]
    cdef int64_t* at
    cdef Cells cells
    cdef void add(self, bint is_response, int64_t ns, int64_t messages) noexcept
