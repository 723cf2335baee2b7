"""The hot path: a frame that needs no decision is sent on in one call. Part of engine.pyx.

Whatever is unusual about a frame is not judged here: then the answer is False, nothing has changed, and the caller
takes the long way, which knows every error.
"""

@cython.final
cdef class Passage:
    """How the messages of one API and version are sent on undecoded."""
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


cdef enum:
    BOUNDS = 14

cdef int64_t* BOUNDS_US = [250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
                           1_000_000, 5_000_000, 30_000_000]
DURATION_BOUNDS_S = tuple([BOUNDS_US[i] / 1e6 for i in range(BOUNDS)])

cdef inline int64_t clock_ns() noexcept:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return <int64_t>now.tv_sec * 1_000_000_000 + now.tv_nsec

cdef enum:
    REQUESTS = 0
    RECEIVED = 1
    SENT = 2
    DURATION = 3
    BUCKETS = 4
    TRAFFIC = BUCKETS + BOUNDS + 1

TRAFFIC_CELLS = TRAFFIC

@cython.final
cdef class Cells:
    """Numbers of 8 bytes in memory that somebody else may read: other processes, through a mapping."""
    cdef int64_t* at
    cdef Py_ssize_t count
    cdef Py_buffer view

    def __cinit__(self, memory):
        PyObject_GetBuffer(memory, &self.view, PyBUF_WRITABLE)
        self.at = <int64_t*>self.view.buf
        self.count = self.view.len // 8

    def __dealloc__(self):
        PyBuffer_Release(&self.view)


@cython.final
cdef class Traffic:
    """What one tenant's clients sent and were sent by one API."""
    cdef int64_t own[TRAFFIC]
    cdef int64_t* at
    cdef Cells cells

    def __init__(self, memory=None):
        self.at = self.own
        if memory is not None:
            self.cells = Cells(memory)
            if self.cells.count < TRAFFIC:
                raise ValueError("not enough memory for the counters")
            self.at = self.cells.at

    @property
    def requests(self):
        return self.at[REQUESTS]

    @property
    def bytes_received(self):
        return self.at[RECEIVED]

    @property
    def bytes_sent(self):
        return self.at[SENT]

    @property
    def duration_ns(self):
        return self.at[DURATION]

    @property
    def durations(self):
        return tuple([self.at[BUCKETS + i] for i in range(BOUNDS + 1)])

    cpdef void receive(self, Py_ssize_t size) noexcept:
        self.at[REQUESTS] += 1
        self.at[RECEIVED] += size

    cpdef void send(self, Py_ssize_t size) noexcept:
        self.at[SENT] += size

    cdef void finish(self, int64_t ns) noexcept:
        cdef int i = 0
        while i < BOUNDS and ns > BOUNDS_US[i] * 1000:
            i += 1
        self.at[BUCKETS + i] += 1
        self.at[DURATION] += ns


cdef enum:
    SLICE_NS = 4_000_000        # time for which the part of a limit that cannot be divided is one worker's

