# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads a frame: opens and closes it, reads its numbers, and says where it is malformed. See reader.pxd."""

from cpython.buffer cimport PyBUF_SIMPLE, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from libc.string cimport memcpy

from bifrost.wire.errors import MalformedFrame

from bifrost.wire.steps cimport pause, steps_to_pause
from bifrost.wire.window cimport memoryview_data, memoryview_is_kept, memoryview_size

cdef int fail(Reader* r, str reason) except -1:
    raise MalformedFrame(reason, r.pos)

cdef int out_of_steps(Reader* r) except -1:
    """Go on, after a pause where there may be one; 1: no further here."""
    if r.hot:
        return 1
    r.steps = steps_to_pause()
    pause()
    return 0

cdef void add_code(Reader* r, int code) noexcept:
    cdef int i = 0
    while i < r.codes and r.code[i] != code:
        i += 1
    if i >= CODES:
        i, code = CODES, OTHER_CODE
    if i >= r.codes:
        r.codes = i + 1
        r.code[i], r.times[i] = <int16_t>code, 0
    r.times[i] += 1

cdef object read_number(Reader* r, int kind):
    """A number or bool."""
    cdef const uint8_t* p = r.data + r.pos
    cdef int size = number_size(kind)
    cdef uint64_t bits
    cdef double real
    need(r, size)
    r.pos += size
    if kind == INT32:
        return <int32_t>be32(p)
    if kind == INT16:
        return <int16_t>be16(p)
    if kind == INT64:
        return <int64_t>be64(p)
    if kind == INT8:
        return <int8_t>p[0]
    if kind == BOOL:
        return p[0] != 0
    if kind == UINT16:
        return be16(p)
    if kind == UINT32:
        return be32(p)
    bits = be64(p)
    memcpy(&real, &bits, 8)
    return real

cdef int open_frame(object frame, Py_ssize_t start, Reader* r) except -1:
    """Let `r` read `frame` from `start`; to be closed afterwards."""
    r.own = PyBytes_CheckExact(frame)
    if not r.own and memoryview_is_kept(frame):
        r.own = True
        r.data = <const uint8_t*>memoryview_data(frame)
        r.end = memoryview_size(frame)
    elif r.own:
        r.data = <const uint8_t*>PyBytes_AS_STRING(frame)
        r.end = PyBytes_GET_SIZE(frame)
    else:
        PyObject_GetBuffer(frame, &r.view, PyBUF_SIMPLE)
        r.data = <const uint8_t*>r.view.buf
        r.end = r.view.len
    r.pos, r.whole, r.tail, r.trip, r.producer = start, r.end, -1, NULL, NULL
    r.hot, r.steps, r.names, r.codes = False, steps_to_pause(), 0, 0
    if start < 0 or start > r.end:
        close_frame(r)
        fail(r, "frame ends before its body")
    return 0
