# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""SchemaValidator at level `id` as a step: the records of a batch that is not packed are read where they stand.

Only the IDs of their keys and values are looked at, and neighbours mostly have the same: nothing is made for a record.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp

from bifrost.schemas.schema_key import SchemaAnswer

from bifrost.records.batch_header cimport ATTRIBUTES_AT, CODEC, COUNT_AT, HEADER
from bifrost.records.codec.section_reader cimport LEAST_HEADER, LEAST_RECORD, Section, need, read_field, read_varint, read_varlong
from bifrost.schemas.schema_ids cimport KEY_HEADER, VALUE_HEADER, id_of, size_of_id
from bifrost.transforms.batch_step cimport Batch, BatchStep, BatchTrip
from bifrost.wire.reader cimport be16, be32

cdef enum:
    KEPT_IDS = 1000    # IDs of a topic of which the key is kept: ten times as many as one batch may name
    CHANGES = 100      # of the ID within a batch: as many as it may name (MAX_IDS in schema_validator.py)

cdef struct Part:
    # The keys or the values of a batch.
    bint is_checked, is_key
    int32_t at, size       # of the record at hand
    bint is_null
    Py_ssize_t own         # where its header with an ID is, 0 without one
    int32_t own_size
    const uint8_t* last    # the ID before it, which records may have; NULL: there is none
    int last_size
    int changes


cdef class SchemaStep(BatchStep):
    """Lets a batch pass whose records all have IDs that records of their topic may have."""
    cdef object key_of
    cdef dict keys
    cdef bint checks_keys, checks_values

    def __init__(self, str name not None, bint checks_keys, bint checks_values, key_of not None):
        self.name, self.key_of, self.keys = name, key_of, {}
        self.checks_keys, self.checks_values = checks_keys, checks_values

    cdef bint take(self, Batch* batch, BatchTrip trip) except -1:
        cdef Section s
        cdef Part key, value
        cdef int64_t count = <int32_t>be32(batch.data + COUNT_AT), i
        cdef Py_ssize_t end
        cdef int32_t length
        if be16(batch.data + ATTRIBUTES_AT) & CODEC:
            return False
        s.data, s.pos, s.end, s.record = batch.data + HEADER, 0, batch.size - HEADER, 0
        if count < 0 or count > s.end // LEAST_RECORD:
            return False
        key.is_checked, key.is_key, key.last, key.last_size, key.changes = self.checks_keys, True, NULL, 0, 0
        value.is_checked, value.is_key, value.last, value.last_size, value.changes = self.checks_values, False, NULL, 0, 0
        for i in range(count):
            s.record = i
            length = read_varint(&s, s.end)
            if length < 0 or length > s.end - s.pos:
                return False
            end = s.pos + length
            need(&s, 1, end)
            s.pos += 1  # attributes, of which none is in use
            read_varlong(&s, end)
            read_varint(&s, end)
            key.is_null = read_field(&s, end, &key.at, &key.size)
            value.is_null = read_field(&s, end, &value.at, &value.size)
            if not read_headers(&s, end, &key, &value) or s.pos != end:
                return False
            if not self.may_have(&s, &value, trip) or not self.may_have(&s, &key, trip):
                return False
        return s.pos == s.end

    cdef bint may_have(self, Section* s, Part* part, BatchTrip trip) except -1:
        """Whether the key or value at hand has an ID that it may have."""
        cdef const uint8_t* data = s.data + (part.own or part.at)
        cdef int size
        if not part.is_checked or part.is_null:
            return True
        size = size_of_id(data, part.own_size if part.own else part.size)
        if size < 0:
            return False
        if part.last != NULL and size == part.last_size and memcmp(data + 1, part.last, size) == 0:
            return True
        part.changes += 1
        if part.changes > CHANGES:
            return False
        answer = trip.answer_to(self.asked_by(data + 1, size, part.is_key))
        if type(answer) is not SchemaAnswer or answer.reason is not None:
            return False
        part.last, part.last_size = data + 1, size
        return True

    cdef object asked_by(self, const uint8_t* at, int size, bint is_key):
        """Return what an ID is asked about by, the same object for the same ID."""
        schema_id = id_of(at, size)
        found = self.keys.get((schema_id, is_key))
        if found is None:
            if len(self.keys) >= KEPT_IDS:
                self.keys.clear()
            found = self.keys[schema_id, is_key] = self.key_of(schema_id, is_key)
        return found


cdef bint read_headers(Section* s, Py_ssize_t end, Part* key, Part* value) except -1:
    """Read the headers of a record, and note those that have an ID; False: there is something unusual."""
    cdef int32_t count = read_varint(s, end), name = 0, name_size = 0, at = 0, size = 0
    cdef Part* part
    key.own = value.own = 0
    if count < 0 or <int64_t>count * LEAST_HEADER > end - s.pos:
        return False
    while count > 0:
        count -= 1
        if read_field(s, end, &name, &name_size):
            return False
        if read_field(s, end, &at, &size):
            continue
        if is_called(s, name, name_size, VALUE_HEADER):
            part = value
        elif is_called(s, name, name_size, KEY_HEADER):
            part = key
        else:
            continue
        if part.own:
            return False
        part.own, part.own_size = at, size
    return True

cdef inline bint is_called(Section* s, int32_t name, int32_t size, bytes header) noexcept:
    return size == PyBytes_GET_SIZE(header) and memcmp(s.data + name, PyBytes_AS_STRING(header), size) == 0
