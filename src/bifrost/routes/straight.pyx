# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Requests whose partitions have one leader: the broker gets the frame as it is, and the client the answer as it is.

    frame ──read──▶ StraightRequest: its broker, acks and timeout ──▶ that broker
                │                                               answer ──take──▶ as it is
                ├─ several leaders ──▶ SplitRequest                       └──▶ split.pyx: it has an error, or differs
                └─ an unknown leader, or very many partitions ──▶ Python code decides

Both are only walked along, and nothing is built for a partition. Records do not wait for the answer with their request:
once they are sent, the next ones are received into their memory, which the processor still has at hand. What is unusual is left to `split.pyx`, which decides
about the same bytes anew; so this is never more than a shorter way to what a split would give.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcmp, memset

from bifrost.routes.leaders cimport KEPT_MS, SURE_MS, LeaderTable, Leaders
from bifrost.routes.shape cimport (
    AFTER, BEFORE, PARTITION, TOPIC, TOPIC_END, Cursor, Piece, Shape, copy, open_pieces, read_int32,
)
from bifrost.routes.split cimport Split
from bifrost.routes.split_request cimport SplitRequest
from bifrost.routes.template cimport Template
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.output cimport varint_size, write_size, write_varint
from bifrost.wire.reader cimport be16

cdef extern from "Python.h":
    bint PyMemoryView_Check(object view)
    Py_buffer* PyMemoryView_GET_BUFFER(object view)

cdef enum:
    HEAD = 14           # bytes of the frame's length, and of its header up to the client ID
    MAX_PIECES = 64     # pieces of a frame; one of a single batch has three
    MAX_SPLIT = 64      # partitions of a request that is taken apart at once, some 0.1 ms
    COMPARED = 64       # bytes of a topic's name that are compared at once
    NO_NODE = -1
    SEVERAL = -3
    NO_TIMEOUT = -1
    WORTH_DROPPING = 4096   # bytes of records; less may wait for the answer with its request
    MAX_VARINT = 5
    MAX_FIELDS = 64         # of records, in a request whose records do not wait


cdef struct Field:
    Py_ssize_t start, end    # of a partition's records, with their length

cdef struct Fields:
    int count                # more than MAX_FIELDS: they are not known
    Py_ssize_t size
    Field at[MAX_FIELDS]


@cython.final
cdef class StraightWay:
    def __init__(self, Shape request not None, Template template not None, *, bint has_request_tags,
                 bint has_response_tags, bint is_by_id, bint is_produce, bint has_timeout_behind=False):
        self.request, self.response, self.template = request, template.shape, template
        self.is_by_id, self.is_produce, self.has_timeout_behind = is_by_id, is_produce, has_timeout_behind
        self.request_tags, self.response_head = has_request_tags, 4 + has_response_tags


@cython.final
cdef class StraightRequest:
    cpdef int let_go(self) except -1:
        if self.outline is not None:
            self.segments = self.outline
        return 0

    cpdef bint take(self, frame) except -1:
        cdef Piece pieces[MAX_PIECES]
        cdef Piece piece = Piece(NULL, 0, 0)
        cdef Cursor asked, answered
        piece.size = look_at(frame, &piece.data)
        open_pieces(&asked, pieces, lay_out(self.segments, pieces))
        open_pieces(&answered, &piece, 1)
        asked.pos, answered.pos = self.body, self.way.response_head
        try:
            if answered.pos > answered.end or not is_plain_answer(self.way, &asked, &answered):
                return False
        except MalformedFrame:
            return False  # The split refuses it as well, and tells why.
        self.answer, self.segments = frame, None
        return True


