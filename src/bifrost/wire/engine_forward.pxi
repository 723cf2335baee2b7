"""The hot path: a frame that needs no decision is sent on in one call. Part of engine.pyx.

An unusual frame is not judged here: then the result is False, nothing has changed, and the caller takes the long way,
which knows every error.
"""

@cython.final
cdef class Passage:
    """How the messages of one API and version are forwarded undecoded."""
    cdef Program request, response
    cdef bint request_flexible, response_flexible, drops_trailing
    cdef object request_peek, response_peek
    cdef Peek request_usual, response_usual

    def __init__(self, Program request, Program response, bint request_flexible, bint response_flexible,
                 request_peek=None, response_peek=None, Peek request_usual=None, Peek response_usual=None,
                 bint drops_trailing=False):
        self.request = request
        self.response = response
        self.request_flexible = request_flexible
        self.response_flexible = response_flexible
        self.request_peek = request_peek
        self.response_peek = response_peek
        self.request_usual = request_usual
        self.response_usual = response_usual
        self.drops_trailing = drops_trailing


@cython.final
cdef class Lane:
    """How one tenant's messages of one API and version are treated."""
    cdef readonly object plan
    cdef readonly Traffic traffic
    cdef readonly Load load
    cdef readonly Usage usage
    cdef Passage passage

    def __init__(self, plan, Traffic traffic not None, Load load not None, Usage usage=None):
        self.plan = plan
        self.traffic = traffic
        self.load = load
        self.usage = usage
        self.passage = <Passage?>plan.passage

    cdef void receive(self, Py_ssize_t size) noexcept:
        """Count the bytes of a request that has arrived."""
        self.traffic.receive(size)
        if self.usage is not None:
            self.usage.bytes_in += size


@cython.final
@cython.freelist(256)
cdef class Awaited:
    """A request that the broker will answer."""
    cdef readonly int32_t correlation_id
    cdef readonly Lane lane
    cdef readonly object exchange
    cdef int64_t began_ns, since_ns
    cdef bint is_over

    def __init__(self, int32_t correlation_id, Lane lane not None, exchange, int64_t began_ns=0):
        self.correlation_id = correlation_id
        self.lane = lane
        self.exchange = exchange
        self.since_ns = clock_ns()
        self.began_ns = began_ns or self.since_ns
        lane.load.begin()
        if lane.usage is not None:
            lane.usage.in_flight += 1

    cpdef void finish(self, Py_ssize_t size, int64_t came_ns=0) noexcept:
        """Note its answer of so many bytes."""
        self.end(size, came_ns, clock_ns())

    cdef void end(self, Py_ssize_t size, int64_t came_ns, int64_t now_ns) noexcept:
        """Note its answer, which came at `came_ns` and is ready now."""
        self.lane.traffic.send(size)
        self.lane.traffic.finish(now_ns - self.since_ns)
        if self.lane.usage is not None:
            came_ns = came_ns or now_ns
            self.lane.usage.finish(size, came_ns - self.since_ns, self.since_ns - self.began_ns + now_ns - came_ns)
        self.abandon()

    cpdef void abandon(self) noexcept:
        """Stop awaiting it, because it was answered or never will be."""
        if not self.is_over:
            self.is_over = True
            self.lane.load.finish()
            if self.lane.usage is not None:
                self.lane.usage.in_flight -= 1


def forward_request(dict lanes not None, frame, Names names not None, queue not None, list out not None, admits,
                    bytes client_prefix=None):
    """Rewrite a request, put it into `out` and what is awaited into `queue`; False: it has to be looked at."""
    cdef Reader r
    open_hot_frame(frame, &r)
    try:
        return pass_request(lanes, frame, &r, names, client_prefix, queue, out, admits) != 0
    finally:
        close_frame(&r)

