# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes a batch from its header and columns: measures every record, writes them all at once, packs them, and sets length and
checksum.

Columns may come from a transform, so every row is compared with the bytes that its column has.

Source: Kafka's DefaultRecord.writeTo, DefaultRecordBatch.writeHeader.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from bifrost.records.codec.errors import TooLarge

from bifrost.records.batch_header cimport CRC_AT, CRC_FROM, HEADER, LENGTH_AT, MAX_TIMESTAMP_AT, UNCOUNTED
from bifrost.records.codec.compression cimport pack
from bifrost.records.codec.memory cimport Memory, MemoryBudget, allocate
from bifrost.records.codec.varints cimport put_varint, varint_size
from bifrost.records.crc32c cimport checksum
from bifrost.wire.reader cimport be32

cdef enum:
    MOST_RECORDS = 0x7FFFFFFF - HEADER

# ---- columns ----

cdef class Views:
    """The memory of columns, held while it is read."""

    cdef const uint8_t* hold(self, object column, Py_ssize_t size) except NULL:
        """Return the memory of an array that must have `size` bytes; -1: any."""
        cdef Py_buffer* view = &self.views[self.used]
        PyObject_GetBuffer(column, view, PyBUF_SIMPLE)
        self.used += 1
        if size >= 0 and view.len != size:
            raise ValueError(f"a column has {view.len} bytes where {size} belong")
        return <const uint8_t*>view.buf if view.buf != NULL else <const uint8_t*>b""

    cdef int hold_field(self, object column, Py_ssize_t rows, Field* field) except -1:
        """Hold a column of bytes, and check every row of it."""
        cdef Py_ssize_t i, end
        field.rows = rows
        field.data = self.hold(column.data, -1)
        end = self.views[self.used - 1].len
        field.offsets = <const int32_t*>self.hold(column.offsets, 4 * rows)
        field.sizes = <const int32_t*>self.hold(column.sizes, 4 * rows)
        field.bits = NULL
        if column.validity is not None:
            field.bits = self.hold(column.validity, -1)
            if self.views[self.used - 1].len < (rows + 7) // 8:
                raise ValueError("a column has fewer bits of validity than rows")
        for i in range(rows):
            if field.sizes[i] < 0 or field.offsets[i] < 0 or <int64_t>field.offsets[i] + field.sizes[i] > end:
                raise ValueError(f"row {i} of a column lies outside of its bytes")
        return 0

    def __dealloc__(self):
        while self.used:
            self.used -= 1
            PyBuffer_Release(&self.views[self.used])

cdef int read_table(object columns, Views views, Table* t) except -1:
    cdef Py_ssize_t i, rows
    t.count = len(columns)
    t.timestamp_deltas = <const int64_t*>views.hold(columns.timestamp_deltas, 8 * t.count)
    t.offset_deltas = <const int32_t*>views.hold(columns.offset_deltas, 4 * t.count)
    t.header_starts = <const int32_t*>views.hold(columns.header_starts, 4 * (t.count + 1))
    views.hold_field(columns.keys, t.count, &t.key)
    views.hold_field(columns.values, t.count, &t.value)
    rows = len(columns.header_keys)
    views.hold_field(columns.header_keys, rows, &t.header_key)
    views.hold_field(columns.header_values, rows, &t.header_value)
    if t.header_starts[0] < 0 or t.header_starts[t.count] > rows:
        raise ValueError("a record has headers that are not there")
    for i in range(t.count):
        if t.header_starts[i] > t.header_starts[i + 1]:
            raise ValueError(f"record {i} has less than no headers")
    if t.header_key.bits != NULL:
        for i in range(rows):
            if is_null(&t.header_key, i):
                raise ValueError(f"the key of header {i} is null")
    return 0

# ---- sizes ----

cdef inline int64_t field_size(const Field* field, Py_ssize_t row) noexcept:
    if is_null(field, row):
        return 1
    return varint_size(field.sizes[row]) + field.sizes[row]

