# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Looks at the headers of one record for some keys, in compiled code: a client may give its first record millions of them.

    headers   (key length, varint | key | value length, varint | value) ...     -1 for what is null
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

from bifrost.records.codec.errors import CorruptBatch

from bifrost.wire.steps cimport python_step

cdef enum:
    LONGEST_VARINT = 10
    FIELDS_AT_ONCE = 1024     # some 10 us
    ROUNDS = 64               # as many as make a pause


cdef int64_t size_at(const uint8_t* p, Py_ssize_t* at, Py_ssize_t end) except? -1:
    """Read the size of a field, which fits into what is left up to `end`; what is null has the size -1."""
    cdef uint64_t value = 0
    cdef int64_t size
    cdef int place
    for place in range(LONGEST_VARINT):
        if at[0] >= end:
            raise CorruptBatch("the records end in the middle of a number")
        if place == LONGEST_VARINT - 1 and p[at[0]] > 1:
            break  # It would not have 64 bits.
        value |= <uint64_t>(p[at[0]] & 0x7F) << 7 * place
        at[0] += 1
        if p[at[0] - 1] < 0x80:
            size = <int64_t>(value >> 1) ^ -<int64_t>(value & 1)
            if size > end - at[0]:
                raise CorruptBatch("a field is longer than its record")
            return max(size, -1)
    raise CorruptBatch("a number is too long")


def has_header(section not None, Py_ssize_t at, Py_ssize_t end, int64_t count, tuple keys not None):
    cdef Py_buffer view
    cdef const uint8_t* p
    cdef int64_t size, left = 2 * count
    cdef bytes key
    PyObject_GetBuffer(section, &view, PyBUF_SIMPLE)
    try:
        p = <const uint8_t*>view.buf
        if not 0 <= at <= end <= view.len:
            raise ValueError("the headers are not in the section")
        while left > 0:
            size = size_at(p, &at, end)
            for key in keys if not left & 1 else ():
                if size == PyBytes_GET_SIZE(key) and memcmp(p + at, PyBytes_AS_STRING(key), size) == 0:
                    return True
            at += max(size, 0)
            left -= 1
            if left % FIELDS_AT_ONCE == 0:
                python_step(ROUNDS)
        return False
    finally:
        PyBuffer_Release(&view)
