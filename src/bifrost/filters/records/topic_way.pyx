# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The way of a topic's records through the steps of its transforms, on the hot path (rewriting.pyx).

Batch by batch the checksum is compared and each step taken. What the steps have nothing to say about, and whatever is
unusual, is left to the filters of records, which decode the message and know every error: nothing of it has an effect here.
So this must be as strict as they are: `RecordWork` has the same rules in Python.
"""

cimport cython
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from bifrost.filters.records.read_orders import LIMIT as ORDERS_LIMIT
from bifrost.filters.records.read_orders import OrderedPartition
from bifrost.filters.records.transform_meter import TransformKey
from bifrost.records.codec.errors import RecordsError
from bifrost.transforms.record_transform import Direction, SteppedTransform

from bifrost.records.batch_header cimport (
    ATTRIBUTES_AT, CONTROL, COUNT_AT, CRC_AT, CRC_FROM, HEADER, LAST_OFFSET_DELTA_AT, LENGTH_AT, MAGIC_AT,
    PRODUCER_EPOCH_AT, PRODUCER_ID_AT, SEQUENCE_AT, UNCOUNTED
)
from bifrost.records.crc32c cimport checksum
from bifrost.transforms.batch_step cimport Batch, BatchStep, BatchTrip
from bifrost.wire.reader cimport Reader, be16, be32, be64, out_of_steps
from bifrost.wire.rewriting cimport RECORD_BYTES, RecordTrip, RecordWay
from bifrost.wire.window cimport window

cdef enum:
    MAGIC = 2
    MOST_STEPS = 4         # of a chain: each filter may be there once, and two of them have steps
    ROUND_RECORDS = 2      # records that stand for a round, beside their bytes
    KEPT_PARTITIONS = 1000 # of a topic, of which the steps are kept
    TRIES = 3              # of a frame: by the relay, by the session, and in slices
    KEPT_NS = 10_000_000   # how long the answers of sources serve: to ask takes longer than to seal 16 KiB, and what the
                           # sources themselves keep they keep for seconds at the least


cdef class Passed:
    """What was done on one way for one message."""
    cdef TopicWay way
    cdef int64_t batches, records
    cdef int64_t[MOST_STEPS] took_ns


@cython.final
@cython.no_gc_clear
cdef class WayTrip(BatchTrip):
    """The trip of one message along the ways of its topics."""
    cdef list passed       # a Passed for each topic
    cdef Passed last       # of them
    cdef list orders       # what was read of each partition: its way and place, the offset behind, the order

    cdef Passed of_way(self, TopicWay way):
        if self.last is None or self.last.way is not way:
            self.last = Passed.__new__(Passed)
            self.last.way = way
            self.passed.append(self.last)
        return self.last

    cdef object same(self, const uint8_t* data, Py_ssize_t size, object owner):
        """Batches that stay as they are, between others that do not."""
        cdef uint8_t* copied
        if owner is not None:
            return window(owner, data, size, True)
        copied = self.room(size)
        memcpy(copied, data, size)
        return self.piece(copied, size)

    cdef int end(self, object frame) except -1:
        cdef Passed passed
        for passed in self.passed:
            passed.way.count(passed)
        for way, partition, next_offset, order in self.orders:
            (<TopicWay>way).keep(partition, next_offset, order)
        return RecordTrip.end(self, frame)


@cython.final
cdef class TopicWay(RecordWay):
    """The way of the records of one topic."""
    cdef object records, chain, direction, process
    cdef dict steps, ordered, answers
    cdef int64_t asked_ns      # when the sources were asked for the first of the answers
    cdef list counted          # by step: the keys of its numbers
    cdef bint is_produce
    cdef int cost
    cdef const uint8_t* refused_at    # records that could not go this way, and how often they may still come
    cdef Py_ssize_t refused_size
    cdef int tries

    def __init__(self, bytes name not None, records not None, chain not None, direction not None):
        self.name, self.records, self.chain, self.direction = name, records, chain, direction
        self.process = records.process
        self.is_produce = direction is Direction.PRODUCE
        self.steps, self.ordered, self.answers, self.asked_ns = {}, {}, {}, 0
        steps = self.steps_at(0)
        self.cost = max([step.cost for step in steps])
        self.counted = [
            [TransformKey(records.tenant, step.name, direction.value, number) for number in ("batches", "records", "rejections", "time_ns")]
            for step in steps
        ]

    cdef RecordTrip begin(self, Reader* r):
        cdef WayTrip trip = WayTrip.__new__(WayTrip)
        memory = self.process.memory
        trip.sources, trip.passed, trip.orders = self.process.sources, [], []
        trip.budget = memory.of_request()
        trip.of_batch = memory.of_batch(trip.budget)
        return trip

    cdef tuple steps_at(self, int32_t partition):
        """The steps of a partition."""
        found = self.steps.get(partition)
        if found is None:
            if len(self.steps) >= KEPT_PARTITIONS:
                self.steps.clear()
            found = self.steps[partition] = steps_of(self.chain.at(partition), self.direction)
            assert found is not None, "a way has a step for each transform, in all partitions"
        return <tuple>found

    cdef list new_records(self, RecordTrip trip, Reader* r, Py_ssize_t size, int32_t partition, object owner):
        cdef list found = None
        if self.tries and r.data + r.pos == self.refused_at and size == self.refused_size:
            self.tries -= 1  # They would be refused once more, after as much work.
            return None
        try:
            found = self.taken(<WayTrip?>trip, r, size, partition, owner)
        except RecordsError:
            pass
        if found is None and r.steps >= 0:  # Else it goes on in slices.
            self.refused_at, self.refused_size, self.tries = r.data + r.pos, size, TRIES - 1
        return found

    cdef list taken(self, WayTrip trip, Reader* r, Py_ssize_t size, int32_t partition, object owner):
        cdef const uint8_t* data = r.data + r.pos
        cdef Passed passed = trip.of_way(self)
        cdef tuple steps = self.steps_at(partition)
        cdef list pieces = []
        cdef Py_ssize_t at = 0, same_from = 0, whole
        cdef Batch batch
        cdef int64_t now_ns
        order, behind = None, 0
        if r.hot and (r.end - r.pos) * self.cost // RECORD_BYTES > r.steps:
            r.steps = -1  # Nothing is begun that is too much here for the rest of the frame.
            return None
        now_ns = self.process.now_ns()
        if now_ns - self.asked_ns > KEPT_NS:
            self.answers, self.asked_ns = {}, now_ns
        trip.answers, trip.owner = self.answers, owner
        if not self.is_produce and trip.block is None:
            trip.expected = r.end  # What is opened is smaller than what was sealed.
        while size - at > MAGIC_AT:
            batch.data = data + at
            whole = <Py_ssize_t><int32_t>be32(batch.data + LENGTH_AT) + UNCOUNTED
            if batch.data[MAGIC_AT] != MAGIC or whole < HEADER:
                return None
            if whole > size - at:
                break
            batch.size = whole
            if not take_rounds(r, &batch, self.cost) or checksum(batch.data + CRC_FROM, whole - CRC_FROM) != be32(batch.data + CRC_AT):
                return None
            if not be16(batch.data + ATTRIBUTES_AT) & CONTROL and not self.take_steps(&batch, steps, trip, passed):
                return None
            if self.chain.sealed is not None:
                if order is None:
                    order = self.process.orders.at(self.ordered_at(partition), <int64_t>be64(data + at))
                if batch.data != data + at and not is_next(order, batch.data):
                    return None
                behind = <int64_t>be64(data + at) + <int32_t>be32(data + at + LAST_OFFSET_DELTA_AT) + 1
            if batch.data != data + at:
                # Those before it go first, but memory that was written last has to become a piece first.
                piece = trip.piece(batch.data, batch.size)
                if same_from < at:
                    pieces.append(trip.same(data + same_from, at - same_from, owner))
                pieces.append(piece)
                same_from = at + whole
            at += whole
        if at < size and self.is_produce:
            return None
        if order is not None and behind:
            trip.orders.append((self, self.ordered_at(partition), behind, order))
        if pieces and same_from < at:
            pieces.append(trip.same(data + same_from, at - same_from, owner))
        return pieces

    cdef bint take_steps(self, Batch* batch, tuple steps, WayTrip trip, Passed passed) except -1:
        """Take a batch along all steps; False: a transform has to look at it."""
        cdef int32_t count = <int32_t>be32(batch.data + COUNT_AT)
        cdef int i = 0
        cdef int64_t began_ns = self.process.now_ns(), now_ns
        for step in steps:
            if not (<BatchStep>step).take(batch, trip):
                return False
            now_ns = self.process.now_ns()
            passed.took_ns[i] += now_ns - began_ns
            began_ns = now_ns
            i += 1
        passed.batches += 1
        passed.records += count
        return True

    cdef object ordered_at(self, int32_t partition):
        found = self.ordered.get(partition)
        if found is None:
            if len(self.ordered) >= KEPT_PARTITIONS:
                self.ordered.clear()
            found = self.ordered[partition] = OrderedPartition(self.records.tenant, *self.chain.sealed, partition)
        return found

    cdef int keep(self, partition, next_offset, order) except -1:
        """Remember what was read of a partition, for the Fetch that goes on behind it."""
        for loser in self.process.orders.keep(partition, next_offset, order):
            self.process.memory.hits[ORDERS_LIMIT, loser] += 1
        return 0

    cdef int count(self, Passed passed) except -1:
        """Count what was done for a message that is sent on."""
        cdef int i = 0
        counts = self.process.counts
        if not passed.batches:
            return 0
        for batches, records, rejections, time_ns in self.counted:
            counts[batches] += passed.batches
            counts[records] += passed.records
            counts[rejections] += 0
            counts[time_ns] += passed.took_ns[i]
            i += 1
        return 0


cdef bint take_rounds(Reader* r, Batch* batch, int cost) except -1:
    """Count a batch as rounds, and pause where there may be a pause; False: it is too much for the hot path."""
    cdef int64_t records = <int32_t>be32(batch.data + COUNT_AT)
    cdef int64_t rounds = batch.size * cost // RECORD_BYTES + max(records, 0) // ROUND_RECORDS
    r.steps -= rounds
    r.given -= rounds  # They are none of the broker's work.
    return r.steps >= 0 or not out_of_steps(r)

cdef bint is_next(object order, const uint8_t* opened) except -1:
    """Whether a batch that was opened may stand behind those before it."""
    cdef int32_t sequence = <int32_t>be32(opened + SEQUENCE_AT)
    cdef int32_t count = <int32_t>be32(opened + COUNT_AT)
    if count == 0 or sequence < 0:
        return True
    return order.follows(
        <int64_t>be64(opened + PRODUCER_ID_AT), <int16_t>be16(opened + PRODUCER_EPOCH_AT), sequence, count
    )

cdef tuple steps_of(transforms, direction):
    """The steps of transforms, one for each; None: one of them has none."""
    cdef list steps = []
    for one in transforms:
        step = one.step(direction) if isinstance(one, SteppedTransform) else None
        if step is None:
            return None
        steps.append(step)
    if len(steps) > MOST_STEPS or sum([step.makes_batches for step in steps]) > 1:
        return None
    return tuple(steps)

def has_steps(transforms, direction):
    return steps_of(transforms, direction) is not None
