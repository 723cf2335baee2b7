# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Waves as the way of virtual partitions uses them; waves.pyx explains how they work."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from bifrost.routes.shape cimport Cursor, Piece, Shape
from bifrost.wire.output cimport Output

cdef struct Entry:
    int32_t topic, index
    int32_t wave, next            # next: of the same wave, -1: it is the last
    Py_ssize_t start, end         # in the request
    const uint8_t* answer         # NULL: there is none yet
    Py_ssize_t size

cdef struct Span:
    Py_ssize_t start, head, tail, end    # the topic, behind its name, behind its partitions, its end
    int32_t first, count                 # its entries

cdef struct Piecewise:
    Piece* pieces
    int count, at                 # at: of the piece that was copied from last


@cython.final
cdef class Waves:
    cdef readonly list keys       # of the topics: names or IDs
    cdef list heads, answers      # what stands before a topic's partitions; the answers so far, by wave
    cdef dict topics              # number by key
    cdef dict by_place
    cdef Shape request, response
    cdef Entry* entries
    cdef Span* spans
    cdef int32_t* first           # of each wave
    cdef Piece* pieces            # of the request; NULL: it was divided
    cdef int count, room, topic_count, topic_room, waves
    cdef Py_ssize_t topics_at, after_at, size

    cdef int map_pieces(self, list segments) except -1
    cdef bint read(self, Cursor* c) except -1
    cdef bint read_topic(self, Cursor* c) except -1
    cdef int add(self, int topic, Cursor* c, Py_ssize_t start) except -1
    cdef list frames(self, list segments, int waves)
    cdef int frame(self, list out, list segments, Piecewise* from_, int wave) except -1
    cdef int put_topics(self, Output* out, list segments, Piecewise* from_, int wave) except -1
    cdef bint take(self, int wave, const uint8_t* data, Py_ssize_t size, Py_ssize_t start, Py_ssize_t* after) except -1
    cdef bint take_partition(self, int wave, int topic, Cursor* c, int32_t* expected) except -1
    cdef int find(self, int wave, int topic, int32_t index, int32_t expected) except -2
    cdef bytes joined(self, const uint8_t* last, Py_ssize_t size, Py_ssize_t start)


cdef Waves read_waves(shapes, list segments, Py_ssize_t start)
