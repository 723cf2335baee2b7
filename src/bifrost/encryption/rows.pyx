# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Columns of bytes whose rows are read from C, each compared with the bytes that its column has."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t

cdef class Rows:
    def __dealloc__(self):
        while self.used:
            self.used -= 1
            PyBuffer_Release(&self.views[self.used])

    cdef const uint8_t* hold(self, object part, Py_ssize_t least) except NULL:
        cdef Py_buffer* view = &self.views[self.used]
        PyObject_GetBuffer(part, view, PyBUF_SIMPLE)
        self.used += 1
        if view.len < least:
            raise ValueError(f"a column has {view.len} bytes where {least} belong")
        return <const uint8_t*>view.buf if view.buf != NULL else <const uint8_t*>b""

cdef Rows rows_of(column, Py_ssize_t count):
    """Return the rows of a column, each of which lies within its bytes."""
    cdef Rows rows = Rows.__new__(Rows)
    cdef Py_ssize_t end, i
    if len(column) != count:
        raise ValueError(f"a column has {len(column)} rows where {count} belong")
    rows.count = count
    rows.data = rows.hold(column.data, 0)
    end = rows.views[0].len
    rows.offsets = <const int32_t*>rows.hold(column.offsets, 4 * count)
    rows.sizes = <const int32_t*>rows.hold(column.sizes, 4 * count)
    rows.bits = NULL
    if column.validity is not None:
        rows.bits = rows.hold(column.validity, (count + 7) // 8)
    for i in range(count):
        if rows.sizes[i] < 0 or rows.offsets[i] < 0 or <int64_t>rows.offsets[i] + rows.sizes[i] > end:
            raise ValueError(f"row {i} of a column lies outside of its bytes")
    return rows
