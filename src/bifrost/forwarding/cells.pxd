# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Shared numbers as counters use them."""

cimport cython
from libc.stdint cimport int64_t


@cython.final
cdef class Cells:
    cdef int64_t* at
    cdef Py_ssize_t count
    cdef Py_buffer view
