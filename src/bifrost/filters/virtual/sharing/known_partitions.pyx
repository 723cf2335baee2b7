# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What is known of the physical partitions that one Fetch asks for: each is in one of these states.

    kept      an answer with its offset is here
    coming    the Fetch of another connection is at the broker, and is likely to bring it
    missing   neither: only the broker can tell

The state says nothing of where the log ends: that is known of a partition whenever a broker has answered of late.

A consumer asks for all of its partitions each time, and most have nothing new: so the look at them is compiled.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t

from bifrost.tenancy.recent_records.recent_partition import LATE_NS
from bifrost.wire.messages import FetchRequest, FetchResponse

from bifrost.tenancy.recent_records.recent_partition cimport Bounds, RecentAnswer, RecentPartition
from bifrost.wire.slots cimport copy_of, new_list, set_slot, slot_of, slot_value
from bifrost.wire.steps cimport python_step

COMMITTED = 1

cdef int64_t LATE = LATE_NS
cdef int32_t NO_EPOCH = -1
cdef type ASKED = FetchRequest.FetchPartition, SHOWN = FetchResponse.PartitionData
cdef object PARTITION = SHOWN(records=b"")
cdef Py_ssize_t ASKED_INDEX = slot_of(ASKED, "partition"), ASKED_OFFSET = slot_of(ASKED, "fetch_offset")
cdef Py_ssize_t ASKED_EPOCH = slot_of(ASKED, "current_leader_epoch"), ASKED_MOST = slot_of(ASKED, "partition_max_bytes")
cdef Py_ssize_t FETCHED_EPOCH = slot_of(ASKED, "last_fetched_epoch")
cdef Py_ssize_t INDEX = slot_of(SHOWN, "partition_index"), HIGH_WATERMARK = slot_of(SHOWN, "high_watermark")
cdef Py_ssize_t STABLE = slot_of(SHOWN, "last_stable_offset"), LOG_START = slot_of(SHOWN, "log_start_offset")
cdef Py_ssize_t ABORTED = slot_of(SHOWN, "aborted_transactions"), RECORDS = slot_of(SHOWN, "records")


@cython.final
cdef class Wanted:
    cdef readonly tuple place
    cdef readonly object one
    cdef readonly RecentPartition known
    cdef int64_t offset, most
    cdef int32_t epoch
    cdef Bounds bounds                # where the log begins and ends, if a broker has said so of late
    cdef RecentAnswer kept
    cdef object coming                # when the Fetch of another connection ends that is likely to bring it

    cdef bint is_missing(self) noexcept:
        return self.kept is None and self.coming is None

    cdef Bounds end(self):
        """What was told last of the log. `kept` may be None too, which has no bounds to look at."""
        if self.bounds is not None or self.kept is None:
            return self.bounds
        return self.kept.bounds


def wanted_of(list partitions not None, dict readers not None, partition_map not None, view not None, tuple kind not None,
              tuple key not None, str name not None, int64_t now_ns):
    cdef int32_t virtual = partition_map.virtual, physical = partition_map.physical, ratio = partition_map.ratio, index
    cdef Wanted wanted
    cdef list found = []
    reader, topic = view.number, view.topic(kind, key)
    for one in partitions:
        python_step()
        if type(one) is not ASKED or <int32_t>slot_value(one, FETCHED_EPOCH) != NO_EPOCH:
            return None
        wanted = Wanted.__new__(Wanted)
        number = slot_value(one, ASKED_INDEX)
        index = number
        wanted.place, wanted.one, wanted.known = (key, number), one, topic[number]
        wanted.offset, wanted.epoch = slot_value(one, ASKED_OFFSET), slot_value(one, ASKED_EPOCH)
        wanted.most = slot_value(one, ASKED_MOST)
        if wanted.known.place is None:
            wanted.known.place = view.place_of(name, index)
        sharing = ratio if ratio else (virtual - index + physical - 1) // physical
        wanted.known.note_reader(reader, wanted.offset, now_ns, sharing > len(readers[number]))
        found.append(wanted)
    return found


@cython.final
cdef class KnownPartitions:
    cdef bint is_committed
    cdef list all
    cdef readonly list kept, coming, missing

    def __init__(self, request not None, list wanted not None, int64_t now_ns, *, bint has_waited):
        cdef Wanted each
        cdef int64_t least = request.min_bytes
        self.is_committed = request.isolation_level == COMMITTED
        self.all, self.kept, self.coming, self.missing = wanted, [], [], []
        for each in wanted:
            python_step()
            each.bounds = each.known.bounds(each.epoch, now_ns)
            each.kept = each.known.find(each.offset, each.epoch, each.most, now_ns)
            if each.kept is not None:
                self.kept.append(each)
                continue
            each.coming = each.known.poll(
                each.offset, each.epoch, each.most, least, not has_waited, now_ns - LATE if self.more_of(each) else 0
            )
            if each.coming is None:
                self.missing.append(each)
            else:
                self.coming.append(each)

    cdef bint more_of(self, Wanted each) noexcept:
        """Whether the broker has records for a partition at once, as far as is known."""
        if each.bounds is None:
            return True
        return (each.bounds.last_stable_offset if self.is_committed else each.bounds.high_watermark) > each.offset

    def has_more(self, list some not None):
        cdef Wanted each
        for each in some:
            if self.more_of(each):
                return True
        return False

    def ends(self):
        return frozenset([(<Wanted>each).coming for each in self.coming])

    def has_all_ends(self, list some not None):
        cdef Wanted each
        for each in some:
            if each.end() is None:
                return False
        return True

    def given(self, int64_t most):
        cdef Wanted each
        cdef dict found = {}
        cdef int64_t size = 0
        for each in self.kept:
            python_step()
            if not found or size + len(each.kept.records) <= most:
                found[each.place] = each.kept
                size += len(each.kept.records)
        return found, size

    def unknown(self):
        cdef Wanted each
        return [each for each in self.all if each.is_missing() or each.end() is None]

    def left_out(self, dict sent not None):
        cdef Wanted each
        return [(each.place, each.end()) for each in self.all if each.place not in sent and each.end() is not None]

    def answer(self, dict given not None):
        cdef Wanted each
        cdef dict topics = {}
        cdef RecentAnswer answer
        cdef list partitions
        for each in self.all:
            python_step()
            part = told(each.place[1], each.end(), self.is_committed)
            answer = given.get(each.place)
            if answer is not None:
                set_slot(part, RECORDS, answer.records)
                set_slot(part, ABORTED, transactions(answer))
            key = each.place[0]
            partitions = topics.get(key)
            if partitions is None:
                partitions = topics[key] = []
            partitions.append(part)
        return topics


cpdef object told(index, Bounds bounds, bint is_committed):
    cdef object part = copy_of(PARTITION)
    set_slot(part, INDEX, index)
    set_slot(part, HIGH_WATERMARK, bounds.high_watermark)
    set_slot(part, STABLE, bounds.last_stable_offset)
    set_slot(part, LOG_START, bounds.log_start_offset)
    set_slot(part, ABORTED, new_list() if is_committed else None)
    return part


cdef list transactions(RecentAnswer answer):
    if answer.aborted is None:
        return None
    kind = FetchResponse.AbortedTransaction
    return [kind(producer_id=one, first_offset=first) for one, first in answer.aborted]