cdef int64_t measure(Table* t, int32_t* sizes) except -1:
    """Return the bytes of all records; leave in `sizes` those of each, without its length."""
    cdef Py_ssize_t i, row
    cdef int64_t size, total = 0
    t.latest = INT64_MIN
    for i in range(t.count):
        size = 1 + varint_size(t.timestamp_deltas[i]) + varint_size(t.offset_deltas[i])
        size += field_size(&t.key, i) + field_size(&t.value, i)
        size += varint_size(t.header_starts[i + 1] - t.header_starts[i])
        for row in range(t.header_starts[i], t.header_starts[i + 1]):
            size += field_size(&t.header_key, row) + field_size(&t.header_value, row)
        total += size + varint_size(size)
        if total > MOST_RECORDS:
            raise TooLarge("batch", MOST_RECORDS)
        sizes[i] = <int32_t>size
        t.latest = max(t.latest, t.timestamp_deltas[i])
    return total

# ---- bytes ----

cdef inline uint8_t* put_field(uint8_t* p, const Field* field, Py_ssize_t row) noexcept:
    if is_null(field, row):
        return put_varint(p, -1)
    p = put_varint(p, field.sizes[row])
    memcpy(p, field.data + field.offsets[row], field.sizes[row])
    return p + field.sizes[row]

cdef uint8_t* put_records(Table* t, const int32_t* sizes, uint8_t* p) noexcept:
    cdef Py_ssize_t i, row
    for i in range(t.count):
        p = put_varint(p, sizes[i])
        p[0] = 0  # attributes
        p = put_varint(p + 1, t.timestamp_deltas[i])
        p = put_varint(p, t.offset_deltas[i])
        p = put_field(p, &t.key, i)
        p = put_field(p, &t.value, i)
        p = put_varint(p, t.header_starts[i + 1] - t.header_starts[i])
        for row in range(t.header_starts[i], t.header_starts[i + 1]):
            p = put_field(p, &t.header_key, row)
            p = put_field(p, &t.header_value, row)
    return p

cdef inline void put_be32(uint8_t* p, uint32_t value) noexcept:
    p[0], p[1], p[2], p[3] = value >> 24, value >> 16 & 0xFF, value >> 8 & 0xFF, value & 0xFF

cdef inline uint64_t be64(const uint8_t* p) noexcept:
    return <uint64_t>be32(p) << 32 | be32(p + 4)

cdef int finish(uint8_t* p, Py_ssize_t size, bytes header, Table* t, bint is_create_time) except -1:
    """Put the header before the records, and into it what depends on them."""
    cdef uint64_t latest
    memcpy(p, PyBytes_AS_STRING(header), HEADER)
    if is_create_time and t.count:
        # Base and delta are the client's: as in Java, their sum has 64 bits, whatever they are.
        latest = be64(p + 27) + <uint64_t>t.latest
        put_be32(p + MAX_TIMESTAMP_AT, <uint32_t>(latest >> 32))
        put_be32(p + MAX_TIMESTAMP_AT + 4, <uint32_t>latest)
    put_be32(p + LENGTH_AT, <uint32_t>(size - UNCOUNTED))
    put_be32(p + CRC_AT, checksum(p + CRC_FROM, size - CRC_FROM))
    return 0

def write_batch(bytes header not None, int codec, columns not None, level, MemoryBudget budget not None, *, bint is_create_time):
    cdef Views views = Views.__new__(Views)
    cdef Table table
    cdef Memory sizes, records
    cdef int64_t size
    cdef uint8_t* end
    cdef bytes out
    assert PyBytes_GET_SIZE(header) == HEADER
    read_table(columns, views, &table)
    sizes = allocate(budget, 4 * table.count)
    size = measure(&table, <int32_t*>sizes.data)
    if codec == 0 or table.count == 0:
        budget.take(size)  # the batch belongs to the caller, but it may not be larger than others
        budget.give_back(size)
        out = PyBytes_FromStringAndSize(NULL, HEADER + size)
        end = put_records(&table, <int32_t*>sizes.data, <uint8_t*>PyBytes_AS_STRING(out) + HEADER)
        assert end - <uint8_t*>PyBytes_AS_STRING(out) == HEADER + size
    else:
        records = allocate(budget, size)
        end = put_records(&table, <int32_t*>sizes.data, records.data)
        assert end - records.data == size
        out = pack(codec, records.data, size, level, HEADER)
    finish(<uint8_t*>PyBytes_AS_STRING(out), PyBytes_GET_SIZE(out), header, &table, is_create_time)
    return out
