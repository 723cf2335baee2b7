# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads the unpacked records of a batch into columns (columns.py); the layout of a record is in record_writer.pyx.

Two passes: the first reads everything but headers and counts these, so that every array is allocated once and at its right size. Every
length is compared with the bytes there are, before anything is read or allocated by it.

A negative length is null, and the bits of a varint that its number has no place for are dropped: as Kafka reads them.

Source: Kafka's DefaultRecord.readFrom, ByteUtils.readVarint, DefaultRecordBatch.StreamRecordIterator.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from bifrost.records.codec.columns import BytesColumn, Columns
from bifrost.records.codec.errors import CorruptBatch, TooLarge

from bifrost.records.codec.memory cimport Memory, MemoryBudget, allocate

cdef enum:
    MOST_RECORDS = 0x7FFFFFFF

cdef struct Arrays:
    int64_t* timestamp_deltas
    int32_t* offset_deltas
    int32_t* key_offsets
    int32_t* key_sizes
    int32_t* value_offsets
    int32_t* value_sizes
    int32_t* header_starts
    uint8_t* key_bits
    uint8_t* value_bits
    bint has_null_key, has_null_value

cdef int corrupt(Section* s, str reason) except -1:
    raise CorruptBatch(f"record {s.record}: {reason}")

cdef int64_t read_records(Section* s, Py_ssize_t count, Arrays* a) except -1:
    """Read all but the headers; return how many of these there are, and leave in `header_starts` where each record ends."""
    cdef Py_ssize_t i, end
    cdef int64_t headers = 0
    cdef int32_t size
    for i in range(count):
        s.record = i
        size = read_varint(s, s.end)
        if size < 0:
            corrupt(s, "a negative length")
        if size > s.end - s.pos:
            corrupt(s, "longer than the batch")
        end = s.pos + size
        need(s, 1, end)
        s.pos += 1  # attributes, of which none is in use
        a.timestamp_deltas[i] = read_varlong(s, end)
        a.offset_deltas[i] = read_varint(s, end)
        if read_field(s, end, a.key_offsets + i, a.key_sizes + i):
            a.key_bits[i >> 3] &= ~(1 << (i & 7))
            a.has_null_key = True
        if read_field(s, end, a.value_offsets + i, a.value_sizes + i):
            a.value_bits[i >> 3] &= ~(1 << (i & 7))
            a.has_null_value = True
        size = read_varint(s, end)
        if size < 0 or <int64_t>size * LEAST_HEADER > end - s.pos:
            corrupt(s, "its count of headers is not possible")
        if size == 0 and s.pos != end:
            corrupt(s, "bytes behind its fields")
        headers += size
        s.pos = end
        a.header_starts[i + 1] = <int32_t>end
    s.record = count
    if s.pos != s.end:
        corrupt(s, "bytes behind the last record")
    return headers

cdef int read_headers(Section* s, Py_ssize_t count, Arrays* a, Arrays* h, int64_t rows) except -1:
    """Read the headers of all records; `header_starts` become what they are called."""
    cdef Py_ssize_t i, end, row = 0
    cdef int32_t left
    if rows == 0:
        memset(a.header_starts, 0, 4 * (count + 1))
        return 0
    a.header_starts[0] = 0
    for i in range(count):
        s.record = i
        end = a.header_starts[i + 1]
        s.pos = a.value_offsets[i] + a.value_sizes[i]
        for left in range(read_varint(s, end), 0, -1):
            if read_field(s, end, h.key_offsets + row, h.key_sizes + row):
                corrupt(s, "a header's key is null")
            if read_field(s, end, h.value_offsets + row, h.value_sizes + row):
                h.value_bits[row >> 3] &= ~(1 << (row & 7))
                h.has_null_value = True
            row += 1
        if s.pos != end:
            corrupt(s, "bytes behind its headers")
        a.header_starts[i + 1] = <int32_t>row
    return 0

cdef object bytes_column(
    object data, object view, Py_ssize_t at, Py_ssize_t rows, Py_ssize_t bits, bint has_null
):
    return BytesColumn(
        data,
        view[at : at + 4 * rows].cast("i"),
        view[at + 4 * rows : at + 8 * rows].cast("i"),
        view[bits : bits + (rows + 7) // 8] if has_null else None,
    )

cdef tuple lay_out_headers(
    Section* s, Py_ssize_t count, Arrays* a, int64_t rows, object data, MemoryBudget budget
):
    cdef Arrays h
    cdef Memory memory = allocate(budget, 16 * rows + (rows + 7) // 8)
    cdef int32_t* p = <int32_t*>memory.data
    h.key_offsets, h.key_sizes = p, p + rows
    h.value_offsets, h.value_sizes = p + 2 * rows, p + 3 * rows
    h.value_bits, h.has_null_value = memory.data + 16 * rows, False
    memset(h.value_bits, 0xFF, (rows + 7) // 8)
    read_headers(s, count, a, &h, rows)
    view = memoryview(memory)
    keys = bytes_column(data, view, 0, rows, 0, False)
    return keys, bytes_column(data, view, 8 * rows, rows, 16 * rows, h.has_null_value)

cdef void lay_out(Memory memory, Py_ssize_t n, Arrays* a) noexcept:
    """Place the arrays of records in memory, widest first."""
    cdef uint8_t* p = memory.data
    cdef Py_ssize_t bytes_of_bits = (n + 7) // 8
    a.timestamp_deltas = <int64_t*>p
    a.offset_deltas = <int32_t*>(p + 8 * n)
    a.key_offsets, a.key_sizes = <int32_t*>(p + 12 * n), <int32_t*>(p + 16 * n)
    a.value_offsets, a.value_sizes = <int32_t*>(p + 20 * n), <int32_t*>(p + 24 * n)
    a.header_starts = <int32_t*>(p + 28 * n)
    a.key_bits, a.value_bits = p + 32 * n + 4, p + 32 * n + 4 + bytes_of_bits
    a.has_null_key = a.has_null_value = False
    memset(a.key_bits, 0xFF, 2 * bytes_of_bits)

def read_section(data not None, Py_ssize_t count, MemoryBudget budget not None):
    cdef Py_buffer buffer
    cdef Section s
    cdef Arrays a
    cdef Memory memory
    cdef Py_ssize_t bits = 32 * count + 4, bytes_of_bits = (count + 7) // 8
    cdef int64_t rows
    PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
    try:
        if buffer.len > MOST_RECORDS:
            raise TooLarge("batch", MOST_RECORDS)
        if count < 0 or count > buffer.len // LEAST_RECORD:
            raise CorruptBatch(f"{buffer.len} bytes cannot hold {count} records")
        s.data, s.pos, s.end, s.record = <const uint8_t*>buffer.buf, 0, buffer.len, 0
        memory = allocate(budget, bits + 2 * bytes_of_bits)
        lay_out(memory, count, &a)
        rows = read_records(&s, count, &a)
        header_keys, header_values = lay_out_headers(&s, count, &a, rows, data, budget)
        view = memoryview(memory)
        return Columns(
            view[8 * count : 12 * count].cast("i"),
            view[: 8 * count].cast("q"),
            bytes_column(data, view, 12 * count, count, bits, a.has_null_key),
            bytes_column(data, view, 20 * count, count, bits + bytes_of_bits, a.has_null_value),
            view[28 * count : bits].cast("i"),
            header_keys,
            header_values,
        )
    finally:
        PyBuffer_Release(&buffer)
