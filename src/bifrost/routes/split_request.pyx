# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A request by partition under way to its brokers: the last answer completes it.

    SplitRequest ──parts──▶ one for each broker ──▶ SentPart: waits for what that broker answers
                 ◀──take── answer, or None: it is lost
                 ──merged──▶ the client's answer, once all have come

A part whose broker is not reached, or does not answer in time, has Kafka's retriable error for its partitions, and the
others have what their brokers said. Clients that give a timeout mostly give up when it is over, and close the connection
(Java and kafka-python send `request.timeout.ms`): so the answer is given a little before.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, uint8_t

from bifrost.wire.reader cimport be16, be32

cdef enum:
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    PRODUCE_FIELDS = 6          # bytes of acks and the timeout, which stand last in front of the topics
    NO_TIMEOUT = -1

EARLY_S = 1.0
EARLY_PART = 10
LEAST_S = 1.0
LATE_S = 5.0
MAX_TIMEOUT_S = 600.0
ANSWER_TIMEOUT_S = 60.0
MANY_ITEMS = MANY

cdef double early_s = EARLY_S, early_part = EARLY_PART, least_s = LEAST_S, late_s = LATE_S
cdef double max_timeout_s = MAX_TIMEOUT_S, answer_timeout_s = ANSWER_TIMEOUT_S


cdef double timeout_of(int32_t timeout_ms, bint is_answered) noexcept:
    """How long a broker may take for a request with this timeout, or NO_TIMEOUT: the API has none."""
    cdef double timeout_s
    if timeout_ms == NO_TIMEOUT:
        return answer_timeout_s
    timeout_s = min(max(0.0, timeout_ms / 1000.0), max_timeout_s)
    if not is_answered:
        return timeout_s + late_s  # The client waits for nothing.
    return max(least_s, timeout_s - min(early_s, timeout_s / early_part))


cdef int32_t number_behind(Split split) except? -1:
    """The first four bytes after the topics of a request, as a number."""
    cdef bytes after = split.bytes_of(split.after_at, min(split.size, split.after_at + 4))
    return <int32_t>be32(<const uint8_t*>PyBytes_AS_STRING(after)) if PyBytes_GET_SIZE(after) == 4 else 0


@cython.final
cdef class SplitRequest:
    def __init__(self, Split split not None, bytes head not None, *, bint is_produce, bint is_by_id,
                 bint has_timeout_behind=False):
        self.begin(split, head, is_produce, is_by_id, has_timeout_behind)

    cdef int begin(self, Split split, bytes head, bint is_produce, bint is_by_id, bint has_timeout_behind) except -1:
        cdef bytes before
        cdef const uint8_t* fields
        cdef int32_t timeout_ms = NO_TIMEOUT
        self.split, self.head, self.is_produce, self.is_by_id, self.is_answered = split, head, is_produce, is_by_id, True
        if is_produce:
            before = split.before
            fields = <const uint8_t*>PyBytes_AS_STRING(before) + PyBytes_GET_SIZE(before) - PRODUCE_FIELDS
            timeout_ms = max(0, <int32_t>be32(fields + 2))
            self.is_answered = be16(fields) != 0
        elif has_timeout_behind:
            timeout_ms = max(0, number_behind(split))
        self.has_timeout = timeout_ms != NO_TIMEOUT
        self.timeout_s = timeout_of(timeout_ms, self.is_answered)
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
