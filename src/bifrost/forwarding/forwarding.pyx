# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The hot path: frames that need no decision of a session are sent on in one call.

A frame that does not pass (lane.pyx) has no effect here: the session takes the long way, which knows every error. Small
frames are read where they were received, and all that came together leave as one piece. A large frame goes on before it
is whole if it can (rewriting.pyx).
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.ref cimport Py_CLEAR, Py_XDECREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

from bifrost.forwarding.cells cimport Cells
from bifrost.forwarding.clock cimport clock_ns
from bifrost.forwarding.lane cimport (
    HELD, NO_LANE, NOT_IN_PLACE, OVER_BUDGET, OVER_QUOTA, PART, PASSES, Awaited, AwaitedQueue, Reason,
    await_answer, count_new, counts_fast, go_back, judged_request, judged_response, keep_part,
)
from bifrost.forwarding.quotas.quota cimport OTHER, PRODUCE
from bifrost.forwarding.quotas.told_throttle cimport overwrite_throttle, own_copy, put_throttle
from bifrost.wire.output cimport Output, open_output, put, take, write_size
from bifrost.wire.program cimport Passage
from bifrost.wire.reader cimport HOT_STEPS, Reader, be32, close_frame, give_hot_steps, open_hot_frame
from bifrost.wire.rewriting cimport RecordTrip, put_body, rewrite_body, rewrite_head, trip_of


cdef int pass_request(Forwarding session, object frame, Reader* r) except? -1:
    """Rewrite a request, and put what is awaited into the queue, if it PASSES."""
    cdef int reason
    cdef Lane lane = judged_request(session._lanes, None, frame, r, session, session.own_fetches(), &reason)
    cdef Py_ssize_t start = r.pos
    cdef int64_t began_ns = 0, since_ns
    cdef list segments
    cdef RecordTrip trip
    if reason == PASSES:
        reason = session.within_quota(lane, r)
    if reason != PASSES:
        return session.answer_again(r) if reason == NO_LANE and session.is_asked_again(r) else reason
    if lane.usage is not None:
        began_ns = clock_ns()
    segments = rewrite_body(lane.passage.request, frame, r, lane.to_physical, None, lane.client_id_prefix,
                            lane.passage.drops_trailing, True)
    if segments is None or not counts_fast(lane, r) or not lane.lets_keep(r, start):
        return NOT_IN_PLACE
    trip = trip_of(r)
    if trip is not None:
        trip.end(frame)
    session.to_broker += segments
    lane.receive(r.end + 4)
    since_ns = clock_ns()
    await_answer(lane, r, start, session.held_ns or session.turn_ns or since_ns, began_ns, since_ns, session._queue)
    session.charge_sent(lane, r.end + 4)
    session.requests_sent += session.turn_ns != 0
    return PASSES

cdef int put_request(Forwarding session, Reader* r, Output* out, int64_t now_ns) except? -1:
    """As above, for a frame that stands where it was received; it is copied."""
    cdef int reason
    cdef Lane lane = judged_request(session._lanes, None, None, r, None, session.own_fetches(), &reason)
    cdef Py_ssize_t start = r.pos
    cdef RecordTrip trip
    if reason == PASSES:
        reason = session.within_quota(lane, r)
    if reason != PASSES:
        return session.answer_again(r) if reason == NO_LANE and session.is_asked_again(r) else reason
    if (not put_body(lane.passage.request, r, out, lane.to_physical, lane.client_id_prefix, lane.passage.drops_trailing)
            or not counts_fast(lane, r) or not lane.lets_keep(r, start)):
        return NOT_IN_PLACE
    trip = trip_of(r)
    if trip is not None:
        trip.end(None)
    lane.receive(r.end + 4)
    await_answer(lane, r, start, now_ns, now_ns, now_ns if lane.usage is None else clock_ns(), session._queue)
    session.charge_sent(lane, r.end + 4)
    session.requests_sent += session.turn_ns != 0
    return PASSES