cdef Lane admitted_lane(dict lanes, object frame, Reader* r, bytes client_prefix, object admits):
    """The way of a request that may pass, whose body `r` stands before then; None: it has to be looked at.

    Without `frame` there is nothing to show to `admits`: its numbers have to be what they usually are.
    """
    cdef PyObject* found
    cdef Lane lane
    cdef Passage passage
    cdef Py_ssize_t start
    if r.end < 11:
        return None
    found = PyDict_GetItemWithError(lanes, be32(r.data))
    if found == NULL:
        return None
    lane = <Lane?><object>found
    passage = lane.passage
    if passage.request is None or lane.load.full() or lane.usage is not None and not lane.usage.is_of(r.data, r.end):
        return None
    start = 10 + max(0, <int16_t>be16(r.data + 8))
    if start >= r.end or passage.request_flexible and r.data[start] != 0:
        return None
    if client_prefix is not None and start - 10 + PyBytes_GET_SIZE(client_prefix) > MAX_STRING:
        return None
    start += passage.request_flexible
    if passage.request_peek is not None:
        r.pos = start
        if not (passage.request_usual is not None and is_usual(passage.request_usual, r)):
            if frame is None or not admits(lane.plan, passage.request_peek(frame, start)):
                return None
    r.pos = start
    return lane

cdef Passing await_answer(Lane lane, Reader* r, Py_ssize_t start, int64_t began_ns, int64_t since_ns, object queue):
    """Put a request that is sent on behind those that are awaited; return what counts records still to come."""
    cdef Awaited awaited = Awaited.__new__(Awaited)
    cdef Passing passing = None
    if lane.usage is not None:
        r.pos = start
        passing = lane.usage.add_request(r)
        lane.usage.in_flight += 1
    awaited.correlation_id = <int32_t>be32(r.data + 4)
    awaited.lane = lane
    awaited.since_ns = since_ns
    awaited.began_ns = began_ns
    lane.load.begin()
    if r.hot:
        lane.load.spent_ns += (HOT_STEPS - r.steps) * ITEM_NS
    queue.append(awaited)
    return passing

cdef bint pass_request(dict lanes, object frame, Reader* r, Names names, bytes client_prefix, object queue, list out,
                       object admits) except -1:
    cdef Lane lane = admitted_lane(lanes, frame, r, client_prefix, admits)
    cdef Py_ssize_t start = r.pos
    cdef int64_t began_ns = 0
    cdef list segments
    if lane is None:
        return False
    if lane.usage is not None:
        began_ns = clock_ns()
    segments = rewrite_body(lane.passage.request, frame, r, names, None, client_prefix, lane.passage.drops_trailing)
    if segments is None:
        return False
    out += segments
    lane.receive(r.end + 4)
    await_answer(lane, r, start, began_ns, clock_ns(), queue)
    return True

cdef bint put_request(Forwarding session, Reader* r, Output* out, int64_t now_ns) except -1:
    """As above, for a frame that stands where it was received; it is copied."""
    cdef Lane lane = admitted_lane(session._lanes, None, r, session._client_id_prefix, None)
    cdef Py_ssize_t start = r.pos
    if lane is None:
        return False
    if not put_body(lane.passage.request, r, out, <Names?>session._to_physical, session._client_id_prefix,
                    lane.passage.drops_trailing):
        return False
    lane.receive(r.end + 4)
    await_answer(lane, r, start, now_ns, now_ns if lane.usage is None else clock_ns(), session._queue)
    return True


def forward_response(queue not None, frame, Names names not None, list out not None, admits):
    """Rewrite the response to what is first in `queue`, put it into `out` with what waited for it; False as above."""
    cdef Reader r
    open_hot_frame(frame, &r)
    try:
        return pass_response(queue, frame, &r, names, out, admits) != 0
    finally:
        close_frame(&r)

