# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes a whole Fetch for one that names only what has changed in its session (KIP-227).

    partitions of the session without records in the last answer    each in the words of the request, if it names it,
    then those that had some                                        else in those of the session
    then those that the request adds                                and none that it forgets

The order is that of FetchSession: a partition that had records goes behind the others, so that none starves.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int32_t, uint8_t

from bifrost.routes.shape cimport Cursor, copy, open_pieces
from bifrost.routes.slots cimport Slot, Topic
from bifrost.routes.split cimport Split
from bifrost.routes.template cimport put_count
from bifrost.wire.output cimport Output, extend, open_output, put, take, write_size


cdef struct Place:
    int32_t slot
    uint8_t is_asked      # a slot of the request; else of the session


@cython.final
cdef class Places:
    """The partitions of the whole Fetch, in their order."""
    cdef Split asked, kept
    cdef Place* places
    cdef uint8_t* used
    cdef int count

    def __cinit__(self, Split asked not None, Split kept not None):
        self.asked, self.kept = asked, kept
        self.places = <Place*>PyMem_Calloc(asked.count + kept.count + 1, sizeof(Place))
        self.used = <uint8_t*>PyMem_Calloc(asked.count + 1, 1)
        if self.places == NULL or self.used == NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_Free(self.places)
        PyMem_Free(self.used)

    cdef int append(self, int slot, bint is_asked) noexcept:
        self.places[self.count].slot, self.places[self.count].is_asked = slot, is_asked
        self.count += 1
        return 0

    cdef int keep(self, Split forgotten, bint had_data) except -1:
        """Append the partitions of the session that had records, or had none."""
        cdef Topic* topic
        cdef int t, i, asked, dropped, at
        for t in range(self.kept.topic_count):
            topic = &self.kept.topics[t]
            asked = self.asked.first_of.get(self.kept.keys[t], -1)
            dropped = -1 if forgotten is None else forgotten.first_of.get(self.kept.keys[t], -1)
            for i in range(topic.first, topic.first + topic.count):
                if self.kept.slots[i].had_data != had_data:
                    continue
                at = found(self.asked, asked, self.kept.slots[i].index)
                if at >= 0:
                    self.used[at] = True
                if found(forgotten, dropped, self.kept.slots[i].index) < 0:
                    self.append(at if at >= 0 else i, at >= 0)
        return 0

    cdef int add(self, Split forgotten) except -1:
        """Append the partitions that are new."""
        cdef Topic* topic
        cdef int t, i, asked, dropped
        for t in range(self.asked.topic_count):
            topic = &self.asked.topics[t]
            asked = self.asked.first_of[self.asked.keys[t]]
            dropped = -1 if forgotten is None else forgotten.first_of.get(self.asked.keys[t], -1)
            for i in range(topic.first, topic.first + topic.count):
                # A partition that is named twice is one of the session once.
                if self.used[i] or found(self.asked, asked, self.asked.slots[i].index) != i:
                    continue
                if found(forgotten, dropped, self.asked.slots[i].index) < 0:
                    self.append(i, True)
        return 0

    cdef Split source(self, int place):
        return self.asked if self.places[place].is_asked else self.kept

    cdef int topic_at(self, int place):
        return self.source(place).slots[self.places[place].slot].topic

    cdef int end_of_run(self, int start) except -1:
        """Where the places end that follow each other and are of the same topic."""
        cdef int end = start + 1
        cdef bytes key = self.source(start).keys[self.topic_at(start)]
        while end < self.count:
            if (self.places[end].is_asked != self.places[end - 1].is_asked or self.topic_at(end) != self.topic_at(end - 1)
                    ) and self.source(end).keys[self.topic_at(end)] != key:
                break
            end += 1
        return end

    cdef bytes written(self, bytes after):
        cdef Output out
        cdef Cursor asked, kept
        cdef bytes head = self.asked.bytes_of(4, self.asked.topics_at), frame
        cdef int start = 0, end, runs = 0
        open_pieces(&asked, self.asked.pieces, len(self.asked.segments))
        open_pieces(&kept, self.kept.pieces, len(self.kept.segments))
        open_output(&out)
        out.owner = out.segments = NULL
        put(&out, b"\0\0\0\0", 4)
        put(&out, PyBytes_AS_STRING(head), PyBytes_GET_SIZE(head))
        while start < self.count:
            start = self.end_of_run(start)
            runs += 1
        put_count(&out, self.asked.request, runs)
        start = 0
        while start < self.count:
            end = self.end_of_run(start)
            self.put_topic(&out, start, end, &asked, &kept)
            start = end
        put(&out, PyBytes_AS_STRING(after), PyBytes_GET_SIZE(after))
        frame = take(&out)
        write_size(<uint8_t*>PyBytes_AS_STRING(frame), PyBytes_GET_SIZE(frame) - 4)  # No other code has seen it yet.
        return frame

    cdef int put_topic(self, Output* out, int start, int end, Cursor* asked, Cursor* kept) except -1:
        cdef Topic* topic = &self.source(start).topics[self.topic_at(start)]
        cdef Cursor* own = asked if self.places[start].is_asked else kept
        cdef Slot* slot
        cdef int i
        put_run(out, own, topic.start, topic.head)
        put_count(out, self.asked.request, end - start)
        for i in range(start, end):
            slot = &self.source(i).slots[self.places[i].slot]
            put_run(out, asked if self.places[i].is_asked else kept, slot.start, slot.end)
        return put_run(out, own, topic.tail, topic.end)


def whole_fetch(Split asked not None, Split kept not None, Split forgotten, bytes after not None):
    cdef Places places = Places(asked, kept)
    places.keep(forgotten, False)
    places.keep(forgotten, True)
    places.add(forgotten)
    return places.written(after)


cdef int found(Split split, int topic, int32_t index) except -2:
    """The first slot of a partition, -1: there is none."""
    if split is None or topic < 0:
        return -1
    split.hint = split.count
    return split.find(topic, index)

cdef inline int put_run(Output* out, Cursor* c, Py_ssize_t start, Py_ssize_t end) except -1:
    return copy(c, start, end - start, extend(out, end - start))
