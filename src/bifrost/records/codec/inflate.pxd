# cython: language_level=3
"""Unpacks gzip, for compression.pyx."""

from libc.stdint cimport int64_t, uint8_t

cdef enum:
    TOO_SMALL = -2

cdef int64_t inflate_into(object packed, uint8_t* out, Py_ssize_t size) except -1