cdef int pass_response(Forwarding session, object frame, Reader* r) except? -1:
    """Rewrite the response to what is first awaited, if it PASSES."""
    cdef AwaitedQueue queue = session._queue
    cdef int reason
    cdef Awaited awaited = judged_response(queue, frame, r, session, session.own_fetches(), False, &reason)
    cdef Py_ssize_t start = r.pos
    cdef int64_t came_ns = 0
    cdef int32_t told_ms = 0
    cdef list segments
    cdef RecordTrip trip
    if reason == PASSES and session._quota is not None and session._quota.is_on:
        if PyBytes_CheckExact(frame) and awaited.lane.passage.has_throttle:
            # Other code may have these bytes too, so nothing is written in them.
            told_ms = session.throttle_of(awaited, r.whole + 4)
            if told_ms and not awaited.lane.passage.begins_with_throttle:
                frame, told_ms = own_copy(frame, r), 0
        if not PyBytes_CheckExact(frame):
            reason = session.tell_throttle(awaited, frame, r)
    if reason != PASSES:
        return session.take_part(awaited, r, start) if reason == PART else reason
    if awaited.lane.usage is not None:
        came_ns = clock_ns()
    go_back(awaited, r)
    segments = rewrite_body(awaited.lane.passage.response, frame, r, awaited.lane.to_virtual, None, None, False, True)
    if segments is None or not counts_fast(awaited.lane, r):
        return NOT_IN_PLACE
    if told_ms:
        session._quota.tell(told_ms)
        put_throttle(segments, 4 + start, told_ms)
    trip = trip_of(r)
    if trip is not None:
        trip.end(frame)
    awaited.lane.fail_all(r)
    if awaited.lane.usage is not None:
        if trip is not None and trip.has_changed:
            segments = [b"".join(segments)]
            count_new(awaited.lane, segments[0], start)
        else:
            r.pos = start
            awaited.lane.usage.add_response(r, True)
    session.responses_sent += session.turn_ns != 0
    awaited.end(4 + <Py_ssize_t>be32(<const uint8_t*>PyBytes_AS_STRING(segments[0])), came_ns, clock_ns())
    session.charge_answer(awaited, r.end + 4)
    session.to_client += segments
    queue.popleft()
    queue.move_answers(session.to_client)
    return PASSES

cdef int put_response(Forwarding session, Reader* r, Output* out, int64_t now_ns) except? -1:
    """As above, for a frame that stands where it was received; it is copied."""
    cdef AwaitedQueue queue = session._queue
    cdef int reason
    cdef Awaited awaited = judged_response(queue, None, r, None, session.own_fetches(), False, &reason)
    cdef Py_ssize_t start = r.pos, begin = out.size
    cdef RecordTrip trip
    if reason == PASSES and session._quota is not None and session._quota.is_on:
        reason = session.tell_throttle(awaited, None, r)
    if reason != PASSES:
        # The last one is joined with those before, as a frame of its own.
        return session.take_part(awaited, r, start) if reason == PART and awaited.is_part else reason
    go_back(awaited, r)
    if (not put_body(awaited.lane.passage.response, r, out, awaited.lane.to_virtual, None, False)
            or not counts_fast(awaited.lane, r)):
        return NOT_IN_PLACE
    trip = trip_of(r)
    if trip is not None:
        trip.end(None)
    awaited.lane.fail_all(r)
    if awaited.lane.usage is not None:
        if trip is not None and trip.has_changed:
            count_new(awaited.lane, PyBytes_FromStringAndSize(<const char*>out.data + begin, out.size - begin), start)
        else:
            r.pos = start
            awaited.lane.usage.add_response(r, True)
    session.responses_sent += session.turn_ns != 0
    awaited.end(out.size - begin, now_ns, now_ns if awaited.lane.usage is None else clock_ns())
    session.charge_answer(awaited, r.end + 4)
    queue.popleft()
    while queue.begins_with_answer():
        answer = queue.popleft()
        put(out, PyBytes_AS_STRING(answer), PyBytes_GET_SIZE(answer))
    return PASSES

cdef int stream_request(Forwarding session, object frame, Reader* r) except? -1:
    """Begin to send a request on, if it PASSES before it is whole."""
    cdef int reason
    cdef Lane lane = judged_request(session._lanes, None, frame, r, session, session.own_fetches(), &reason)
    cdef Py_ssize_t start = r.pos
    cdef int64_t began_ns = clock_ns()
    cdef list segments
    if reason == PASSES:
        reason = session.within_quota(lane, r)
    if reason != PASSES:
        return reason
    segments = rewrite_head(lane.passage.request, frame, r, lane.to_physical, lane.client_id_prefix)
    if segments is None or not counts_fast(lane, r) or not lane.lets_keep(r, start):
        return NOT_IN_PLACE
    session.to_broker += segments
    session.passing_lane, session.request_bytes = lane, r.whole + 4
    session.passing_request = await_answer(lane, r, start, session.turn_ns or began_ns, began_ns, clock_ns(),
                                           session._queue)
    session.charge_sent(lane, r.whole + 4)
    session.requests_sent += session.turn_ns != 0
    return PASSES

