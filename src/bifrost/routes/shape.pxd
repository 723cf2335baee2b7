# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Shapes as `split.pyx` walks along them."""

cimport cython
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t

cdef enum:
    BEFORE, TOPIC, PARTITION, TOPIC_END, AFTER, SECTIONS    # sections of a message, in its order
    MAX_NESTED = 8          # arrays within each other; Kafka's deepest message of this kind has 3
    SCRATCH = 16            # bytes of the largest number, and of a UUID

cpdef enum What:
    SKIP, STRING, BYTES, FIXED_ARRAY, ARRAY, NULLABLE_STRUCT, TAGS, INDEX, ERROR, NAME_KEY, ID_KEY, DATA

cdef struct Op:
    uint8_t what, flags
    int32_t a               # bytes; of ARRAY and NULLABLE_STRUCT the number of ops inside

cdef struct Piece:
    const uint8_t* data
    Py_ssize_t begin, size  # where it begins in the frame

cdef struct Cursor:
    Piece* pieces
    int count, at
    Py_ssize_t pos, end     # offsets in the frame
    # what the last walk has seen
    Py_ssize_t key_at, key_size, index_at, error_at, data_size, tags_at
    int32_t index
    int16_t error

@cython.final
cdef class Shape:
    cdef Op* ops
    cdef int first[SECTIONS + 1]
    cdef readonly bint is_flexible
    cdef readonly int leader_tag    # tag of the leader hint in a partition, -1: none
    cdef int walk(self, int section, Cursor* c) except -1
    cdef int64_t read_count(self, Cursor* c) except -2

cdef int open_pieces(Cursor* c, Piece* pieces, int count) noexcept
cdef int64_t read_varint(Cursor* c) except -1
cdef int copy(Cursor* c, Py_ssize_t at, Py_ssize_t size, uint8_t* to) noexcept
cdef int32_t read_int32(Cursor* c, Py_ssize_t at) noexcept
