# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What a connection has fetched of physical partitions without a record for the virtual partition.

The consumer stays at the end of its partition, though records of others follow. So that the gateway need not fetch
these each time, it remembers how far there was none of the consumer's own, and goes on there.

    consumer's offset ──▶ | others others others others | ──▶ the gateway fetches from here on

It is of one connection, under one leader: after another connection or leader the same is read once more.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t

MAX_PARTITIONS = 10_000
MAX_OF_TENANT = 50_000


@cython.final
cdef class Scanned:
    cdef int64_t begin, end
    cdef int32_t leader_epoch


@cython.final
cdef class ScannedRoom:
    def __init__(self, Py_ssize_t most=MAX_OF_TENANT):
        self.most = most


@cython.final
@cython.no_gc_clear    # its room is there until it is gone
cdef class ScannedOffsets:
    def __init__(self, ScannedRoom room=None):
        self.topics, self.begun = {}, {}
        self.without_start = set()
        self.room = ScannedRoom() if room is None else room

    def __dealloc__(self):
        if self.room is not None:
            self.room.used -= self.taken

    cdef int take(self, Py_ssize_t places) except -1:
        """Take places of the room, or give them back."""
        self.taken += places
        self.room.used += places
        return 0

    cdef dict of_topic(self, topic):
        """What is known of a topic's partitions, by number; None: nothing."""
        return self.topics.get(topic) if self.count else None

    def after(self, tuple partition not None, int64_t offset, int32_t leader_epoch):
        return after(self.of_topic(partition[0]), partition[1], offset, leader_epoch)

    cpdef bint may_begin(self, tuple partition, int64_t offset) except -1:
        return (self.begun.get(partition) != offset and len(self.begun) < MAX_PARTITIONS
                and self.room.used < self.room.most)

    cpdef int note_begun(self, tuple partition, int64_t offset) except -1:
        if partition not in self.begun:
            self.take(1)
        self.begun[partition] = offset
        return 0

    cpdef bint has_room(self, Py_ssize_t partitions) except -1:
        return self.count + partitions <= MAX_PARTITIONS and self.room.used + partitions <= self.room.most

    def note(self, tuple partition not None, int64_t offset, int64_t end, int32_t leader_epoch):
        self.note_of(partition[0], partition[1], offset, end, leader_epoch)

    cdef int note_of(self, topic, number, int64_t offset, int64_t end, int32_t leader_epoch) except -1:
        cdef Scanned one
        cdef dict known = self.of_topic(topic)
        if end > offset:
            if known is None:
                known = self.topics[topic] = {}
            one = known.get(number)
            if one is None:
                one = known[number] = Scanned.__new__(Scanned)
                self.count += 1
                self.take(1)
            one.begin, one.end, one.leader_epoch = offset, end, leader_epoch
        elif known is not None and number in known:
            del known[number]
            self.count -= 1
            self.take(-1)
            if not known:
                del self.topics[topic]
        return 0

    def forget(self, tuple partition not None):
        self.note_of(partition[0], partition[1], 0, 0, 0)

    def __len__(self):
        return self.count


cdef int64_t after(dict known, number, int64_t offset, int32_t leader_epoch) except? -2:
    """Where to go on in a partition, by what is known of its topic."""
    cdef Scanned one
    if known is None:
        return offset
    one = known.get(number)
    if one is None or one.leader_epoch != leader_epoch or not one.begin <= offset < one.end:
        return offset
    return one.end
