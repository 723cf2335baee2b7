# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Lanes as the hot path goes along them."""

cimport cython
from cpython.bytes cimport PyBytes_CheckExact
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int32_t, int64_t

from bifrost.forwarding.load cimport Load
from bifrost.forwarding.traffic cimport Traffic
from bifrost.journal.usage cimport Passing, Usage
from bifrost.tenancy.broker_state.kept_entries cimport EntryWalk, KeptEntries
from bifrost.wire.program cimport Passage
from bifrost.wire.reader cimport Reader
from bifrost.wire.rewriting cimport Names, RecordTrip

cpdef enum Reason:
    """Whether a message is sent on as it is, or why not: see lane.pyi. A number that is not here means: not."""
    PASSES = 1
    HELD = 2
    NO_LANE = 3
    NO_ROOM = 4
    UNUSUAL_HEADER = 5
    FOR_FILTERS = 6
    UNANSWERED = 7
    LOST_SESSION = 8
    NOT_IN_PLACE = 9
    NOT_AWAITED = 10
    KEPT = 11
    NEW_SESSION = 12
    OVER_BUDGET = 13
    OVER_QUOTA = 14
    PART = 15

cdef enum:
    MOST_COUNTED = 128   # names of one message that may all be new to the journal's counters: half a millisecond


@cython.final
cdef class Lane:
    cdef readonly object plan
    cdef readonly Traffic traffic
    cdef readonly Load load
    cdef readonly Usage usage
    cdef readonly Names to_physical, to_virtual
    cdef readonly bytes client_id_prefix
    cdef readonly KeptEntries kept     # None: the number of what brokers keep is not bounded
    cdef EntryWalk walk
    cdef Passage passage
    cdef int64_t broker_ns
    cdef int quota_kind
    cdef dict error_costs_ns
    cpdef int fail(self, int code, int64_t times) except -1

    cdef inline int fail_all(self, Reader* r) except -1:
        """Count the error codes that a walk over a broker's answer has noted."""
        cdef int i
        for i in range(r.codes):
            self.fail(r.code[i], r.times[i])
        return 0

    cdef inline bint lets_keep(self, Reader* r, Py_ssize_t start) except -1:
        """Whether brokers may keep what a request, whose body begins at `start`, makes them keep."""
        return self.kept is None or self.kept.admits_request(self.walk, r, start)

    cdef inline void receive(self, Py_ssize_t size) noexcept:
        """Count the bytes of a request that has arrived."""
        self.traffic.count_request(size)
        if self.usage is not None:
            self.usage.bytes_in += size


@cython.final
cdef class Awaited:
    cdef readonly int32_t correlation_id
    cdef readonly Lane lane
    cdef readonly object exchange
    cdef readonly RecordTrip trip
    cdef int64_t read_ns, began_ns, since_ns
    cdef readonly bint is_part     # of a request that became several, and not the last of these
    cdef bint is_over
    cdef public int64_t charged    # for its answer, by a quota
    cpdef void finish(self, Py_ssize_t size, int64_t came_ns=*) noexcept
    cdef void end(self, Py_ssize_t size, int64_t came_ns, int64_t now_ns) noexcept
    cpdef void abandon(self) noexcept


@cython.final
cdef class AwaitedQueue:
    cdef list slots             # a ring of a power of two; None: empty
    cdef Py_ssize_t head, count
    cpdef int append(self, object one) except -1
    cpdef object popleft(self)

    cdef inline object first(self):
        """What is first; there has to be something."""
        return self.slots[self.head]

    cdef inline bint begins_with_answer(self):
        """Whether an answer of the gateway's own is first."""
        return self.count > 0 and PyBytes_CheckExact(self.slots[self.head])

    cdef inline int move_answers(self, list to) except -1:
        """Append the gateway's own answers that are first to a list."""
        while self.begins_with_answer():
            to.append(self.popleft())
        return 0


cdef inline bint counts_fast(Lane lane, Reader* r) noexcept:
    """Whether the journal can count a message, which was rewritten, without a slice of time.

    About a name that is new to its counters, or that the tenant may not use, Python code decides.
    """
    return lane.usage is None or (r.names <= MOST_COUNTED and r.steps >= 0)

cdef inline void go_back(Awaited awaited, Reader* r) noexcept:
    """Let an answer be rewritten with what the way of its request has kept."""
    if awaited.trip is not None:
        Py_INCREF(awaited.trip)
        r.trip = <PyObject*>awaited.trip

cdef Lane judged_request(dict lanes, Lane lane, object frame, Reader* r, object session, int64_t known, int* reason)
cdef Passing await_answer(Lane lane, Reader* r, Py_ssize_t start, int64_t read_ns, int64_t began_ns, int64_t since_ns,
                          AwaitedQueue queue)
cdef Awaited judged_response(AwaitedQueue queue, object frame, Reader* r, object session, int64_t known, bint is_claimed,
                             int* reason)
cdef int keep_part(Awaited awaited, Reader* r, AwaitedQueue queue) except -1
cdef int count_new(Lane lane, bytes answer, Py_ssize_t start) except -1
