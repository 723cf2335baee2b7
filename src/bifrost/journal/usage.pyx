# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Counts a client's messages of one API and version as they pass.

A `Tally` is a program that walks a message once more, as far as there is something to count, and replaces nothing. Its
ops are a Program's; the slot says what stands there, and two kinds of number are ops of their own:

    STRING slot 1, UUID slot 4    a topic, by its name or ID
    STRING slot 2, 3              a group or a transactional ID
    STRING slot 7, 8              one of these, as an INT8 slot 7 says that stands beside it: FindCoordinator, configs
    BYTES slot 2                  record batches
    INT16 slot 3, 6               an error code; the acks of a Produce request
    INT32 slot 5                  throttle_time_ms

For each topic, group and response that is one look into a dictionary and some additions; for each record batch the numbers
of its header. No object is made for a partition or a record. Of a frame that goes on before it is whole the head is walked
like this, and the records behind it are counted by a `Passing` while they come.

    record batch, format v2:  0 base_offset int64, 8 length int32 (from 12 on), 12 leader_epoch int32, 16 magic int8,
                              17 crc uint32, 21 attributes int16, 23 last_offset_delta int32, 27 timestamps 2 int64,
                              43 producer_id int64, 51 producer_epoch int16, 53 base_sequence int32, 57 records int32
    message, formats v0, v1:  the same as far as 16, of which 12 is the crc; 17 attributes int8

Source: Kafka's DefaultRecordBatch, LegacyRecord.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError
from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from cpython.object cimport PyObject
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memcpy

from bifrost.wire.program cimport MAX_DEPTH, Level, Op, enter_tag, push
from bifrost.wire.reader cimport (
    ARRAY, BYTES, END, FIXED, INT8, INT16, INT32, LONG_NAME_BITS, MISS_STEPS, SKIP, STRING, TAGS, UUID, be16, be32, be64,
    close_frame, is_zero_uuid, need, need_whole, open_frame, out_of_steps, read_count, read_length, read_marker,
    read_string_length, read_varint,
)

cdef enum:
    RESOLVED = 2           # so often as to find out a name takes it to find out whose it is, and to make its counters
    TALLY_TOPIC = 1
    TALLY_RECORDS = 2
    TALLY_ERROR = 3
    TALLY_TOPIC_ID = 4
    TALLY_THROTTLE = 5
    TALLY_ACKS = 6
    # Of a STRING; the numbers of entities, as the topic's.
    TALLY_GROUP = 2
    TALLY_TRANSACTIONAL_ID = 3
    TALLY_KEY = 7
    TALLY_RESOURCE = 8

    MAX_KEPT_NAME = 256      # bytes of the last name that is kept, folded or not

    BATCH_HEAD = 18          # bytes that say of which format a batch is, and how long
    BATCH_V2 = 49            # bytes of a batch behind its length, at least
    MESSAGE = 14             # the same of a message
    CODECS = 6               # none, gzip, snappy, lz4, zstd, and whatever else there may be
    NO_ACKS = 2              # stands for "was fetched"

cdef int64_t* TIMES_US = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 10_000, 100_000]
GATEWAY_TIME_BOUNDS_US = tuple([TIMES_US[i] for i in range(TIMES)])

cdef class Tally(Program):
    """What is counted in one message at one version."""


cdef inline int entity_of(int slot, int type_) noexcept:
    """What a name is with the type that stands beside it; 0: nothing that is counted."""
    if slot == TALLY_KEY:  # FindCoordinatorRequest.CoordinatorType
        return TALLY_GROUP if type_ == 0 else TALLY_TRANSACTIONAL_ID if type_ == 1 else 0
    if slot == TALLY_RESOURCE:  # ConfigResource.Type
        return TALLY_TOPIC if type_ == 2 else TALLY_GROUP if type_ == 32 else 0
    return slot


cdef inline int64_t size_of_batch(const uint8_t* header, int64_t left) noexcept:
    """The size of the batch that begins here, of which BATCH_HEAD bytes are there; 0: it is none, or not whole."""
    cdef int64_t length = <int32_t>be32(header + 8)
    # A Fetch may end within a batch; the client asks for it again.
    if length + 12 > left or length < (MESSAGE if header[16] < 2 else BATCH_V2):
        return 0
    return length + 12


