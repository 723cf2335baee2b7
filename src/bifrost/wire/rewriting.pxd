# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rewriting as the hot path uses it: whole frames, frames where they were received, and the heads of large ones."""

cimport cython

from bifrost.wire.output cimport Output
from bifrost.wire.program cimport Program
from bifrost.wire.reader cimport Reader


@cython.final
cdef class Names:
    cdef public list tables
    cdef readonly object missing
    cdef object replacement(self, int slot, bytes name, Reader* r)


cdef list rewrite_body(Program program, object frame, Reader* r, Names names, bytes head, bytes client_prefix,
                       bint allow_trailing)
cdef bint put_body(Program program, Reader* r, Output* out, Names names, bytes client_prefix,
                   bint allow_trailing) except -1
cdef list rewrite_head(Program program, object frame, Reader* r, Names names, bytes client_prefix)
