# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Columns of bytes, for the compiled modules that seal and open records one by one; views of their rows."""

from cpython.buffer cimport PyBUF_READ, PyBUF_WRITE
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport int32_t, uint8_t

cdef class Rows:
    """The rows of a column of bytes, held while they are read."""
    cdef Py_buffer[4] views
    cdef int used
    cdef const uint8_t* data
    cdef const int32_t* offsets
    cdef const int32_t* sizes
    cdef const uint8_t* bits     # NULL: no row is null
    cdef Py_ssize_t count

    cdef const uint8_t* hold(self, object part, Py_ssize_t least) except NULL

    cdef inline bint is_null(self, Py_ssize_t row) noexcept:
        return self.bits != NULL and not self.bits[row >> 3] >> (row & 7) & 1

cdef Rows rows_of(column, Py_ssize_t count)

cdef inline object readable(const uint8_t* p, Py_ssize_t size):
    return PyMemoryView_FromMemory(<char*>p, size, PyBUF_READ)

cdef inline object writable(uint8_t* p, Py_ssize_t size):
    return PyMemoryView_FromMemory(<char*>p, size, PyBUF_WRITE)
