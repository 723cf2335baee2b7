# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Makes several Produce requests for one broker of one, and one answer of those to them.

    frame ──read──▶ entries: one for each partition ──the caller──▶ each with its wave
                      │ frames: for each wave the header, and the topics and partitions of that wave ──▶ frames
    answer ──keep──▶ by wave
                      │ joined: with the last one all go back, in the order of the request ──▶ one frame

A broker keeps one batch of a partition of a request, so a request that names one twice goes to it as two. An entry is a
few numbers in C memory. Records stay where they are: frames have slices of the memory in which the request lies, which is
not kept until the answer.

What is unusual has no answer here, and the caller decodes the messages: a partition with an error, tagged fields, an answer
that lacks a partition, names it twice or names another one.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from bifrost.routes.shape cimport AFTER, BEFORE, PARTITION, TOPIC, TOPIC_END, Cursor, Piece, Shape, copy, open_pieces
from bifrost.routes.slots cimport resized
from bifrost.routes.template cimport BEHIND, Template, put_count
from bifrost.wire.output cimport Output, open_output, put, set_aside, take, write_size
from bifrost.wire.reader cimport be32
from bifrost.wire.window cimport memoryview_data, memoryview_size

cdef enum:
    OWN_SEGMENT = 4096    # bytes: shorter runs are copied, for a segment of its own would cost more
    FEW = 16              # partitions of a wave among which one is looked for one by one
    THROTTLE = 4          # bytes of the throttle time


