# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The marks of batches, for the compiled way of requests and for what members of share groups get."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef enum:
    HEADER = 61
    ATTRIBUTES = 21
    LAST_DELTA = 23
    COUNT = 57
    TRANSACTION = 0x10
    GROUPS = 512         # MAX_SHARING of config/fields/virtual_partitions.py
    OPENED_ROUNDS = 1000 # a batch that is looked into, in rounds of a loop: it may take milliseconds

cdef uint16_t get16(const uint8_t* p) noexcept
cdef uint32_t get32(const uint8_t* p) noexcept
cdef uint64_t get64(const uint8_t* p) noexcept
cdef int fault_in(const uint8_t* p, Py_ssize_t size) noexcept
cdef bint names_producer(const uint8_t* p) noexcept
cdef bint mark_header(uint8_t* header, Py_ssize_t size, int group, int64_t producer_id, int producer_epoch) noexcept
cdef Py_ssize_t size_of(const uint8_t* p, Py_ssize_t left) except -1
cdef bint is_control(const uint8_t* p) noexcept
cdef int group_at(const uint8_t* p) noexcept
cdef tuple open_batch(object batch, bint is_keyed)
cdef bytes without_groups(object batch, int group, object section)
cdef Pieces new_pieces(object source, int64_t from_offset)

cdef class Pieces:
    cdef object source
    cdef list made
    cdef bytearray small
    cdef Py_ssize_t begin, end          # of own batches that follow each other
    cdef int64_t next                   # the first offset of which nothing is in the pieces
    cdef Py_ssize_t own_bytes
    cdef Py_ssize_t controls            # how many markers of transactions it has got or passed

    cdef int take_controls(self, list controls) except -1
    cdef int changed(self, bytes batch, int64_t last, int64_t before, uint32_t leader_epoch) except -1
    cdef int own(self, Py_ssize_t at, Py_ssize_t size, int64_t last, int64_t before, uint32_t leader_epoch) except -1
    cdef int skip(self, int64_t last, uint32_t leader_epoch) except -1
    cdef int end_run(self) except -1
    cdef int end_small(self) except -1
