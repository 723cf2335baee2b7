# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Adds, removes and renames headers of all records of a batch, without a Python object per record.

The keys and values that stay are copied into memory of their own; a header that all records get has its bytes there
once. Two passes: the first looks up what becomes of each header, so that everything is allocated at its right size.

    memory   starts of headers | key offsets | key sizes | value offsets | value sizes | bits of values | bytes
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from bifrost.records.codec.columns import BytesColumn
from bifrost.records.codec.errors import TooLarge

from bifrost.records.codec.memory cimport Memory, MemoryBudget, allocate
from bifrost.records.codec.section_writer cimport Field, Table, Views, is_null, read_table
from bifrost.wire.steps cimport python_step

cdef enum:
    MOST = 0x7FFFFFFF       # what an offset can say
    GONE = -1
    KEPT = -2               # else: the place of its new key

REMOVED = GONE

cdef struct Edit:
    int32_t* starts
    int32_t* key_offsets
    int32_t* key_sizes
    int32_t* value_offsets
    int32_t* value_sizes
    uint8_t* bits
    uint8_t* data
    Py_ssize_t row, at      # of the next header, and of the next byte
    bint has_null

cdef int64_t fates_of(Table* t, dict changes, int32_t* fates, Py_ssize_t* rows) except -1:
    """Leave in `fates` what becomes of each header; return how many bytes those have that stay."""
    cdef Py_ssize_t row
    cdef int64_t size = 0
    cdef PyObject* found
    rows[0] = 0
    for row in range(t.header_starts[0], t.header_starts[t.count]):
        python_step()
        fates[row] = KEPT
        if changes:
            key = PyBytes_FromStringAndSize(<const char*>t.header_key.data + t.header_key.offsets[row],
                                            t.header_key.sizes[row])
            found = PyDict_GetItemWithError(changes, key)
            if found != NULL:
                fates[row] = <int32_t><object>found
                if fates[row] == GONE:
                    continue
        rows[0] += 1
        size += t.header_value.sizes[row]
        if fates[row] == KEPT:
            size += t.header_key.sizes[row]
    return size

cdef void put_bytes(Edit* e, int32_t* offset, int32_t* size, const uint8_t* data, int32_t length) noexcept:
    offset[0], size[0] = <int32_t>e.at, length
    memcpy(e.data + e.at, data, length)
    e.at += length

cdef void keep_header(Edit* e, Table* t, Py_ssize_t row, int32_t fate, const int32_t* texts) noexcept:
    """Take a header over; `texts` has for each constant where it is and how long."""
    if fate == KEPT:
        put_bytes(e, e.key_offsets + e.row, e.key_sizes + e.row, t.header_key.data + t.header_key.offsets[row],
                  t.header_key.sizes[row])
    else:
        e.key_offsets[e.row], e.key_sizes[e.row] = texts[2 * fate], texts[2 * fate + 1]
    if is_null(&t.header_value, row):
        e.value_offsets[e.row] = e.value_sizes[e.row] = 0
        e.bits[e.row >> 3] &= ~(1 << (e.row & 7))
        e.has_null = True
    else:
        put_bytes(e, e.value_offsets + e.row, e.value_sizes + e.row,
                  t.header_value.data + t.header_value.offsets[row], t.header_value.sizes[row])
    e.row += 1

cdef int put_records(Edit* e, Table* t, const int32_t* fates, const int32_t* texts, Py_ssize_t first,
                     Py_ssize_t added) except -1:
    """Lay the headers of each record out, those that are added behind the others; their texts begin at `first`."""
    cdef Py_ssize_t i, row, one
    for i in range(t.count):
        python_step()
        e.starts[i] = <int32_t>e.row
        for row in range(t.header_starts[i], t.header_starts[i + 1]):
            if fates[row] != GONE:
                keep_header(e, t, row, fates[row], texts)
        for one in range(first, first + 2 * added, 2):
            e.key_offsets[e.row], e.key_sizes[e.row] = texts[2 * one], texts[2 * one + 1]
            e.value_offsets[e.row], e.value_sizes[e.row] = texts[2 * one + 2], texts[2 * one + 3]
            e.row += 1
    e.starts[t.count] = <int32_t>e.row
    return 0

cdef object column(object view, Py_ssize_t at, Py_ssize_t rows, Py_ssize_t data, object bits):
    return BytesColumn(view[data:], view[at : at + 4 * rows].cast("i"), view[at + 4 * rows : at + 8 * rows].cast("i"),
                       bits)

cdef Memory put_texts(Edit* e, list texts, MemoryBudget budget):
    """Copy the constants, and return where each is and how long."""
    cdef Memory places = allocate(budget, 8 * len(texts))
    cdef int32_t* at = <int32_t*>places.data
    cdef Py_ssize_t i
    cdef bytes text
    for i in range(len(texts)):
        text = texts[i]
        put_bytes(e, at + 2 * i, at + 2 * i + 1, <const uint8_t*>PyBytes_AS_STRING(text), <int32_t>PyBytes_GET_SIZE(text))
    return places

def edit_headers(columns not None, dict changes not None, list texts not None, Py_ssize_t first, MemoryBudget budget not None):
    cdef Views views = Views.__new__(Views)
    cdef Table t
    cdef Edit e
    cdef Memory fates, memory, places
    cdef Py_ssize_t kept = 0, rows, added = (len(texts) - first) // 2, head, bits
    cdef int64_t size
    read_table(columns, views, &t)
    fates = allocate(budget, 4 * t.header_key.rows)
    size = fates_of(&t, changes, <int32_t*>fates.data, &kept) + sum([len(text) for text in texts])
    if not added and kept == t.header_starts[t.count] - t.header_starts[0] and not renames(&t, <int32_t*>fates.data):
        return columns
    if size > MOST or kept + <int64_t>t.count * added > MOST // 16:
        raise TooLarge("batch", MOST)
    rows = kept + t.count * added
    bits = 4 * (t.count + 1) + 16 * rows
    head = bits + (rows + 7) // 8
    memory = allocate(budget, head + size)
    e.starts = <int32_t*>memory.data
    e.key_offsets = e.starts + t.count + 1
    e.key_sizes, e.value_offsets, e.value_sizes = e.key_offsets + rows, e.key_offsets + 2 * rows, e.key_offsets + 3 * rows
    e.bits, e.data = memory.data + bits, memory.data + head
    e.row = e.at = 0
    e.has_null = False
    memset(e.bits, 0xFF, head - bits)
    places = put_texts(&e, texts, budget)
    put_records(&e, &t, <int32_t*>fates.data, <int32_t*>places.data, first, added)
    assert e.row == rows and e.at == size
    view = memoryview(memory)
    keys = column(view, 4 * (t.count + 1), rows, head, None)
    values = column(view, 4 * (t.count + 1) + 8 * rows, rows, head, view[bits:head] if e.has_null else None)
    return columns.with_headers(view[: 4 * (t.count + 1)].cast("i"), keys, values)

cdef bint renames(Table* t, const int32_t* fates) noexcept:
    cdef Py_ssize_t row
    for row in range(t.header_starts[0], t.header_starts[t.count]):
        if fates[row] >= 0:
            return True
    return False
