# cython: language_level=3
"""How Avro is read, for other compiled modules."""

from libc.stdint cimport int64_t, uint8_t

cdef enum:
    _NULL, _BOOLEAN, _INT, _LONG, _FLOAT, _DOUBLE, _BYTES, _STRING, _FIXED, _ENUM, _ARRAY, _MAP, _UNION, _RECORD
    MAX_DEPTH = 200        # types within each other: deeper data is an attack on the stack of readers
    VALUES = 16            # so many values are a round of a loop

cdef struct Cursor:
    const uint8_t* data
    Py_ssize_t at, end
    int64_t left           # values that may still come

# All raise NoAvro.
cdef int wrong(Cursor* c, str reason) except -1
cdef int64_t read_long(Cursor* c) except? -1
cdef int skip(Cursor* c, int64_t size) except -1
cdef int check_text(Cursor* c, Py_ssize_t start) except -1    # from `start` to where it is
cdef int pass_plain(Cursor* c, int kind, int64_t count) except -1    # a value of a type without parts
