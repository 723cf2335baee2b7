# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads the unpacked records of a batch of the gateway's own, one after the other; the layout is in record_writer.pyx.

Every length is compared with the bytes there are, before anything is read by it. Headers are skipped: the gateway
writes none.

Source: Kafka's DefaultRecord.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef enum:
    LONGEST_VARINT = 10

cdef struct Section:
    const uint8_t* data
    Py_ssize_t at, end

cdef int64_t varint(Section* s) except? -1:
    cdef uint64_t value = 0
    cdef int i
    cdef uint8_t byte
    for i in range(LONGEST_VARINT):
        if s.at >= s.end:
            raise ValueError("the records end in the middle of a number")
        byte = s.data[s.at]
        s.at += 1
        value |= <uint64_t>(byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return <int64_t>(value >> 1) ^ -<int64_t>(value & 1)
    raise ValueError("a number is too long")

cdef bytes field(Section* s):
    cdef int64_t size = varint(s)
    if size < 0:
        return None
    if size > s.end - s.at:
        raise ValueError("a field is longer than its record")
    s.at += size
    return (<const char*>s.data)[s.at - size:s.at]

def read_records(bytes data not None, type kind not None, int64_t base_offset, int64_t base_timestamp, int64_t count):
    cdef const uint8_t* start = data
    cdef Section s = Section(start, 0, len(data))
    cdef Py_ssize_t end = len(data), last
    cdef int64_t i, size, timestamp, offset
    cdef list found = []
    for i in range(count):
        s.end = end
        size = varint(&s)
        if size < 1 or size > end - s.at:
            raise ValueError("a record is longer than its batch")
        last = s.end = s.at + size
        s.at += 1                                        # the record's attributes
        timestamp = varint(&s)
        offset = varint(&s)
        key = field(&s)
        value = field(&s)
        found.append(tuple.__new__(kind, (base_offset + offset, base_timestamp + timestamp, key, value)))
        s.at = last
    return found
