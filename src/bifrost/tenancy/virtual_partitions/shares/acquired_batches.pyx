# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Divides what a member of a share group has acquired of a physical partition (KIP-932) among its virtual partitions.

    acquired     |0 ─────────────────── 9|12 ── 13|     offsets, whatever lies there
    batches      [0 a 3][4 c][5 b 7][8 a 9][12 b 13]    a, b: virtual partitions, c: a marker of a transaction
    a gets       |0 ── 3|           |8 ─ 9|
    b gets               |4 ──── 7|        |12 ── 13|   c is a gap in it, which the member acknowledges as such

What is acquired has to be acknowledged, so each acquired offset goes to one virtual partition: what lies in no batch, or
in one that is nobody's, to that of the next batch, at the end to that of the last one. What belongs to a virtual
partition that this process does not know goes to nobody: its lock ends, and the broker gives it out again.

Source: Kafka's SharePartition.acquire, ShareCompletedFetch.
"""

from typing import NamedTuple

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t

from bifrost.tenancy.virtual_partitions.tagged_batches import without_tag
from bifrost.tenancy.virtual_partitions.virtual_batches import CORRUPT, UnfitBatch

from bifrost.tenancy.virtual_partitions.virtual_batches cimport (
    ATTRIBUTES,
    COUNT,
    GROUPS,
    HEADER,
    LAST_DELTA,
    OPENED_ROUNDS,
    TRANSACTION,
    Pieces,
    get16,
    get32,
    get64,
    group_at,
    is_control,
    new_pieces,
    open_batch,
    size_of,
    without_groups,
)
from bifrost.wire.steps cimport python_step

cdef enum:
    NOBODY = -1


Range = tuple[int, int, int]


class Acquired(NamedTuple):
    records: tuple
    ranges: list
    own_bytes: int


cdef class Part:
    """What one virtual partition gets."""
    cdef Pieces pieces
    cdef list ranges
    cdef Py_ssize_t of                  # which acquired range its last offsets are a part of
    cdef int64_t last                   # of its offsets

    cdef int take(self, Py_ssize_t of, int64_t first, int64_t last, object count) except -1:
        """Add offsets; those behind the last ones of the same range are joined to them."""
        if self.of == of and self.last == first - 1:
            first = self.ranges.pop()[0]
        self.ranges.append((first, last, count))
        self.of, self.last = of, last
        return 0


cdef Part new_part(object source):
    cdef Part part = Part()
    part.pieces, part.ranges, part.of, part.last = new_pieces(source, 0), [], NOBODY, NOBODY
    return part


cdef class Ranges:
    """What is acquired, from its beginning on."""
    cdef list ranges
    cdef Py_ssize_t at
    cdef int64_t begin                  # the first offset that nobody has got

    cdef bint give(self, Part part, int64_t base, int64_t until) except -1:
        """Give what is acquired up to an offset to a part, None: to nobody; return whether any is not before `base`."""
        cdef int64_t first, last, here
        cdef bint is_wanted = False
        while self.at < len(self.ranges):
            python_step()
            first, last, count = self.ranges[self.at]
            first = max(first, self.begin)
            if first > until:
                break
            here = min(last, until)
            if first <= here:
                is_wanted = is_wanted or here >= base
                if part is not None:
                    part.take(self.at, first, here, count)
            if last > until:
                self.begin = until + 1
                break
            self.at += 1
        return is_wanted


def acquired_batches(records, ranges, groups, bint is_keyed=False):
    cdef Py_buffer view
    cdef const uint8_t* p
    cdef Py_ssize_t at = 0, size
    cdef int64_t base, last = -1
    cdef int group
    cdef Part part, owner = None
    cdef Ranges acquired = Ranges()
    cdef dict parts = {}
    acquired.ranges, acquired.at, acquired.begin = sorted(ranges), 0, 0
    known = frozenset(groups)
    source = memoryview(records)
    PyObject_GetBuffer(records, &view, PyBUF_SIMPLE)
    try:
        while view.len - at >= HEADER:
            p = <const uint8_t*>view.buf + at
            size = size_of(p, view.len - at)
            if not size:
                break
            base = <int64_t>get64(p)
            if base <= last:
                raise UnfitBatch(CORRUPT, "a batch that begins before the one before it ends")
            last = base + <int32_t>get32(p + LAST_DELTA)
            if get32(p + COUNT) and not is_control(p):
                batch = section = None
                if get16(p + ATTRIBUTES) & TRANSACTION:
                    batch = source[at:at + size]
                    group, section = open_batch(batch, is_keyed)
                    group = NOBODY if group == GROUPS else group
                else:
                    group = group_at(p)
                if group in known:
                    part = parts.get(group)
                    if part is None:
                        part = parts[group] = new_part(source)
                    owner = part
                    if acquired.give(part, base, last):
                        add(part.pieces, source, at, size, group, is_keyed, batch, section)
                elif group != NOBODY:
                    acquired.give(None, base, last)
            at += size
        if owner is None and known:
            owner = parts[min(known)] = new_part(source)
        acquired.give(owner, last, last)
    finally:
        PyBuffer_Release(&view)
    return {group: of_part(part) for group, part in parts.items() if (<Part>part).ranges}


cdef int add(Pieces pieces, object source, Py_ssize_t at, Py_ssize_t size, int group, bint is_keyed, object batch,
             object section) except -1:
    """Add a batch as its member gets it. No marker stands for what is between two: a member has no position."""
    if is_keyed:
        python_step(OPENED_ROUNDS)
        pieces.changed(without_groups(source[at:at + size], group, section), 0, -1, 0)
    elif batch is not None and group:
        pieces.changed(without_tag(batch, section), 0, -1, 0)
    else:
        pieces.own(at, size, 0, -1, 0)
    return 0


cdef object of_part(Part part):
    part.pieces.end_run()
    part.pieces.end_small()
    return Acquired(tuple(part.pieces.made), part.ranges, part.pieces.own_bytes)
