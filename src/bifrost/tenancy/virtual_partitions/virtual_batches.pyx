# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Marks batches with the group of their virtual partition, and tells by the marks whose a fetched batch is.

    base_offset int64 | length int32 | leader_epoch int32 | magic int8 | crc uint32 | attributes int16 |
    last_offset_delta int32 | base_timestamp int64 | max_timestamp int64 | producer_id int64 | producer_epoch int16 |
    base_sequence int32 | count int32 | records

The mark is in the upper bits of the producer ID, which is outside what is compressed: a broker keeps it when it
recompresses a batch, compacts a log, or puts its own time in. Nothing is unpacked here, but for batches of transactions,
whose tag is in their records (tagged_batches.py), and in compacted topics those that consumers get (compacted/). The
markers of transactions are of no group: the consumers of each get those that stand before records of their own. Batches
in which compaction has left no record are of no group either.

A fetched partition may have a million small batches, or a thousand that unpack to 16 MiB each. So the loops over them
pause (wire/steps.pyx): nothing but the records themselves, which do not move, is kept across a pause.

Source: Kafka's DefaultRecordBatch.
"""

from typing import NamedTuple

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from bifrost.records.codec.errors import RecordsError
from bifrost.tenancy.virtual_partitions.compacted.keyed_batches import unkeyed_batch
from bifrost.tenancy.virtual_partitions.tagged_batches import is_abort, opened, without_tag

from bifrost.records.crc32c cimport checksum, checksum_changed
from bifrost.wire.steps cimport python_step

cdef enum:
    LENGTH = 8
    EPOCH = 12
    MAGIC = 16
    CRC = 17
    BASE_TIMESTAMP = 27
    MAX_TIMESTAMP = 35
    PRODUCER_ID = 43
    PRODUCER_EPOCH = 51
    BASE_SEQUENCE = 53
    UNCOUNTED = 12       # bytes that the length does not count
    CODEC = 0x07
    CONTROL = 0x20
    GROUP_SHIFT = 40     # brokers count producer IDs up from 0: a million a second for 12 days would reach it
    SMALL = 4096         # bytes that are copied sooner than an object is made for them
    MARKER = 24          # bytes of the longest record of a marker
    MOST_GROUPS = 4096   # of batches of transactions that are remembered: some 400 KiB for a request
    FAR = 0x7FFFFFFF     # how far the last offset of a batch may be from the first

# key (version 0, type 1: commit), value (version 0, coordinator epoch 0), no headers; lengths are varints before each
cdef uint8_t[13] KEY_AND_VALUE = [8, 0, 0, 0, 1, 12, 0, 0, 0, 0, 0, 0, 0]
cdef int64_t LAST_ID = <int64_t>GROUPS << GROUP_SHIFT
cdef int64_t FAR_BEHIND = 0x7FFFFFFFFFFFFFFF
MAX_PRODUCER_ID = <int64_t>1 << GROUP_SHIFT
CORRUPT, OLD_FORMAT, SEVERAL, TRANSACTIONAL, FOREIGN_PRODUCER = range(1, 6)

cdef enum:
    UNFIT = 1


class Own(NamedTuple):
    records: dict
    positions: dict
    end: int
    own_bytes: int
    aborts: list


class UnfitBatch(ValueError):
    def __init__(self, int fault, str reason):
        super().__init__(reason)
        self.fault = fault


cdef uint16_t get16(const uint8_t* p) noexcept:
    return <uint16_t>p[0] << 8 | p[1]

cdef uint32_t get32(const uint8_t* p) noexcept:
    return <uint32_t>p[0] << 24 | <uint32_t>p[1] << 16 | <uint32_t>p[2] << 8 | p[3]

cdef uint64_t get64(const uint8_t* p) noexcept:
    return <uint64_t>get32(p) << 32 | get32(p + 4)

cdef inline void put32(uint8_t* p, uint32_t value) noexcept:
    p[0], p[1], p[2], p[3] = value >> 24, value >> 16 & 0xFF, value >> 8 & 0xFF, value & 0xFF

cdef inline void put64(uint8_t* p, uint64_t value) noexcept:
    put32(p, <uint32_t>(value >> 32))
    put32(p + 4, <uint32_t>value)


def has_producer(records):
    cdef Py_buffer view
    PyObject_GetBuffer(records, &view, PyBUF_SIMPLE)
    try:
        return view.len >= HEADER and <int64_t>get64(<const uint8_t*>view.buf + PRODUCER_ID) >= 0
    finally:
        PyBuffer_Release(&view)


cdef int check(const uint8_t* p, Py_ssize_t size) except -1:
    """Raise UnfitBatch for what is no batch that a broker would take, or none that can be marked."""
    if size > MAGIC and p[MAGIC] != 2:
        raise UnfitBatch(OLD_FORMAT, f"a batch of format {p[MAGIC]}")
    if size < HEADER:
        raise UnfitBatch(CORRUPT, f"a batch of {size} bytes")
    if <int64_t><int32_t>get32(p + LENGTH) + UNCOUNTED < size:
        raise UnfitBatch(SEVERAL, "bytes behind the first batch")
    if <int64_t><int32_t>get32(p + LENGTH) + UNCOUNTED > size:
        raise UnfitBatch(CORRUPT, "a batch that is cut off")
    # It gets another one, so it must be right before: else what was spoilt on the way would be stored as if it were not.
    if checksum(p + ATTRIBUTES, size - ATTRIBUTES) != get32(p + CRC):
        raise UnfitBatch(CORRUPT, "a batch with a wrong checksum")
    if get16(p + ATTRIBUTES) & (TRANSACTION | CONTROL):
        raise UnfitBatch(TRANSACTIONAL, "a batch of a transaction")
    if <int64_t>get64(p + PRODUCER_ID) >> GROUP_SHIFT > 0:
        raise UnfitBatch(FOREIGN_PRODUCER, "a producer ID that no broker has given")
    return 0


cdef int fault_in(const uint8_t* p, Py_ssize_t size) noexcept:
    """UNFIT if `check` would refuse a batch for what is in its header; its checksum is not compared."""
    if size < HEADER or p[MAGIC] != 2 or <int64_t><int32_t>get32(p + LENGTH) + UNCOUNTED != size:
        return UNFIT
    if get16(p + ATTRIBUTES) & (TRANSACTION | CONTROL) or <int64_t>get64(p + PRODUCER_ID) >> GROUP_SHIFT > 0:
        return UNFIT
    return 0

cdef bint names_producer(const uint8_t* p) noexcept:
    return <int64_t>get64(p + PRODUCER_ID) >= 0

cdef bint mark_header(uint8_t* header, Py_ssize_t size, int group, int64_t producer_id, int producer_epoch) noexcept:
    """Mark the header of a batch of so many bytes; False: it has no producer ID, and the given one is none.

    The checksum is changed, not computed: one that was wrong stays wrong, and the broker refuses the batch.
    """
    cdef uint8_t[COUNT - PRODUCER_ID] change
    cdef int64_t own = <int64_t>get64(header + PRODUCER_ID)
    cdef int i
    memcpy(change, header + PRODUCER_ID, sizeof(change))
    if own < 0:
        if producer_id < 0 or producer_id >> GROUP_SHIFT:
            return False
        own = producer_id
        header[PRODUCER_EPOCH] = producer_epoch >> 8 & 0xFF
        header[PRODUCER_EPOCH + 1] = producer_epoch & 0xFF
        put32(header + BASE_SEQUENCE, 0)
    put64(header + PRODUCER_ID, <uint64_t>own + (<uint64_t>group << GROUP_SHIFT))
    for i in range(COUNT - PRODUCER_ID):
        change[i] ^= header[PRODUCER_ID + i]
    put32(header + CRC, checksum_changed(get32(header + CRC), change, sizeof(change), size - COUNT))
    return True


def marked_batch(records, int group, int64_t producer_id=-1, int producer_epoch=-1):
    cdef Py_buffer view
    cdef const uint8_t* p
    cdef uint8_t[HEADER] header
    PyObject_GetBuffer(records, &view, PyBUF_SIMPLE)
    try:
        p = <const uint8_t*>view.buf
        check(p, view.len)
        if not group:
            return records
        memcpy(header, p, HEADER)
        if not mark_header(header, view.len, group, producer_id, producer_epoch):
            raise UnfitBatch(FOREIGN_PRODUCER, "no producer ID that a broker has given")
        return PyBytes_FromStringAndSize(<const char*>header, HEADER), memoryview(records)[HEADER:]
    finally:
        PyBuffer_Release(&view)


cdef bytes marker_batch(int64_t base, int64_t last, uint32_t leader_epoch):
    """Return a batch that stands for the offsets from `base` to `last`: a marker of a commit, as brokers write them.

    Clients go on behind a marker, and show none to the application. A batch without records, as compaction leaves them,
    will not do: librdkafka takes an answer without records for one that had no room for a record, doubles what it asks
    for, and after ten of them tells the application that a message is too large. It commits its last record, but goes
    on to a marker, so that it gets to the end of the partition. The marker is of no producer, so it ends no transaction.

    Source: rd_kafka_msgset_reader_run, rd_kafka_op_is_ctrl_msg; Kafka's EndTransactionMarker and DefaultRecord.
    """
    cdef uint8_t[HEADER + MARKER] batch
    cdef uint8_t* record = &batch[HEADER]
    cdef uint32_t left = <uint32_t>(last - base) << 1     # a varint of what is not negative
    cdef Py_ssize_t size = 4
    memset(batch, 0, HEADER + MARKER)
    while left > 0x7F:
        record[size - 1] = left & 0x7F | 0x80
        left >>= 7
        size += 1
    record[size - 1] = left
    memcpy(record + size, KEY_AND_VALUE, sizeof(KEY_AND_VALUE))
    size += sizeof(KEY_AND_VALUE)
    record[0] = (size - 1) << 1
    size += HEADER
    put64(batch, <uint64_t>base)
    put32(batch + LENGTH, size - UNCOUNTED)
    put32(batch + EPOCH, leader_epoch)
    batch[MAGIC] = 2
    batch[ATTRIBUTES + 1] = TRANSACTION | CONTROL
    put32(batch + LAST_DELTA, <uint32_t>(last - base))
    memset(batch + BASE_TIMESTAMP, 0xFF, COUNT - BASE_TIMESTAMP)  # no time, no producer
    put32(batch + COUNT, 1)
    put32(batch + CRC, checksum(batch + ATTRIBUTES, size - ATTRIBUTES))
    return PyBytes_FromStringAndSize(<const char*>batch, size)


cdef class Pieces:
    """Fetched records of one group, while they are put together.

    What is small is copied into one buffer, so that a million small batches are not a million objects.
    """
    cdef int take_controls(self, list controls) except -1:
        """Take the markers of transactions that stand before a batch of its own."""
        cdef Py_ssize_t at, size
        cdef int64_t last, before
        cdef uint32_t leader_epoch
        while self.controls < len(controls):
            python_step()
            at, size, last, before, leader_epoch = controls[self.controls]
            self.controls += 1
            if last >= self.next:
                self.own(at, size, last, before, leader_epoch)
        return 0

    cdef int changed(self, bytes batch, int64_t last, int64_t before, uint32_t leader_epoch) except -1:
        """Take a batch that is not as it was fetched."""
        if before >= self.next:
            self.skip(before, leader_epoch)
        self.end_run()
        if len(batch) < SMALL:
            self.small += batch
        else:
            self.end_small()
            self.made.append(batch)
        self.next = last + 1
        self.own_bytes += len(batch)
        return 0

    cdef int own(self, Py_ssize_t at, Py_ssize_t size, int64_t last, int64_t before, uint32_t leader_epoch) except -1:
        if before >= self.next:
            self.skip(before, leader_epoch)
        if self.end != at or self.end == self.begin:
            self.end_run()
            self.begin = at
        self.end = at + size
        self.next = last + 1
        self.own_bytes += size
        return 0

    cdef int skip(self, int64_t last, uint32_t leader_epoch) except -1:
        """Let a marker stand for the offsets until `last`."""
        self.end_run()
        # What has no place in a batch is left out, as compaction may leave out what is between two batches.
        base = self.next if last - self.next <= FAR else last
        self.small += marker_batch(base, last, leader_epoch)
        self.next = last + 1
        return 0

    cdef int end_run(self) except -1:
        cdef Py_ssize_t size = self.end - self.begin
        if size and size < SMALL:
            self.small += self.source[self.begin:self.end]
        elif size:
            self.end_small()
            self.made.append(self.source[self.begin:self.end])
        self.begin = self.end = 0
        return 0

    cdef int end_small(self) except -1:
        if self.small:
            self.made.append(bytes(self.small))
            self.small = bytearray()
        return 0


cdef Pieces new_pieces(object source, int64_t from_offset):
    cdef Pieces pieces = Pieces()
    pieces.source, pieces.made, pieces.small, pieces.next = source, [], bytearray(), from_offset
    return pieces


cdef Py_ssize_t size_of(const uint8_t* p, Py_ssize_t left) except -1:
    """Return the size of the batch at `p`, 0 if it is cut off. Where there is one there may be a pause."""
    cdef Py_ssize_t size = <Py_ssize_t><int32_t>get32(p + LENGTH) + UNCOUNTED
    if size > left and size > UNCOUNTED:
        return 0
    if p[MAGIC] != 2:
        raise UnfitBatch(OLD_FORMAT, f"a batch of format {p[MAGIC]}")
    if size < HEADER:
        raise UnfitBatch(CORRUPT, f"a batch of {size} bytes")
    if <int32_t>get32(p + LAST_DELTA) < 0:
        raise UnfitBatch(CORRUPT, "a batch that ends before it begins")
    python_step(OPENED_ROUNDS if get16(p + ATTRIBUTES) & TRANSACTION else 1)
    return size


cdef bint is_control(const uint8_t* p) noexcept:
    return get16(p + ATTRIBUTES) & CONTROL != 0


cdef tuple open_batch(object batch, bint is_keyed):
    """Return the group of a batch of a transaction, and its records unpacked."""
    try:
        return opened(batch, is_keyed=is_keyed)
    except RecordsError as error:
        raise UnfitBatch(CORRUPT, str(error)) from None


cdef bytes without_groups(object batch, int group, object section):
    """Return a batch of a compacted topic as its producer has written it."""
    try:
        return unkeyed_batch(batch, group, section)
    except RecordsError as error:
        raise UnfitBatch(CORRUPT, str(error)) from None


cdef int group_of(const uint8_t* p, object source, Py_ssize_t at, Py_ssize_t size, bint is_keyed) except -1:
    """Return the group of any batch of records; GROUPS: none that there can be."""
    if not get32(p + COUNT):
        return GROUPS
    if get16(p + ATTRIBUTES) & TRANSACTION:
        return open_batch(source[at:at + size], is_keyed)[0]
    return group_at(p)


cdef int known_group_of(
    const uint8_t* p, object source, Py_ssize_t at, Py_ssize_t size, bint is_keyed, dict groups
) except -1:
    """Return it likewise, and remember it if it stands in compressed records: they may unpack to 16 MiB."""
    cdef int group
    if groups is None or not get16(p + ATTRIBUTES) & TRANSACTION or not get16(p + ATTRIBUTES) & CODEC:
        return group_of(p, source, at, size, is_keyed)
    begin = PyBytes_FromStringAndSize(<const char*>p, ATTRIBUTES)  # its offset, length and checksum
    found = groups.get(begin)
    if found is not None:
        return found
    group = group_of(p, source, at, size, is_keyed)
    if len(groups) < MOST_GROUPS:
        groups[begin] = group
    return group


cdef int group_at(const uint8_t* p) noexcept:
    """Return the group that the producer ID of the batch at `p` says; GROUPS: none that there can be."""
    cdef int64_t producer_id = <int64_t>get64(p + PRODUCER_ID)
    if producer_id >= LAST_ID:
        return GROUPS
    return <int>(producer_id >> GROUP_SHIFT) if producer_id > 0 else 0


def own_records(records, dict from_offsets, int64_t until=FAR_BEHIND, bint is_keyed=False):
    cdef Py_buffer view
    cdef const uint8_t* p
    cdef Py_ssize_t at = 0, size
    cdef int64_t last = -1, before = -1
    cdef uint32_t leader_epoch = 0
    cdef int group
    cdef Pieces pieces
    cdef list by_group = [None] * GROUPS, controls = [], aborts = []
    source = memoryview(records)
    for group, offset in from_offsets.items():
        by_group[group] = new_pieces(source, offset)
    PyObject_GetBuffer(records, &view, PyBUF_SIMPLE)
    try:
        while view.len - at > MAGIC:
            p = <const uint8_t*>view.buf + at
            size = size_of(p, view.len - at)
            if not size:
                break
            if <int64_t>get64(p) <= last:
                raise UnfitBatch(CORRUPT, "a batch that begins before the one before it ends")
            before, last = last, <int64_t>get64(p) + <int32_t>get32(p + LAST_DELTA)
            if is_control(p):
                controls.append((at, size, last, before, leader_epoch))
                if is_abort(source[at:at + size]):
                    aborts.append((<int64_t>get64(p + PRODUCER_ID), last))
            else:
                divide_batch(p, source, at, size, last, before, leader_epoch, is_keyed, by_group, controls)
            leader_epoch = get32(p + EPOCH)
            at += size
        own_bytes = 0
        found, positions = {}, {}
        for group in from_offsets:
            pieces = by_group[group]
            own_bytes += pieces.own_bytes
            found[group] = all_of(pieces, records, view.len, min(last, until - 1), leader_epoch)
            positions[group] = pieces.next
        return Own(found, positions, last + 1, own_bytes, aborts)
    finally:
        PyBuffer_Release(&view)


cdef int divide_batch(const uint8_t* p, object source, Py_ssize_t at, Py_ssize_t size, int64_t last, int64_t before,
                      uint32_t leader_epoch, bint is_keyed, list by_group, list controls) except -1:
    """Give a batch to its group."""
    cdef bint is_tagged = get16(p + ATTRIBUTES) & TRANSACTION
    cdef int group
    cdef Pieces pieces
    batch = section = None
    if not get32(p + COUNT):
        return 0
    if is_tagged:
        batch = source[at:at + size]
        group, section = open_batch(batch, is_keyed)
    else:
        group = group_at(p)
    pieces = by_group[group] if group < GROUPS else None
    if pieces is None or last < pieces.next:
        return 0
    pieces.take_controls(controls)
    if is_keyed:
        python_step(OPENED_ROUNDS)
        pieces.changed(without_groups(source[at:at + size], group, section), last, before, leader_epoch)
    elif is_tagged and group:
        pieces.changed(without_tag(batch, section), last, before, leader_epoch)
    else:
        pieces.own(at, size, last, before, leader_epoch)
    return 0


cdef object all_of(Pieces pieces, object records, Py_ssize_t size, int64_t last, uint32_t leader_epoch):
    """Return the records of a group at the end of all, and a marker until `last`."""
    if pieces.begin == 0 and pieces.end == size and not pieces.made and not pieces.small:
        return records
    if last >= pieces.next:
        pieces.skip(last, leader_epoch)
    pieces.end_run()
    pieces.end_small()
    return tuple(pieces.made)


def last_offsets(records, int64_t until, bint is_keyed=False):
    cdef Py_buffer view
    cdef const uint8_t* p
    cdef Py_ssize_t at = 0, size
    cdef int64_t base, end = -1
    cdef int64_t[GROUPS] last
    cdef int group
    source = memoryview(records)
    memset(last, 0xFF, sizeof(last))
    PyObject_GetBuffer(records, &view, PyBUF_SIMPLE)
    try:
        while view.len - at > MAGIC and end < until:
            p = <const uint8_t*>view.buf + at
            size = size_of(p, view.len - at)
            if not size:
                break
            base = <int64_t>get64(p)
            if base < end:
                raise UnfitBatch(CORRUPT, "a batch that begins before the one before it ends")
            end = base + <int32_t>get32(p + LAST_DELTA) + 1
            if base < until and not is_control(p):
                group = group_of(p, source, at, size, is_keyed)
                if group < GROUPS:
                    last[group] = end - 1
            at += size
    finally:
        PyBuffer_Release(&view)
    return end, {group: last[group] for group in range(GROUPS) if last[group] >= 0}


def first_batch(records, int wanted, int64_t from_offset, int64_t time_ms, dict groups=None, bint is_keyed=False):
    cdef Py_buffer view
    cdef const uint8_t* p
    cdef Py_ssize_t at = 0, size
    cdef int64_t end = -1
    source = memoryview(records)
    PyObject_GetBuffer(records, &view, PyBUF_SIMPLE)
    try:
        while view.len - at > MAGIC:
            p = <const uint8_t*>view.buf + at
            size = size_of(p, view.len - at)
            if not size:
                break
            if <int64_t>get64(p) < end:
                raise UnfitBatch(CORRUPT, "a batch that begins before the one before it ends")
            end = <int64_t>get64(p) + <int32_t>get32(p + LAST_DELTA) + 1
            if end > from_offset and <int64_t>get64(p + MAX_TIMESTAMP) >= time_ms and not is_control(p):
                if known_group_of(p, source, at, size, is_keyed, groups) == wanted:
                    return end, source[at:at + size]
            at += size
    finally:
        PyBuffer_Release(&view)
    return end, None


def around(records, dict cuts, bint is_keyed=False):
    cdef Py_buffer view
    cdef const uint8_t* p
    cdef Py_ssize_t at = 0, size
    cdef int64_t base, end = -1
    cdef int64_t[GROUPS] cut, last, first
    cdef int group
    source = memoryview(records)
    memset(last, 0xFF, sizeof(last))
    memset(first, 0xFF, sizeof(first))
    memset(cut, 0xFF, sizeof(cut))
    for group, offset in cuts.items():
        if not 0 <= group < GROUPS or offset < 0:
            raise ValueError(f"group {group} is not cut at {offset}")
        cut[group] = offset
    PyObject_GetBuffer(records, &view, PyBUF_SIMPLE)
    try:
        while view.len - at > MAGIC:
            p = <const uint8_t*>view.buf + at
            size = size_of(p, view.len - at)
            if not size:
                break
            base = <int64_t>get64(p)
            if base < end:
                raise UnfitBatch(CORRUPT, "a batch that begins before the one before it ends")
            end = base + <int32_t>get32(p + LAST_DELTA) + 1
            group = GROUPS if is_control(p) else group_of(p, source, at, size, is_keyed)
            if group < GROUPS and cut[group] >= 0:
                if base < cut[group]:
                    last[group] = min(end, cut[group]) - 1
                if end > cut[group] and first[group] < 0:
                    first[group] = max(base, cut[group])
            at += size
    finally:
        PyBuffer_Release(&view)
    before = {group: last[group] for group in range(GROUPS) if last[group] >= 0}
    return end, before, {group: first[group] for group in range(GROUPS) if first[group] >= 0}


def latest_batches(records, int64_t until, bint is_keyed=False):
    cdef Py_buffer view
    cdef const uint8_t* p
    cdef Py_ssize_t at = 0, size
    cdef int64_t base, end = -1
    cdef int64_t[GROUPS] time_ms
    cdef int group
    source, found = memoryview(records), {}
    PyObject_GetBuffer(records, &view, PyBUF_SIMPLE)
    try:
        while view.len - at > MAGIC and end < until:
            p = <const uint8_t*>view.buf + at
            size = size_of(p, view.len - at)
            if not size:
                break
            base = <int64_t>get64(p)
            if base < end:
                raise UnfitBatch(CORRUPT, "a batch that begins before the one before it ends")
            end = base + <int32_t>get32(p + LAST_DELTA) + 1
            if base < until and not is_control(p):
                group = group_of(p, source, at, size, is_keyed)
                if group < GROUPS and (group not in found or <int64_t>get64(p + MAX_TIMESTAMP) > time_ms[group]):
                    time_ms[group] = <int64_t>get64(p + MAX_TIMESTAMP)
                    found[group] = time_ms[group], source[at:at + size]
            at += size
    finally:
        PyBuffer_Release(&view)
    return end, found


def of_group(int64_t producer_id, int group):
    """Return the producer ID that the client knows; -1: the batch is of another group."""
    if (producer_id >> GROUP_SHIFT if producer_id > 0 else 0) != group:
        return -1
    return producer_id & (MAX_PRODUCER_ID - 1) if producer_id > 0 else producer_id
