# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Replaces fields of the values of a batch: a masker finds them, one for all values or one for each schema."""

from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy, memset

from bifrost.records.codec.columns import BytesColumn
from bifrost.records.codec.errors import TooLarge

from bifrost.records.codec.memory cimport Memory, MemoryBudget, allocate
from bifrost.records.codec.section_writer cimport Table, Views, is_null, read_table
from bifrost.schemas.schema_ids cimport Search, id_of
from bifrost.wire.steps cimport python_step

cdef enum:
    MOST = 0x7FFFFFFF       # what an offset can say

cdef class Out:

    cdef int put(self, const uint8_t* data, Py_ssize_t size) except -1:
        if self.at + size > self.memory.size:
            if self.at + size > MOST:
                raise TooLarge("batch", MOST)
            self.memory.resize(min(max(self.at + size, 2 * self.memory.size), <Py_ssize_t>MOST))
        memcpy(self.memory.data + self.at, data, size)
        self.at += size
        return 0

cdef class FieldMasker:

    cdef int mask(self, Out out, const uint8_t* data, Py_ssize_t size, Py_ssize_t start) except -1:
        raise NotImplementedError

cdef class NoFields(FieldMasker):

    cdef int mask(self, Out out, const uint8_t* data, Py_ssize_t size, Py_ssize_t start) except -1:
        out.put(data, size)
        return 1

cdef class Choice:
    """The masker of each value of a batch."""

    cdef FieldMasker masker     # None: nothing reads the value
    cdef dict by_schema
    cdef Search search
    cdef Py_ssize_t start

    def __cinit__(self, columns, maskers):
        self.start = -1
        if isinstance(maskers, FieldMasker):
            self.masker = maskers
        else:
            self.by_schema, self.search = maskers, Search(columns, False)

    cdef int look(self, Table* t, Py_ssize_t record) except -1:
        cdef Search search = self.search
        if search is None:
            return 0
        if search.look(record) == 1:
            self.masker = self.by_schema.get(id_of(search.last, search.last_size))
        self.start = 0
        if search.at == t.value.data + t.value.offsets[record] + 1:
            self.start = 1 + search.last_size
        return 0

def mask_values(columns not None, maskers not None, MemoryBudget budget not None, replace=None):
    cdef Views views = Views.__new__(Views)
    cdef Table t
    cdef Out out = Out.__new__(Out)
    cdef Choice choice = Choice(columns, maskers)
    cdef Memory head
    cdef Py_ssize_t i, begin, total = 0
    cdef int32_t* offsets
    cdef int32_t* sizes
    cdef uint8_t* bits
    cdef list unreadable = []
    out.replace = replace
    read_table(columns, views, &t)
    for i in range(t.count):
        total += t.value.sizes[i]
    head = allocate(budget, 8 * t.count + (t.count + 7) // 8)
    offsets = <int32_t*>head.data
    sizes = offsets + t.count
    bits = head.data + 8 * t.count
    memset(bits, 0, (t.count + 7) // 8)
    out.memory = allocate(budget, total + 64)
    for i in range(t.count):
        python_step()
        offsets[i] = <int32_t>out.at
        begin = out.at
        out.record = i
        if not is_null(&t.value, i):
            choice.look(&t, i)
            if choice.masker is not None and choice.masker.mask(
                out, t.value.data + t.value.offsets[i], t.value.sizes[i], choice.start
            ):
                bits[i >> 3] |= 1 << (i & 7)
            else:
                out.at = begin
                out.is_changed = True
                unreadable.append(i)
        sizes[i] = <int32_t>(out.at - begin)
    if not out.is_changed:
        return columns, unreadable
    out.memory.resize(out.at)
    view = memoryview(head)
    values = BytesColumn(out.memory, view[: 4 * t.count].cast("i"), view[4 * t.count : 8 * t.count].cast("i"),
                         view[8 * t.count :])
    return columns.with_values(values), unreadable
