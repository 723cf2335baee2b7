# cython: language_level=3
"""What a kind of values needs to mask fields: where new values are written, and what reads one."""

from libc.stdint cimport uint8_t

from bifrost.records.codec.memory cimport Memory

cdef class Out:
    """The bytes of the new values, which grow."""

    cdef Memory memory
    cdef Py_ssize_t at
    cdef bint is_changed
    cdef object replace      # of a place and its field; None: what the masker says
    cdef Py_ssize_t record

    cdef int put(self, const uint8_t* data, Py_ssize_t size) except -1

cdef class FieldMasker:
    """What finds the fields of one kind of values."""

    # Write a value with its masks; 0: it does not read, and nothing of it may stay. `start`: where its payload begins,
    # -1: as its first byte says.
    cdef int mask(self, Out out, const uint8_t* data, Py_ssize_t size, Py_ssize_t start) except -1
