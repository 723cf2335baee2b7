# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Lanes: how one tenant's messages of one API and version are treated, and what is awaited on them.

Here stands, once, which message may be sent on as it is: `judged_request` and `judged_response` give the reason why one
may not. The hot path sends on what passes and leaves everything else to the session's Python code, which asks the same
two functions and acts on the reason.

    request   is there a lane?            NO_LANE
              is there room?              NO_ROOM
              is its client in debt?      OVER_QUOTA (forwarding.pyx, which has the client's quota)
              its header                  UNUSUAL_HEADER
              its first fields            UNANSWERED, LOST_SESSION, FOR_FILTERS
              its plan                    FOR_FILTERS
    response  is it awaited?              NOT_AWAITED
              is it one of several?       PART
              what came with its request  KEPT
              its header                  UNUSUAL_HEADER
              its first fields            NEW_SESSION
              its plan                    FOR_FILTERS
              its tenant's time           OVER_BUDGET, also for its client's quota
    both      can it be rewritten?        NOT_IN_PLACE
              can it be counted at once?  NOT_IN_PLACE
    request   may brokers keep of it?     NOT_IN_PLACE (what brokers keep in memory; tenancy/broker_state)
"""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport PyObject
from libc.stdint cimport int16_t

from bifrost.forwarding.clock cimport clock_ns
from bifrost.forwarding.broker_costs import broker_cost_ns, error_costs_ns
from bifrost.forwarding.load cimport BROKER_ITEM_NS
from bifrost.forwarding.quotas.quota cimport kind_of
from bifrost.tenancy.broker_state.walks import entry_walk

from bifrost.wire.program cimport is_usual
from bifrost.wire.reader cimport MAX_STRING, be16, be32, close_frame, open_frame

cdef enum:
    FIRST_SLOTS = 4      # most connections await one or two answers
    KEPT_SLOTS = 32      # a longer queue gives its memory back when it is empty


@cython.final
cdef class Lane:
    """How one tenant's messages of one API and version are treated."""

    def __init__(self, plan, Traffic traffic not None, Load load not None, names, Usage usage=None):
        self.plan = plan
        self.to_physical = <Names?>names.to_physical
        self.to_virtual = <Names?>names.to_virtual
        self.client_id_prefix = names.client_id_prefix
        self.traffic = traffic
        self.load = load
        self.usage = usage
        self.kept = names.kept
        self.walk = None if self.kept is None else entry_walk(plan.api_key, plan.api_version)
        self.passage = <Passage?>plan.passage
        self.quota_kind = kind_of(plan.api_key)
        self.broker_ns = broker_cost_ns(plan.api_key)
        self.error_costs_ns = dict(error_costs_ns(plan.api_key)) or None

    def admits(self, frame, Py_ssize_t start):
        return self.walk is None or self.kept.enter_request(self.walk, frame, start)

    cpdef int fail(self, int code, int64_t times) except -1:
        """Count an error in a broker's answer, and charge what it cost the broker."""
        self.traffic.add_errors(code, False, times)
        if self.error_costs_ns is not None:
            self.load.broker_left_ns -= <int64_t>self.error_costs_ns.get(code, 0) * times
        return 0


@cython.final
@cython.freelist(256)
cdef class Awaited:
    """A request that the broker will answer."""

    def __init__(self, int32_t correlation_id, Lane lane not None, exchange, int64_t began_ns=0,
                 int64_t read_ns=0):
        self.correlation_id = correlation_id
        self.lane = lane
        self.exchange = exchange
        self.since_ns = clock_ns()
        self.began_ns = began_ns or self.since_ns
        self.read_ns = read_ns or self.began_ns
        lane.load.begin()
        lane.load.broker_left_ns -= lane.broker_ns
        if lane.usage is not None:
            lane.usage.in_flight += 1

    cpdef void finish(self, Py_ssize_t size, int64_t came_ns=0) noexcept:
        """Note its answer of so many bytes."""
        self.end(size, came_ns, clock_ns())

    cdef void end(self, Py_ssize_t size, int64_t came_ns, int64_t now_ns) noexcept:
        """Note its answer, which came at `came_ns` and is ready now."""
        self.lane.traffic.count_answer(size)
        self.lane.traffic.finish(now_ns - self.read_ns)
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


@cython.final
cdef class AwaitedQueue:
    """What a connection awaits, in order: a deque would take 600 bytes of each, and four calls for each request."""

    def __len__(self):
        return self.count

    def __getitem__(self, Py_ssize_t i):
        if not 0 <= i < self.count:
            raise IndexError("nothing is awaited there")
        return self.slots[(self.head + i) & (len(self.slots) - 1)]

    cpdef int append(self, object one) except -1:
        cdef Py_ssize_t size = 0 if self.slots is None else len(self.slots)
        if self.count == size:
            # The ring begins anew, twice as long.
            self.slots = [self[i] for i in range(size)] + [None] * max(size, FIRST_SLOTS)
            self.head, size = 0, len(self.slots)
        self.slots[(self.head + self.count) & (size - 1)] = one
        self.count += 1
        return 0

    cpdef object popleft(self):
        if not self.count:
            raise IndexError("nothing is awaited")
        one, self.slots[self.head] = self.slots[self.head], None
        self.count -= 1
        self.head = (self.head + 1) & (len(self.slots) - 1)
        if not self.count and len(self.slots) > KEPT_SLOTS:
            self.slots, self.head = None, 0
        return one


cdef Lane judged_request(dict lanes, Lane lane, object frame, Reader* r, object session, int64_t known, int* reason):
    """Give the lane of a request and, in `reason`, whether it PASSES: then `r` stands before its body.

    With `lane` that is its lane, else it is looked up; None: the session has to say which (NO_LANE). With `r.pos` above
    0 the body begins there: the session has read the header, and has room for the request. Without `frame` there is
    nothing to show to the session. `known` is its own fetch session, 0 if it has none.
    """
    cdef PyObject* found
    cdef Py_ssize_t start = r.pos
    if lane is None:
        reason[0] = NO_LANE
        if r.end < 10:
            return None
        found = PyDict_GetItemWithError(lanes, be32(r.data))
        if found == NULL:
            return None
        lane = <Lane?><object>found
        if lane.usage is not None and not lane.usage.is_of(r.data, r.end):
            return None
    if not start:
        if lane.load.full():
            reason[0] = NO_ROOM
            return lane
        start = 10 + max(0, <int16_t>be16(r.data + 8))
        if (start >= r.end or lane.passage.request_flexible and r.data[start] != 0
                or lane.client_id_prefix is not None
                and start - 10 + PyBytes_GET_SIZE(lane.client_id_prefix) > MAX_STRING):
            reason[0] = UNUSUAL_HEADER
            return lane
        start += lane.passage.request_flexible
    if lane.passage.request_peek is not None:
        r.pos = start
        if lane.passage.request_usual is None or not is_usual(lane.passage.request_usual, r, known):
            reason[0] = NOT_IN_PLACE
            if frame is not None:
                reason[0] = session.judge_request_fields(lane.plan, lane.passage.request_peek(frame, start))
            if reason[0] != PASSES:
                return lane
    r.pos = start
    reason[0] = FOR_FILTERS if lane.passage.request is None else PASSES
    return lane

cdef Passing await_answer(Lane lane, Reader* r, Py_ssize_t start, int64_t read_ns, int64_t began_ns, int64_t since_ns,
                          AwaitedQueue queue):
    """Put a request that is sent on behind those that are awaited; return what counts records still to come."""
    cdef Awaited awaited = Awaited.__new__(Awaited)
    cdef Passing passing = None
    if r.trip != NULL:
        await_parts(lane, <int32_t>be32(r.data + 4), <RecordTrip>r.trip, since_ns, queue)
    lane.load.broker_left_ns -= lane.broker_ns + (r.given - r.steps) * BROKER_ITEM_NS
    if lane.usage is not None:
        r.pos = start
        passing = lane.usage.add_request(r)
        lane.usage.in_flight += 1
    awaited.charged = 0
    awaited.correlation_id = <int32_t>be32(r.data + 4)
    awaited.lane = lane
    awaited.since_ns = since_ns
    awaited.began_ns = began_ns
    awaited.read_ns = read_ns
    if r.trip != NULL and (<RecordTrip>r.trip).is_kept:
        awaited.trip = <RecordTrip>r.trip
    lane.load.begin()
    queue.append(awaited)
    return passing

cdef int await_parts(Lane lane, int32_t correlation_id, RecordTrip trip, int64_t now_ns, AwaitedQueue queue) except -1:
    """Await the answers to all parts of a request but the last, which is awaited as the request."""
    cdef Awaited part
    cdef int i
    for i in range(trip.parts - 1):
        part = Awaited.__new__(Awaited)
        part.correlation_id, part.lane, part.trip, part.is_part = correlation_id, lane, trip, True
        part.since_ns = part.began_ns = part.read_ns = now_ns
        lane.load.begin()
        lane.load.broker_left_ns -= lane.broker_ns
        if lane.usage is not None:
            lane.usage.in_flight += 1
        queue.append(part)
    return 0

cdef Awaited judged_response(AwaitedQueue queue, object frame, Reader* r, object session, int64_t known, bint is_claimed,
                             int* reason):
    """Give what is first in `queue` and, in `reason`, whether its response PASSES: then `r` stands before its body.

    None: it is not its response (NOT_AWAITED). PART: it is to one of several requests that one became. With `r.pos` above 0 the body begins there: the session has read the
    header, and what it kept with the request. With `is_claimed` it has also read the fields.
    """
    cdef Awaited awaited
    cdef Passage passage
    cdef Py_ssize_t start = r.pos
    reason[0] = NOT_AWAITED
    if not queue.count or r.end < 4:
        return None
    awaited = <Awaited?>queue.first()
    if <int32_t>be32(r.data) != awaited.correlation_id:
        return None
    if awaited.is_part:
        reason[0] = PART
        return awaited
    passage = awaited.lane.passage
    if not start:
        start = 4 + passage.response_flexible
        if awaited.exchange is not None:
            reason[0] = KEPT
            return awaited
        if r.end < 5 or passage.response_flexible and r.data[4] != 0:
            reason[0] = UNUSUAL_HEADER
            return awaited
    if passage.response_peek is not None and not is_claimed:
        r.pos = start
        if passage.response_usual is None or not is_usual(passage.response_usual, r, known):
            reason[0] = NOT_IN_PLACE
            if frame is not None:
                reason[0] = session.judge_response_fields(passage.response_peek(frame, start))
            if reason[0] != PASSES:
                return awaited
    r.pos = start
    if passage.response is None:
        reason[0] = FOR_FILTERS
    elif awaited.trip is not None and awaited.trip.parts > 1 and not awaited.trip.is_whole:
        reason[0] = PART
    else:
        reason[0] = OVER_BUDGET if awaited.lane.load.is_over_budget else PASSES
    return awaited

cdef int keep_part(Awaited awaited, Reader* r, AwaitedQueue queue) except -1:
    """Keep the answer to a part of a request, which is first in `queue`, until that to the last one comes."""
    awaited.trip.keep_answer(PyBytes_FromStringAndSize(<const char*>r.data, r.end))
    awaited.abandon()
    queue.popleft()
    return PASSES

cdef int count_new(Lane lane, bytes answer, Py_ssize_t start) except -1:
    """Count a whole answer whose records are others than the broker's: what the client gets is counted."""
    cdef Reader r
    open_frame(answer, 4 + start, &r)
    r.hot = True  # Its names are those of the broker's answer, which were counted as rounds.
    lane.usage.add_response(&r, False)
    close_frame(&r)
    return 0
