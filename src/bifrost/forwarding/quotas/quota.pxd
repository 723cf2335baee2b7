# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Quotas as the hot path charges them."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcmp

from bifrost.forwarding.quotas.budget cimport Budget
from bifrost.wire.reader cimport be16

cdef enum:
    # What a request is for quotas.
    OTHER = 0
    PRODUCE = 1
    FETCH = 2

cdef int kind_of(int api_key) noexcept


@cython.final
cdef class Quota:
    cdef readonly tuple produced, fetched, requested, worked, mutated, connected
    cdef readonly object client_id
    cdef bint is_of_any_client, is_stale
    cdef readonly bint is_on      # whether there is anything to charge or to compare
    cdef object __weakref__
    cdef readonly double mean_fetch
    cdef readonly object on_throttle
    cdef Budget deepest
    cdef Budget owed(self, int kind, int64_t now_ns)
    cdef int tell(self, int32_t throttle_ms) except -1
    cdef void work(self, int64_t ns, int64_t now_ns) noexcept
    cdef int64_t begin(self, int kind, Py_ssize_t size, int64_t now_ns) noexcept
    cdef void end(self, int kind, Py_ssize_t size, int64_t charged, int64_t now_ns) noexcept
    cdef Budget debtor(self, int kind, int64_t now_ns)
    cdef int32_t throttle(self, int kind, Py_ssize_t size, int64_t charged, int64_t now_ns) except -1

    cdef inline bint is_of(self, const uint8_t* header, Py_ssize_t size) noexcept:
        """Whether a request with this header is the client's; its fixed part is there."""
        cdef int length
        if self.is_of_any_client or self.is_stale:
            return not self.is_stale
        length = <int16_t>be16(header + 8)
        if length < 0 or self.client_id is None:
            return length < 0 and self.client_id is None
        return (length == PyBytes_GET_SIZE(self.client_id) and 10 + length <= size
                and memcmp(header + 10, PyBytes_AS_STRING(self.client_id), length) == 0)