@cython.final
cdef class Waves:
    def __dealloc__(self):
        PyMem_Free(self.entries)
        PyMem_Free(self.spans)
        PyMem_Free(self.first)
        PyMem_Free(self.pieces)

    # -- the request

    cdef int map_pieces(self, list segments) except -1:
        """Find where the segments stand, which the caller keeps until it has the frames."""
        cdef Py_ssize_t begin = 0, size
        cdef const uint8_t* data
        cdef int i
        self.pieces = <Piece*>PyMem_Calloc(max(1, len(segments)), sizeof(Piece))
        if self.pieces == NULL:
            raise MemoryError
        for i in range(len(segments)):
            segment = segments[i]
            if PyBytes_CheckExact(segment):
                data, size = <const uint8_t*>PyBytes_AS_STRING(segment), PyBytes_GET_SIZE(segment)
            else:
                data, size = <const uint8_t*>memoryview_data(segment), memoryview_size(segment)
            self.pieces[i] = Piece(data, begin, size)
            begin += size
        return 0

    cdef bint read(self, Cursor* c) except -1:
        """Find the partitions; False: there is something unusual."""
        cdef int64_t left
        self.request.walk(BEFORE, c)
        self.topics_at = c.pos
        left = self.request.read_count(c)
        if left < 1:
            return False
        while left > 0:
            left -= 1
            if not self.read_topic(c):
                return False
        self.after_at = c.pos
        self.request.walk(AFTER, c)
        return c.pos == c.end

    cdef bint read_topic(self, Cursor* c) except -1:
        cdef Span* span
        cdef int64_t left
        cdef Py_ssize_t start = c.pos
        cdef bytes key, head
        self.request.walk(TOPIC, c)
        key = PyBytes_FromStringAndSize(NULL, c.key_size)
        copy(c, c.key_at, c.key_size, <uint8_t*>PyBytes_AS_STRING(key))
        head = PyBytes_FromStringAndSize(NULL, c.pos - start)
        copy(c, start, c.pos - start, <uint8_t*>PyBytes_AS_STRING(head))
        if key in self.topics:
            return False
        self.topics[key] = self.topic_count
        self.keys.append(key)
        self.heads.append(head)
        if self.topic_count == self.topic_room:
            self.spans = <Span*>resized(self.spans, max(4, 2 * self.topic_room) * sizeof(Span))
            self.topic_room = max(4, 2 * self.topic_room)
        span = &self.spans[self.topic_count]
        span.start, span.head, span.first = start, c.pos, self.count
        left = self.request.read_count(c)
        if left < 1:
            return False
        while left > 0:
            left -= 1
            start = c.pos
            self.request.walk(PARTITION, c)
            self.add(self.topic_count, c, start)
        span.tail, span.count = c.pos, self.count - span.first
        self.request.walk(TOPIC_END, c)
        span.end = c.pos
        self.topic_count += 1
        return True

    cdef int add(self, int topic, Cursor* c, Py_ssize_t start) except -1:
        if self.count == self.room:
            self.entries = <Entry*>resized(self.entries, max(8, 2 * self.room) * sizeof(Entry))
            self.room = max(8, 2 * self.room)
        self.entries[self.count] = Entry(topic, c.index, 0, -1, start, c.pos, NULL, 0)
        self.count += 1
        return 0

    cdef list frames(self, list segments, int waves):
        """Return the frames of all waves, one after the other, in segments; each wave has a partition."""
        cdef Piecewise request
        cdef list out = []
        cdef int i, wave
        self.first = <int32_t*>resized(self.first, waves * sizeof(int32_t))
        self.waves = waves
        for wave in range(waves):
            self.first[wave] = -1
        for i in range(self.count - 1, -1, -1):
            wave = self.entries[i].wave
            if not 0 <= wave < waves:
                raise ValueError("a partition is in a wave that there is not")
            self.entries[i].next = self.first[wave]
            self.first[wave] = i
        request.pieces, request.count, request.at = self.pieces, len(segments), 0
        for wave in range(waves):
            self.frame(out, segments, &request, wave)
        PyMem_Free(self.pieces)
        self.pieces = NULL
        return out

    cdef int frame(self, list out, list segments, Piecewise* from_, int wave) except -1:
        cdef Output written
        cdef int count = len(out)
        open_output(&written)
        written.segments, written.owner, written.sent = <PyObject*>out, NULL, 0
        try:
            put(&written, b"\0\0\0\0", 4)
            run(&written, segments, from_, 4, self.topics_at)
            self.put_topics(&written, segments, from_, wave)
            run(&written, segments, from_, self.after_at, self.size)
            set_aside(&written)
        finally:
            Py_XDECREF(written.heap)
        # No other code has seen it yet. A part is not larger than the whole, so its size has room.
        write_size(<uint8_t*>PyBytes_AS_STRING(out[count]), written.sent - 4)
        return 0

    cdef int put_topics(self, Output* out, list segments, Piecewise* from_, int wave) except -1:
        cdef Entry* entries = self.entries
        cdef Span* span
        cdef int32_t i = self.first[wave], end
        cdef int topics = 0, last = -1, count
        while i >= 0:
            topics += entries[i].topic != last
            last, i = entries[i].topic, entries[i].next
        put_count(out, self.request, topics)
        i = self.first[wave]
        while i >= 0:
            span = &self.spans[entries[i].topic]
            count, end = 0, i
            while end >= 0 and entries[end].topic == entries[i].topic:
                count += 1
                end = entries[end].next
            run(out, segments, from_, span.start, span.head)
            put_count(out, self.request, count)
            while i != end:
                run(out, segments, from_, entries[i].start, entries[i].end)
                i = entries[i].next
            run(out, segments, from_, span.tail, span.end)
        return 0

    # -- the answers

    cdef bint take(self, int wave, const uint8_t* data, Py_ssize_t size, Py_ssize_t start, Py_ssize_t* after) except -1:
        """Find the partitions in the answer to a wave; False: there is something unusual."""
        cdef Piece piece = Piece(data, 0, size)
        cdef Cursor c
        cdef int64_t topics, left
        cdef int topic
        cdef int32_t expected = self.first[wave]
        self.by_place = None
        open_pieces(&c, &piece, 1)
        # Behind the correlation ID a header has tagged fields, or nothing.
        if size <= start or start > 4 and data[4] != 0:
            return False
        c.pos, c.tags_at, c.error = start, -1, 0
        self.response.walk(BEFORE, &c)
        topics = self.response.read_count(&c)
        while topics > 0:
            topics -= 1
            self.response.walk(TOPIC, &c)
            topic = self.topics.get(PyBytes_FromStringAndSize(<const char*>data + c.key_at, c.key_size), -1)
            left = self.response.read_count(&c)
            if topic < 0 or left < 1:
                return False
            while left > 0:
                left -= 1
                if not self.take_partition(wave, topic, &c, &expected):
                    return False
            c.tags_at = -1
            self.response.walk(TOPIC_END, &c)
            if has_tags(&c, data):
                return False
        after[0], c.tags_at = c.pos, -1
        self.response.walk(AFTER, &c)
        return c.pos == c.end and not has_tags(&c, data) and c.pos - after[0] >= THROTTLE

    cdef bint take_partition(self, int wave, int topic, Cursor* c, int32_t* expected) except -1:
        cdef Py_ssize_t start = c.pos
        cdef const uint8_t* data = c.pieces[0].data
        cdef Entry* entry
        cdef int i
        c.error, c.tags_at = 0, -1
        self.response.walk(PARTITION, c)
        if c.error or has_tags(c, data):
            return False
        i = self.find(wave, topic, c.index, expected[0])
        if i < 0:
            return False
        entry = &self.entries[i]
        if entry.answer != NULL:
            return False
        entry.answer, entry.size, expected[0] = data + start, c.pos - start, entry.next
        return True

    cdef int find(self, int wave, int topic, int32_t index, int32_t expected) except -2:
        """The entry of a partition, -1: there is none. Answers may have another order than requests."""
        cdef Entry* entries = self.entries
        cdef int32_t i = self.first[wave]
        cdef int looked = 0
        if expected >= 0 and entries[expected].topic == topic and entries[expected].index == index:
            return expected
        if self.by_place is None:
            while i >= 0 and looked < FEW:
                if entries[i].topic == topic and entries[i].index == index:
                    return i
                i = entries[i].next
                looked += 1
            if i < 0:
                return -1
            self.by_place, i = {}, self.first[wave]
            while i >= 0:
                self.by_place[<int64_t>entries[i].topic << 32 | <uint32_t>entries[i].index] = i
                i = entries[i].next
        return self.by_place.get(<int64_t>topic << 32 | <uint32_t>index, -1)

    cdef bytes joined(self, const uint8_t* last, Py_ssize_t size, Py_ssize_t start):
        """Return the answer to the whole request, with the header of that to the last wave; None: it is unusual."""
        cdef Output out
        cdef Py_ssize_t after = 0
        cdef int32_t throttle_ms = 0
        cdef int i, t, wave
        cdef bytes answer
        if len(self.answers) != self.waves - 1:
            return None
        for i in range(self.count):
            self.entries[i].answer = NULL
        for wave in range(self.waves - 1):
            answer = self.answers[wave]
            if not self.take(wave, <const uint8_t*>PyBytes_AS_STRING(answer), PyBytes_GET_SIZE(answer), start, &after):
                return None
            throttle_ms = max(throttle_ms, <int32_t>be32(<const uint8_t*>PyBytes_AS_STRING(answer) + after))
        if not self.take(self.waves - 1, last, size, start, &after):
            return None
        throttle_ms = max(throttle_ms, <int32_t>be32(last + after))
        for i in range(self.count):
            if self.entries[i].answer == NULL:
                return None
        open_output(&out)
        out.owner = out.segments = NULL
        try:
            put(&out, last, start)
            put_count(&out, self.response, self.topic_count)
            for t in range(self.topic_count):
                put(&out, PyBytes_AS_STRING(self.heads[t]), PyBytes_GET_SIZE(self.heads[t]))
                put_count(&out, self.response, self.spans[t].count)
                for i in range(self.spans[t].first, self.spans[t].first + self.spans[t].count):
                    put(&out, self.entries[i].answer, self.entries[i].size)
                if self.response.is_flexible:
                    put(&out, b"\0", 1)
            put(&out, last + after, size - after)
            write_size(out.data + out.size - (size - after), throttle_ms)
            return take(&out)
        finally:
            Py_XDECREF(out.heap)


