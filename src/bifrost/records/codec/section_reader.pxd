# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The fields of records, for compiled modules that read them one after the other: every length is checked first."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef enum:
    LEAST_RECORD = 7       # bytes: length, attributes, two deltas, two lengths, count of headers
    LEAST_HEADER = 2

cdef struct Section:
    const uint8_t* data
    Py_ssize_t pos, end
    Py_ssize_t record      # which one is read, for errors

cdef int corrupt(Section* s, str reason) except -1

cdef inline int need(Section* s, int64_t size, Py_ssize_t end) except -1:
    if size > end - s.pos:
        corrupt(s, "a field is longer than the record")
    return 0

cdef inline int32_t read_varint(Section* s, Py_ssize_t end) except? -1:
    """A signed varint of 32 bits, in zigzag form."""
    cdef uint32_t value = 0
    cdef int shift
    cdef uint8_t byte
    for shift in range(0, 35, 7):
        need(s, 1, end)
        byte = s.data[s.pos]
        s.pos += 1
        value |= <uint32_t>(byte & 0x7F) << shift
        if byte < 0x80:
            return <int32_t>(value >> 1 ^ -(value & 1))
    return corrupt(s, "a varint of more than 5 bytes")

cdef inline int64_t read_varlong(Section* s, Py_ssize_t end) except? -1:
    cdef uint64_t value = 0
    cdef int shift
    cdef uint8_t byte
    for shift in range(0, 70, 7):
        need(s, 1, end)
        byte = s.data[s.pos]
        s.pos += 1
        value |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            return <int64_t>(value >> 1 ^ -(value & 1))
    return corrupt(s, "a varint of more than 10 bytes")

cdef inline bint read_field(Section* s, Py_ssize_t end, int32_t* offset, int32_t* size) except -1:
    """Read the place of a field's bytes and pass them; 1: it is null."""
    cdef int32_t length = read_varint(s, end)
    offset[0] = <int32_t>s.pos
    if length < 0:
        size[0] = 0
        return True
    need(s, length, end)
    size[0] = length
    s.pos += length
    return False
