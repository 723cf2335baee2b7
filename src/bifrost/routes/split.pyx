# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Takes a request apart by partition, and puts the answers together in the order of the request.

    frame ──walk──▶ slots: one for each partition ──lead──▶ each with its broker
                      │ part(broker): header, topics and partitions of that broker ──▶ frame
    answer ──take──▶ each slot knows where its answer stands
                      │ merged: header, topics and answers in the order of the slots ──▶ one frame

A slot is a few numbers in C memory. A request's frame may lie in several pieces (rewriting.pyx leaves records where the
gateway received them), and the parts refer to those pieces. What names very many partitions is walked along in steps.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from bifrost.routes.answer_memory cimport memory_of
from bifrost.routes.leaders cimport (
    KEPT_MS, LONGEST_ABSENT, NOT_LEADER_OR_FOLLOWER, OFFSET_OUT_OF_RANGE, SURE_MS, LeaderTable, Leaders, absence_of,
    any_of, is_stale,
)
from bifrost.routes.shape cimport (
    AFTER, BEFORE, PARTITION, TOPIC, TOPIC_END, Cursor, Piece, Shape, copy, open_pieces,
)
from bifrost.routes.slots cimport (
    ALL, ANSWERED, CHANGED, COUNT, Slot, Topic, address, hashed, is_of_one, is_shown, most_bytes, note_told, put_answer,
    put_fill, resized, slots_of, slots_shown,
)
from bifrost.routes.template cimport BEHIND, IN_FRONT, MARKS, NO_THROTTLE, Template, put_count
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.framer cimport DIRECT, Block, MemoryLimit
from bifrost.wire.output cimport Output, open_output, put, take, write_size
from bifrost.wire.reader cimport be32
from bifrost.wire.window cimport window

cdef enum:
    OWN_SEGMENT = 4096    # shorter runs are copied: a segment of its own would cost more
    NO_NODE = -1
    ALL_UNKNOWN = 0x7FFFFFFF
    ALL_ITEMS = 0x7FFFFFFF
    BETWEEN = -1          # no topic is being read
    ABSENT = -2           # no broker is asked about what the metadata does not have
    ASKED_AGAIN_MS = 1000     # how long it is believed that a topic does not exist, or lacks a partition
    TOPIC_OBJECTS = 200       # bytes of a topic's key and its places in a list and a dictionary
    SESSION_ID_AT = 6         # behind the throttle time and the error code of Fetch

# Python gives each process another one.
cdef uint64_t secret = <uint64_t><int64_t>hash("bifrost.routes.split") | 1