cdef Waves read_waves(shapes, list segments, Py_ssize_t start):
    """Read a request whose body begins at `start`, with its length before it; None: there is something unusual.

    All partitions are in the first wave; the caller changes that, and then asks for the frames.
    """
    cdef Waves waves = Waves.__new__(Waves)
    cdef Template template = shapes.template
    cdef Cursor c
    # From version 1 of Produce on. Before, batches have a format that is marked nowhere.
    if template.throttle_at != BEHIND:
        return None
    waves.request, waves.response = shapes.request, template.shape
    waves.keys, waves.heads, waves.answers, waves.topics = [], [], [], {}
    waves.map_pieces(segments)
    open_pieces(&c, waves.pieces, len(segments))
    waves.size, c.pos = c.end, start
    return waves if start < c.end and waves.read(&c) else None

cdef int run(Output* out, list segments, Piecewise* from_, Py_ssize_t start, Py_ssize_t end) except -1:
    """Append a part of the request; a long piece of it as a slice."""
    cdef Piece* p
    cdef Py_ssize_t n, at = start
    if from_.at >= from_.count or start < from_.pieces[from_.at].begin:
        from_.at = 0
    while at < end:
        p = &from_.pieces[from_.at]
        if at >= p.begin + p.size:
            from_.at += 1
            continue
        n = min(end, p.begin + p.size) - at
        if n < OWN_SEGMENT:
            put(out, p.data + at - p.begin, n)
        else:
            set_aside(out)
            segment = segments[from_.at]
            (<list>out.segments).append(segment if n == p.size else memoryview(segment)[at - p.begin:at - p.begin + n])
            out.sent += n
        at += n
    return 0

cdef inline bint has_tags(Cursor* c, const uint8_t* data) noexcept:
    """Whether the struct that was stepped over has tagged fields."""
    return c.tags_at >= 0 and data[c.tags_at] != 0