cdef Awaited admitted_answer(object queue, object frame, Reader* r, object admits):
    """What is first in `queue`, if this is the answer to it and may pass; as for requests."""
    cdef Passage passage
    cdef Awaited awaited
    cdef Py_ssize_t start = 4
    if not queue or r.end < 5:
        return None
    awaited = <Awaited?>queue[0]
    passage = awaited.lane.passage
    if passage.response is None or awaited.exchange is not None or <int32_t>be32(r.data) != awaited.correlation_id:
        return None
    if passage.response_flexible:
        if r.data[4] != 0:
            return None
        start = 5
    if passage.response_peek is not None:
        r.pos = start
        if not (passage.response_usual is not None and is_usual(passage.response_usual, r)):
            if frame is None or not admits(passage.response_peek(frame, start)):
                return None
    r.pos = start
    return awaited

cdef int pass_response(object queue, object frame, Reader* r, Names names, list out, object admits) except -1:
    cdef Awaited awaited = admitted_answer(queue, frame, r, admits)
    cdef Py_ssize_t start = r.pos
    cdef int64_t came_ns = 0
    cdef list segments
    if awaited is None or awaited.lane.load.is_over_budget:  # Its client is told how long to wait.
        return 0
    if awaited.lane.usage is not None:
        came_ns = clock_ns()
    segments = rewrite_body(awaited.lane.passage.response, frame, r, names, None, None, False)
    if segments is None:
        return 0
    if awaited.lane.usage is not None:
        r.pos = start
        awaited.lane.usage.add_response(r, True)
    awaited.end(4 + <Py_ssize_t>be32(<const uint8_t*>PyBytes_AS_STRING(segments[0])), came_ns, clock_ns())
    out += segments
    queue.popleft()
    while queue and PyBytes_CheckExact(queue[0]):
        out.append(queue.popleft())
    return 1

cdef bint put_response(Forwarding session, Reader* r, Output* out, int64_t now_ns) except -1:
    """As above, for a frame that stands where it was received; it is copied."""
    cdef object queue = session._queue
    cdef Awaited awaited = admitted_answer(queue, None, r, None)
    cdef Py_ssize_t start = r.pos, begin = out.size
    if awaited is None or awaited.lane.load.is_over_budget:
        return False
    if not put_body(awaited.lane.passage.response, r, out, <Names?>session._to_virtual, None, False):
        return False
    if awaited.lane.usage is not None:
        r.pos = start
        awaited.lane.usage.add_response(r, True)
    awaited.end(out.size - begin, now_ns, now_ns if awaited.lane.usage is None else clock_ns())
    queue.popleft()
    while queue and PyBytes_CheckExact(queue[0]):
        answer = queue.popleft()
        put(out, PyBytes_AS_STRING(answer), PyBytes_GET_SIZE(answer))
    return True


