"""Templates, and what of an answer is written by itself."""

from libc.stdint cimport int64_t, uint8_t

from bifrost.routes.shape cimport Shape
from bifrost.wire.output cimport Output

cdef enum:
    MARKS = 24            # bytes of the watermarks of a partition, at most
    NO_THROTTLE = -1      # where a response has its throttle time: first of all, or first behind the topics
    IN_FRONT = 0
    BEHIND = 1


cdef class Template:
    cdef readonly Shape shape
    cdef readonly bytes body
    cdef Py_ssize_t topics_at, partition_at, partition_end, after_at, throttle_at, index_at, error_at
    cdef Py_ssize_t tail_at, tail_end, marks_at, marks_size


cdef int put_count(Output* out, Shape shape, int64_t count) except -1
cdef int put_tags(Output* out, const uint8_t* tags, Py_ssize_t size, int without) except -1
