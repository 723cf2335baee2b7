"""What other compiled modules may take from the engine: the framer, and the part of a session that it carries out."""

cimport cython
from libc.stdint cimport int64_t, uint8_t


@cython.final
@cython.no_gc
cdef class Room:
    cdef readonly Py_ssize_t used, blocks, answers
    cdef public Py_ssize_t most, for_small, waiting
    cdef public object on_room
    cdef readonly Room whole
    cdef bint full(self) noexcept
    cdef bint fits(self, Py_ssize_t size, bint is_answer) noexcept
    cdef bint reserve(self, Py_ssize_t size, bint is_answer, bint has_turn) noexcept
    cdef void add(self, Py_ssize_t size, bint is_answer) noexcept
    cdef void give_back(self, Py_ssize_t size, bint is_answer) noexcept
    cdef void count(self, Py_ssize_t more) noexcept
    cdef void tell(self) noexcept


@cython.final
@cython.no_gc
cdef class Chunk:
    cdef uint8_t* data
    cdef Py_ssize_t capacity


@cython.final
@cython.no_gc
cdef class Block:
    cdef uint8_t* data
    cdef Py_ssize_t size, capacity
    cdef Room room
    cdef bint is_answer


cdef class Forwarding


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
    cdef readonly Room held_in
    cdef Py_ssize_t chunk_bytes, direct, charged
    cdef readonly bint is_blocked
    cdef bint is_answer
    cdef bint settle(self, bint has_turn) noexcept
    cdef bint must_wait(self) noexcept
    cdef void charge(self, Py_ssize_t size) noexcept
    cdef uint8_t* place(self, Py_ssize_t* room) except NULL
    cdef list take(self, Py_ssize_t size, Forwarding session, bint is_request)
    cdef Py_ssize_t small(self, const uint8_t** data) noexcept
    cdef void skip(self, Py_ssize_t size) noexcept
    cdef int take_chunk(self) except -1
    cdef Py_ssize_t room(self)
    cdef list take_frame(self, Py_ssize_t size)
    cdef list split(self)
    cdef object head(self)
    cdef int let_pass(self, Py_ssize_t tail) except -1
    cdef list take_piece(self, Py_ssize_t size)


cdef class Forwarding:
    cdef public dict _lanes
    cdef public object _queue, _authentication, _admits_request, _admits_response
    cdef public object lookup, _held_requests, _held_responses
    cdef public object _to_physical, _to_virtual
    cdef public bytes _client_id_prefix
    cdef public list to_client, to_broker
    cdef public Py_ssize_t _max_in_flight
    cdef readonly bint is_passing
    cdef Py_ssize_t request_bytes, answer_bytes
    cdef object passing_lane, passing_request, passing_response
    cdef public object _load
    cdef int64_t now_ns(self) noexcept
    cdef int spend_since(self, int64_t began_ns) except -1
    cdef bint is_clear(self) except -1
    cdef bint pass_on(self, frame) except -1
    cdef bint pass_back(self, frame) except -1
    cdef int pass_small(self, Framer framer, bint is_request) except -1
    cdef bint begin_request(self, frame, Py_ssize_t whole, Py_ssize_t* tail) except -1
    cdef bint begin_response(self, frame, Py_ssize_t whole, Py_ssize_t* tail) except -1
    cdef int go_on(self, bint is_request, piece) except -1
    cdef int end_request(self) except -1
    cdef int end_response(self) except -1
