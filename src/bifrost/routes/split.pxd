# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Splits as `session_frame.pyx` reads them."""

cimport cython
from libc.stdint cimport int16_t, int32_t, int64_t

from bifrost.routes.leaders cimport Leaders
from bifrost.routes.shape cimport Cursor, Piece, Shape
from bifrost.routes.slots cimport Slot, Topic
from bifrost.routes.template cimport Template
from bifrost.wire.output cimport Output

@cython.final
cdef class Split:
    cdef Shape request
    cdef Template template
    cdef list segments, keys, frames
    cdef dict first_of
    cdef Piece* pieces
    cdef Slot* slots
    cdef Topic* topics
    cdef int32_t* buckets
    cdef int count, slot_room, topic_count, topic_room, hint
    cdef int bucket_bits
    cdef Py_ssize_t start, topics_at, after_at, size, read_at
    cdef int64_t topics_left, partitions_left
    cdef int32_t throttle_ms
    cdef bint is_plain
    cdef readonly int64_t data_bytes
    cdef readonly bint has_error, has_absent, is_open

    cdef Piece* map_pieces(self) except NULL
    cdef int begin_topic(self, Cursor* c) except -1
    cdef int end_topic(self, Cursor* c) except -1
    cdef int read_partition(self, Cursor* c) except -1
    cdef bint lead_topic(
        self, Topic* topic, Leaders leaders, int32_t elsewhere, int64_t now_ms, int16_t absence
    ) noexcept
    cdef int refuse(self, Slot* slot, int16_t error_code) noexcept
    cdef bytes bytes_of(self, Py_ssize_t start, Py_ssize_t end)
    cdef int topics_of(self, int32_t node) noexcept
    cdef int take_partition(self, int32_t node, int topic, Cursor* c) except -1
    cdef int find(self, int topic, int32_t index) except -2
    cdef int build_buckets(self) except -1
    cdef bint is_same(self, int mine, Split other, int its) except -1
    cdef bint is_whole(self) noexcept
    cdef int put_topic(self, Output* out, int t, int mode) except -1