@cython.final
@cython.no_gc
cdef class TopicUsage:
    """What one client's messages of one API and version amount to for one topic."""

    def __init__(self, key, on_use=None, bint is_folded=False):
        self.key = key
        self.on_use = on_use
        self.is_folded = is_folded

    def __dealloc__(self):
        PyMem_RawFree(self.cells)

    cdef Cell* cell(self, int acks, int codec) except NULL:
        cdef Cell* cells
        cdef int i
        for i in range(self.count):
            if self.cells[i].acks == acks and self.cells[i].codec == codec:
                return &self.cells[i]
        cells = <Cell*>PyMem_RawRealloc(self.cells, (self.count + 1) * sizeof(Cell))
        if cells == NULL:
            raise MemoryError()
        self.cells = cells
        self.count += 1
        cells[self.count - 1] = Cell(acks, codec, 0, 0, 0, 0, 0, 0)
        return &cells[self.count - 1]

    cdef void add_bytes(self, int64_t size, int acks) noexcept:
        if acks == NO_ACKS:
            self.bytes_out += size
        else:
            self.bytes_in += size

    cdef int add(self, const uint8_t* data, Py_ssize_t size, int acks) except -1:
        """Count record batches: all whole ones."""
        cdef Py_ssize_t left = size
        cdef int64_t batch
        self.add_bytes(size, acks)
        while left >= BATCH_HEAD:
            batch = size_of_batch(data, left)
            if not batch:
                break
            self.add_batch(data, batch, acks)
            data += batch
            left -= batch
        return 0

    cdef int add_batch(self, const uint8_t* header, int64_t size, int acks) except -1:
        """Count a batch of so many bytes."""
        cdef bint is_old = header[16] < 2
        cdef int attributes = header[17] if is_old else be16(header + 21), codec = attributes & 7
        cdef int64_t records
        cdef Cell* cell
        if attributes & 0x20 and not is_old:
            self.control_batches += 1
            return 0
        # Its acks say whose a batch of the old formats is; a wrapper's count stands within it, compressed.
        cell = self.cell(acks, codec if codec < CODECS else CODECS - 1)
        cell.batches += 1
        cell.bytes += size
        records = 1 if is_old else <int32_t>be32(header + 57)
        cell.records += records if records > 0 else 0
        cell.old += is_old
        if not is_old:
            cell.idempotent += <int64_t>be64(header + 43) >= 0
            cell.transactional += attributes >> 4 & 1
        return 0

    cdef int merge(self, TopicUsage other) except -1:
        """Count what was counted apart from it."""
        cdef Cell* one
        cdef Cell* cell
        cdef int i
        self.bytes_in += other.bytes_in
        self.bytes_out += other.bytes_out
        self.control_batches += other.control_batches
        for i in range(other.count):
            one = &other.cells[i]
            cell = self.cell(one.acks, one.codec)
            cell.batches += one.batches
            cell.records += one.records
            cell.bytes += one.bytes
            cell.idempotent += one.idempotent
            cell.transactional += one.transactional
            cell.old += one.old
        return 0

    def take(self):
        """Return what was counted."""
        cdef list cells = []
        cdef Cell* one
        cdef int i
        for i in range(self.count):
            one = &self.cells[i]
            cells.append((None if one.acks == NO_ACKS else one.acks, one.codec, one.batches, one.records, one.bytes,
                          one.idempotent, one.transactional, one.old))
        return self.requests, self.errors, self.bytes_in, self.bytes_out, self.control_batches, cells


