# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What an answer has besides the partitions that brokers answered: its other fields, and a partition by default."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t

from bifrost.routes.shape cimport (
    AFTER, BEFORE, PARTITION, TOPIC, TOPIC_END, Cursor, Piece, Shape, open_pieces, read_varint,
)
from bifrost.wire.output cimport Output, put, put_be, put_varint


@cython.final
cdef class Template:
    def __init__(self, Shape shape not None, bytes body not None, Py_ssize_t throttle_at=-1, Py_ssize_t marks_at=-1,
                 Py_ssize_t marks_size=0):
        cdef Piece piece
        cdef Cursor c
        if marks_size > MARKS:
            raise ValueError("a partition has too many watermarks")
        self.shape, self.body, self.throttle_at = shape, body, throttle_at
        self.marks_at, self.marks_size = marks_at, marks_size
        piece = Piece(<const uint8_t*>PyBytes_AS_STRING(body), 0, PyBytes_GET_SIZE(body))
        open_pieces(&c, &piece, 1)
        c.error_at = -1
        shape.walk(BEFORE, &c)
        self.topics_at = c.pos
        if shape.read_count(&c) != 1:
            raise ValueError("a template has one topic")
        shape.walk(TOPIC, &c)
        if shape.read_count(&c) != 1:
            raise ValueError("a template's topic has one partition")
        self.partition_at = c.pos
        shape.walk(PARTITION, &c)
        self.partition_end, self.index_at, self.error_at = c.pos, c.index_at - self.partition_at, -1
        if c.error_at >= 0:
            self.error_at = c.error_at - self.partition_at
        self.tail_at = c.pos
        shape.walk(TOPIC_END, &c)
        self.tail_end = self.after_at = c.pos
        shape.walk(AFTER, &c)
        if c.pos != c.end:
            raise ValueError("a template ends where its shape does")


cdef int put_count(Output* out, Shape shape, int64_t count) except -1:
    return put_varint(out, <uint32_t>(count + 1)) if shape.is_flexible else put_be(out, count, 4)

cdef int put_tags(Output* out, const uint8_t* tags, Py_ssize_t size, int without) except -1:
    """Append tagged fields, which were walked over before, but for one."""
    cdef Piece piece = Piece(tags, 0, size)
    cdef Cursor c
    cdef Py_ssize_t start
    cdef int64_t count, left, tag
    open_pieces(&c, &piece, 1)
    count = left = read_varint(&c)
    start = c.pos
    while left > 0:
        left -= 1
        tag = read_varint(&c)
        count -= tag == without
        c.pos += read_varint(&c)
    put_varint(out, <uint32_t>count)
    c.pos = start
    while c.pos < size:
        start = c.pos
        tag = read_varint(&c)
        c.pos += read_varint(&c)
        if tag != without:
            put(out, tags + start, c.pos - start)
    return 0