@cython.final
cdef class StraightRoutes:
    cdef LeaderTable by_name, by_id
    cdef object find_way
    cdef dict ways

    def __init__(self, LeaderTable by_name not None, LeaderTable by_id not None, find_way):
        self.by_name, self.by_id, self.find_way, self.ways = by_name, by_id, find_way, {}

    def read(self, list segments not None, int64_t now_ms):
        cdef Piece pieces[MAX_PIECES]
        cdef Cursor c
        cdef StraightRequest made
        cdef StraightWay way
        cdef const uint8_t* head
        cdef Py_ssize_t body
        cdef Fields records
        cdef int count = lay_out(segments, pieces)
        if not count or pieces[0].size < HEAD:
            return None
        head = pieces[0].data
        way = self.way_of(be16(head + 4), be16(head + 6))
        if way is None:
            return None
        body = HEAD + max(0, <int16_t>be16(head + 12)) + way.request_tags
        if body > pieces[0].size or way.request_tags and head[body - 1]:
            return None
        made = StraightRequest.__new__(StraightRequest)
        made.way, made.segments, made.body, made.timeout_ms = way, segments, body, NO_TIMEOUT
        made.is_answered = made.is_sure = True
        open_pieces(&c, pieces, count)
        c.pos = body
        records.count = records.size = 0
        try:
            made.node = self.lead(made, &c, now_ms, &records)
            if made.node == NO_NODE:
                return None
            if WORTH_DROPPING <= records.size and records.count <= MAX_FIELDS:
                made.outline = [without(&c, &records, way.request.is_flexible)]
            return made if made.node != SEVERAL else self.taken_apart(made, head, now_ms)
        except MalformedFrame:
            return None

    cdef SplitRequest taken_apart(self, StraightRequest made, const uint8_t* head, int64_t now_ms):
        """The request of a frame whose partitions have several leaders, all of them known."""
        cdef StraightWay way = made.way
        cdef SplitRequest whole = SplitRequest.__new__(SplitRequest)
        whole.sent = self.led(way, made.segments, made.body, now_ms)
        whole.begin(
            whole.sent if made.outline is None else self.led(way, made.outline, made.body, now_ms),
            PyBytes_FromStringAndSize(<const char*>head + 8, 4) + b"\0"[:way.response_head - 4],
            way.is_produce, way.is_by_id, way.has_timeout_behind,
        )
        return whole

    cdef Split led(self, StraightWay way, list segments, Py_ssize_t body, int64_t now_ms):
        cdef Split split = Split(way.request, way.template, segments, body)
        split.lead(self.by_id if way.is_by_id else self.by_name, NO_NODE, now_ms)
        return split

    cdef StraightWay way_of(self, int api_key, int version):
        cdef int key = api_key << 16 | version
        found = self.ways.get(key, self)
        if found is self:
            found = self.ways[key] = self.find_way(api_key, version)
        return found

    cdef int32_t lead(self, StraightRequest made, Cursor* c, int64_t now_ms, Fields* records) except? -2:
        """The leader of all partitions of a request; SEVERAL: they have several; NO_NODE: one is not known."""
        cdef Shape shape = made.way.request
        cdef LeaderTable table = self.by_id if made.way.is_by_id else self.by_name
        cdef Leaders leaders
        cdef int64_t topics, partitions, seen = 0
        cdef int32_t node = NO_NODE
        cdef bytes key
        shape.walk(BEFORE, c)
        if made.way.is_produce:
            # Acks and the timeout stand last in front of the topics, in every version.
            made.timeout_ms = max(0, read_int32(c, c.pos - 4))
            made.is_answered = read_int32(c, c.pos - 6) >> 16 != 0
        topics = shape.read_count(c)
        while topics > 0:
            topics -= 1
            shape.walk(TOPIC, c)
            key = PyBytes_FromStringAndSize(NULL, c.key_size)
            copy(c, c.key_at, c.key_size, <uint8_t*>PyBytes_AS_STRING(key))
            leaders = table.get(key)
            if leaders is None or leaders.known_ms < now_ms - KEPT_MS:
                return NO_NODE
            made.is_sure &= leaders.known_ms >= now_ms - SURE_MS
            partitions = shape.read_count(c)
            while partitions > 0:
                partitions -= 1
                c.data_size, c.tags_at = 0, -1
                shape.walk(PARTITION, c)
                if c.data_size:
                    note_records(c, records, shape.is_flexible)
                seen += 1
                if not 0 <= c.index < leaders.count or leaders.nodes[c.index] < 0:
                    return NO_NODE
                if node == NO_NODE:
                    node = leaders.nodes[c.index]
                elif leaders.nodes[c.index] != node:
                    node = SEVERAL
                if node == SEVERAL and seen > MAX_SPLIT:
                    return NO_NODE
            shape.walk(TOPIC_END, c)
        if made.way.has_timeout_behind and c.end - c.pos >= 4:
            made.timeout_ms = max(0, read_int32(c, c.pos))
        shape.walk(AFTER, c)
        return node if c.pos == c.end else NO_NODE