@cython.final
cdef class Usage:
    """What one client's messages of one API and version amount to."""

    def __init__(self, client_id, Tally request, Tally response, bint is_fetch, resolve, bint is_of_any_client=False):
        self.client_id = None if client_id is None else <bytes?>client_id
        self.request = request
        self.response = response
        self.is_fetch = is_fetch
        self.is_of_any_client = is_of_any_client
        self.resolve = resolve
        self.forget_topics()

    cdef int forget_topics(self) except -1:
        self.topics = {}
        self.virtual = {}
        self.physical = {}
        self.ids = {}
        self.error_codes = {}
        self.last_name = self.last_access_name = None
        self.last = self.last_access = None
        self.groups = self.transactional_ids = None
        return 0

    cdef TopicUsage topic(self, int slot, const uint8_t* name, Py_ssize_t size, bint is_physical):
        """The topic that is called so."""
        cdef dict known = self.ids if slot == TALLY_TOPIC_ID else self.physical if is_physical else self.virtual
        cdef PyObject* found
        cdef bytes key
        cdef TopicUsage topic
        cdef int which = slot << 1 | is_physical
        if (self.last is not None and self.last_slot == which and PyBytes_GET_SIZE(self.last_name) == size
                and memcmp(PyBytes_AS_STRING(self.last_name), name, size) == 0):
            return self.last
        key = PyBytes_FromStringAndSize(<const char*>name, size)
        found = PyDict_GetItemWithError(known, key)
        if found == NULL:
            self.decided += RESOLVED * (1 + (size >> LONG_NAME_BITS))
            topic = self.resolve(self, slot, key, is_physical)
            if topic.is_folded:
                return topic  # Its names would be without bound.
            known[key] = topic
        else:
            topic = <TopicUsage><object>found
        self.last = topic
        self.last_name = key
        self.last_slot = which
        return self.last

    cdef int access(self, int slot, const uint8_t* name, Py_ssize_t size) except -1:
        """Count a request that names this group or transactional ID."""
        cdef dict known = self.groups if slot == TALLY_GROUP else self.transactional_ids
        cdef PyObject* found = NULL
        cdef bytes key
        cdef TopicUsage one
        if (self.last_access is not None and self.last_access_slot == slot
                and PyBytes_GET_SIZE(self.last_access_name) == size
                and memcmp(PyBytes_AS_STRING(self.last_access_name), name, size) == 0):
            self.last_access.requests += 1
            return 0
        key = PyBytes_FromStringAndSize(<const char*>name, size)
        if known is not None:
            found = PyDict_GetItemWithError(known, key)
        if found != NULL:
            one = <TopicUsage><object>found
        else:
            self.decided += RESOLVED * (1 + (size >> LONG_NAME_BITS))
            one = self.resolve(self, slot, key, False)
            if not one.is_folded:  # Else its names would be without bound.
                # Made only now: most clients' messages name no group.
                if known is None:
                    known = {}
                    if slot == TALLY_GROUP:
                        self.groups = known
                    else:
                        self.transactional_ids = known
                known[key] = one
        one.requests += 1
        # A client has one group as a rule, and its heartbeats stay cheap even when it found no row of its own.
        if size <= MAX_KEPT_NAME:
            self.last_access, self.last_access_name, self.last_access_slot = one, key, slot
        return 0

    def count_request(self, frame, Py_ssize_t start):
        cdef Reader r
        open_frame(frame, start, &r)
        try:
            self.bytes_in += r.end + 4
            self.add_request(&r)
        finally:
            close_frame(&r)

    def count_response(self, frame, Py_ssize_t start, bint is_physical):
        cdef Reader r
        open_frame(frame, start, &r)
        try:
            self.add_response(&r, is_physical)
        finally:
            close_frame(&r)

    def answer(self, Py_ssize_t size):
        self.responses += 1
        self.bytes_out += size

    cdef Passing add_request(self, Reader* r):
        """Count a request from where its body begins, all but its bytes; return what counts records still to come."""
        self.requests += 1
        return None if self.request is None else tally(self.request, r, self, True, False)

    cdef Passing add_response(self, Reader* r, bint is_physical):
        """Count what stands in a response; return likewise."""
        return None if self.response is None else tally(self.response, r, self, False, is_physical)

    cdef void finish(self, Py_ssize_t size, int64_t broker_ns, int64_t gateway_ns) noexcept:
        """Count a response of so many bytes that a broker gave."""
        cdef int i = 0
        self.responses += 1
        self.bytes_out += size
        self.broker_ns += broker_ns
        self.gateway_ns += gateway_ns
        while i < TIMES and gateway_ns > TIMES_US[i] * 1000:
            i += 1
        self.times[i] += 1

    cdef int fail(self, int code, TopicUsage topic) except -1:
        self.error_codes[code] = self.error_codes.get(code, 0) + 1
        if topic is not None:
            topic.errors += 1
        return 0

    def take(self):
        """Return what was counted, and begin anew; None when nothing was."""
        cdef int i
        if not (self.requests or self.responses or self.bytes_in or self.topics):
            return None
        taken = (self.requests, self.responses, self.errors, self.bytes_in, self.bytes_out, self.throttle_ms,
                 self.broker_ns // 1000, self.gateway_ns // 1000, tuple([self.times[i] for i in range(TIMES + 1)]),
                 self.empty_fetches, self.error_codes, self.topics)
        self.requests = self.responses = self.errors = self.bytes_in = self.bytes_out = self.throttle_ms = 0
        self.broker_ns %= 1000
        self.gateway_ns %= 1000
        self.empty_fetches = 0
        for i in range(TIMES + 1):
            self.times[i] = 0
        self.forget_topics()
        return taken


