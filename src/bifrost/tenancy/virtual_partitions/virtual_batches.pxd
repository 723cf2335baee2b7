# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The marks of batches, for the compiled way of requests."""

from libc.stdint cimport int64_t, uint8_t

cdef enum:
    HEADER = 61

cdef int fault_in(const uint8_t* p, Py_ssize_t size) noexcept
cdef bint names_producer(const uint8_t* p) noexcept
cdef bint mark_header(uint8_t* header, Py_ssize_t size, int group, int64_t producer_id, int producer_epoch) noexcept
