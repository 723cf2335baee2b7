# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What a relay of frames calls, and what it looks at."""

from libc.stdint cimport int32_t, int64_t

from bifrost.forwarding.cells cimport Cells
from bifrost.forwarding.gateway_time cimport GatewayTime
from bifrost.forwarding.lane cimport Awaited, AwaitedQueue, Lane
from bifrost.forwarding.load cimport Load
from bifrost.forwarding.quotas.quota cimport Quota
from bifrost.forwarding.traffic cimport Traffic
from bifrost.journal.usage cimport Passing
from bifrost.wire.framer cimport FrameConsumer, Framer
from bifrost.wire.output cimport Output
from bifrost.wire.reader cimport Reader


cdef class Outlet:
    cdef bint is_free(self) noexcept
    cdef Py_ssize_t send_now(self, const void* data, Py_ssize_t size) noexcept


cdef class Forwarding(FrameConsumer):
    cdef public dict _lanes
    cdef public AwaitedQueue _queue
    cdef public object _authentication
    cdef public list _held_requests, _held_responses
    cdef public list to_client, to_broker
    cdef public Py_ssize_t _max_in_flight
    cdef public bint reads_both                       # neither the client nor the broker is paused
    cdef public bint needs_whole                      # no request may be sent on before it is whole
    cdef readonly bint is_passing
    cdef Py_ssize_t request_bytes, answer_bytes
    cdef Outlet outlet                                # of the side that the bytes at hand are for; None: none is known
    cdef bint has_sent                                # whether something of them went there at once
    cdef bytes asked, answer                          # a request that the gateway has answered itself, and how
    cdef Traffic answer_traffic
    cdef Cells fetch_owner
    cdef int64_t fetch_mark
    cdef int32_t fetch_session
    cdef Lane passing_lane
    cdef Passing passing_request, passing_response
    cdef public Load _load
    cdef public GatewayTime _gateway_time
    cdef public Quota _quota
    cdef public object _producer                      # in whose name ways may write batches; None: they may not
    cdef int64_t turn_ns                              # when the bytes at hand were received; 0: not known
    cdef Py_ssize_t requests_sent, responses_sent     # since then
    cdef int64_t held_ns                              # when the held request at hand came; 0: it was not held
    cdef bint has_turn                                # whether those that wait for its quota let it go first
    cdef int64_t steps_left                           # what is left of hot_steps for the bytes at hand
    cdef public int64_t hot_steps
    cdef int64_t begin_turn(self) noexcept
    cdef int spend_since(self, int64_t began_ns) except -1
    cdef int64_t own_fetches(self) noexcept
    cdef int within_quota(self, Lane lane, Reader* r) except -1
    cdef int charge_sent(self, Lane lane, Py_ssize_t size) except -1
    cdef int charge_answer(self, Awaited awaited, Py_ssize_t size) except -1
    cdef int tell_throttle(self, Awaited awaited, object frame, Reader* r) except -1
    cdef int take_part(self, Awaited awaited, Reader* r, Py_ssize_t start) except? -1
    cdef int32_t throttle_of(self, Awaited awaited, Py_ssize_t size) except -1
    cdef bint is_clear(self) except -1
    cdef bint is_read_on(self) except -1
    cdef void give_steps(self, Reader* r) noexcept
    cdef int pass_on(self, frame) except? -1
    cdef int pass_back(self, frame) except? -1
    cdef bint is_asked_again(self, Reader* r) noexcept
    cdef int answer_again(self, Reader* r) except -1
    cdef int take_small(self, Framer framer, bint is_request) except -1
    cdef int send_on(self, Output* out, list behind) except -1
    cdef bint begin_request(self, frame, Py_ssize_t whole, Py_ssize_t* tail) except -1
    cdef bint begin_response(self, frame, Py_ssize_t whole, Py_ssize_t* tail) except -1
    cdef int go_on(self, bint is_request, piece) except -1
    cdef int end_request(self) except -1
    cdef int end_response(self) except -1