@cython.final
cdef class Passing:
    """Counts a frame's last records while they come, and adds them to their topic when all have.

    The topic is looked up once more then: its interval may have ended meanwhile. What never comes is not counted.
    """

    def __cinit__(self, Usage usage not None, int slot, bytes name not None, bint is_physical, int acks, int64_t size):
        self.usage, self.slot, self.name, self.is_physical, self.acks = usage, slot, name, is_physical, acks
        self.counted = TopicUsage(name)
        self.counted.add_bytes(size, acks)
        self.left = size

    cdef int go_on(self, piece) except -1:
        """Count the next piece of the frame; what stands behind the records does not matter."""
        cdef Py_buffer view
        PyObject_GetBuffer(piece, &view, PyBUF_SIMPLE)
        try:
            self.add(<const uint8_t*>view.buf, view.len)
        finally:
            PyBuffer_Release(&view)
        return 0

    cdef int add(self, const uint8_t* data, int64_t size) except -1:
        cdef int64_t step
        while size > 0 and self.left > 0:
            step = min(size, self.left)
            if self.skip:
                step = min(step, self.skip)
                self.skip -= step
            else:
                step = min(step, (BATCH_HEAD if self.have < BATCH_HEAD else BATCH_HEADER) - self.have)
                memcpy(self.header + self.have, data, step)
                self.have += step
            self.left -= step
            data += step
            size -= step
            if self.have == BATCH_HEAD or self.have == BATCH_HEADER:
                self.take_header()
        return 0

    cdef int take_header(self) except -1:
        cdef int64_t left = self.left + self.have, batch = size_of_batch(self.header, left)
        if batch and self.have < BATCH_HEADER and self.header[16] >= 2:
            return 0  # The rest of it is counted as well.
        if batch:
            self.counted.add_batch(self.header, batch, self.acks)
        self.skip = (batch or left) - self.have
        self.have = 0
        return 0

    cdef int end(self) except -1:
        """Add the counts: all records have arrived."""
        cdef const uint8_t* name = <const uint8_t*>PyBytes_AS_STRING(self.name)
        self.usage.topic(self.slot, name, PyBytes_GET_SIZE(self.name), self.is_physical).merge(self.counted)
        return 0


