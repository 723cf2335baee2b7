# cython: language_level=3
"""Columns as other compiled modules read them: their memory, held and checked."""

from libc.stdint cimport int32_t, int64_t, uint8_t


cdef struct Field:
    const uint8_t* data
    const int32_t* offsets
    const int32_t* sizes
    const uint8_t* bits    # NULL: no row is null
    Py_ssize_t rows

cdef struct Table:
    Py_ssize_t count
    const int64_t* timestamp_deltas
    const int32_t* offset_deltas
    const int32_t* header_starts
    Field key, value, header_key, header_value
    int64_t latest         # timestamp delta

cdef class Views:
    """The memory of columns, held while it is read."""
    cdef Py_buffer[20] views
    cdef int used

    cdef const uint8_t* hold(self, object column, Py_ssize_t size) except NULL
    cdef int hold_field(self, object column, Py_ssize_t rows, Field* field) except -1

cdef int read_table(object columns, Views views, Table* t) except -1    # ValueError: they do not fit together

cdef inline bint is_null(const Field* field, Py_ssize_t row) noexcept:
    return field.bits != NULL and not field.bits[row >> 3] >> (row & 7) & 1
