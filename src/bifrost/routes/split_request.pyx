# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A request by partition under way to its brokers: the last answer completes it.

    SplitRequest ──parts──▶ one for each broker ──▶ SentPart: waits for what that broker answers
                 ◀──take── answer, or None: it is lost
                 ──merged──▶ the client's answer, once all have come

A part whose broker is not reached, or does not answer in time, has Kafka's retriable error for its partitions, and the
others have what their brokers said.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t

from bifrost.wire.reader cimport be16, be32

cdef enum:
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    PRODUCE_FIELDS = 6          # bytes of acks and the timeout, which stand last in front of the topics
    NO_TIMEOUT = -1

LATE_S = 5.0
MAX_PRODUCE_TIMEOUT_S = 600.0
ANSWER_TIMEOUT_S = 60.0
MANY_ITEMS = MANY

cdef double late_s = LATE_S, max_produce_timeout_s = MAX_PRODUCE_TIMEOUT_S, answer_timeout_s = ANSWER_TIMEOUT_S


cdef double timeout_of(int32_t timeout_ms) noexcept:
    """How long the answer to a request may take: a Produce with this timeout, or NO_TIMEOUT for another API."""
    if timeout_ms == NO_TIMEOUT:
        return answer_timeout_s
    return min(max(0.0, timeout_ms / 1000.0), max_produce_timeout_s) + late_s


@cython.final
cdef class SplitRequest:
    def __init__(self, Split split not None, bytes head not None, *, bint is_produce, bint is_by_id):
        self.begin(split, head, is_produce, is_by_id)

    cdef int begin(self, Split split, bytes head, bint is_produce, bint is_by_id) except -1:
        cdef bytes before
        cdef const uint8_t* fields
        cdef int32_t timeout_ms = NO_TIMEOUT
        self.split, self.head, self.is_produce, self.is_by_id, self.is_answered = split, head, is_produce, is_by_id, True
        if is_produce:
            before = split.before
            fields = <const uint8_t*>PyBytes_AS_STRING(before) + PyBytes_GET_SIZE(before) - PRODUCE_FIELDS
            timeout_ms = max(0, <int32_t>be32(fields + 2))
            self.is_answered = be16(fields) != 0
        self.timeout_s = timeout_of(timeout_ms)
        return 0

    def parts(self, int32_t elsewhere):
        cdef list nodes = self.split.nodes()
        if not nodes and not self.split.has_absent:
            nodes = [elsewhere]
        cdef Split sent = self.split if self.sent is None else self.sent
        self.left, self.sent = len(nodes), None  # Only the parts keep the records, until they are written.
        return [(node, sent.part(node)) for node in nodes]

    def take(self, int32_t node, frame, bint may_be_done):
        return self.note(node, frame, may_be_done)

    cdef bint note(self, int32_t node, frame, bint may_be_done) except -1:
        """Take the answer of a broker; return whether it was the last."""
        if frame is not None:
            self.split.take(node, frame, PyBytes_GET_SIZE(self.head))
        else:
            # The records may be stored: only a client with idempotence may be sure that they are there once.
            self.split.fail(node, REQUEST_TIMED_OUT if may_be_done and self.is_produce else NOT_LEADER_OR_FOLLOWER)
        self.left -= 1
        return self.left <= 0

    def merged(self):
        return self.split.merged(self.head)


@cython.final
@cython.freelist(64)
cdef class SentPart:
    def __init__(self, SplitRequest whole not None, int32_t node):
        self.whole, self.node = whole, node
