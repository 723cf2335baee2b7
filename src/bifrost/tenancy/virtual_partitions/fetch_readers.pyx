# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The virtual partitions that one Fetch reads, by the physical ones that have their records.

    request   virtual partitions v, w of p, each at its offset ──▶ p, from the lowest of what is to be fetched for them
    answer    p and its records ──▶ v and w, each with its own records and the end of its own partition

Most partitions of a Fetch have nothing new, and a consumer asks for all of them each time: so both ways are compiled.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t

from bifrost.tenancy.virtual_partitions.partition_end import least_end
from bifrost.tenancy.virtual_partitions.virtual_batches import OLD_FORMAT, UnfitBatch, own_records
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import FetchRequest, FetchResponse

from bifrost.tenancy.virtual_partitions.scanned_offsets cimport ScannedOffsets, after
from bifrost.wire.slots cimport copy_of, new_list, set_slot, slot_of, slot_value
from bifrost.wire.steps cimport python_step

cdef int64_t FAR = 0x7FFFFFFFFFFFFFFF
cdef int CORRUPT_MESSAGE = ErrorCode.CORRUPT_MESSAGE
cdef int UNSUPPORTED_FORMAT = ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
cdef type ASKED = FetchRequest.FetchPartition, SHOWN = FetchResponse.PartitionData
cdef Py_ssize_t NUMBER = slot_of(ASKED, "partition"), OFFSET = slot_of(ASKED, "fetch_offset")
cdef Py_ssize_t EPOCH = slot_of(ASKED, "current_leader_epoch"), MOST = slot_of(ASKED, "partition_max_bytes")
cdef Py_ssize_t INDEX = slot_of(SHOWN, "partition_index"), ERROR = slot_of(SHOWN, "error_code")
cdef Py_ssize_t HIGH_WATERMARK = slot_of(SHOWN, "high_watermark"), STABLE = slot_of(SHOWN, "last_stable_offset")
cdef Py_ssize_t LOG_START = slot_of(SHOWN, "log_start_offset"), ABORTED = slot_of(SHOWN, "aborted_transactions")
cdef Py_ssize_t RECORDS = slot_of(SHOWN, "records")


@cython.final
cdef class FetchReader:
    cdef readonly int32_t partition, group, leader_epoch
    cdef readonly int64_t offset, asked


@cython.final
cdef class FetchReaders:
    cdef list all
    cdef dict places                  # of those in the list, by group, once there are several
    cdef object part                  # what the broker is asked for
    cdef Py_ssize_t at                # which of the request

    def __len__(self):
        return len(self.all)

    @property
    def by_group(self):
        return {(<FetchReader>reader).group: reader for reader in self.all}

    cdef int add(self, FetchReader reader) except -1:
        """Add a reader, or put it in the place of one of the same group."""
        cdef FetchReader known
        if self.places is None:
            known = self.all[0]
            if known.group == reader.group:
                self.all[0] = reader
                return 0
            self.places = {known.group: 0}
        place = self.places.get(reader.group)
        if place is None:
            self.places[reader.group] = len(self.all)
            self.all.append(reader)
        else:
            self.all[<Py_ssize_t>place] = reader
        return 0

    cdef int64_t lowest(self) except? -2:
        """Where the broker was asked from."""
        cdef FetchReader reader
        cdef int64_t lowest = FAR
        for reader in self.all:
            lowest = min(lowest, reader.asked)
        return lowest

    cdef dict offsets(self):
        """The offset at which the consumer of each group is."""
        return {(<FetchReader>reader).group: (<FetchReader>reader).offset for reader in self.all}

    cdef list parts(self, partition):
        """Return a partition of the answer for each reader; the last one is the broker's own."""
        cdef FetchReader reader
        cdef list made = []
        cdef Py_ssize_t left = len(self.all)
        for reader in self.all:
            python_step()
            left -= 1
            part = copy_of(partition) if left else partition
            set_slot(part, INDEX, reader.partition)
            made.append(part)
        return made


def ask(dict readers not None, list partitions not None, tuple key not None, partition_map not None,
        ScannedOffsets scanned not None, set has_start not None, begin_of, refuse not None):
    cdef int32_t virtual = partition_map.virtual, physical = partition_map.physical, ratio = partition_map.ratio
    cdef int32_t number, group, index, epoch, leader_epoch
    cdef int64_t offset, asked, most
    cdef list found = []
    cdef dict known = scanned.of_topic(key)
    cdef tuple place
    cdef FetchReader reader
    cdef FetchReaders sharing
    for one in partitions:
        python_step()
        if type(one) is not ASKED:
            raise TypeError(f"no partition of a Fetch: {type(one).__name__}")
        name = slot_value(one, NUMBER)
        number, offset, leader_epoch = name, slot_value(one, OFFSET), slot_value(one, EPOCH)
        if not 0 <= number < virtual:
            refuse(number)
            continue
        if ratio:
            index, group = number // ratio, number % ratio
        else:
            group, index = number // physical, number % physical
        asked = after(known, name, offset, leader_epoch)
        if begin_of is not None and asked == offset:
            place = (key, name)
            if place not in has_start and scanned.may_begin(place, offset):
                asked = begin_of(index, group, offset)
        reader = FetchReader.__new__(FetchReader)
        reader.partition, reader.group, reader.leader_epoch = number, group, leader_epoch
        reader.offset, reader.asked = offset, asked
        sharing = readers.get(index)
        if sharing is None:
            sharing = readers[index] = FetchReaders.__new__(FetchReaders)
            sharing.all, sharing.part, sharing.at = [reader], None, len(found)
            most, epoch = max(0, <int64_t>slot_value(one, MOST)), max(-1, leader_epoch)
            found.append(one)
        else:
            sharing.add(reader)
            most = max(<int64_t>slot_value(sharing.part, MOST), <int64_t>slot_value(one, MOST))
            epoch = max(<int32_t>slot_value(sharing.part, EPOCH), leader_epoch)
        if sharing.part is None or asked < <int64_t>slot_value(sharing.part, OFFSET):
            set_slot(one, NUMBER, index)
            set_slot(one, OFFSET, asked)
            sharing.part = found[sharing.at] = one
        set_slot(sharing.part, MOST, most)
        set_slot(sharing.part, EPOCH, epoch)
    return found