@cython.final
cdef class Split:
    def __dealloc__(self):
        PyMem_Free(self.pieces)
        PyMem_Free(self.slots)
        PyMem_Free(self.topics)
        PyMem_Free(self.buckets)

    def __init__(self, Shape request not None, Template template not None, list segments not None, Py_ssize_t start,
                 Py_ssize_t most=ALL_ITEMS):
        cdef Cursor c
        self.request, self.template, self.segments, self.start = request, template, segments, start
        self.keys, self.frames, self.first_of, self.is_plain = [], [], {}, True
        open_pieces(&c, self.map_pieces(), len(segments))
        if start > c.end:
            raise MalformedFrame("the header ends beyond the frame", start)
        c.pos, self.size = start, c.end
        request.walk(BEFORE, &c)
        self.topics_at = c.pos
        self.topics_left, self.partitions_left = request.read_count(&c), BETWEEN
        self.read_at, self.is_open = c.pos, True
        self.go_on(most)

    def go_on(self, Py_ssize_t most=ALL_ITEMS):
        cdef Cursor c
        if not self.is_open:
            return False
        open_pieces(&c, self.pieces, len(self.segments))
        c.pos = self.read_at
        while self.topics_left > 0:
            if most <= 0:
                self.read_at = c.pos
                return True
            most -= 1
            if self.partitions_left == BETWEEN:
                self.begin_topic(&c)
            else:
                self.partitions_left -= 1
                self.read_partition(&c)
            if not self.partitions_left:
                self.end_topic(&c)
        self.after_at = c.pos
        self.request.walk(AFTER, &c)
        if c.pos != c.end:
            raise MalformedFrame("the request goes on behind its end", c.pos)
        self.is_open = False
        return False

    cdef Piece* map_pieces(self) except NULL:
        cdef int i
        cdef Py_ssize_t begin = 0
        cdef const uint8_t[::1] view
        self.pieces = <Piece*>PyMem_Calloc(max(1, len(self.segments)), sizeof(Piece))
        if self.pieces == NULL:
            raise MemoryError
        for i in range(len(self.segments)):
            view = self.segments[i]
            # The segment is kept, and its memory does not move.
            self.pieces[i] = Piece(address(view), begin, view.shape[0])
            begin += view.shape[0]
        return self.pieces

    cdef int begin_topic(self, Cursor* c) except -1:
        cdef Topic* topic
        cdef bytes key
        if self.topic_count == self.topic_room:
            self.topic_room = max(4, 2 * self.topic_room)
            self.topics = <Topic*>resized(self.topics, self.topic_room * sizeof(Topic))
        topic = &self.topics[self.topic_count]
        topic.start, topic.first = c.pos, self.count
        self.request.walk(TOPIC, c)
        key = PyBytes_FromStringAndSize(NULL, c.key_size)
        copy(c, c.key_at, c.key_size, <uint8_t*>PyBytes_AS_STRING(key))
        topic.head = c.pos
        self.partitions_left = max(0, self.request.read_count(c))
        topic.same = self.first_of.setdefault(key, self.topic_count)
        self.keys.append(key)
        return 0

    cdef int end_topic(self, Cursor* c) except -1:
        cdef Topic* topic = &self.topics[self.topic_count]
        topic.tail = c.pos
        self.request.walk(TOPIC_END, c)
        topic.end, topic.count = c.pos, self.count - topic.first
        self.topic_count += 1
        self.topics_left -= 1
        self.partitions_left = BETWEEN
        return 0

    cdef int read_partition(self, Cursor* c) except -1:
        cdef Slot* slot
        if self.count == self.slot_room:
            self.slot_room = max(8, 2 * self.slot_room)
            self.slots = <Slot*>resized(self.slots, self.slot_room * sizeof(Slot))
        slot = &self.slots[self.count]
        slot.start = c.pos
        self.request.walk(PARTITION, c)
        slot.topic, slot.index, slot.end = self.topic_count, c.index, c.pos
        slot.node, slot.answer, slot.has_marks, slot.error = NO_NODE, NULL, False, 0
        slot.is_told = slot.had_data = False
        memset(slot.marks, 0xFF, MARKS)  # What is not known is -1.
        self.count += 1
        return 0

    @property
    def partitions(self):
        return self.count

    @property
    def memory(self):
        return self.size + self.slot_room * sizeof(Slot) + self.topic_room * (sizeof(Topic) + TOPIC_OBJECTS)

    def behind(self, Shape shape not None):
        return Split(shape, self.template, self.segments, self.after_at)

    @property
    def before(self):
        return self.bytes_of(self.start, self.topics_at)

    cdef bytes bytes_of(self, Py_ssize_t start, Py_ssize_t end):
        cdef Cursor c
        cdef bytes out = PyBytes_FromStringAndSize(NULL, end - start)
        open_pieces(&c, self.pieces, len(self.segments))
        copy(&c, start, end - start, <uint8_t*>PyBytes_AS_STRING(out))
        return out

    # -- where the parts go

    def lead(self, LeaderTable table not None, int32_t elsewhere, int64_t now_ms, Py_ssize_t most=ALL_UNKNOWN,
             bint is_by_id=False):
        cdef list unknown = []
        cdef Leaders leaders
        cdef bytes key
        cdef int t
        cdef bint lacks
        self.has_error, self.is_plain, self.has_absent = False, True, False
        for t in range(self.topic_count):
            key = self.keys[t]
            leaders = table.get(key)
            lacks = self.lead_topic(&self.topics[t], leaders, elsewhere, now_ms, absence_of(leaders, key, is_by_id))
            if leaders is not None and leaders.known_ms >= now_ms - (ASKED_AGAIN_MS if lacks else KEPT_MS):
                continue
            if len(unknown) < most and PyBytes_GET_SIZE(key) <= LONGEST_ABSENT:
                unknown.append(key)
        return unknown

    cdef bint lead_topic(self, Topic* topic, Leaders leaders, int32_t elsewhere, int64_t now_ms, int16_t absence) noexcept:
        """Find the leaders of a topic's partitions; whether one has none."""
        cdef Slot* slot
        cdef int i
        cdef int32_t other = any_of(leaders, elsewhere)
        cdef bint lacks = False
        for i in range(topic.first, topic.first + topic.count):
            slot = &self.slots[i]
            slot.node, slot.is_sure = NO_NODE, leaders is not None and leaders.known_ms >= now_ms - SURE_MS
            slot.answer, slot.error = NULL, 0
            if leaders is not None and 0 <= slot.index < leaders.count:
                slot.node = leaders.nodes[slot.index]
            elif leaders is None or not leaders.is_hidden:
                slot.node = ABSENT
                self.refuse(slot, absence)
                self.has_absent = lacks = True
            if slot.node == NO_NODE:
                slot.node, lacks = other, True
        return lacks

    cdef int refuse(self, Slot* slot, int16_t error_code) noexcept:
        """Let an error be the answer for a partition."""
        cdef Template template = self.template
        slot.answer = <const uint8_t*>PyBytes_AS_STRING(template.body) + template.partition_at
        slot.size, slot.error = template.partition_end - template.partition_at, error_code
        slot.index_at, slot.error_at, slot.tags_at, slot.data = template.index_at, template.error_at, -1, 0
        self.has_error, self.is_plain = True, False
        return 0

    def place(self, int32_t node, bint is_sure):
        cdef int i
        for i in range(self.count):
            self.slots[i].node, self.slots[i].is_sure = node, is_sure

    def nodes(self):
        cdef list found = []
        cdef int32_t last = NO_NODE
        cdef int i
        for i in range(self.count):
            if self.slots[i].node != last and self.slots[i].node != ABSENT:
                last = self.slots[i].node
                if last not in found:
                    found.append(last)
        return found

    def part(self, int32_t node, changes=(), bytes after=None):
        cdef Parts parts = Parts(self)
        cdef int t
        if not changes and after is None and is_of_one(self.slots, self.count, node):
            return self.segments
        parts.run(4, self.topics_at, changes, self.start)
        parts.count(self.request, self.topics_of(node))
        for t in range(self.topic_count):
            parts.topic(&self.topics[t], self.slots, node)
        if after is None:
            parts.run(self.after_at, self.size)
        else:
            put(&parts.out, PyBytes_AS_STRING(after), PyBytes_GET_SIZE(after))
        return parts.frame()

    cdef int topics_of(self, int32_t node) noexcept:
        cdef int t, found = 0
        for t in range(self.topic_count):
            found += slots_of(&self.topics[t], self.slots, node) > 0
        return found

    # -- what comes back

    def take(self, int32_t node, frame not None, Py_ssize_t start):
        cdef const uint8_t[::1] view = frame
        cdef Piece piece
        cdef Cursor c
        cdef Shape shape = self.template.shape
        cdef int64_t topics, partitions
        cdef Py_ssize_t after_at, at
        cdef int topic, error
        cdef bytes key
        piece = Piece(address(view), 0, view.shape[0])
        open_pieces(&c, &piece, 1)
        if start > c.end:
            raise MalformedFrame("the header ends beyond the frame", start)
        c.pos, c.data_size, c.tags_at, c.error = start, 0, -1, 0
        self.frames.append((node, frame))
        shape.walk(BEFORE, &c)
        error = c.error
        topics = shape.read_count(&c)
        while topics > 0:
            topics -= 1
            shape.walk(TOPIC, &c)
            key = PyBytes_FromStringAndSize(<const char*>piece.data + c.key_at, c.key_size)
            topic = self.first_of.get(key, -1)
            partitions = shape.read_count(&c)
            while partitions > 0:
                partitions -= 1
                self.take_partition(node, topic, &c)
            shape.walk(TOPIC_END, &c)
        after_at, c.tags_at = c.pos, -1
        shape.walk(AFTER, &c)
        if c.pos != c.end:
            raise MalformedFrame("the answer goes on behind its end", c.pos)
        self.is_plain &= c.tags_at < 0 or piece.data[c.tags_at] == 0
        if self.template.throttle_at != NO_THROTTLE:
            at = start if self.template.throttle_at == IN_FRONT else after_at
            self.throttle_ms = max(self.throttle_ms, <int32_t>be32(piece.data + at))
        if error:
            self.fail(node, error)

    cdef int take_partition(self, int32_t node, int topic, Cursor* c) except -1:
        cdef Py_ssize_t begin = c.pos, data_before = c.data_size
        cdef const uint8_t* data = c.pieces[0].data
        cdef Slot* slot
        cdef int at
        c.error, c.tags_at = 0, -1
        self.template.shape.walk(PARTITION, c)
        at = self.find(topic, c.index)
        if at < 0 or self.slots[at].node != node:
            return 0  # The broker was not asked about it.
        slot = &self.slots[at]
        slot.answer, slot.size, slot.error = data + begin, c.pos - begin, c.error
        slot.index_at, slot.error_at, slot.tags_at = c.index_at - begin, c.error_at - begin, -1
        if c.tags_at >= 0 and data[c.tags_at] != 0:
            slot.tags_at, self.is_plain = c.tags_at - begin, False
        if slot.error == OFFSET_OUT_OF_RANGE and not slot.is_sure:
            # A follower that lags says so as well, and the client would begin anew somewhere else.
            slot.error, self.is_plain = NOT_LEADER_OR_FOLLOWER, False
        slot.data = c.data_size - data_before
        self.data_bytes += slot.data
        self.has_error |= slot.error != 0
        if self.template.marks_at >= 0 and c.error == 0:
            slot.has_marks = True
            memcpy(slot.marks, slot.answer + self.template.marks_at, self.template.marks_size)
        return 0

    cdef int find(self, int topic, int32_t index) except -2:
        """The slot of a partition, -1: there is none. Answers mostly come in the order of the request."""
        cdef int i
        if topic < 0:
            return -1
        for i in range(self.hint, min(self.hint + 2, self.count)):
            if self.slots[i].index == index and self.topics[self.slots[i].topic].same == topic:
                self.hint = i + 1
                return i
        if self.buckets == NULL:
            self.build_buckets()
        i = self.buckets[hashed(topic, index, secret, self.bucket_bits)]
        while i >= 0 and not (self.slots[i].index == index and self.topics[self.slots[i].topic].same == topic):
            i = self.slots[i].next
        if i >= 0:
            self.hint = i + 1
        return i

    cdef int build_buckets(self) except -1:
        cdef int i, bits = 3
        cdef uint32_t at
        while <int64_t>1 << bits < 2 * <int64_t>self.count:
            bits += 1
        self.buckets = <int32_t*>resized(NULL, (<size_t>1 << bits) * sizeof(int32_t))
        self.bucket_bits = bits
        memset(self.buckets, 0xFF, (<size_t>1 << bits) * sizeof(int32_t))  # Each is -1.
        for i in range(self.count - 1, -1, -1):
            at = hashed(self.topics[self.slots[i].topic].same, self.slots[i].index, secret, bits)
            self.slots[i].next = self.buckets[at]
            self.buckets[at] = i
        return 0

    def fail(self, int32_t node, int16_t error_code):
        cdef int i
        for i in range(self.count):
            if self.slots[i].node == node and self.slots[i].answer == NULL:
                self.refuse(&self.slots[i], error_code)

    def covers(self, Split later not None, int32_t node):
        cdef int i, at
        self.hint = 0
        for i in range(later.count):
            if later.slots[i].node == node:
                at = self.find(self.first_of.get(later.keys[later.slots[i].topic], -1), later.slots[i].index)
                if at < 0 or self.slots[at].node != node or not self.is_same(at, later, i):
                    return False
        return True

    cdef bint is_same(self, int mine, Split other, int its) except -1:
        """Whether two requests ask for a partition in the same words."""
        cdef Slot* a = &self.slots[mine]
        cdef Slot* b = &other.slots[its]
        if a.end - a.start != b.end - b.start:
            return False
        return self.bytes_of(a.start, a.end) == other.bytes_of(b.start, b.end)

    def adopt(self, Split earlier not None, int32_t node):
        cdef Slot* slot
        cdef Slot* found
        cdef int i, at
        if earlier is self:
            return
        earlier.hint = 0
        for i in range(self.count):
            slot = &self.slots[i]
            if slot.node != node or slot.answer != NULL:
                continue
            at = earlier.find(earlier.first_of.get(self.keys[slot.topic], -1), slot.index)
            if at < 0 or earlier.slots[at].node != node or not earlier.is_same(at, self, i):
                continue
            found = &earlier.slots[at]
            slot.answer, slot.size, slot.error, slot.tags_at = found.answer, found.size, found.error, found.tags_at
            slot.index_at, slot.error_at = found.index_at, found.error_at
            slot.has_marks, slot.data = found.has_marks, found.data
            memcpy(slot.marks, found.marks, MARKS)
            self.data_bytes += slot.data
            self.has_error |= slot.error != 0
            self.is_plain = False
        if not self.is_plain:
            self.frames += [one for one in earlier.frames if one[0] == node]
            self.throttle_ms = max(self.throttle_ms, earlier.throttle_ms)
        # Otherwise their memory would be held for two requests, and its room is given up with one of them.
        earlier.frames = [one for one in earlier.frames if one[0] != node]
        for i in range(earlier.count):
            if earlier.slots[i].node == node:
                earlier.slots[i].answer, earlier.slots[i].data, earlier.slots[i].error = NULL, 0, 0

    def carry(self, Split earlier not None):
        cdef Slot* slot
        cdef Slot* found
        cdef int i, at
        earlier.hint = 0
        for i in range(self.count):
            slot = &self.slots[i]
            at = earlier.find(earlier.first_of.get(self.keys[slot.topic], -1), slot.index)
            if at < 0:
                continue
            found = &earlier.slots[at]
            if found.has_marks and not slot.has_marks:
                slot.has_marks = True
                memcpy(slot.marks, found.marks, MARKS)
            slot.is_told = found.is_told
            memcpy(slot.told, found.told, MARKS)

    def release(self):
        cdef int i
        for i in range(self.count):
            self.slots[i].answer, self.slots[i].data, self.slots[i].error = NULL, 0, 0
        self.frames = []
        self.data_bytes, self.has_error, self.is_plain, self.throttle_ms = 0, False, True, 0

    def stale(self):
        cdef dict found = {}  # As a set, in the order of the request.
        cdef int i
        if self.has_error:
            for i in range(self.count):
                if is_stale(self.slots[i].error) and self.slots[i].node != ABSENT:
                    found[self.keys[self.slots[i].topic]] = None
        return list(found)

    # -- the answer

    def merged(self, bytes head not None, bint fills=False, int32_t session_id=0, bint only_changed=False,
               MemoryLimit room=None):
        cdef Template template = self.template
        cdef const uint8_t* body = <const uint8_t*>PyBytes_AS_STRING(template.body)
        cdef Output out
        cdef Block block = None
        cdef Py_ssize_t at, size = PyBytes_GET_SIZE(head) + PyBytes_GET_SIZE(template.body) + COUNT
        cdef int t, count = 0, mode = CHANGED if only_changed else ALL if fills else ANSWERED
        if len(self.frames) == 1 and self.is_plain and not session_id and self.is_whole():
            return self.frames[0][1]
        for t in range(self.topic_count):
            if slots_shown(&self.topics[t], self.slots, mode):
                size += most_bytes(&self.topics[t], self.slots, template, mode)
                count += 1
        open_output(&out)
        out.owner = out.segments = NULL
        if size > DIRECT:
            block = memory_of([frame for _, frame in self.frames], size, room)
            out.data, out.capacity = block.data, size
        put(&out, PyBytes_AS_STRING(head), PyBytes_GET_SIZE(head))
        put(&out, body, template.topics_at)
        if template.throttle_at == IN_FRONT:
            write_size(out.data + PyBytes_GET_SIZE(head), self.throttle_ms)
        if session_id:
            write_size(out.data + PyBytes_GET_SIZE(head) + SESSION_ID_AT, session_id)
        put_count(&out, template.shape, count)
        for t in range(self.topic_count):
            self.put_topic(&out, t, mode)
        put(&out, body + template.after_at, PyBytes_GET_SIZE(template.body) - template.after_at)
        if template.throttle_at == BEHIND:
            at = out.size - PyBytes_GET_SIZE(template.body) + template.after_at
            write_size(out.data + at, self.throttle_ms)
        if session_id:
            note_told(self.slots, self.count, mode)
        if block is None:
            return take(&out)
        assert out.heap == NULL, "there was memory for the whole answer"
        return window(block, block.data, out.size, True)

    cdef bint is_whole(self) noexcept:
        cdef int i
        for i in range(self.count):
            if self.slots[i].answer == NULL:
                return False
        return True

    cdef int put_topic(self, Output* out, int t, int mode) except -1:
        cdef Topic* topic = &self.topics[t]
        cdef Template template = self.template
        cdef int count = slots_shown(topic, self.slots, mode), i
        cdef bytes head
        if not count:
            return 0
        head = self.bytes_of(topic.start, topic.head)
        put(out, PyBytes_AS_STRING(head), PyBytes_GET_SIZE(head))
        put_count(out, template.shape, count)
        for i in range(topic.first, topic.first + topic.count):
            if not is_shown(&self.slots[i], mode):
                continue
            if self.slots[i].answer != NULL:
                put_answer(out, &self.slots[i], template)
            else:
                put_fill(out, &self.slots[i], template)
        put(out, PyBytes_AS_STRING(template.body) + template.tail_at, template.tail_end - template.tail_at)
        return 0


