# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rewriting as the hot path uses it: whole frames, frames where they were received, and the heads of large ones."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from bifrost.wire.framer cimport Block
from bifrost.wire.output cimport Output
from bifrost.wire.program cimport Program
from bifrost.wire.reader cimport Reader


cdef enum:
    RECORD_BYTES = 256     # bytes of records on a way that stand for a round: to seal 64 KiB takes some 30 us
    BATCH_HEAD = 64        # bytes at the beginning of records that a way may replace by as many others
    NO_PLACE = -1


cdef class RecordTrip:
    cdef Block block
    cdef Py_ssize_t used
    cdef Py_ssize_t expected       # bytes of new records in all, about; 0: not known
    cdef readonly bint has_changed
    cdef bint is_kept              # until the answer comes: its way is taken with this trip
    cdef readonly int parts        # requests that the message becomes, one after the other; below 2: it stays one
    cdef bint is_divided           # it has become them
    cdef bint is_whole             # the answer at hand is one to all of them
    cdef uint8_t* room(self, Py_ssize_t size) except NULL
    cdef object piece(self, const uint8_t* data, Py_ssize_t size)
    cdef int end(self, object frame) except -1
    cdef list divided(self, Reader* r, list segments, Py_ssize_t start)
    cpdef int keep_answer(self, bytes answer) except -1
    cdef bytes joined(self, Reader* r, Py_ssize_t start)


cdef class RecordWay:
    cdef readonly bytes name
    cdef bint is_placed    # its partitions have other numbers on the other side
    cdef RecordTrip begin(self, Reader* r)
    cdef list new_records(self, RecordTrip trip, Reader* r, Py_ssize_t size, int32_t partition, object owner)
    cdef int64_t place(self, RecordTrip trip, int32_t partition) except -2
    cdef int new_head(self, RecordTrip trip, const uint8_t* records, Py_ssize_t size, uint8_t* head) except -2


@cython.final
cdef class Names:
    cdef public list tables
    cdef readonly object missing
    cdef readonly int64_t miss_steps     # rounds that a name stands for that is in no table
    cdef object replacement(self, int slot, bytes name, Reader* r)


cdef inline RecordTrip trip_of(Reader* r):
    """What ways have done for a message that was rewritten; None: it has taken none."""
    return None if r.trip == NULL else <RecordTrip>r.trip

cdef list rewrite_body(Program program, object frame, Reader* r, Names names, bytes head, bytes client_prefix,
                       bint allow_trailing, bint has_ways)
cdef bint put_body(Program program, Reader* r, Output* out, Names names, bytes client_prefix,
                   bint allow_trailing) except -1
cdef list rewrite_head(Program program, object frame, Reader* r, Names names, bytes client_prefix)
