# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What brokers have answered of late about one physical partition, and the Fetch of it that is on its way.

An answer is given again as it came, from its first batch on, to a Fetch whose offset lies in it: so the aborted
transactions that the broker named with it are right, as they are for a consumer that asked from there on. It must be of
the same leader epoch, which the broker has compared with its own, and not larger than the Fetch allows.

It is compiled because a consumer asks for all of its partitions each time, and there may be a thousand, though an answer
has records of a few.
"""

cimport cython
from libc.stdint cimport UINT64_MAX, int32_t, int64_t, uint64_t

from bifrost.tenancy.recent_records.recent_limits import FRESH_NS, KEPT_NS, MAX_READERS

GONE_NS = 10_000_000_000
MAX_POLLS = 4
LATE_NS = 1_000_000_000

cdef int64_t FRESH = FRESH_NS, KEPT = KEPT_NS, GONE = GONE_NS
cdef Py_ssize_t MOST_READERS = MAX_READERS, MOST_POLLS = MAX_POLLS


cdef inline uint64_t distance(int64_t one, int64_t other) noexcept:
    """How far two offsets are from each other: a client may name any."""
    return <uint64_t>max(one, other) - <uint64_t>min(one, other)


@cython.final
cdef class Bounds:
    def __init__(self, int32_t leader_epoch, int64_t high_watermark, int64_t last_stable_offset,
                 int64_t log_start_offset, int64_t came_ns):
        self.leader_epoch, self.high_watermark, self.last_stable_offset = leader_epoch, high_watermark, last_stable_offset
        self.log_start_offset, self.came_ns = log_start_offset, came_ns

    cdef inline bint is_valid(self, int32_t leader_epoch, int64_t now_ns) noexcept:
        return self.leader_epoch == leader_epoch and now_ns - self.came_ns < FRESH


@cython.final
cdef class RecentAnswer:
    def __init__(self, int64_t begin, int64_t end, int64_t max_bytes, Bounds bounds not None, aborted, bytes records):
        self.begin, self.end, self.max_bytes, self.bounds = begin, end, max_bytes, bounds
        self.aborted, self.records = aborted, records


@cython.final
cdef class Polled:
    cdef int64_t offset, max_bytes, min_bytes, begun_ns
    cdef int32_t leader_epoch
    cdef object end


@cython.final
cdef class PlaceOfReader:
    """Where one connection reads."""


@cython.final
cdef class RecentPartition:
    def __init__(self, open_connections not None):
        self.open = open_connections
        self.answers, self.polled, self.readers = [], [], {}
        self.last_span = -1

    cpdef int note_reader(self, reader, int64_t offset, int64_t now_ns, bint is_part) except -1:
        cdef PlaceOfReader place = self.readers.get(reader)
        if place is None:
            self.make_place(now_ns)
            place = self.readers[reader] = PlaceOfReader.__new__(PlaceOfReader)
            place.since_ns = now_ns
        place.offset, place.seen_ns = offset, now_ns
        self.has_others = is_part
        if not is_part:
            for one, other in self.readers.items():
                if one != reader and not self.is_gone(one, <PlaceOfReader>other, now_ns):
                    self.has_others = True
                    break
        return 0

    cdef bint is_gone(self, reader, PlaceOfReader place, int64_t now_ns) except -1:
        """Whether a connection has ended, or may be gone."""
        return reader not in self.open or now_ns - place.seen_ns >= GONE

    cdef int make_place(self, int64_t now_ns) except -1:
        """Forget the connections that have ended or may be gone, and of the others that which has asked first."""
        cdef PlaceOfReader place
        cdef int64_t longest = -1
        first = None
        for reader, other in list(self.readers.items()):
            place = other
            if self.is_gone(reader, place, now_ns):
                del self.readers[reader]
            elif now_ns - place.seen_ns > longest:
                first, longest = reader, now_ns - place.seen_ns
        if len(self.readers) >= MOST_READERS:
            del self.readers[first]
        return 0

    @property
    def is_wanted(self):
        return self.has_others

    cpdef bint has_company(self, reader, int64_t offset, int64_t now_ns) except -1:
        cdef PlaceOfReader place = self.readers.get(reader)
        if self.has_others and place is not None and now_ns - place.since_ns < FRESH:
            return True
        for one, other in self.readers.items():
            place = other
            if one == reader or now_ns - place.seen_ns >= FRESH or one not in self.open:
                continue
            if self.last_span < 0 or distance(place.offset, offset) <= <uint64_t>self.last_span:
                return True
        return False

    def lacks(self, reader):
        return reader in self.open and reader not in self.readers and len(self.readers) < MOST_READERS

    cpdef bint is_needed(self, RecentAnswer answer, int64_t now_ns) except -1:
        cdef int64_t nearest = -1, begin = answer.begin
        cdef PlaceOfReader place
        cdef RecentAnswer before
        for reader, known in self.readers.items():
            place = known
            if place.offset < answer.end and now_ns - place.seen_ns < FRESH and reader in self.open:
                nearest = max(nearest, place.offset)
        for one in reversed(self.answers):
            if not 0 <= nearest < begin:
                break
            before = one
            if before.begin < begin <= before.end:
                begin = before.begin
        return nearest >= begin

    def note_bounds(self, Bounds bounds not None):
        self.last_bounds = bounds

    cpdef Bounds bounds(self, int32_t leader_epoch, int64_t now_ns):
        if self.last_bounds is not None and self.last_bounds.is_valid(leader_epoch, now_ns):
            return self.last_bounds
        return None

    cpdef RecentAnswer find(self, int64_t offset, int32_t leader_epoch, int64_t max_bytes, int64_t now_ns):
        cdef RecentAnswer answer
        for one in reversed(self.answers):
            answer = one
            if answer.begin <= offset < answer.end and answer.max_bytes <= max_bytes:
                if answer.bounds.is_valid(leader_epoch, now_ns) or self.still_has(answer, leader_epoch, now_ns):
                    return answer
        return None

    cdef bint still_has(self, RecentAnswer answer, int32_t leader_epoch, int64_t now_ns) noexcept:
        """Whether the log has all offsets of an answer by what was told of it of late, in the same leader epoch.

        Below its high watermark a log changes at its start only, as long as it has this leader. A client that names no
        epoch may have had another one meanwhile, that was elected without having all records.
        """
        cdef Bounds last = self.last_bounds
        if leader_epoch < 0 or last is None or not last.is_valid(leader_epoch, now_ns):
            return False
        if answer.bounds.leader_epoch != leader_epoch or now_ns - answer.bounds.came_ns >= KEPT:
            return False
        return last.log_start_offset <= answer.begin and answer.end <= last.high_watermark

    cpdef int begin_poll(self, int64_t offset, int32_t leader_epoch, int64_t max_bytes, int64_t min_bytes, end,
                         int64_t now_ns=0) except -1:
        cdef Polled polled
        if self.poll(offset, leader_epoch, max_bytes, min_bytes, False, now_ns - LATE_NS) is None:
            if len(self.polled) >= MOST_POLLS:
                del self.polled[:len(self.polled) + 1 - MOST_POLLS]
            polled = Polled.__new__(Polled)
            polled.offset, polled.leader_epoch, polled.max_bytes = offset, leader_epoch, max_bytes
            polled.min_bytes, polled.begun_ns, polled.end = min_bytes, now_ns, end
            self.polled.append(polled)
        return 0

    def note_records(self, int64_t offset, int64_t behind, end, int64_t now_ns):
        cdef Polled polled
        self.brought_ns, self.last_span = now_ns, behind - offset
        for one in self.polled:
            polled = one
            if polled.offset == offset and polled.end is not end:
                polled.end.is_slow = True

    cpdef object poll(self, int64_t offset, int32_t leader_epoch, int64_t max_bytes, int64_t min_bytes,
                      bint takes_earlier=False, int64_t since_ns=0):
        cdef Polled polled
        cdef uint64_t reach = 1
        if not self.polled:
            return None
        for one in self.polled:
            if (<Polled>one).end.has_come or (<Polled>one).end.is_slow:
                self.polled = [it for it in self.polled if not ((<Polled>it).end.has_come or (<Polled>it).end.is_slow)]
                break
        if takes_earlier:
            reach = UINT64_MAX if self.last_span < 0 else <uint64_t>self.last_span
        for one in self.polled:
            polled = one
            if polled.begun_ns < since_ns or polled.leader_epoch != leader_epoch:
                continue
            if polled.offset > offset or distance(polled.offset, offset) >= reach:
                continue
            if polled.max_bytes <= max_bytes and polled.min_bytes <= min_bytes:
                return polled.end
        return None

    def forget(self):
        self.last_bounds = None
        self.polled.clear()