@cython.final
cdef class FetchDivision:
    cdef ScannedOffsets scanned
    cdef bint is_committed
    cdef object keep, refuse
    cdef readonly int64_t own_bytes, foreign_bytes
    cdef readonly bint has_no_room

    def __init__(self, ScannedOffsets scanned not None, *, bint is_committed, keep, refuse not None):
        self.scanned, self.is_committed = scanned, is_committed
        self.keep, self.refuse = keep, refuse

    def divided(self, list partitions not None, tuple key not None, dict readers not None, bint is_keyed):
        cdef FetchReaders sharing
        cdef list shown = [], parts
        for partition in partitions:
            python_step()
            if type(partition) is not SHOWN:
                raise TypeError(f"no partition of an answer to a Fetch: {type(partition).__name__}")
            index = slot_value(partition, INDEX)
            sharing = readers.get(index)
            if sharing is None:
                continue
            parts = sharing.parts(partition)
            if <int>slot_value(partition, ERROR):
                self.refuse(key, list(zip(parts, sharing.all)))
            else:
                self.give(key, index, partition, sharing, parts, is_keyed)
            shown += parts
        return shown

    cdef int give(self, tuple key, index, partition, FetchReaders sharing, list parts, bint is_keyed) except -1:
        """Give each virtual partition its own records, and its own end as far as the answer reaches that.

        Of the last part the records and ends are still those of the physical partition, which may be kept.
        """
        cdef FetchReader reader
        cdef int64_t end = slot_value(partition, HIGH_WATERMARK), stable = slot_value(partition, STABLE)
        cdef int64_t lowest = sharing.lowest(), read_to = 0, position, fetched_to
        cdef Py_ssize_t number = 0
        cdef dict positions = {}, own_of = {}
        cdef list aborts = []
        cdef bint has_room = self.scanned.has_room(len(sharing.all))
        records = slot_value(partition, RECORDS)
        if self.is_committed and stable >= 0:
            end = min(end, stable)
        if not has_room:
            self.has_no_room = True
        if records:
            # A consumer that is before the start of the log, which nothing can bring back, is moved to it.
            until = max(<int64_t>least_end(end), <int64_t>slot_value(partition, LOG_START)) if has_room else FAR
            try:
                own = own_records(records, sharing.offsets(), until, is_keyed)
            except UnfitBatch as unfit:
                for part in parts:
                    part.records = b""
                    part.error_code = UNSUPPORTED_FORMAT if unfit.fault == OLD_FORMAT else CORRUPT_MESSAGE
                return 0
            own_of, positions, read_to, aborts = own.records, own.positions, own.end, own.aborts
            self.own_bytes += own.own_bytes
            self.foreign_bytes += len(records) - own.own_bytes
        if self.keep is not None:
            self.keep((key, index), partition, records or b"", read_to)
        for reader in sharing.all:
            python_step()
            part, position = parts[number], reader.offset
            number += 1
            if records:
                set_slot(part, RECORDS, own_of[reader.group])
                position = positions[reader.group]
            transactions = slot_value(part, ABORTED)
            if transactions:
                set_slot(part, ABORTED, aborted(transactions, aborts, reader.offset))
            if reader.asked < reader.offset and read_to:
                self.scanned.note_begun((key, reader.partition), reader.offset)
            fetched_to = max(read_to, lowest, reader.asked)
            self.scanned.note_of(key, slot_value(part, INDEX), position, fetched_to, reader.leader_epoch)
            if 0 <= end <= fetched_to:
                set_slot(part, HIGH_WATERMARK, position)
                set_slot(part, STABLE, min(stable, position))
        return 0


cdef list aborted(list transactions, list aborts, int64_t offset):
    """The aborted transactions of a physical partition that a consumer at an offset has to know.

    The broker names those that end behind the lowest offset that it was asked for. A consumer that is further would look
    for the markers of those that end before its own, and drop what the same producer has committed since.
    """
    cdef list found = new_list()
    for one in transactions:
        python_step()
        for producer_id, marker in aborts:
            if producer_id == one.producer_id and one.first_offset <= marker < offset:
                break
        else:
            found.append(one)
    return found
