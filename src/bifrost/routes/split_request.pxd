# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Split requests as `straight.pyx` makes them, and the compiled side of a router sends them."""

cimport cython
from libc.stdint cimport int32_t

from bifrost.routes.split cimport Split


cdef enum:
    MANY = 1000     # partitions: they take part of a millisecond to take apart, or to put together


@cython.final
cdef class SplitRequest:
    cdef readonly Split split
    cdef Split sent
    cdef bytes head
    cdef Py_ssize_t left
    cdef bint is_produce
    cdef readonly bint is_answered, is_by_id, has_timeout
    cdef readonly double timeout_s
    cdef public object answer
    cdef int begin(self, Split split, bytes head, bint is_produce, bint is_by_id, bint has_timeout_behind) except -1
    cdef bint note(self, int32_t node, frame, bint may_be_done) except -1


@cython.final
cdef class SentPart:
    cdef readonly SplitRequest whole
    cdef readonly int32_t node


cdef double timeout_of(int32_t timeout_ms, bint is_answered) noexcept
