# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Enters what a request makes brokers keep, before it is sent on.

An `EntryWalk` is a program that walks a request once more, as far as there is something to enter, and replaces nothing.
Its ops are a Program's; the slot says what stands there:

    STRING slot 2, 3              a group or a transactional ID: an entry
    STRING slot 6                 a group of which nothing is kept because of this request
    STRING slot 7                 the member of the group, by its ID or static name, that gives a sign of life or joins
    STRING slot 1, UUID slot 4    a topic, by its name or ID
    INT32 SLOT_PARTITION          its partition: in a commit, with the group and the topic, an entry
                                  (where no topic is named: the epoch of the member, 0 if it joins; one that joins or
                                  tells something is decoded)
    STRING slot 5                 the metadata of that offset: an entry for each METADATA_BYTES
    BYTES SLOT_WAY                records: the producer ID of each batch is, with topic and partition, an entry

An entry is a hash of what the client has named, with a secret of the process (that of Python's `hash`), so that no client
can make two of them equal. One object is made for each name, none for a partition or a batch. What has no room is found
again by the filter that refuses it (filters/broker_state.py), which asks the methods below.

    record batch, format v2:  8 length int32 (from 12 on), 16 magic int8, 43 producer_id int64

Source: Kafka's DefaultRecordBatch; GroupMetadata, TransactionMetadata, ProducerStateEntry and ClientQuotaManager have what
brokers keep.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject_Hash
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

from bifrost.tenancy.broker_state.entry_set cimport EntrySet
from bifrost.tenancy.broker_state.group_members cimport MEMBER_BYTES, GroupMembers, both
from bifrost.wire.program cimport MAX_DEPTH, PARTITION, WAY, Level, Op, enter_tag, push
from bifrost.wire.reader cimport (
    ARRAY, BYTES, END, FIXED, INT32, SKIP, STRING, STRUCT, TAGS, UUID, be16, be32, be64, close_frame, need, need_whole,
    open_frame, read_count, read_length, read_marker, read_string_length, read_varint, step,
)

cdef enum:
    TOPIC = 1              # these as in Entity of entity.py
    GROUP = 2
    TRANSACTIONAL_ID = 3
    TOPIC_ID = 4
    METADATA = 5
    OWN_GROUP = 6
    MEMBER = 7
    QUIET_BYTES = 8        # behind the epoch: no rack, no names, no tags
    METADATA_BYTES = 512   # as much as some four offsets without metadata
    CLIENT_ID_AT = 8       # of a request: behind API key, version and correlation ID
    PRODUCER_ID_AT = 43
    PRODUCER_ID_END = 51   # bytes of a batch that have to be there
    LENGTH_END = 12        # the length of a batch counts from here


cdef inline uint64_t hash_of(const uint8_t* name, Py_ssize_t size) except? 0:
    return <uint64_t>PyObject_Hash(PyBytes_FromStringAndSize(<const char*>name, size))


cdef class EntryWalk(Program):
    """What one request at one version makes brokers keep."""

    def __init__(self, ops, tags=()):
        slots = {(one[0], one[2]) for one in ops}
        has_topics = bool({(STRING, TOPIC), (UUID, TOPIC_ID)} & slots)
        self.has_offsets = has_topics and {(STRING, GROUP), (INT32, PARTITION)} <= slots
        self.names_members = (STRING, MEMBER) in slots
        self.has_joins = self.names_members and not has_topics and (INT32, PARTITION) in slots


@cython.final
cdef class KeptEntries:
    def __init__(self, state, seed):
        self.state = state
        self.groups, self.offsets = state.groups, state.offsets
        self.transactional_ids, self.producers = state.transactional_ids, state.producers
        self.client_ids, self.members = state.client_ids, state.members
        self.seed = <uint64_t><Py_ssize_t>hash(seed)
        self.last_client_id = b""

    def enter_group(self, bytes group not None):
        return self.groups.admits(both(self.seed, <uint64_t>PyObject_Hash(group)))

    def enter_member(self, bytes group not None, bytes member not None, Py_ssize_t told_bytes, bint lasts=False):
        if not member:
            return self.members.admits_unnamed(both(self.seed, <uint64_t>PyObject_Hash(group)), told_bytes, lasts)
        return self.members.admits(self.member_of(group, member), told_bytes, lasts)

    def enter_beat(self, bytes group not None, bytes member not None, int32_t epoch, Py_ssize_t told_bytes):
        if epoch < 0:
            return True
        if epoch == 0 or not member or told_bytes >= MEMBER_BYTES:
            return self.enter_member(group, member, told_bytes)
        self.keep_member(group, member)
        return True

    def enter_assignments(self, bytes group not None, bytes member not None, Py_ssize_t told_bytes):
        return self.members.admits_assignments(self.member_of(group, member), told_bytes)

    def keep_member(self, bytes group not None, bytes member not None):
        self.members.keep(self.member_of(group, member))

    cdef uint64_t member_of(self, bytes group, bytes member) except? 0:
        return both(both(self.seed, <uint64_t>PyObject_Hash(group)), <uint64_t>PyObject_Hash(member))

    def enter_transactional_id(self, bytes name not None):
        return self.transactional_ids.admits(both(self.seed, <uint64_t>PyObject_Hash(name)))

    def enter_offset(self, bytes group not None, bytes topic not None, int32_t partition, Py_ssize_t metadata_bytes=0):
        cdef uint64_t commit = both(self.seed ^ <uint64_t>PyObject_Hash(group), <uint64_t>PyObject_Hash(topic))
        return self.offsets.admits(both(commit, <uint64_t>partition)) and self.admits_metadata(commit, partition, metadata_bytes)

    def enter_records(self, bytes topic not None, int32_t partition, records):
        cdef Reader r
        open_frame(records, 0, &r)
        try:
            return self.admits_records(&r, both(self.seed, <uint64_t>PyObject_Hash(topic)), partition, r.data, r.end,
                                       r.end)
        finally:
            close_frame(&r)

    def enter_client(self, frame):
        cdef Reader r
        cdef Py_ssize_t size
        open_frame(frame, 0, &r)
        try:
            need(&r, CLIENT_ID_AT + 2)
            size = max(0, <int16_t>be16(r.data + CLIENT_ID_AT))
            r.pos = CLIENT_ID_AT + 2
            need(&r, size)
            return self.admits_client(r.data + r.pos, size)
        finally:
            close_frame(&r)

    def enter_request(self, EntryWalk walk not None, frame, Py_ssize_t start):
        cdef Reader r
        open_frame(frame, start, &r)
        try:
            return self.walk_over(walk, &r)
        finally:
            close_frame(&r)

    cdef bint admits_client(self, const uint8_t* client_id, Py_ssize_t size) except -1:
        cdef bytes name
        if not size:
            return True
        if (PyBytes_GET_SIZE(self.last_client_id) == size
                and memcmp(PyBytes_AS_STRING(self.last_client_id), client_id, size) == 0):
            return True
        name = PyBytes_FromStringAndSize(<const char*>client_id, size)
        if not self.client_ids.admits(both(self.seed, <uint64_t>PyObject_Hash(name))):
            return False
        self.last_client_id = name
        return True

    cdef bint admits_request(self, EntryWalk walk, Reader* r, Py_ssize_t start) except -1:
        """Enter what a request makes brokers keep, whose body begins at `start`. False: not all has room, or it takes too
        many steps to say."""
        cdef int64_t steps = r.steps
        cdef bint is_admitted
        if not self.admits_client(r.data + CLIENT_ID_AT + 2, max(0, <int16_t>be16(r.data + CLIENT_ID_AT))):
            return False
        if walk is None:
            return True
        # Its rounds are those that it took to rewrite the request, and they were counted then.
        r.pos, r.steps = start, r.given
        is_admitted = self.walk_over(walk, r)
        r.pos, r.steps = start, steps
        return is_admitted

    cdef bint walk_over(self, EntryWalk walk, Reader* r) except -1:
        cdef Level[MAX_DEPTH] stack
        cdef Level* level = stack
        cdef Op* op
        cdef int64_t n
        cdef int i = 0, kind
        cdef int32_t partition = -1
        cdef uint64_t group = 0, topic = 0, member = 0
        while True:
            op = &walk.ops[i]
            i += 1
            kind = op.kind
            if kind == SKIP:
                need(r, op.a)
                r.pos += op.a
            elif kind == STRING:
                n = read_string_length(r, op.flags)
                if n < 0:
                    continue
                r.pos += n
                if op.slot == TOPIC:
                    topic = both(self.seed ^ group, hash_of(r.data + r.pos - n, n))
                elif op.slot == GROUP:
                    group = hash_of(r.data + r.pos - n, n)
                    if not self.groups.admits(both(self.seed, group)):
                        return False
                    if not (walk.has_offsets or walk.names_members):
                        return True
                elif op.slot == OWN_GROUP:
                    group = hash_of(r.data + r.pos - n, n)
                elif op.slot == MEMBER and n:
                    member = both(both(self.seed, group), hash_of(r.data + r.pos - n, n))
                    if not walk.has_joins:
                        self.members.keep(member)
                elif op.slot == METADATA:
                    r.steps -= n // METADATA_BYTES
                    if n >= METADATA_BYTES and not self.admits_metadata(topic, partition, n):
                        return False
                elif op.slot == TRANSACTIONAL_ID:
                    return self.transactional_ids.admits(both(self.seed, hash_of(r.data + r.pos - n, n)))
            elif kind == UUID:
                need(r, 16)
                r.pos += 16
                if op.slot == TOPIC_ID:
                    topic = both(self.seed ^ group, hash_of(r.data + r.pos - 16, 16))
            elif kind == INT32:
                need(r, 4)
                r.pos += 4
                partition = <int32_t>be32(r.data + r.pos - 4)
                if walk.has_joins:
                    return self.keeps_quiet(member, partition, r.end - r.pos)
                if walk.has_offsets and not self.offsets.admits(both(topic, <uint64_t>partition)):
                    return False
            elif kind == BYTES:
                n = read_length(r, op.flags, 4)
                if n > 0:
                    if op.slot == WAY and not self.admits_records(r, topic, partition, r.data + r.pos, n,
                                                                  r.end - r.pos):
                        return False
                    if n > r.end - r.pos:
                        need_whole(r, n)
                        return True  # What is to come of it are the records of its last partition.
                    r.pos += n
            elif kind == TAGS:
                n = read_varint(r)
                if n:
                    level = push(level, stack, r, i, i - 1, n)
                    i = enter_tag(walk, r, level)
                    if i < 0:
                        return False
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
                    return True
                level.left -= 1
                if step(r):
                    return False
                if level.tags < 0:
                    if level.left:
                        i = level.again
                    else:
                        level -= 1
                    continue
                if level.left:
                    i = enter_tag(walk, r, level)
                    if i < 0:
                        return False
                else:
                    i = level.again
                    level -= 1
            elif kind == STRUCT:
                if not read_marker(r, op.flags):
                    i = op.a
            else:
                return False

    cdef bint keeps_quiet(self, uint64_t member, int32_t epoch, Py_ssize_t size) except -1:
        """Keep a member of the newer groups that goes on and tells nothing. False: it joins or tells something, whose
        names are counted when it is decoded."""
        if epoch < 0:
            return True  # It leaves.
        if epoch == 0 or not member or size > QUIET_BYTES:
            return False
        self.members.keep(member)
        return True

    cdef bint admits_metadata(self, uint64_t topic, int32_t partition, Py_ssize_t size) except -1:
        """Enter so many bytes of an offset's metadata. The same offset with as much has the same entries."""
        cdef Py_ssize_t part
        for part in range(1, 1 + size // METADATA_BYTES):
            if not self.offsets.admits(both(topic + <uint64_t>part, <uint64_t>partition)):
                return False
        return True

    cdef bint admits_records(self, Reader* r, uint64_t topic, int partition, const uint8_t* records, Py_ssize_t size,
                             Py_ssize_t there) except -1:
        """Enter the producers of record batches of `size` bytes, of which so many are `there`.

        A broker takes one batch since Produce v3, but a client can send a million: each further one is a round.
        """
        cdef Py_ssize_t at = 0
        cdef int64_t producer, length
        while size - at >= PRODUCER_ID_END:
            if there - at < PRODUCER_ID_END or (at and step(r)):
                return False
            if records[at + 16] < 2:
                return True  # Formats v0 and v1 have no producers.
            producer = <int64_t>be64(records + at + PRODUCER_ID_AT)
            if producer >= 0 and not self.producers.admits(both(both(topic, <uint64_t>producer), <uint64_t>partition)):
                return False
            length = <int32_t>be32(records + at + LENGTH_END - 4)
            at += LENGTH_END + max(<int64_t>PRODUCER_ID_END, length)
        return True