cdef int stream_response(Forwarding session, object frame, Reader* r) except? -1:
    """Begin to send the response to what is first awaited on, if it PASSES before it is whole."""
    cdef int reason
    cdef Awaited awaited = judged_response(session._queue, frame, r, session, session.own_fetches(), False,
                                           &reason)
    cdef Py_ssize_t start = r.pos
    cdef list segments
    if reason != PASSES and reason != OVER_BUDGET:  # One that is whole tells its client how long to wait.
        return reason
    if session._quota is not None and session._quota.is_on:
        session.tell_throttle(awaited, frame, r)
    segments = rewrite_head(awaited.lane.passage.response, frame, r, awaited.lane.to_virtual, None)
    if segments is None or not counts_fast(awaited.lane, r):
        return NOT_IN_PLACE
    awaited.lane.fail_all(r)
    session.charge_answer(awaited, r.whole + 4)
    session.to_client += segments
    session.responses_sent += session.turn_ns != 0
    if awaited.lane.usage is not None:
        r.pos = start
        session.passing_response = awaited.lane.usage.add_response(r, True)
    session.answer_bytes = 4 + <Py_ssize_t>be32(<const uint8_t*>PyBytes_AS_STRING(segments[0]))
    return PASSES


cdef class Outlet:
    """What a relay sends into without Python. This one takes nothing; the shell has one that is a socket."""

    cdef bint is_free(self) noexcept:
        """Whether it is open, without TLS, and nothing waits to be written."""
        return False

    cdef Py_ssize_t send_now(self, const void* data, Py_ssize_t size) noexcept:
        """Send as much as it takes at once; return how many bytes that was."""
        return 0


