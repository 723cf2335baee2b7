# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What is written: it grows on the stack, then in a bytes object, and leaves as one piece or several."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from bifrost.wire.reader cimport COMPACT

cdef enum:
    LOCAL = 4096           # bytes of output that need no memory of their own
    PART = 131072          # of a large output: to grow it as one piece would copy megabytes at once

cdef struct Output:
    # What is written grows in `local`, then in a bytes object; it leaves as one or several segments.
    uint8_t* data
    Py_ssize_t size, capacity
    PyObject* heap           # bytes, owned; NULL while `local` is used
    PyObject* owner          # rewrite: the frame if it may be sliced, else NULL
    PyObject* segments       # rewrite, encode: list of what is finished; NULL: it stays one piece
    int open                 # encode: tagged fields whose size is not known yet, so that they cannot be cut
    Py_ssize_t copied, sent  # rewrite: how far the frame is taken over; bytes in `segments`
    PyObject* way            # rewrite: RecordWay of the topic at hand, owned; NULL: it has none
    bint has_ways            # rewrite: whether ways may be taken; else the frame has to be decoded
    bint has_transaction     # rewrite: whether a transactional ID was named
    uint8_t local[LOCAL]

cdef inline void open_output(Output* out) noexcept:
    out.data = out.local
    out.size = 0
    out.capacity = LOCAL
    out.heap = NULL

cdef int set_aside(Output* out) except -1

cdef inline bint is_part(Output* out) noexcept:
    """Whether so much was written that it is time to close a segment."""
    return out.size >= PART and out.segments != NULL

cdef int grow(Output* out, Py_ssize_t size) except -1
cdef object take(Output* out)

cdef inline uint8_t* extend(Output* out, Py_ssize_t size) except NULL:
    """Room for `size` more bytes, already counted; valid until the next call."""
    if size > out.capacity - out.size:
        grow(out, size)
    out.size += size
    return out.data + out.size - size

cdef inline int put(Output* out, const void* data, Py_ssize_t size) except -1:
    memcpy(extend(out, size), data, size)
    return 0

cdef inline int put_be(Output* out, uint64_t value, int width) except -1:
    cdef uint8_t* p = extend(out, width)
    while width:
        width -= 1
        p[width] = value & 0xFF
        value >>= 8
    return 0

cdef inline void write_size(uint8_t* p, Py_ssize_t size) noexcept:
    """Write a frame's length."""
    p[0], p[1], p[2], p[3] = size >> 24 & 0xFF, size >> 16 & 0xFF, size >> 8 & 0xFF, size & 0xFF

cdef inline int varint_size(uint32_t value) noexcept:
    cdef int size = 1
    while value >= 0x80:
        value >>= 7
        size += 1
    return size

cdef inline void write_varint(uint8_t* p, uint32_t value) noexcept:
    while value >= 0x80:
        p[0] = <uint8_t>(value | 0x80)
        p += 1
        value >>= 7
    p[0] = <uint8_t>value

cdef inline int put_varint(Output* out, uint32_t value) except -1:
    write_varint(extend(out, varint_size(value)), value)
    return 0

cdef inline int put_length(Output* out, int64_t length, int flags, int width) except -1:
    """The length of a string, bytes or array; -1 for null."""
    return put_varint(out, <uint32_t>(length + 1)) if flags & COMPACT else put_be(out, length, width)