@cython.final
cdef class Parts:
    """The segments of a frame that is written for one broker."""
    cdef Split split
    cdef Output out
    cdef list segments

    def __cinit__(self, Split split not None):
        self.split, self.segments = split, []
        open_output(&self.out)
        self.out.owner = self.out.segments = NULL
        put(&self.out, b"\0\0\0\0", 4)

    def __dealloc__(self):
        take(&self.out)

    cdef int count(self, Shape shape, int64_t count) except -1:
        return put_count(&self.out, shape, count)

    cdef int topic(self, Topic* topic, Slot* slots, int32_t node) except -1:
        cdef int count = slots_of(topic, slots, node), i
        cdef Py_ssize_t start = 0, end = 0
        if not count:
            return 0
        self.run(topic.start, topic.head)
        self.count(self.split.request, count)
        for i in range(topic.first, topic.first + topic.count):
            if slots[i].node != node:
                continue
            if slots[i].start != end:
                self.run(start, end)
                start = slots[i].start
            end = slots[i].end
        self.run(start, end)
        return self.run(topic.tail, topic.end)

    cdef int run(self, Py_ssize_t start, Py_ssize_t end, changes=(), Py_ssize_t body=0) except -1:
        """Append a part of the request; a long piece of it as a slice."""
        cdef Piece* p = self.split.pieces
        cdef Py_ssize_t n, at = start
        cdef int i = 0
        if changes:
            return self.change(start, end, changes, body)
        while at < end:
            while at >= p[i].begin + p[i].size:
                i += 1
            n = min(end, p[i].begin + p[i].size) - at
            if n < OWN_SEGMENT:
                put(&self.out, p[i].data + at - p[i].begin, n)
            else:
                self.set_aside()
                self.segments.append(memoryview(self.split.segments[i])[at - p[i].begin:at - p[i].begin + n])
            at += n
        return 0

    cdef int change(self, Py_ssize_t start, Py_ssize_t end, changes, Py_ssize_t body) except -1:
        """Append the header and the fields before the topics, with other values in some."""
        cdef bytes head = self.split.bytes_of(start, end)
        cdef Py_ssize_t begin = self.out.size + body - start
        put(&self.out, PyBytes_AS_STRING(head), PyBytes_GET_SIZE(head))
        for where, value in changes:
            if not 0 <= where <= end - body - len(value):
                raise ValueError("a change lies outside the fields before the topics")
            memcpy(self.out.data + begin + <Py_ssize_t>where, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
        return 0

    cdef int set_aside(self) except -1:
        if self.out.size:
            self.segments.append(take(&self.out))
        return 0

    cdef list frame(self):
        cdef Py_ssize_t size = 0
        self.set_aside()
        for segment in self.segments:
            size += len(segment)
        # No other code has seen it yet.
        write_size(<uint8_t*>PyBytes_AS_STRING(self.segments[0]), size - 4)
        return self.segments
