# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Counters of a client's messages as the hot path adds to them."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int16_t, int64_t, uint8_t
from libc.string cimport memcmp

from bifrost.wire.program cimport Program
from bifrost.wire.reader cimport Reader, be16

cdef enum:
    BATCH_HEADER = 61        # the bytes of a record batch's header of which something is counted, in format v2
    TIMES = 11               # buckets of the gateway's own time, and one more

cdef class Tally(Program):
    pass

cdef struct Cell:
    int16_t acks
    int16_t codec
    int64_t batches, records, bytes, idempotent, transactional, old

@cython.final
@cython.no_gc
cdef class TopicUsage:
    cdef readonly object key
    cdef readonly object on_use
    cdef readonly bint is_folded
    cdef int64_t requests, errors, bytes_in, bytes_out, control_batches
    cdef Cell* cells
    cdef int count
    cdef Cell* cell(self, int acks, int codec) except NULL
    cdef void add_bytes(self, int64_t size, int acks) noexcept
    cdef int add(self, const uint8_t* data, Py_ssize_t size, int acks) except -1
    cdef int add_batch(self, const uint8_t* header, int64_t size, int acks) except -1
    cdef int merge(self, TopicUsage other) except -1

cdef class Passing

@cython.final
cdef class Usage:
    cdef readonly object client_id
    cdef public dict topics
    cdef public object resolve
    cdef readonly Py_ssize_t in_flight
    cdef Tally request, response
    cdef bint is_fetch, is_of_any_client
    cdef int64_t requests, responses, errors, bytes_in, bytes_out, throttle_ms, broker_ns, gateway_ns, empty_fetches
    cdef int64_t times[TIMES + 1]
    cdef dict error_codes, virtual, physical, ids
    cdef bytes last_name
    cdef TopicUsage last
    cdef int last_slot
    cdef int64_t decided         # about how many names Python code decided; one of 256 bytes counts twice
    cdef dict groups, transactional_ids    # None where none was named
    cdef bytes last_access_name
    cdef TopicUsage last_access
    cdef int last_access_slot
    cdef int forget_topics(self) except -1
    cdef TopicUsage topic(self, int slot, const uint8_t* name, Py_ssize_t size, bint is_physical)
    cdef int access(self, int slot, const uint8_t* name, Py_ssize_t size) except -1
    cdef Passing add_request(self, Reader* r)
    cdef Passing add_response(self, Reader* r, bint is_physical)
    cdef void finish(self, Py_ssize_t size, int64_t broker_ns, int64_t gateway_ns) noexcept
    cdef int fail(self, int code, TopicUsage topic) except -1

    cdef inline bint is_of(self, const uint8_t* header, Py_ssize_t size) noexcept:
        """Whether a request with this header is the client's; its fixed part is there."""
        cdef int length = <int16_t>be16(header + 8)
        if self.is_of_any_client:
            return True
        if length < 0 or self.client_id is None:
            return length < 0 and self.client_id is None
        return (length == PyBytes_GET_SIZE(self.client_id) and 10 + length <= size
                and memcmp(header + 10, PyBytes_AS_STRING(self.client_id), length) == 0)

@cython.final
cdef class Passing:
    cdef Usage usage
    cdef TopicUsage counted
    cdef bytes name
    cdef int slot, acks, have
    cdef bint is_physical
    cdef int64_t left, skip      # bytes of the records that have still to come, and those until the next batch
    cdef uint8_t header[BATCH_HEADER]
    cdef int go_on(self, piece) except -1
    cdef int add(self, const uint8_t* data, int64_t size) except -1
    cdef int take_header(self) except -1
    cdef int end(self) except -1
