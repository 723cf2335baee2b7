# cython: language_level=3
"""How an ID stands in a key, a value or a header, for other compiled modules."""

from libc.stdint cimport uint8_t

cdef enum:
    NUMBER = 4
    GUID = 16

cdef bytes KEY_HEADER, VALUE_HEADER

cdef int size_of_id(const uint8_t* data, Py_ssize_t size) noexcept
cdef object id_of(const uint8_t* at, int size)