cdef Passing tally(Tally program, Reader* r, Usage usage, bint is_request, bint is_physical):
    """Count what the program names. What does not parse was refused before, or ends the count.

    Of a frame that is not whole the last field goes on behind what is here: what counts it is returned.
    """
    cdef Passing passing = None
    cdef Level stack[MAX_DEPTH]
    cdef Level* level = stack
    cdef Level* named = NULL     # where the topic at hand was named
    cdef TopicUsage topic = None
    cdef const uint8_t* name = NULL
    cdef Py_ssize_t name_size = 0
    cdef Op* op
    cdef int64_t n, number, record_bytes = 0, errors = 0
    cdef const uint8_t* key = NULL   # a name whose type stands behind it
    cdef Py_ssize_t key_size = 0
    cdef int i = 0, kind, slot = 0, entity, type_ = -1, acks = NO_ACKS
    cdef int64_t before = usage.decided
    cdef bint is_counted
    while True:
        op = &program.ops[i]
        i += 1
        kind = op.kind
        if kind == SKIP:
            need(r, op.a)
            r.pos += op.a
        elif kind == STRING or kind == UUID:
            n = 16 if kind == UUID else read_string_length(r, op.flags)
            need(r, n)
            if n > 0:
                r.pos += n
                if op.slot and named == NULL and (kind == STRING or not is_zero_uuid(r.data + r.pos - n)):
                    if kind == STRING and op.slot != TALLY_TOPIC:
                        if op.slot == TALLY_KEY and type_ < 0:
                            key, key_size = r.data + r.pos - n, n
                            continue
                        entity = entity_of(op.slot, type_)
                        if entity > TALLY_TOPIC:
                            usage.access(entity, r.data + r.pos - n, n)
                        if entity != TALLY_TOPIC:
                            continue
                        named, slot = level, entity
                    else:
                        named, slot = level, op.slot
                    name, name_size = r.data + r.pos - n, n
                    topic = None
                    if is_request or usage.is_fetch:
                        topic = usage.topic(slot, name, name_size, is_physical)
                        topic.requests += 1
                        if topic.on_use is not None:
                            usage.decided += 1
                            topic.on_use()
            elif n == 0 and kind == STRING and op.slot == TALLY_GROUP:
                usage.access(TALLY_GROUP, r.data + r.pos, 0)  # A group like any other; an empty transactional ID is none.
        elif kind == BYTES:
            n = read_length(r, op.flags, 4)
            need_whole(r, n)
            if n > 0:
                is_counted = op.slot and topic is not None
                record_bytes += n if is_counted else 0
                if n > r.end - r.pos:
                    if is_counted:
                        passing = Passing(usage, slot, PyBytes_FromStringAndSize(<const char*>name, name_size),
                                          is_physical, acks, n)
                        passing.add(r.data + r.pos, r.end - r.pos)
                    break
                if is_counted:
                    topic.add(r.data + r.pos, n, acks)
                r.pos += n
        elif kind == INT16 or kind == INT32:
            need(r, 2 if kind == INT16 else 4)
            if kind == INT16:
                number = <int16_t>be16(r.data + r.pos)
                r.pos += 2
            else:
                number = <int32_t>be32(r.data + r.pos)
                r.pos += 4
            if op.slot == TALLY_ERROR:
                if number:
                    errors += 1
                    if topic is None and named != NULL:
                        topic = usage.topic(slot, name, name_size, is_physical)
                    usage.fail(number, topic)
            elif op.slot == TALLY_THROTTLE:
                usage.throttle_ms += number if number > 0 else 0
            else:
                # A value that a broker would refuse is still counted under one of the three.
                acks = -1 if number < 0 else 1 if number else 0
        elif kind == INT8:
            need(r, 1)
            type_ = <int8_t>r.data[r.pos]
            r.pos += 1
            if key != NULL:
                entity = entity_of(TALLY_KEY, type_)
                if entity:
                    usage.access(entity, key, key_size)
        elif kind == TAGS:
            n = read_varint(r)
            if n:
                level = push(level, stack, r, i, i - 1, n)
                i = next_tag(program, r, level)
                if i < 0:
                    i = level.again
                    level -= 1
        elif kind == ARRAY:
            n = read_count(r, op.flags, op.b)
            if n > 0:
                if op.flags & FIXED:
                    r.pos += n * op.b
                else:
                    level = push(level, stack, r, i, -1, n)
                    continue
            i = op.a
        elif kind == END:
            if level == stack:
                break
            if level <= named:
                named = NULL
                topic = None
            level.left -= 1
            if not r.hot:  # There the rounds were counted when the message was rewritten.
                r.steps -= 1
                if topic is None:  # Else a pause would have it looked up once more.
                    r.steps -= (usage.decided - before) * MISS_STEPS
                    before = usage.decided
                if r.steps < 0:
                    out_of_steps(r)
                    if topic is not None:  # An interval may have ended meanwhile.
                        topic = usage.topic(slot, name, name_size, is_physical)
            if level.tags < 0:
                if level.left:
                    i = level.again
                else:
                    level -= 1
                continue
            r.pos = level.end
            i = next_tag(program, r, level) if level.left else -1
            if i < 0:
                i = level.again
                level -= 1
        elif not read_marker(r, op.flags):
            i = op.a
    if not is_request:
        usage.errors += errors > 0
        usage.empty_fetches += usage.is_fetch and record_bytes == 0
    if r.hot:
        r.steps -= (usage.decided - before) * MISS_STEPS
    return passing

cdef int next_tag(Tally program, Reader* r, Level* level) except -2:
    """The first op of the next tagged field that is known; -1: there is none."""
    cdef int i
    while True:
        i = enter_tag(program, r, level)
        if i >= 0:
            return i
        r.pos = level.end
        if level.left == 1:
            return -1
        level.left -= 1
