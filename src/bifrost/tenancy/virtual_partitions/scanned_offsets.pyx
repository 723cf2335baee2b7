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


@cython.final
cdef class Scanned:
    cdef int64_t begin, end
    cdef int32_t leader_epoch


@cython.final
cdef class ScannedOffsets:
    def __init__(self):
        self.known, self.begun = {}, {}
        self.without_start = set()

    cpdef int64_t after(self, partition, int64_t offset, int32_t leader_epoch) except? -2:
        cdef Scanned known
        if not self.known:
            return offset
        known = self.known.get(partition)
        if known is None or known.leader_epoch != leader_epoch or not known.begin <= offset < known.end:
            return offset
        return known.end

    cpdef bint may_begin(self, partition, int64_t offset) except -1:
        return self.begun.get(partition) != offset and len(self.begun) < MAX_PARTITIONS

    cpdef int note_begun(self, partition, int64_t offset) except -1:
        self.begun[partition] = offset
        return 0

    cpdef bint has_room(self, Py_ssize_t partitions) except -1:
        return len(self.known) + partitions <= MAX_PARTITIONS

    cpdef int note(self, partition, int64_t offset, int64_t end, int32_t leader_epoch) except -1:
        cdef Scanned known
        if end > offset:
            known = Scanned.__new__(Scanned)
            known.begin, known.end, known.leader_epoch = offset, end, leader_epoch
            self.known[partition] = known
        elif self.known:
            self.known.pop(partition, None)
        return 0

    def forget(self, partition):
        self.known.pop(partition, None)

    def __len__(self):
        return len(self.known)
