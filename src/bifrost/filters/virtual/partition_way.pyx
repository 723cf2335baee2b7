# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The way of Produce requests to topics with virtual partitions, on the hot path (rewriting.pyx).

    request   index v ──▶ its physical partition p, the header of the batch with the mark of its group
                          a `PartitionTrip` remembers (topic, p) ──▶ v
    answer    index p ──▶ v, as the trip of its request says

What is unusual is left to the filters, which decode the message and know every error: nothing of it has an effect here.
So this must be as strict as `ProducedPartitionsFilter` is, but for one thing: a batch's checksum is not compared. The mark
changes it by what the new bytes of the header amount to, so a wrong one stays wrong, and the broker refuses the batch.
Partitions of several groups go in one request as long as no two of them share a physical one. Those that share one go in
requests of their own, one after the other, in the order of their groups (routes/waves.pyx); the answers to these go back as
one, in the order of the request.
"""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from bifrost.filters.virtual import produced_partitions as decoded
from bifrost.filters.virtual.division import MAX_PARTS as _MAX_PARTS
from bifrost.routes.shapes import shapes_of
from bifrost.tenancy.virtual_partitions.own_producer import LAST_EPOCH as _LAST_EPOCH
from bifrost.wire.api_keys import ApiKey

from bifrost.routes.waves cimport Waves, read_waves
from bifrost.tenancy.virtual_partitions.virtual_batches cimport HEADER, fault_in, mark_header, names_producer
from bifrost.wire.reader cimport Reader, be16
from bifrost.wire.rewriting cimport NO_PLACE, RecordTrip, RecordWay

cdef enum:
    FEW = 16       # partitions among which one is looked for one by one
    ROOM = 4       # partitions for which a trip has room at first
    PART_STEPS = 16    # rounds of the hot path that a request more stands for

cdef int LAST_EPOCH = _LAST_EPOCH
cdef int MAX_PARTS = _MAX_PARTS
PRODUCE = ApiKey.PRODUCE

cdef struct Place:
    int32_t topic
    int32_t physical
    int32_t virtual
    int32_t wave       # how many of those that share its physical partition are of lower groups
    int32_t next       # of the others that share it, -1: there is none more; the first one named leads to all



@cython.final
cdef class PartitionTrip(RecordTrip):
    """Which virtual partitions a request has named. It is kept until the answer has come."""
    cdef object producer       # of the connection; None: batches cannot be written in its name, nor requests sent on
    cdef int64_t producer_id
    cdef int next_epoch, epochs
    cdef bint is_sent
    cdef PartitionWay way      # the last one, and the number of its topic
    cdef int32_t topic
    cdef int group             # of the partition that was placed last
    cdef dict topics           # number by key
    cdef list ways             # by that number
    cdef Waves waves           # if the request is several
    cdef dict by_place         # where there are more than FEW: index in `places` by topic and partition
    cdef Place* places
    cdef int count, room_of_places, hint
    cdef Place[ROOM] few

    def __cinit__(self):
        self.is_kept = True
        self.places, self.room_of_places = self.few, ROOM
        self.topics, self.ways = {}, []

    def __dealloc__(self):
        if self.places != self.few:
            PyMem_Free(self.places)

    cdef int32_t topic_of(self, PartitionWay way, bint is_new) except -2:
        """The number of a topic; -1: it has none yet, and is not new."""
        if self.way is not way:
            found = self.topics.get(way.key)
            if found is None:
                if not is_new:
                    return -1
                found = self.topics[way.key] = len(self.topics)
                self.ways.append(way)
            self.way, self.topic = way, found
        return self.topic

    cdef int find(self, int32_t topic, int32_t physical) except -2:
        """The index of the first place of a physical partition, -1: there is none.

        Answers mostly come in the order of the request.
        """
        cdef int i
        if self.hint < self.count and self.is_at(self.hint, topic, physical):
            self.hint += 1
            return self.hint - 1
        if self.count <= FEW:
            for i in range(self.count):
                if self.is_at(i, topic, physical):
                    self.hint = i + 1
                    return i
            return -1
        if self.by_place is None:
            self.by_place = {}
            for i in range(self.count - 1, -1, -1):
                self.by_place[<int64_t>self.places[i].topic << 32 | self.places[i].physical] = i
        found = self.by_place.get(<int64_t>topic << 32 | physical)
        if found is None:
            return -1
        i = found
        self.hint = i + 1
        return i

    cdef int find_answered(self, int32_t topic, int32_t physical) except -2:
        """The index of a place in the answer at hand; one that was joined has the order of the request."""
        if self.parts < 2:
            return self.find(topic, physical)
        if self.hint == self.count or not self.is_at(self.hint, topic, physical):
            return -1
        self.hint += 1
        return self.hint - 1

    cdef inline bint is_at(self, int i, int32_t topic, int32_t physical) noexcept:
        return self.places[i].physical == physical and self.places[i].topic == topic

    cdef bint add(self, int32_t topic, int32_t physical, int32_t virtual) except -1:
        """Remember a place; False: the request has named the virtual partition before, or becomes too many."""
        cdef int first, i
        cdef int32_t wave = 0, sharing = 1
        self.hint = self.count
        i = first = self.find(topic, physical)
        while i >= 0:
            if self.places[i].virtual == virtual:
                return False
            wave += self.places[i].virtual < virtual
            self.places[i].wave += self.places[i].virtual > virtual
            sharing += 1
            i = self.places[i].next
        if sharing > MAX_PARTS:
            return False
        if self.count == self.room_of_places:
            self.grow()
        self.places[self.count] = Place(topic, physical, virtual, wave, -1)
        if first >= 0:
            self.places[self.count].next, self.places[first].next = self.places[first].next, self.count
            self.parts = max(self.parts, sharing)
        elif self.by_place is not None:
            self.by_place[<int64_t>topic << 32 | physical] = self.count
        self.count += 1
        return True

    cdef int grow(self) except -1:
        cdef bint was_few = self.places == self.few
        cdef Place* places = <Place*>PyMem_Realloc(NULL if was_few else self.places, 2 * self.room_of_places * sizeof(Place))
        if places == NULL:
            raise MemoryError
        if was_few:
            memcpy(places, self.few, sizeof(self.few))
        self.places = places
        self.room_of_places *= 2
        return 0

    cdef bint take_epoch(self, int* epoch) except -1:
        """Give the epoch of a batch that is written in the connection's name; False: its producer has none."""
        if not self.epochs:
            self.producer_id, self.next_epoch = self.producer.producer_id, self.producer.next_epoch
        epoch[0] = self.next_epoch + self.epochs
        if self.producer_id < 0 or epoch[0] > LAST_EPOCH:
            return False
        self.epochs += 1
        return True

    cdef int end(self, object frame) except -1:
        if not self.is_sent:
            self.is_sent, self.hint = True, 0
            if self.epochs:
                self.producer.take_epochs(self.epochs)
            self.producer = None
            if self.way is not None and self.way.count is not None:
                self.way.count("remapped", self.count)
                if self.parts > 1:
                    self.way.count("parts", self.parts - 1)
        return RecordTrip.end(self, frame)

    cdef list divided(self, Reader* r, list segments, Py_ssize_t start):
        cdef Waves waves
        cdef dict numbers = {}
        cdef PartitionWay way
        cdef int t, i, at = 0
        if r.whole > decoded.MAX_DIVIDED_BYTES:
            return None
        waves = read_waves(shapes_of(PRODUCE, be16(r.data + 2)), segments, start)
        if waves is None:
            return None
        for i, way in enumerate(self.ways):
            numbers[way.name] = i
        for t in range(len(waves.keys)):
            found = numbers.get(waves.keys[t])
            if found is None:
                continue  # It has no virtual partitions, and goes with the first request.
            for i in range(waves.spans[t].first, waves.spans[t].first + waves.spans[t].count):
                if at == self.count or not self.is_at(at, found, waves.entries[i].index):
                    return None
                waves.entries[i].wave = self.places[at].wave
                at += 1
        if at != self.count:
            return None
        r.steps -= waves.count + PART_STEPS * self.parts
        self.waves, self.is_divided = waves, True
        return waves.frames(segments, self.parts)

    cpdef int keep_answer(self, bytes answer) except -1:
        self.waves.answers.append(answer)
        return 0

    cdef bytes joined(self, Reader* r, Py_ssize_t start):
        r.steps -= self.count + PART_STEPS * self.parts
        self.hint = 0
        return self.waves.joined(r.data, r.end, start)

    @property
    def answers(self):
        return [] if self.waves is None else self.waves.answers

    def has(self, bytes key not None):
        return key in self.topics

    def virtual_of(self, bytes key not None, int32_t physical, int part=0):
        cdef int i
        self.hint = self.count
        i = self.find(self.topics.get(key, -1), physical)
        while i >= 0 and self.places[i].wave != part:
            i = self.places[i].next
        return -1 if i < 0 else self.places[i].virtual


