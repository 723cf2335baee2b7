# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Lanes: how one tenant's messages of one API and version are treated, and what is awaited on them.

Here stands, once, which message may pass without a look of the session's Python code.
"""

cimport cython
from cpython.bytes cimport PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport PyObject
from libc.stdint cimport int16_t

from bifrost.forwarding.clock cimport clock_ns
from bifrost.forwarding.broker_costs import broker_cost_ns
from bifrost.forwarding.load cimport BROKER_ITEM_NS
from bifrost.wire.program cimport is_usual
from bifrost.wire.reader cimport HOT_STEPS, MAX_STRING, be16, be32


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
        self.passage = <Passage?>plan.passage
        self.broker_ns = broker_cost_ns(plan.api_key)


@cython.final
@cython.freelist(256)
cdef class Awaited:
    """A request that the broker will answer."""

    def __init__(self, int32_t correlation_id, Lane lane not None, exchange, int64_t began_ns=0):
        self.correlation_id = correlation_id
        self.lane = lane
        self.exchange = exchange
        self.since_ns = clock_ns()
        self.began_ns = began_ns or self.since_ns
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


cdef Lane admitted_lane(dict lanes, object frame, Reader* r, object admits):
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
    if lane.client_id_prefix is not None and start - 10 + PyBytes_GET_SIZE(lane.client_id_prefix) > MAX_STRING:
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
    lane.load.broker_left_ns -= lane.broker_ns
    if r.hot:
        lane.load.broker_left_ns -= (HOT_STEPS - r.steps) * BROKER_ITEM_NS
    queue.append(awaited)
    return passing

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
