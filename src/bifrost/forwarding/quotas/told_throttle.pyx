# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes into an answer how long its client is told to wait; nothing of it is decoded for that.

The field is the first of the body, or of a Produce the last that is not tagged.

    memory that the gateway received the answer into     overwritten, before names are replaced
    bytes, which other code may have too                 the first field: written in the segments of the answer, which
                                                         are new as far as there; of a Produce: in a copy
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, uint8_t

from bifrost.wire.program import end_of_fields

from bifrost.wire.output cimport write_size
from bifrost.wire.program cimport Passage
from bifrost.wire.reader cimport Reader, be32
from bifrost.wire.window cimport window


cdef inline void put_longer(uint8_t* told, int32_t throttle_ms) noexcept:
    if throttle_ms > <int32_t>be32(told):
        write_size(told, throttle_ms)

cdef bint overwrite_throttle(Passage passage, bint is_produce, object frame, Reader* r, int32_t throttle_ms) except -1:
    """Overwrite the field in the memory of an answer whose body is at r.pos; False: it cannot be done there.

    Without `frame` the answer is a small one that stands among others.
    """
    cdef Py_ssize_t at = r.pos
    if PyBytes_CheckExact(frame):
        return False
    if not passage.begins_with_throttle:
        if frame is None or not is_produce or r.whole != r.end:
            return False
        at = <Py_ssize_t>end_of_fields(passage.response, frame, r.pos) - 4
    if at < r.pos or r.end - at < 4:
        return False
    put_longer(<uint8_t*>r.data + at, throttle_ms)
    return True

cdef object own_copy(object frame, Reader* r):
    """Let `r` go on in a copy of a frame of bytes, and return that as memory of the gateway's own."""
    cdef bytes copy = PyBytes_FromStringAndSize(<const char*>r.data, r.end)
    r.data = <const uint8_t*>PyBytes_AS_STRING(copy)
    return window(copy, r.data, r.end, True)

cpdef int put_throttle(list segments, Py_ssize_t at, int32_t throttle_ms) except -1:
    """Write the field `at` so many bytes of an answer that was rewritten into segments, its length included."""
    cdef bytes first = segments[0]
    cdef Py_ssize_t size = PyBytes_GET_SIZE(first)
    if size < at + 4:
        # A slice of the frame follows.
        rest = memoryview(segments[1])
        first += bytes(rest[:at + 4 - size])
        segments[:2] = [first, rest[at + 4 - size:]]
    # No other code has seen the first segment yet.
    put_longer(<uint8_t*>PyBytes_AS_STRING(first) + at, throttle_ms)
    return 0
