# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Straight requests as the compiled side of a router sends them."""

cimport cython
from libc.stdint cimport int32_t

from bifrost.routes.shape cimport Shape
from bifrost.routes.template cimport Template


@cython.final
cdef class StraightWay:
    cdef Shape request, response
    cdef Template template
    cdef Py_ssize_t request_tags, response_head
    cdef bint is_by_id, is_produce, has_timeout_behind


@cython.final
cdef class StraightRequest:
    cdef StraightWay way
    cdef Py_ssize_t body
    cdef readonly list segments
    cdef list outline
    cdef readonly int32_t node, timeout_ms
    cdef readonly bint is_answered, is_sure
    cdef public object answer
    cpdef int let_go(self) except -1
    cpdef bint take(self, frame) except -1
