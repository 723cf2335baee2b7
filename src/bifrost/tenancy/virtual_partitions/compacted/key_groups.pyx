# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Puts the group of a virtual partition before the keys of records, and takes it away, in one walk over the records.

    record   length | attributes | timestamp delta | offset delta | key length | key | value length | value | headers
    broker   length'| attributes | timestamp delta | offset delta | key length + 1 | group | key | value length ...

All lengths are varints. What stands behind a key is copied, and left to the broker to check. A batch may have two million
records, so the walk pauses (wire/steps.pyx); memory that is written meanwhile is known to this function alone.

Source: Kafka's DefaultRecord.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from bifrost.records.codec.errors import CorruptBatch

from bifrost.records.codec.memory cimport Memory, MemoryBudget, allocate
from bifrost.records.codec.section_reader cimport LEAST_RECORD, Section, corrupt, need, read_varint, read_varlong
from bifrost.records.codec.varints cimport put_varint, varint_size
from bifrost.wire.steps cimport python_step

cdef enum:
    AT_ONCE = 1024      # records, some 20 us
    ROUNDS = 64         # as many as make a pause
    GROWTH = 3          # bytes: the group, and what the two lengths may grow by
    MOST_GROUPS = 128   # MAX_KEYED_SHARING of config/fields/virtual_partitions.py: a byte, and 255 begins a claim
    MOST_TOLD = 100     # records without a key of a batch that are told
    PIECE = 256 * 1024  # bytes copied at a time, which takes 0.1 ms with memory that was never written
    PIECE_ROUNDS = 1000 # a pause behind each

KEYED_GROUPS = MOST_GROUPS
MOST_GROWTH = (LEAST_RECORD + GROWTH) / <double>LEAST_RECORD

cdef struct Place:
    Py_ssize_t body        # where the record begins, behind its length
    Py_ssize_t size_at     # where the length of the key is
    Py_ssize_t key         # and the key
    Py_ssize_t end
    int32_t size           # of the key, -1: null


cdef int read_place(Section* s, Place* found) except -1:
    """Find the key of the next record, and pass the record."""
    cdef int32_t size = read_varint(s, s.end)
    if size < 0:
        corrupt(s, "a negative length")
    need(s, size, s.end)
    found.body, found.end = s.pos, s.pos + size
    need(s, 1, found.end)
    s.pos += 1
    read_varlong(s, found.end)
    read_varint(s, found.end)
    found.size_at = s.pos
    found.size = max(read_varint(s, found.end), -1)
    need(s, found.size, found.end)
    found.key = s.pos
    s.pos = found.end
    s.record += 1
    if s.record % AT_ONCE == 0:
        python_step(ROUNDS)
    return 0


cdef uint8_t* put_head(uint8_t* out, const uint8_t* data, Place* place, int32_t size, Py_ssize_t left) noexcept:
    """Write a record up to its key, which has another size; behind the length of the key so many bytes are left."""
    cdef Py_ssize_t before = place.size_at - place.body
    out = put_varint(out, before + varint_size(size) + left)
    memcpy(out, data + place.body, before)
    return put_varint(out + before, size)


cdef int copy(uint8_t* out, const uint8_t* data, Py_ssize_t size) except -1:
    """Copy what stands behind a key: one record may have all of 16 MiB, which take 8 ms."""
    cdef Py_ssize_t done = 0, piece
    while size - done > PIECE:
        memcpy(out + done, data + done, PIECE)
        done += PIECE
        python_step(PIECE_ROUNDS)
    memcpy(out + done, data + done, size - done)
    return 0


cdef int begin(Section* s, Py_buffer* view, int64_t count) except -1:
    s.data, s.pos, s.end, s.record = <const uint8_t*>view.buf, 0, view.len, 0
    if not 0 <= count <= view.len // LEAST_RECORD:
        raise CorruptBatch(f"{count} records in {view.len} bytes")
    return 0


cdef int finish(Section* s) except -1:
    if s.pos != s.end:
        corrupt(s, "bytes behind the last record")
    return 0


def with_group(section not None, int64_t count, int group, MemoryBudget budget not None):
    cdef Py_buffer view
    cdef Section s
    cdef Place place
    cdef Memory memory
    cdef uint8_t* out
    cdef Py_ssize_t left
    cdef int64_t row
    cdef list without = []
    if not 0 <= group < MOST_GROUPS:
        raise ValueError(f"there is no group {group}")
    PyObject_GetBuffer(section, &view, PyBUF_SIMPLE)
    try:
        begin(&s, &view, count)
        memory = allocate(budget, view.len + GROWTH * count)
        out = memory.data
        for row in range(count):
            read_place(&s, &place)
            if place.size < 0:
                if len(without) < MOST_TOLD:
                    without.append(row)
                continue
            left = place.end - place.key
            out = put_head(out, s.data, &place, place.size + 1, left + 1)
            out[0] = <uint8_t>group
            copy(out + 1, s.data + place.key, left)
            out += left + 1
        finish(&s)
        memory.resize(out - memory.data)
        return memory, without
    finally:
        PyBuffer_Release(&view)


def without_group(section not None, int64_t count, int group, MemoryBudget budget not None):
    cdef Py_buffer view
    cdef Section s
    cdef Place place
    cdef Memory memory
    cdef uint8_t* out
    cdef Py_ssize_t left
    cdef int64_t row
    PyObject_GetBuffer(section, &view, PyBUF_SIMPLE)
    try:
        begin(&s, &view, count)
        memory = allocate(budget, view.len)
        out = memory.data
        for row in range(count):
            read_place(&s, &place)
            if place.size < 1 or s.data[place.key] != group:
                s.record -= 1
                corrupt(&s, "its key does not begin with the group of its batch")
            left = place.end - place.key - 1
            out = put_head(out, s.data, &place, place.size - 1, left)
            copy(out, s.data + place.key + 1, left)
            out += left
        finish(&s)
        memory.resize(out - memory.data)
        return memory
    finally:
        PyBuffer_Release(&view)


def first_group(section not None):
    cdef Py_buffer view
    cdef Section s
    cdef Place place
    PyObject_GetBuffer(section, &view, PyBUF_SIMPLE)
    try:
        begin(&s, &view, 0)
        read_place(&s, &place)
        return MOST_GROUPS if place.size < 1 else min(s.data[place.key], MOST_GROUPS)
    finally:
        PyBuffer_Release(&view)