cdef class Forwarding(FrameConsumer):
    """What the engine sees of a session, to send frames on without it.

    A session puts its own objects here; those that it does not have before authentication are None.
    """

    def __cinit__(self):
        self.hot_steps = HOT_STEPS
        self.reads_both = True

    cdef bint is_clear(self) except -1:
        """Whether nothing comes first: no authentication, nothing held, not too much awaited."""
        return (self._authentication is None and not self._held_requests
                and self._queue.count < self._max_in_flight)

    cdef bint is_read_on(self) except -1:
        """Whether both sides are read, and no request waits for anything but answers, so that the client stays so."""
        return (self.reads_both and self._authentication is None and not self._held_requests
                and self._max_in_flight > 0)

    cdef int64_t begin_turn(self) noexcept:
        self.turn_ns = clock_ns()
        self.steps_left = self.hot_steps
        return self.turn_ns

    cdef int spend_since(self, int64_t began_ns) except -1:
        """Charge the tenant for the time since then, if it is known whose session this is, and end the turn."""
        cdef int64_t now_ns
        self.turn_ns = 0
        if self._load is None:
            return 0
        now_ns = clock_ns()
        if self._gateway_time is not None:
            if self.requests_sent:
                self._gateway_time.add(False, now_ns - began_ns, self.requests_sent)
            if self.responses_sent:
                self._gateway_time.add(True, now_ns - began_ns, self.responses_sent)
        self.requests_sent = self.responses_sent = 0
        if self._quota is not None and self._quota.is_on:
            self._quota.work(now_ns - began_ns, now_ns)
        return self._load.spend(now_ns - began_ns, now_ns)

    cdef void give_steps(self, Reader* r) noexcept:
        """Let a frame of the bytes at hand take what rounds the frames before it have left."""
        give_hot_steps(r, self.steps_left if self.turn_ns else self.hot_steps)
        r.producer = NULL if self._producer is None else <PyObject*>self._producer

    def use_fetch_session(self, int32_t session_id, memory, uint64_t mark):
        """Let the messages of this fetch session pass as long as the 8 bytes of `memory` hold `mark`."""
        cdef Cells owner = Cells(memory)
        if owner.count < 1:
            raise ValueError("not enough memory for a mark")
        self.fetch_session, self.fetch_owner, self.fetch_mark = session_id, owner, <int64_t>mark

    cdef int64_t own_fetches(self) noexcept:
        """The fetch session that the connection uses, while it is its own; else 0."""
        if self.fetch_owner is None or self.fetch_owner.at[0] != self.fetch_mark:
            return 0
        return self.fetch_session

    def remember_answer(self, bytes request not None, bytes answer not None, Traffic traffic not None):
        """Answer this request, which differs in its correlation ID alone, like this when it comes again."""
        if len(request) < 8 or len(answer) < 8:
            raise ValueError("a request and an answer have a correlation ID")
        self.asked, self.answer, self.answer_traffic = request, answer, traffic

    cdef bint is_asked_again(self, Reader* r) noexcept:
        cdef const uint8_t* asked
        if self.asked is None or PyBytes_GET_SIZE(self.asked) != r.end:
            return False
        asked = <const uint8_t*>PyBytes_AS_STRING(self.asked)
        return memcmp(r.data, asked, 4) == 0 and memcmp(r.data + 8, asked + 8, r.end - 8) == 0

    cdef int answer_again(self, Reader* r) except -1:
        cdef bytes answer = PyBytes_FromStringAndSize(PyBytes_AS_STRING(self.answer), PyBytes_GET_SIZE(self.answer))
        # No other code has seen it yet.
        memcpy(PyBytes_AS_STRING(answer) + 4, r.data + 4, 4)
        self.answer_traffic.count_request(r.end + 4)
        self.answer_traffic.count_answer(PyBytes_GET_SIZE(answer))
        if self._queue.count:
            self._queue.append(answer)
        else:
            self.to_client.append(answer)
        return PASSES

    cdef int within_quota(self, Lane lane, Reader* r) except -1:
        """Whether a request that would pass is within the quota of its client: PASSES, or the reason why not."""
        cdef int64_t now_ns
        if self._quota is None or not self._quota.is_on:
            return PASSES
        if not self._quota.is_of(r.data, r.end):
            return NO_LANE
        now_ns = self.turn_ns or clock_ns()
        owed = self._quota.debtor(lane.quota_kind, now_ns) if self.has_turn else self._quota.owed(lane.quota_kind, now_ns)
        return PASSES if owed is None else OVER_QUOTA

    cdef int charge_sent(self, Lane lane, Py_ssize_t size) except -1:
        """Charge the client's quota for a request of so many bytes, the last that is awaited."""
        cdef int64_t charged
        if self._quota is not None and self._quota.is_on:
            charged = self._quota.begin(lane.quota_kind, size, self.turn_ns or clock_ns())
            if charged:
                (<Awaited?>self._queue[self._queue.count - 1]).charged = charged
        return 0

    cdef int charge_answer(self, Awaited awaited, Py_ssize_t size) except -1:
        """Charge it for a broker's answer of so many bytes."""
        if self._quota is not None and self._quota.is_on:
            self._quota.end(awaited.lane.quota_kind, size, awaited.charged, self.turn_ns or clock_ns())
        return 0

    cdef int32_t throttle_of(self, Awaited awaited, Py_ssize_t size) except -1:
        """How long a broker's answer of so many bytes tells the client to wait for its quota, in milliseconds."""
        if self._quota is None or not self._quota.is_on:
            return 0
        return self._quota.throttle(awaited.lane.quota_kind, size, awaited.charged, self.turn_ns or clock_ns())

    cdef int tell_throttle(self, Awaited awaited, object frame, Reader* r) except -1:
        """Tell the client to wait, in an answer that would pass: PASSES; OVER_BUDGET: it has to be decoded for that."""
        cdef int32_t throttle_ms = self.throttle_of(awaited, r.whole + 4)
        if not throttle_ms or not awaited.lane.passage.has_throttle:
            return PASSES
        if not overwrite_throttle(awaited.lane.passage, awaited.lane.quota_kind == PRODUCE, frame, r, throttle_ms):
            return OVER_BUDGET
        self._quota.tell(throttle_ms)
        return PASSES

    cdef int take_part(self, Awaited awaited, Reader* r, Py_ssize_t start) except? -1:
        """Keep the answer to a part of a request; with that to the last one let all go back as one, if they can."""
        cdef Reader whole
        cdef int reason = NOT_IN_PLACE
        if awaited.is_part:
            return keep_part(awaited, r, self._queue)
        joined = awaited.trip.joined(r, start)
        if joined is None:
            return NOT_IN_PLACE
        open_hot_frame(joined, &whole)
        whole.steps, awaited.trip.is_whole = r.steps, True
        try:
            reason = pass_response(self, joined, &whole)
        finally:
            r.steps, awaited.trip.is_whole = whole.steps, reason == PASSES
            close_frame(&whole)
        return reason

    def charge_request(self, Lane lane not None, Py_ssize_t size):
        """Charge the client's quota for a request that the session has just sent on."""
        self.charge_sent(lane, size)

    def charge_work(self, int64_t began_ns):
        """Charge it for time since then, unless that belongs to a turn, which is charged as a whole."""
        if self._quota is not None and self._quota.is_on and not self.turn_ns:
            self._quota.work(clock_ns() - began_ns, clock_ns())

    def charge_own(self, Lane lane not None, Py_ssize_t size):
        """Charge it for a request that the gateway answers.

        Bytes of a Produce count as any, though it was refused (KafkaApis.handleProduceRequest charges its size before
        it answers): what refused records cost here would be bounded by no quota else.
        """
        cdef int64_t now_ns
        cdef int32_t told_ms = 0
        if self._quota is not None and self._quota.is_on:
            now_ns = self.turn_ns or clock_ns()
            if lane.quota_kind != PRODUCE:
                self._quota.begin(OTHER, size, now_ns)
                return 0
            self._quota.begin(PRODUCE, size, now_ns)
            told_ms = self._quota.throttle(PRODUCE, size, 0, now_ns)
            if told_ms:
                self._quota.tell(told_ms)
        return told_ms

    def charge_response(self, Awaited awaited not None, Py_ssize_t size):
        """Charge it for a broker's answer that the session has handled."""
        self.charge_answer(awaited, size)

    def throttle_ms(self, Awaited awaited not None, Py_ssize_t size):
        """Return how long a broker's answer of so many bytes tells the client to wait, in milliseconds."""
        cdef int32_t throttle_ms = self.throttle_of(awaited, size)
        if throttle_ms:
            self._quota.tell(throttle_ms)
        return max(throttle_ms, awaited.lane.load.throttle_ms if awaited.lane.load.is_over_budget else 0)

    def forward_request(self, frame):
        """Rewrite a request into `to_broker` and note what is awaited, if it PASSES; return the reason."""
        return <Reason>self.pass_on(frame)

    def forward_held(self, frame, int64_t came_ns, bint has_turn):
        """Likewise the first held request, which came at this time; with a turn it goes before those that wait."""
        cdef Reader r
        if self._authentication is not None or self._queue.count >= self._max_in_flight:
            return Reason.HELD
        self.held_ns, self.has_turn = came_ns, has_turn
        open_hot_frame(frame, &r)
        self.give_steps(&r)
        try:
            return <Reason>pass_request(self, frame, &r)
        finally:
            self.held_ns, self.has_turn = 0, False
            self.steps_left = r.steps
            close_frame(&r)

    def forward_response(self, frame):
        """Rewrite the response to what is first awaited into `to_client`, with what waited for it, if it PASSES."""
        return <Reason>self.pass_back(frame)

    def judge_request(self, Lane lane not None, frame, Py_ssize_t start=0):
        """Return the reason why a request may not be sent on along a lane, or PASSES; nothing is changed."""
        cdef Reader r
        cdef int reason
        open_hot_frame(frame, &r)
        try:
            if start < 0 or start > r.end or r.end < 10:
                raise ValueError("the body begins behind its header")
            r.pos = start
            judged_request(None, lane, frame, &r, self, self.own_fetches(), &reason)
            return <Reason>reason
        finally:
            close_frame(&r)

    def judge_response(self, frame, Py_ssize_t start=0, bint is_claimed=False):
        """Return likewise why a response may not be sent on."""
        cdef Reader r
        cdef int reason
        open_hot_frame(frame, &r)
        try:
            if start < 0 or start > r.end:
                raise ValueError("the body begins behind its header")
            r.pos = start
            awaited = judged_response(self._queue, frame, &r, self, self.own_fetches(), is_claimed, &reason)
            if (reason == PASSES and (<Awaited>awaited).lane.passage.has_throttle
                    and self.throttle_of(awaited, r.whole + 4)):
                reason = OVER_BUDGET
            return <Reason>reason
        finally:
            close_frame(&r)

    cdef int pass_on(self, frame) except? -1:
        cdef Reader r
        if not self.is_clear():
            return HELD
        open_hot_frame(frame, &r)
        self.give_steps(&r)
        try:
            return pass_request(self, frame, &r)
        finally:
            self.steps_left = r.steps
            close_frame(&r)

    cdef int pass_back(self, frame) except? -1:
        cdef Reader r
        if self._held_responses:
            return HELD
        open_hot_frame(frame, &r)
        self.give_steps(&r)
        try:
            return pass_response(self, frame, &r)
        finally:
            self.steps_left = r.steps
            close_frame(&r)

    cdef int take_small(self, Framer framer, bint is_request) except -1:
        """Send on the small frames that have come, from where they stand, as far as nothing is unusual about them."""
        cdef Output out
        cdef Reader r
        cdef Py_ssize_t whole = 0, room = 1
        cdef int64_t now_ns
        cdef int reason
        if is_request:
            # Nothing here makes it less clear but what is awaited.
            room = self._max_in_flight - self._queue.count if self.is_clear() else 0
        elif self._held_responses or self._held_requests:
            return 0
        now_ns = self.turn_ns or clock_ns()
        open_output(&out)
        out.owner = out.segments = NULL
        r.own, r.tail, r.trip, r.producer = True, -1, NULL, NULL
        try:
            while room > 0:
                Py_CLEAR(r.trip)
                r.end = r.whole = framer.small(&r.data)
                r.pos = 0
                if not r.end:
                    break
                self.give_steps(&r)
                reason = put_request(self, &r, &out, now_ns) if is_request else put_response(self, &r, &out, now_ns)
                self.steps_left = r.steps
                if reason != PASSES:
                    break
                if is_request:
                    room = self._max_in_flight - self._queue.count
                framer.skip(r.end)
                whole = out.size
        except Exception:
            pass  # Nothing has come of the frame; it fails again where errors are explained.
        Py_CLEAR(r.trip)
        try:
            out.size = whole
            if whole:
                self.send_on(&out, self.to_broker if is_request else self.to_client)
        finally:
            Py_XDECREF(out.heap)
        return 0

    cdef int send_on(self, Output* out, list behind) except -1:
        """Send what was written, and put the rest `behind` what waits already."""
        cdef Py_ssize_t sent = 0
        if self.outlet is not None and not behind:
            sent = self.outlet.send_now(out.data, out.size)
        if not sent:
            behind.append(take(out))
            return 0
        self.has_sent = True
        if sent < out.size:
            behind.append(PyBytes_FromStringAndSize(<const char*>out.data + sent, out.size - sent))
        return 0

    @property
    def awaits_broker(self):
        """Whether an answer is awaited, and nothing of a request has still to come."""
        return self._queue.count > 0 and not self.is_passing

    cdef bint begin_request(self, frame, Py_ssize_t whole, Py_ssize_t* tail) except -1:
        """Send a request on of which `frame` is the beginning; False: it has to be whole first."""
        cdef Reader r
        if self.needs_whole or not self.is_clear():
            return False
        open_hot_frame(frame, &r)
        try:
            r.whole = whole
            self.is_passing = stream_request(self, frame, &r) == PASSES
            tail[0] = r.tail
            return self.is_passing
        finally:
            close_frame(&r)

    cdef int go_on(self, bint is_request, piece) except -1:
        """Take note of what of it comes next."""
        cdef Passing passing = self.passing_request if is_request else self.passing_response
        if passing is not None:
            passing.go_on(piece)
        return 0

    cdef int end_request(self) except -1:
        """The frame is complete: its bytes count only now."""
        cdef Lane lane = self.passing_lane
        self.is_passing = False
        lane.receive(self.request_bytes)
        if self.passing_request is not None:
            self.passing_request.end()
        self.passing_lane = self.passing_request = None
        return 0

    cdef bint begin_response(self, frame, Py_ssize_t whole, Py_ssize_t* tail) except -1:
        """Likewise the response to what is first awaited."""
        cdef Reader r
        cdef bint passes
        if self._held_responses or self._held_requests:
            return False
        open_hot_frame(frame, &r)
        try:
            r.whole = whole
            passes = stream_response(self, frame, &r) == PASSES
            tail[0] = r.tail
            return passes
        finally:
            close_frame(&r)

    cdef int end_response(self) except -1:
        """The frame is complete: put the answers that waited for it into `to_client`."""
        cdef AwaitedQueue queue = self._queue
        (<Awaited?>queue.popleft()).finish(self.answer_bytes)
        queue.move_answers(self.to_client)
        if self.passing_response is not None:
            self.passing_response.end()
            self.passing_response = None
        return 0
