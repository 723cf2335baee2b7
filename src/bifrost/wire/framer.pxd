# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The framer, and what is above it as it sees that: where it counts its memory, and what takes small frames from it."""

cimport cython
from libc.stdint cimport int64_t, uint8_t


cdef enum:
    DIRECT = 32768         # bytes: an unfinished frame above this is received straight into its own memory


cdef class MemoryLimit:
    cdef bint full(self) noexcept
    cdef bint reserve(self, Py_ssize_t size, bint is_answer, bint has_turn) noexcept
    cdef void give_back(self, Py_ssize_t size, bint is_answer) noexcept
    cdef void count(self, Py_ssize_t more) noexcept
    cdef void hold(self, Py_ssize_t size, bint is_answer) noexcept


@cython.final
@cython.no_gc
cdef class TakenRoom:
    cdef MemoryLimit room
    cdef Py_ssize_t size


cdef class Framer


cdef class FrameConsumer:
    cdef int take_small(self, Framer framer, bint is_request) except -1


@cython.final
@cython.no_gc
cdef class Chunk:
    cdef uint8_t* data
    cdef Py_ssize_t capacity
    cdef int allocate(self, Py_ssize_t capacity) except -1


@cython.final
@cython.no_gc
cdef class Block:
    cdef uint8_t* data
    cdef Py_ssize_t size, capacity
    cdef MemoryLimit room
    cdef bint is_answer


cdef class Framer:
    cdef public Py_ssize_t max_frame_bytes
    cdef readonly object failed
    cdef readonly bytes first_bytes
    cdef Chunk chunk
    cdef Py_ssize_t lo, hi
    cdef Block frame
    cdef Py_ssize_t at
    cdef int64_t passed
    cdef Py_ssize_t rest, tail
    cdef bint is_tried
    cdef object piece
    cdef MemoryLimit held_in
    cdef Py_ssize_t chunk_bytes, direct, charged
    cdef readonly bint is_blocked
    cdef bint is_answer
    cdef bint settle(self, bint has_turn) noexcept
    cdef object begin(self, Py_ssize_t size)
    cdef object grow(self)
    cdef bint must_wait(self) noexcept
    cdef void charge(self, Py_ssize_t size) noexcept
    cdef uint8_t* place(self, Py_ssize_t* room) except NULL
    cdef list take(self, Py_ssize_t size, FrameConsumer consumer, bint is_request)
    cdef Py_ssize_t small(self, const uint8_t** data) noexcept
    cdef void skip(self, Py_ssize_t size) noexcept
    cdef int take_chunk(self) except -1
    cdef Py_ssize_t room(self)
    cdef list take_frame(self, Py_ssize_t size)
    cdef list split(self)
    cdef object head(self)
    cdef int let_pass(self, Py_ssize_t tail) except -1
    cdef list take_piece(self, Py_ssize_t size)