@cython.final
cdef class Load:
    """How many requests await their answers: of one tenant, and in `whole` those of all.

    With `share` other processes count in the same limit. Each writes its own pair of (in flight, waiting) and reads
    all of them, so two that look at the same moment may both take the last place: together they exceed the limit
    by fewer than there are processes. While another one waits, each keeps to its part.
    """
    cdef readonly Py_ssize_t in_flight
    cdef Py_ssize_t waits
    cdef public Py_ssize_t most
    cdef public object on_room
    cdef Load whole
    cdef Cells cells
    cdef int64_t* row
    cdef Py_ssize_t stride, processes, number

    def __init__(self, Load whole=None, share=None):
        self.whole = whole
        self.most = PY_SSIZE_T_MAX
        if share is None:
            return
        memory, self.stride, self.processes, self.number = share
        self.cells = Cells(memory)
        if not (0 <= self.number < self.processes and 2 <= self.stride
                and (self.processes - 1) * self.stride + 2 <= self.cells.count):
            raise ValueError("not enough memory for every process")
        self.row = self.cells.at + self.number * self.stride
        self.row[0] = self.row[1] = 0

    @property
    def waiting(self):
        return self.waits

    @waiting.setter
    def waiting(self, Py_ssize_t count):
        self.waits = count
        if self.row != NULL:
            self.row[1] = count

    @property
    def is_full(self):
        return self.full()

    @property
    def has_room(self):
        return not self.exhausted()

    cdef bint exhausted(self) noexcept:
        """Whether the limit leaves no room here, whoever waits for it in this process."""
        if self.row == NULL or self.most == PY_SSIZE_T_MAX:
            return self.in_flight >= self.most
        cdef Py_ssize_t i, part, in_flight = 0
        cdef bint others_wait = False
        cdef int64_t* pair = self.cells.at
        for i in range(self.processes):
            in_flight += pair[0]
            if pair[1] > 0 and i != self.number:
                others_wait = True
            pair += self.stride
        if in_flight >= self.most or not others_wait:
            return in_flight >= self.most
        part = self.most // self.processes
        if clock_ns() // SLICE_NS % self.processes == self.number:
            part += self.most % self.processes
        return self.in_flight >= part

    cdef bint full(self) noexcept:
        # Whoever comes while others wait would overtake them.
        if self.waits > 0 or self.exhausted():
            return True
        return self.whole is not None and (self.whole.waits > 0 or self.whole.exhausted())

    cdef inline void count(self, Py_ssize_t more) noexcept:
        self.in_flight += more
        if self.row != NULL:
            self.row[0] = self.in_flight

    cdef void begin(self) noexcept:
        self.count(1)
        if self.whole is not None:
            self.whole.count(1)

    cdef void finish(self) noexcept:
        cdef bint somebody_waits = self.waits > 0
        self.count(-1)
        if self.whole is not None:
            self.whole.count(-1)
            somebody_waits |= self.whole.waits > 0
        if somebody_waits and self.on_room is not None:
            self.on_room()


@cython.final
cdef class Lane:
    """The way of one tenant's messages of one API and version."""
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
        cdef int64_t now_ns = clock_ns()
        self.lane.traffic.send(size)
        self.lane.traffic.finish(now_ns - self.since_ns)
        if self.lane.usage is not None:
            came_ns = came_ns or now_ns
            self.lane.usage.finish(size, came_ns - self.since_ns, self.since_ns - self.began_ns + now_ns - came_ns)
        self.abandon()

    cpdef void abandon(self) noexcept:
        """Await it no longer, for it was answered or never will be."""
        if not self.is_over:
            self.is_over = True
            self.lane.load.finish()
            if self.lane.usage is not None:
                self.lane.usage.in_flight -= 1


def forward_request(dict lanes not None, frame, Names names not None, queue not None, list out not None, admits):
    """Rewrite a request, put it into `out` and what is awaited into `queue`; False: it has to be looked at."""
    cdef Reader r
    open_frame(frame, 0, &r)
    try:
        return pass_request(lanes, frame, &r, names, queue, out, admits) != 0
    finally:
        close_frame(&r)

cdef int pass_request(dict lanes, object frame, Reader* r, Names names, object queue, list out, object admits) except -1:
    cdef PyObject* found
    cdef Lane lane
    cdef Passage passage
    cdef Awaited awaited
    cdef list segments
    cdef Py_ssize_t start
    cdef int64_t began_ns = 0
    if r.end < 11:
        return 0
    found = PyDict_GetItemWithError(lanes, be32(r.data))
    if found == NULL:
        return 0
    lane = <Lane?><object>found
    if lane.load.full():
        return 0
    if lane.usage is not None:
        if not lane.usage.is_of(r.data, r.end):
            return 0
        began_ns = clock_ns()
    passage = lane.passage
    start = 10 + max(0, <int16_t>be16(r.data + 8))
    if passage.request is None or start >= r.end or passage.request_flexible and r.data[start] != 0:
        return 0
    start += passage.request_flexible
    if passage.request_peek is not None:
        r.pos = start
        if not ((passage.request_usual is not None and is_usual(passage.request_usual, r))
                or admits(lane.plan, passage.request_peek(frame, start))):
            return 0
    r.pos = start
    segments = rewrite_body(passage.request, frame, r, names, None, passage.drops_trailing)
    if segments is None:
        return 0
    out += segments
    lane.traffic.receive(r.end + 4)
    if lane.usage is not None:
        r.pos = start
        lane.usage.bytes_in += r.end + 4
        lane.usage.add_request(r)
        lane.usage.in_flight += 1
    awaited = Awaited.__new__(Awaited)
    awaited.correlation_id = <int32_t>be32(r.data + 4)
    awaited.lane = lane
    awaited.since_ns = clock_ns()
    awaited.began_ns = began_ns
    lane.load.begin()
    queue.append(awaited)
    return 1