cdef int note_records(Cursor* c, Fields* records, bint is_flexible) except -1:
    """Note where the records of the partition before c.pos stand: last of all, but for tagged fields."""
    cdef Field* field = &records.at[records.count]
    cdef uint8_t length[MAX_VARINT]
    cdef uint8_t usual[MAX_VARINT]
    cdef int width = varint_size(<uint32_t>(c.data_size + 1)) if is_flexible else 4
    if records.count >= MAX_FIELDS:
        records.count = MAX_FIELDS + 1
        return 0
    field.end = c.tags_at if c.tags_at >= 0 else c.pos
    field.start = field.end - c.data_size - width
    if is_flexible:
        # A length may be written with more bytes than it needs: then the last ones of it say something else.
        write_varint(usual, <uint32_t>(c.data_size + 1))
        copy(c, field.start, width, length)
        if memcmp(length, usual, width) != 0:
            records.count = MAX_FIELDS + 1
            return 0
    records.count += 1
    records.size += c.data_size
    return 0

cdef bytes without(Cursor* c, Fields* records, bint is_flexible):
    """The request with empty records."""
    cdef Py_ssize_t width = 1 if is_flexible else 4, size = c.end, at = 0
    cdef uint8_t* to
    cdef bytes out
    cdef int i
    for i in range(records.count):
        size -= records.at[i].end - records.at[i].start - width
    out = PyBytes_FromStringAndSize(NULL, size)
    # No other code has seen it yet.
    to = <uint8_t*>PyBytes_AS_STRING(out)
    for i in range(records.count):
        copy(c, at, records.at[i].start - at, to)
        to += records.at[i].start - at
        memset(to, 0, width)
        if is_flexible:
            to[0] = 1
        to += width
        at = records.at[i].end
    copy(c, at, c.end - at, to)
    write_size(<uint8_t*>PyBytes_AS_STRING(out), size - 4)
    return out

cdef bint is_plain_answer(StraightWay way, Cursor* asked, Cursor* answered) except -1:
    """Whether an answer has what was asked, in the same order, without an error and a hint of a leader."""
    cdef Shape request = way.request
    cdef Shape response = way.response
    cdef int64_t topics, partitions
    request.walk(BEFORE, asked)
    answered.error = 0
    response.walk(BEFORE, answered)
    topics = request.read_count(asked)
    if answered.error or response.read_count(answered) != topics:
        return False
    while topics > 0:
        topics -= 1
        request.walk(TOPIC, asked)
        response.walk(TOPIC, answered)
        partitions = request.read_count(asked)
        if not has_key(asked, answered) or response.read_count(answered) != partitions:
            return False
        while partitions > 0:
            partitions -= 1
            request.walk(PARTITION, asked)
            answered.error, answered.tags_at = 0, -1
            response.walk(PARTITION, answered)
            if answered.index != asked.index or answered.error or has_tags(answered):
                return False
        request.walk(TOPIC_END, asked)
        response.walk(TOPIC_END, answered)
    answered.tags_at = -1
    response.walk(AFTER, answered)
    return answered.pos == answered.end and not has_tags(answered)

cdef inline bint has_tags(Cursor* c) noexcept:
    """Whether an answer, which is in one piece, has tagged fields where the last walk has seen room for them."""
    return c.tags_at >= 0 and c.pieces[0].data[c.tags_at] != 0

cdef bint has_key(Cursor* asked, Cursor* answered) noexcept:
    """Whether both have seen the same topic's name, or ID."""
    cdef uint8_t scratch[COMPARED]
    cdef Py_ssize_t done = 0, n
    if asked.key_size != answered.key_size:
        return False
    while done < asked.key_size:
        n = min(COMPARED, asked.key_size - done)
        copy(asked, asked.key_at + done, n, scratch)
        if memcmp(scratch, answered.pieces[0].data + answered.key_at + done, n) != 0:
            return False
        done += n
    return True

cdef int lay_out(list segments, Piece* pieces) except -1:
    """Note where the pieces of a frame are; return their number, 0: there are too many."""
    cdef Py_ssize_t begin = 0
    cdef int i
    if len(segments) > MAX_PIECES:
        return 0
    for i in range(len(segments)):
        pieces[i].begin = begin
        pieces[i].size = look_at(segments[i], &pieces[i].data)
        begin += pieces[i].size
    return len(segments)

cdef Py_ssize_t look_at(frame, const uint8_t** data) except -1:
    """Find the memory of bytes or a memoryview, which is not moved while it is held; return its size."""
    if PyBytes_CheckExact(frame):
        data[0] = <const uint8_t*>PyBytes_AS_STRING(frame)
        return PyBytes_GET_SIZE(frame)
    if not PyMemoryView_Check(frame):
        raise TypeError(f"frames are bytes or memoryviews, not {type(frame).__name__}")
    data[0] = <const uint8_t*>PyMemoryView_GET_BUFFER(frame).buf
    return PyMemoryView_GET_BUFFER(frame).len