cdef class Forwarding:
    """What the engine sees of a session, to send frames on without it.

    A session puts its own objects here; those that it does not have before authentication are None.
    """

    cdef bint is_clear(self) except -1:
        """Whether nothing comes first: no authentication, nothing held or looked up, not too much awaited."""
        return (self._authentication is None and not self._held_requests and not self.lookup
                and len(self._queue) < self._max_in_flight)

    cdef int64_t now_ns(self) noexcept:
        return clock_ns()

    cdef int spend_since(self, int64_t began_ns) except -1:
        """Charge the tenant for the time since then, if it is known whose session this is."""
        cdef int64_t now_ns
        if self._load is None:
            return 0
        now_ns = clock_ns()
        return (<Load?>self._load).spend(now_ns - began_ns, now_ns)

    def forward_request(self, frame):
        """Rewrite a request into `to_broker` and note what is awaited; False: the session has to look at it."""
        return self.pass_on(frame)

    def forward_response(self, frame):
        """Rewrite the response to what is first awaited into `to_client`, with what waited for it; False as above."""
        return self.pass_back(frame)

    cdef bint pass_on(self, frame) except -1:
        cdef Reader r
        if not self.is_clear():
            return False
        open_hot_frame(frame, &r)
        try:
            return pass_request(self._lanes, frame, &r, <Names?>self._to_physical, self._client_id_prefix, self._queue,
                                self.to_broker, self._admits_request)
        finally:
            close_frame(&r)

    cdef bint pass_back(self, frame) except -1:
        cdef Reader r
        if self._held_responses:
            return False
        open_hot_frame(frame, &r)
        try:
            return pass_response(self._queue, frame, &r, <Names?>self._to_virtual, self.to_client,
                                 self._admits_response) != 0
        finally:
            close_frame(&r)

    cdef int pass_small(self, Framer framer, bint is_request) except -1:
        """Send on the small frames that have come, from where they stand, as far as nothing is unusual about them."""
        cdef Output out
        cdef Reader r
        cdef Py_ssize_t whole = 0, room = PY_SSIZE_T_MAX
        cdef int64_t now_ns
        cdef bint passes
        if is_request:
            # Nothing here makes it less clear but what is awaited.
            room = self._max_in_flight - len(self._queue) if self.is_clear() else 0
        elif self._held_responses or self._held_requests:
            return 0
        now_ns = clock_ns()
        open_output(&out)
        out.owner = out.segments = NULL
        r.own, r.tail = True, -1
        try:
            while room > 0:
                r.end = r.whole = framer.small(&r.data)
                r.pos = 0
                r.hot, r.steps = True, HOT_STEPS
                if not r.end:
                    break
                passes = put_request(self, &r, &out, now_ns) if is_request else put_response(self, &r, &out, now_ns)
                if not passes:
                    break
                room -= is_request
                framer.skip(r.end)
                whole = out.size
        except Exception:
            pass  # Nothing has come of the frame; it fails again where errors are explained.
        try:
            out.size = whole
            if whole:
                (self.to_broker if is_request else self.to_client).append(take(&out))
        finally:
            Py_XDECREF(out.heap)
        return 0

    @property
    def awaits_broker(self):
        """Whether an answer is awaited, and nothing of a request has still to come."""
        return len(self._queue) > 0 and not self.is_passing

    cdef bint begin_request(self, frame, Py_ssize_t whole, Py_ssize_t* tail) except -1:
        """Send a request on of which `frame` is the beginning; False: it has to be whole first."""
        cdef Reader r
        if not self.is_clear():
            return False
        open_hot_frame(frame, &r)
        try:
            r.whole = whole
            self.is_passing = stream_request(self, frame, &r)
            tail[0] = r.tail
            return self.is_passing
        finally:
            close_frame(&r)

    cdef int go_on(self, bint is_request, piece) except -1:
        """Take note of what of it comes next."""
        cdef object passing = self.passing_request if is_request else self.passing_response
        if passing is not None:
            (<Passing>passing).go_on(piece)
        return 0

    cdef int end_request(self) except -1:
        """The frame is complete: its bytes count only now."""
        cdef Lane lane = <Lane?>self.passing_lane
        self.is_passing = False
        lane.receive(self.request_bytes)
        if self.passing_request is not None:
            (<Passing>self.passing_request).end()
        self.passing_lane = self.passing_request = None
        return 0

    cdef bint begin_response(self, frame, Py_ssize_t whole, Py_ssize_t* tail) except -1:
        """Likewise the response to what is first awaited."""
        cdef Reader r
        if self._held_responses or self._held_requests:
            return False
        open_hot_frame(frame, &r)
        try:
            r.whole = whole
            self.answer_bytes = stream_response(self, frame, &r)
            tail[0] = r.tail
            return self.answer_bytes > 0
        finally:
            close_frame(&r)

    cdef int end_response(self) except -1:
        """The frame is complete: put the answers that waited for it into `to_client`."""
        cdef object queue = self._queue
        (<Awaited?>queue.popleft()).finish(self.answer_bytes)
        while queue and PyBytes_CheckExact(queue[0]):
            self.to_client.append(queue.popleft())
        if self.passing_response is not None:
            (<Passing>self.passing_response).end()
            self.passing_response = None
        return 0