def forward_response(queue not None, frame, Names names not None, list out not None, admits):
    """Rewrite the response to what is first in `queue`, put it into `out` with what waited for it; False as above."""
    cdef Reader r
    open_frame(frame, 0, &r)
    try:
        return pass_response(queue, frame, &r, names, out, admits) != 0
    finally:
        close_frame(&r)

cdef int pass_response(object queue, object frame, Reader* r, Names names, list out, object admits) except -1:
    cdef Passage passage
    cdef Awaited awaited
    cdef list segments
    cdef Py_ssize_t start = 4
    cdef int64_t came_ns = 0
    if not queue or r.end < 5:
        return 0
    awaited = <Awaited?>queue[0]
    passage = awaited.lane.passage
    if awaited.lane.usage is not None:
        came_ns = clock_ns()
    if passage.response is None or awaited.exchange is not None or <int32_t>be32(r.data) != awaited.correlation_id:
        return 0
    if passage.response_flexible:
        if r.data[4] != 0:
            return 0
        start = 5
    if passage.response_peek is not None:
        r.pos = start
        if not ((passage.response_usual is not None and is_usual(passage.response_usual, r))
                or admits(passage.response_peek(frame, start))):
            return 0
    r.pos = start
    segments = rewrite_body(passage.response, frame, r, names, None, False)
    if segments is None:
        return 0
    if awaited.lane.usage is not None:
        r.pos = start
        awaited.lane.usage.add_response(r, True)
    awaited.finish(4 + <Py_ssize_t>be32(<const uint8_t*>PyBytes_AS_STRING(segments[0])), came_ns)
    out += segments
    queue.popleft()
    while queue and PyBytes_CheckExact(queue[0]):
        out.append(queue.popleft())
    return 1


cdef class Forwarding:
    """What the engine sees of a session, to send frames on without it.

    A session puts its own objects here; those that it has not yet, while nobody is authenticated, are None.
    """

    cdef bint is_clear(self) except -1:
        """Whether nothing comes first: nobody authenticates, nothing is held or looked up, not too much is awaited."""
        return (self._authentication is None and not self._held_requests and not self.lookup
                and len(self._queue) < self._max_in_flight)

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
        open_frame(frame, 0, &r)
        try:
            return pass_request(self._lanes, frame, &r, <Names?>self._to_physical, self._queue, self.to_broker,
                                self._admits_request) != 0
        finally:
            close_frame(&r)

    cdef bint pass_back(self, frame) except -1:
        cdef Reader r
        if self._held_responses:
            return False
        open_frame(frame, 0, &r)
        try:
            return pass_response(self._queue, frame, &r, <Names?>self._to_virtual, self.to_client,
                                 self._admits_response) != 0
        finally:
            close_frame(&r)

    @property
    def awaits_broker(self):
        """Whether an answer is awaited, and nothing of a request has still to come."""
        return len(self._queue) > 0 and not self.is_passing

    cdef bint begin_request(self, frame, Py_ssize_t whole, Py_ssize_t* tail) except -1:
        """Send a request on of which `frame` is the beginning; False: it has to be whole first."""
        cdef Reader r
        if not self.is_clear():
            return False
        open_frame(frame, 0, &r)
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
        """It is whole: what has come of it counts only now."""
        cdef Lane lane = <Lane?>self.passing_lane
        self.is_passing = False
        lane.traffic.receive(self.request_bytes)
        if lane.usage is not None:
            lane.usage.bytes_in += self.request_bytes
        if self.passing_request is not None:
            (<Passing>self.passing_request).end()
        self.passing_lane = self.passing_request = None
        return 0

    cdef bint begin_response(self, frame, Py_ssize_t whole, Py_ssize_t* tail) except -1:
        """Likewise the response to what is first awaited."""
        cdef Reader r
        if self._held_responses or self._held_requests:
            return False
        open_frame(frame, 0, &r)
        try:
            r.whole = whole
            self.answer_bytes = stream_response(self, frame, &r)
            tail[0] = r.tail
            return self.answer_bytes > 0
        finally:
            close_frame(&r)

    cdef int end_response(self) except -1:
        """It is whole: put what waited for it into `to_client`."""
        cdef object queue = self._queue
        (<Awaited?>queue.popleft()).finish(self.answer_bytes)
        while queue and PyBytes_CheckExact(queue[0]):
            self.to_client.append(queue.popleft())
        if self.passing_response is not None:
            (<Passing>self.passing_response).end()
            self.passing_response = None
        return 0