@cython.final
cdef class PartitionWay(RecordWay):
    """The way of the partitions of one topic."""
    cdef bytes key
    cdef object count
    cdef int32_t virtual, physical, ratio

    def __init__(self, bytes name not None, bytes key not None, partitions not None, count=None):
        self.name, self.key, self.count, self.is_placed = name, key, count, True
        self.virtual, self.physical, self.ratio, is_keyed = partitions
        if not 0 < self.physical or self.ratio < 0 or is_keyed:
            raise ValueError("a topic has partitions, and its records stay as they are")

    cdef RecordTrip begin(self, Reader* r):
        cdef PartitionTrip trip = PartitionTrip.__new__(PartitionTrip)
        if r.producer != NULL:
            trip.producer = <object>r.producer
        return trip

    cdef int64_t place(self, RecordTrip of_message, int32_t partition) except -2:
        cdef PartitionTrip trip = <PartitionTrip?>of_message
        cdef int i
        cdef int32_t physical
        if trip.is_sent:
            i = trip.find_answered(trip.topic_of(self, False), partition)
            return NO_PLACE if i < 0 else trip.places[i].virtual
        if trip.producer is None or not 0 <= partition < self.virtual:
            return NO_PLACE
        if self.ratio:
            trip.group, physical = partition % self.ratio, partition // self.ratio
        else:
            trip.group, physical = partition // self.physical, partition % self.physical
        if not trip.add(trip.topic_of(self, True), physical, partition):
            return NO_PLACE
        return physical

    cdef int new_head(self, RecordTrip of_message, const uint8_t* records, Py_ssize_t size, uint8_t* head) except -2:
        cdef PartitionTrip trip = <PartitionTrip?>of_message
        cdef int epoch = -1
        if trip.is_sent or fault_in(records, size):
            return NO_PLACE
        if not trip.group:
            return 0
        if not names_producer(records) and not trip.take_epoch(&epoch):
            return NO_PLACE
        memcpy(head, records, HEADER)
        return HEADER if mark_header(head, size, trip.group, trip.producer_id, epoch) else NO_PLACE
