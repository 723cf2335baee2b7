# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Finds the records of a batch that lack a key or a header, or are too large; no Python object for any other record."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcmp

from bifrost.records.codec.section_writer cimport Table, Views, is_null, read_table
from bifrost.wire.steps cimport python_step

cdef enum:
    MOST_HEADERS = 32      # bits of `missing`

cdef uint32_t missing(Table* t, Py_ssize_t record, list keys) except? 0xFFFFFFFF:
    """Which of the keys no header of a record has, a bit for each."""
    cdef uint32_t left = (<uint32_t>1 << len(keys)) - 1 if len(keys) < MOST_HEADERS else 0xFFFFFFFF
    cdef Py_ssize_t row
    cdef int i
    cdef bytes key
    for row in range(t.header_starts[record], t.header_starts[record + 1]):
        if not left:
            return 0
        for i in range(len(keys)):
            key = keys[i]
            if (t.header_key.sizes[row] == PyBytes_GET_SIZE(key)
                    and memcmp(t.header_key.data + t.header_key.offsets[row], PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key)) == 0):
                left &= ~(<uint32_t>1 << i)
    return left

cdef int64_t size_of(Table* t, Py_ssize_t record) noexcept:
    cdef int64_t size = <int64_t>t.key.sizes[record] + t.value.sizes[record]
    cdef Py_ssize_t row
    for row in range(t.header_starts[record], t.header_starts[record + 1]):
        size += <int64_t>t.header_key.sizes[row] + t.header_value.sizes[row]
    return size

cdef int lowest(uint32_t bits) noexcept:
    cdef int i = 0
    while not bits >> i & 1:
        i += 1
    return i

def find_records(columns not None, bint needs_key, list header_keys not None, int64_t max_bytes, Py_ssize_t most):
    cdef Views views = Views.__new__(Views)
    cdef Table t
    cdef Py_ssize_t record
    cdef uint32_t lacks
    cdef list found = []
    if len(header_keys) > MOST_HEADERS:
        raise ValueError(f"at most {MOST_HEADERS} headers")
    read_table(columns, views, &t)
    for record in range(t.count):
        python_step()
        lacks = missing(&t, record, header_keys) if header_keys else 0
        if needs_key and is_null(&t.key, record):
            found.append((record, -1))
        elif lacks:
            found.append((record, lowest(lacks)))
        elif size_of(&t, record) > max_bytes:
            found.append((record, -2))
        if len(found) >= most:
            break
    return found
