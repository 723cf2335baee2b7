# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Layouts, for other modules that read messages by them: see codec.pyx."""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, uint8_t

from bifrost.wire.reader cimport Reader

cdef struct Field:
    uint8_t kind, flags
    bint fresh           # the default is a list or a struct, made anew each time
    int32_t tag          # -1 if none
    int32_t smallest     # bytes that one element takes at least
    Py_ssize_t slot      # where an object has it
    PyObject* name
    PyObject* default    # None, a value, or () if fresh; the Layout owns all three
    PyObject* layout     # Layout of the struct, or None

cdef class Layout:
    cdef type cls
    cdef str name
    cdef int count, tagged
    cdef bint flexible
    cdef Field* fields
    cdef list owned

cdef object fresh_default(Field* field)
cdef object decode_value(Field* field, int flags, Reader* r, object owner)
