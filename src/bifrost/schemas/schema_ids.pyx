# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Finds which schemas the records of a batch name (wire_format.py); neighbours mostly name the same, and cost no Python object."""

from libc.stdint cimport uint8_t
from libc.string cimport memcmp

from bifrost.records.codec.section_writer cimport Field, Table, is_null, read_table
from bifrost.wire.reader cimport be32
from bifrost.wire.steps cimport python_step

from bifrost.schemas import wire_format

cdef enum:
    NULL_FIELD = 0
    LACKING = -1           # NO_ID
    TWICE = -2             # TWO_IDS

assert (wire_format.NO_ID, wire_format.TWO_IDS) == (LACKING, TWICE)

KEY_HEADER = wire_format.KEY_HEADER
VALUE_HEADER = wire_format.VALUE_HEADER

cdef int size_of_id(const uint8_t* data, Py_ssize_t size) noexcept:
    """How many bytes the ID behind the magic byte has, or LACKING."""
    if size > NUMBER and data[0] == 0:
        return NUMBER
    if size > GUID and data[0] == 1:
        return GUID
    return LACKING

cdef int find_id(Table* t, Field* field, Py_ssize_t record, const uint8_t* name, Py_ssize_t name_size, const uint8_t** at) noexcept:
    """How many bytes the ID of a record has, and where they are; or NULL_FIELD, LACKING, TWICE."""
    cdef Py_ssize_t row, own = -1
    cdef const uint8_t* data
    cdef int size
    if is_null(field, record):
        return NULL_FIELD
    for row in range(t.header_starts[record], t.header_starts[record + 1]):
        if (t.header_key.sizes[row] == name_size and memcmp(t.header_key.data + t.header_key.offsets[row], name, name_size) == 0
                and not is_null(&t.header_value, row)):
            if own >= 0:
                return TWICE
            own = row
    if own >= 0:
        data, size = t.header_value.data + t.header_value.offsets[own], t.header_value.sizes[own]
    else:
        data, size = field.data + field.offsets[record], field.sizes[record]
    at[0] = data + 1
    return size_of_id(data, size)

cdef object id_of(const uint8_t* at, int size):
    if size == NUMBER:
        return be32(at) & 0xFFFFFFFF
    if size == GUID:
        return (<const char*>at)[:GUID]
    return size

cdef class Search:
    def __cinit__(self, columns not None, bint is_key):
        self.views = Views.__new__(Views)
        read_table(columns, self.views, &self.table)
        self.field = &self.table.key if is_key else &self.table.value
        self.name = KEY_HEADER if is_key else VALUE_HEADER
        self.last_size = NULL_FIELD

    cdef int look(self, Py_ssize_t record) except -1:
        cdef const uint8_t* at = NULL
        cdef int size = find_id(
            &self.table, self.field, record, <const uint8_t*><const char*>self.name, len(self.name), &at
        )
        self.at = at
        if size == NULL_FIELD:
            return 0
        if size == self.last_size and (size < 0 or memcmp(at, self.last, size) == 0):
            return 2
        self.last, self.last_size = at, size
        return 1

def find_schema_ids(columns not None, bint is_key, Py_ssize_t most):
    cdef Search search = Search(columns, is_key)
    cdef Py_ssize_t record
    cdef set found = set()
    for record in range(search.table.count):
        python_step()
        if search.look(record) == 1:
            found.add(id_of(search.last, search.last_size))
            if len(found) > most:
                break
    return found

def find_records_with(columns not None, bint is_key, ids not None, Py_ssize_t most):
    cdef Search search = Search(columns, is_key)
    cdef Py_ssize_t record
    cdef int state
    cdef bint is_one = False
    cdef object schema_id = None
    cdef list found = []
    for record in range(search.table.count):
        python_step()
        state = search.look(record)
        if state == 1:
            schema_id = id_of(search.last, search.last_size)
            is_one = schema_id in ids
        if state and is_one:
            found.append((record, schema_id))
            if len(found) >= most:
                break
    return found
