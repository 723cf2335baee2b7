# cython: language_level=3
"""How an ID stands in a key, a value or a header, for other compiled modules."""

from libc.stdint cimport uint8_t

from bifrost.records.codec.section_writer cimport Field, Table, Views

cdef enum:
    NUMBER = 4
    GUID = 16

cdef bytes KEY_HEADER, VALUE_HEADER

cdef int size_of_id(const uint8_t* data, Py_ssize_t size) noexcept
cdef object id_of(const uint8_t* at, int size)

cdef class Search:
    """The keys or values of a batch, one after the other, as far as they name another ID than the one before."""
    cdef Views views
    cdef Table table
    cdef Field* field
    cdef bytes name
    cdef const uint8_t* last
    cdef int last_size
    cdef const uint8_t* at     # where the ID of the record stands that was looked at

    cdef int look(self, Py_ssize_t record) except -1    # 0: null, 1: another ID than the last, now `last`; 2: the same
