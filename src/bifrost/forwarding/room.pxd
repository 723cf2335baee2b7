# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rooms as a socket's backlog is counted in them."""

cimport cython

from bifrost.wire.framer cimport MemoryLimit


@cython.final
cdef class Room(MemoryLimit):
    cdef readonly Py_ssize_t used, blocks, answers
    cdef public Py_ssize_t most, for_small, waiting
    cdef public object on_room
    cdef readonly Room whole
    cdef bint fits(self, Py_ssize_t size, bint is_answer) noexcept
    cdef void add(self, Py_ssize_t size, bint is_answer) noexcept
    cdef void tell(self) noexcept
