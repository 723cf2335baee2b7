# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rewrites frames: copies them with their names replaced, as a program says (program.pyx).

Runs of SLICE bytes and more leave as slices of the frame, so records are never copied.

A large frame can go on before it is whole: its length stands before it, so that is possible once nothing that comes can
change its size, when what is left is one long field, the records of its last partition, and empty tagged fields behind.
That is what most large frames are: a Produce request or a Fetch response of one partition. All others are held until
they are whole.

    head: rewritten, with the new length ──▶ the field, piece by piece ──▶ tail: as many zeros as tagged fields

The records of some topics do not pass as they are. Such a topic has a `RecordWay` in the table of names, in the place of
its name on the other side, and each run of its records goes that way: it comes back as other bytes, or the frame has to be
decoded. A way may also have places (`is_placed`): its partitions get other numbers, in the request and in its answer, and its
records other bytes at their beginning, as many as before. Such a request may leave as several frames (`RecordTrip.parts`),
to which there is one answer. What is done on the way of a frame is kept in a `RecordTrip`, and counts only when the frame is sent on
(`RecordTrip.end`). A program without a place for ways leaves a frame that names such a topic to be decoded: its records never
pass as they are.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError
from cpython.list cimport PyList_GET_SIZE
from cpython.object cimport PyObject
from cpython.ref cimport Py_CLEAR, Py_INCREF, Py_XDECREF
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

from bifrost.wire.errors import MalformedFrame

from bifrost.wire.output cimport is_part, open_output, put, put_be, put_length, set_aside, write_size
from bifrost.wire.framer cimport Block
from bifrost.wire.program cimport (
    DECODE, MAX_DEPTH, PARTITION, SLOTS, TOPIC_ID, TOPIC_NAME, TRANSACTIONAL_ID, USUAL, WAY, Level, Op, enter_tag, note_codes, push
)
from bifrost.wire.reader cimport (
    ADDRESS, ARRAY, BYTES, CODE, END, FIXED, INT16, INT32, LONG_NAME_BITS, MAX_STRING, MISS_STEPS, SKIP, STRING, TAGS,
    UUID, be16, be32, close_frame, fail, is_zero_uuid, need, need_whole, note_code, number_size, open_frame,
    out_of_steps, read_count, read_length, read_marker, read_string_length, read_varint, step,
)
from bifrost.wire.window cimport memoryview_data, memoryview_size, owner_of, window

cdef enum:
    SLICE = 4096           # bytes: longer runs are cheaper to slice than to copy
    OPEN = 2               # of `walk`: what is left of the frame needs no change


cdef class RecordTrip:
    """What the ways of one message have done for it, and the memory of its new records."""

    cdef uint8_t* room(self, Py_ssize_t size) except NULL:
        """Memory for so many bytes, which `piece` makes part of the frame; that of the last call, if it was not."""
        if self.block is None or size > self.block.capacity - self.used:
            self.block, self.used, self.expected = Block(max(size, self.expected)), 0, 0
        return self.block.data + self.used

    cdef object piece(self, const uint8_t* data, Py_ssize_t size):
        """Return the bytes that were written to the room that was given out last."""
        self.has_changed = True
        self.used = data - self.block.data + size
        return window(self.block, data, size, True)

    cdef int end(self, object frame) except -1:
        """Count what was done: the message is sent on, and the memory of its new records takes over that of `frame`."""
        cdef Block old
        owner = owner_of(frame)
        if self.block is not None and isinstance(owner, Block) and (<Block>owner).room is not None:
            old = <Block>owner
            # From here on it is given back with this memory; the frame's own goes soon.
            self.block.size, self.block.room, self.block.is_answer = old.size, old.room, old.is_answer
            old.room = None
        return 0

    cdef list divided(self, Reader* r, list segments, Py_ssize_t start):
        """Return the frames that a request of several parts becomes, in segments; None: the frame has to be decoded.

        `segments` are the rewritten request, whose body begins at `start`.
        """
        return None

    cpdef int keep_answer(self, bytes answer) except -1:
        """Keep the answer to the next part until that to the last one comes."""
        return 0

    cdef bytes joined(self, Reader* r, Py_ssize_t start):
        """Return the answers to all parts as one; r has that to the last one. None: it has to be decoded."""
        return None


cdef class RecordWay:
    """What stands in a table of names for a topic whose records do not pass as they are. This one lets none pass."""

    def __init__(self, bytes name not None):
        self.name = name

    cdef RecordTrip begin(self, Reader* r):
        """Return what keeps what ways do for a message; the first way of the message is asked."""
        return RecordTrip()

    cdef list new_records(self, RecordTrip trip, Reader* r, Py_ssize_t size, int32_t partition, object owner):
        """Return the records at r.pos in new pieces; an empty list: they stay; None: the frame has to be decoded.

        Slices of the frame may be kept where there is an `owner`. It takes rounds of `r`, and may pause with them.
        """
        return None

    cdef int64_t place(self, RecordTrip trip, int32_t partition) except -2:
        """Return the number of a partition on the other side; NO_PLACE: the frame has to be decoded."""
        return NO_PLACE

    cdef int new_head(self, RecordTrip trip, const uint8_t* records, Py_ssize_t size, uint8_t* head) except -2:
        """Write what replaces as many bytes at the beginning of the records of the partition that was placed last.

        Return how many that is, at most BATCH_HEAD; NO_PLACE: the frame has to be decoded.
        """
        return NO_PLACE


@cython.final
cdef class Names:
    """One direction of one namespace: what each name is on the other side."""

    def __init__(self, missing, Names base=None, int64_t steps=MISS_STEPS):
        self.missing = missing
        self.tables = [None] * SLOTS if base is None else [*base.tables]
        # A name that no layer knows is asked for in each of them.
        self.miss_steps = steps if base is None else base.miss_steps + steps

    cdef object replacement(self, int slot, bytes name, Reader* r):
        cdef PyObject* known
        cdef object table = None, value
        r.names += 1
        if self.tables is not None and slot < PyList_GET_SIZE(self.tables):
            table = self.tables[slot]
        if table is not None:
            known = PyDict_GetItemWithError(<dict?>table, name)
            if known != NULL:
                return <object>known
        r.steps -= self.miss_steps * (1 + (PyBytes_GET_SIZE(name) >> LONG_NAME_BITS))
        if r.hot and r.steps < 0:
            return None
        return self.missing(slot, name)


cdef int copy_run(Reader* r, Output* out, Py_ssize_t to) except -1:
    """Take the frame over unchanged as far as `to`."""
    cdef Py_ssize_t size = to - out.copied
    if size >= SLICE and out.owner != NULL:
        set_aside(out)
        (<list>out.segments).append(window(<object>out.owner, r.data + out.copied, size, True))
        out.sent += size
    else:
        put(out, r.data + out.copied, size)
    out.copied = to
    return 0

cdef int substitute(Op* op, Reader* r, Output* out, Names names, Py_ssize_t at, Py_ssize_t size) except -1:
    """Replace the `size` bytes before r.pos, whose field began at `at`. 0: this frame has to be decoded."""
    cdef const uint8_t* old = r.data + r.pos - size
    cdef bytes name
    cdef Py_ssize_t new_size
    if op.slot == DECODE:
        return 0
    found = names.replacement(op.slot, PyBytes_FromStringAndSize(<const char*>old, size), r)
    if found is None:
        return 0
    if op.slot == TOPIC_NAME or op.slot == TOPIC_ID:
        Py_CLEAR(out.way)
    elif op.slot == TRANSACTIONAL_ID:
        out.has_transaction = True
    if isinstance(found, RecordWay):
        if not out.has_ways:
            return 0
        Py_INCREF(found)
        Py_XDECREF(out.way)
        out.way = <PyObject*>found
        found = (<RecordWay>found).name
    name = <bytes?>found
    new_size = PyBytes_GET_SIZE(name)
    if new_size == size and memcmp(PyBytes_AS_STRING(name), old, size) == 0:
        return 1
    copy_run(r, out, at)
    if op.kind == STRING:
        if new_size > MAX_STRING:
            fail(r, "string is too long after its replacement")
        put_length(out, new_size, op.flags, 2)
    elif new_size != 16:
        raise ValueError("a UUID is replaced by 16 bytes")
    put(out, PyBytes_AS_STRING(name), new_size)
    out.copied = r.pos
    return 1

cdef int readdress(Op* op, Reader* r, Output* out, Names names) except -1:
    """Read host and port of the broker whose ID stands before r.pos, and replace them. 0: it has to be decoded."""
    cdef Py_ssize_t at = r.pos, host_size
    cdef int64_t n = read_string_length(r, op.flags)
    cdef bytes address
    r.pos += max(0, n)
    need(r, 4)
    r.pos += 4
    address = names.replacement(op.slot, PyBytes_FromStringAndSize(<const char*>r.data + at - 4, 4), r)
    if address is None:
        return 0
    host_size = PyBytes_GET_SIZE(address) - 4
    if host_size < 0 or host_size > MAX_STRING:
        raise ValueError("an address is a host and 4 bytes of its port")
    copy_run(r, out, at)
    put_length(out, host_size, op.flags, 2)
    put(out, PyBytes_AS_STRING(address), host_size + 4)
    out.copied = r.pos
    return 1

cdef bint begin_trip(Reader* r, RecordWay way) except -1:
    """Begin the trip of a message. False: topics of the other kind of way have begun it, and the frame has to be decoded."""
    if r.trip == NULL:
        trip = way.begin(r)
        Py_INCREF(trip)
        r.trip = <PyObject*>trip
    return (<RecordTrip>r.trip).is_kept == way.is_placed

cdef int take_place(Reader* r, Output* out, int32_t partition) except -1:
    """Replace the partition before r.pos by its number on the other side. 0: the frame has to be decoded."""
    cdef RecordWay way = <RecordWay>out.way
    cdef int64_t place
    if not out.has_ways or out.has_transaction or r.end != r.whole:
        return 0
    if not begin_trip(r, way):
        return 0
    place = way.place(<RecordTrip>r.trip, partition)
    if place < 0:
        return 0
    if place != partition:
        copy_run(r, out, r.pos - 4)
        put_be(out, <uint64_t>place, 4)
        out.copied = r.pos
    return 1

cdef int take_head(Reader* r, Output* out, Py_ssize_t size) except -1:
    """Let the beginning of the records at r.pos be others. 0: the frame has to be decoded."""
    cdef uint8_t[BATCH_HEAD] head
    cdef int written = (<RecordWay>out.way).new_head(<RecordTrip>r.trip, r.data + r.pos, size, head)
    if written < 0:
        return 0
    if written:
        copy_run(r, out, r.pos)
        put(out, head, written)
        out.copied = r.pos + written
    r.pos += size
    return 1

cdef int take_way(Op* op, Reader* r, Output* out, Py_ssize_t at, Py_ssize_t size, int32_t partition) except -1:
    """Let the records at r.pos, whose field began at `at`, go the way of their topic. 0: the frame has to be decoded."""
    cdef RecordWay way = <RecordWay>out.way
    cdef list pieces
    cdef Py_ssize_t total = 0
    if not out.has_ways or r.end != r.whole:
        return 0
    need(r, size)
    if way.is_placed:
        return take_head(r, out, size)
    if not begin_trip(r, way):
        return 0
    pieces = way.new_records(<RecordTrip>r.trip, r, size, partition, None if out.owner == NULL else <object>out.owner)
    if pieces is None:
        return 0
    r.pos += size
    if not pieces:
        return 1
    for piece in pieces:
        total += memoryview_size(piece)
    copy_run(r, out, at)
    put_length(out, total, op.flags, 4)
    for piece in pieces:
        if out.segments != NULL:
            set_aside(out)
            (<list>out.segments).append(piece)
            out.sent += memoryview_size(piece)
        else:
            put(out, memoryview_data(piece), memoryview_size(piece))
    out.copied = r.pos
    return 1

cdef int walk(Program program, Reader* r, Output* out, Names names) except -1:
    """Rewrite the body. 1: done; 0: this frame has to be decoded; OPEN: see above."""
    cdef Level stack[MAX_DEPTH]
    cdef Level* level = stack    # the program itself; arrays and tagged fields lie above
    cdef Op* op
    cdef Py_ssize_t at
    cdef int64_t n
    cdef int i = 0, kind
    cdef int32_t partition = -1
    while True:
        op = &program.ops[i]
        i += 1
        kind = op.kind
        if kind == SKIP:
            need(r, op.a)
            r.pos += op.a
        elif kind == CODE:
            need(r, op.a)
            note_code(r, r.data + r.pos + op.slot - 1)
            r.pos += op.a
        elif kind == STRING:
            at = r.pos
            n = read_string_length(r, op.flags)
            if n >= 0:
                r.pos += n
                if op.slot and (n or op.slot != DECODE) and not substitute(op, r, out, names, at, n):
                    return 0
            elif op.a:
                return 0
        elif kind == BYTES:
            at = r.pos
            n = read_length(r, op.flags, 4)
            if n > 0:
                if op.slot:
                    if op.slot != WAY:
                        return 0
                    if out.way != NULL:
                        if not take_way(op, r, out, at, n, partition):
                            return 0
                        continue
                if n > r.end - r.pos:
                    need_whole(r, n)
                    r.tail = tail_behind(program, i, level, stack)
                    return OPEN if r.tail == r.whole - r.pos - n else 0
                r.pos += n
            elif op.slot == WAY and out.way != NULL and (<RecordWay>out.way).is_placed:
                return 0
        elif kind == TAGS:
            n = read_varint(r)
            if n:
                level = push(level, stack, r, i, i - 1, n)
                i = enter_tag(program, r, level)
                if i < 0:
                    return 0
        elif kind == ARRAY:
            n = read_count(r, op.flags, op.b)
            if op.slot >= USUAL and n and (op.slot == DECODE) == (n > 0):
                return 0
            if n > 0:
                if op.flags & FIXED:
                    if op.slot:
                        note_codes(op, r, n)
                    r.pos += n * op.b
                else:
                    level = push(level, stack, r, i, -1, n)
                    continue
            i = op.a
        elif kind == END:
            if level == stack:
                return 1
            level.left -= 1
            if step(r):
                return 0
            if is_part(out):
                set_aside(out)
            if level.tags < 0:
                if level.left:
                    i = level.again
                else:
                    level -= 1
                continue
            if r.pos != level.end:
                fail(r, "tagged field has another size than announced")
            if level.left:
                i = enter_tag(program, r, level)
                if i < 0:
                    return 0
            else:
                i = level.again
                level -= 1
        elif kind == UUID:
            need(r, 16)
            r.pos += 16
            at = r.pos - 16
            if op.slot and is_zero_uuid(r.data + at):
                Py_CLEAR(out.way)
            elif op.slot and not substitute(op, r, out, names, at, 16):
                return 0
        elif kind == INT16 or kind == INT32:
            at = r.pos
            need(r, number_size(kind))
            r.pos += number_size(kind)
            n = <int16_t>be16(r.data + at) if kind == INT16 else <int32_t>be32(r.data + at)
            if op.slot == PARTITION:
                partition = <int32_t>n
                if out.way != NULL and (<RecordWay>out.way).is_placed and not take_place(r, out, partition):
                    return 0
            elif op.slot and n != op.a:
                return 0
        elif kind == ADDRESS:
            if not readdress(op, r, out, names):
                return 0
        else:
            if not read_marker(r, op.flags):
                i = op.a
            elif op.slot:
                return 0

cdef Py_ssize_t tail_behind(Program program, int i, Level* level, Level* stack) noexcept:
    """How many bytes follow if all that follows is empty tagged fields; -1: more does, or may."""
    cdef Py_ssize_t tail = 0
    cdef Op* op
    while True:
        op = &program.ops[i]
        i += 1
        if op.kind == TAGS:
            tail += 1
        elif op.kind != END:
            return -1
        elif level == stack:
            return tail
        elif level.tags >= 0 or level.left > 1:
            return -1
        else:
            # The array's last element: its END is followed by what comes behind the array.
            level -= 1


def rewrite(Program program not None, frame, Py_ssize_t start, Names names not None, bytes head=None,
            bint allow_trailing=False):
    """Copy a frame, its names replaced; None if that cannot be done in place."""
    cdef Reader r
    open_frame(frame, start, &r)
    try:
        return rewrite_body(program, frame, &r, names, head, None, allow_trailing, False)
    finally:
        close_frame(&r)

def rewrite_frame(Program program not None, frame, Py_ssize_t start, Names names not None, bytes head=None,
                         bint allow_trailing=False):
    """Likewise, also where topics have ways; with the segments: whether records are others now."""
    cdef Reader r
    cdef RecordTrip trip
    open_frame(frame, start, &r)
    try:
        segments = rewrite_body(program, frame, &r, names, head, None, allow_trailing, True)
        trip = trip_of(&r)
        if segments is None or trip is None:
            return segments, False
        trip.end(frame)
        return segments, trip.has_changed
    finally:
        close_frame(&r)

cdef int put_client_id(Reader* r, Output* out, bytes prefix) except -1:
    """Begin a request with its header as far as its client ID, with `prefix` before that; a null one is empty.

    There is room for it: see `admitted_lane`.
    """
    put(out, r.data, 8)
    put_be(out, max(0, <int16_t>be16(r.data + 8)) + PyBytes_GET_SIZE(prefix), 2)
    put(out, PyBytes_AS_STRING(prefix), PyBytes_GET_SIZE(prefix))
    out.copied = 10
    return 0

cdef bint put_body(Program program, Reader* r, Output* out, Names names, bytes client_prefix,
                   bint allow_trailing) except -1:
    """Rewrite a frame behind what stands in `out`, and copy all of it; False: it has to be decoded."""
    cdef Py_ssize_t begin = out.size, body = r.pos
    cdef int found
    out.copied, out.way, out.has_ways, out.has_transaction = 0, NULL, program.has_ways, False
    put_be(out, 0, 4)
    if client_prefix is not None:
        put_client_id(r, out, client_prefix)
    try:
        found = walk(program, r, out, names)
    finally:
        Py_CLEAR(out.way)
    if found != 1:
        return False
    if r.pos != r.end and not allow_trailing:
        fail(r, "frame goes on behind its body")
    copy_run(r, out, r.pos)
    write_size(out.data + begin, out.size - begin - 4)
    return put_parts(r, out, begin, body + added(client_prefix)) if is_of_parts(r) else True

cdef inline bint is_of_parts(Reader* r) noexcept:
    """Whether a request that was rewritten has to leave as several."""
    return r.trip != NULL and (<RecordTrip>r.trip).parts > 1 and not (<RecordTrip>r.trip).is_divided

cdef inline Py_ssize_t added(bytes client_prefix):
    """How much further behind the body of a rewritten request begins."""
    return 4 if client_prefix is None else 4 + PyBytes_GET_SIZE(client_prefix)

cdef bint put_parts(Reader* r, Output* out, Py_ssize_t begin, Py_ssize_t body) except -1:
    """Let the frames of its parts be in the place of a request that was written at `begin`."""
    cdef list frames
    written = PyBytes_FromStringAndSize(<const char*>out.data + begin, out.size - begin)
    frames = (<RecordTrip>r.trip).divided(r, [written], body)
    if frames is None:
        return False
    out.size = begin
    for one in frames:
        if PyBytes_CheckExact(one):
            put(out, PyBytes_AS_STRING(one), PyBytes_GET_SIZE(one))
        else:
            put(out, memoryview_data(one), memoryview_size(one))
    return True

cdef list rewrite_body(Program program, object frame, Reader* r, Names names, bytes head, bytes client_prefix,
                       bint allow_trailing, bint has_ways):
    cdef Output out
    cdef list segments = []
    cdef Py_ssize_t size, start = r.pos
    open_output(&out)
    out.segments = <PyObject*>segments
    out.owner = <PyObject*>frame if r.own else NULL
    out.copied = out.sent = 0
    out.way, out.has_ways, out.has_transaction = NULL, has_ways and program.has_ways, False
    try:
        put_be(&out, 0, 4)
        if head is not None:
            put(&out, PyBytes_AS_STRING(head), PyBytes_GET_SIZE(head))
            out.copied = start
        elif client_prefix is not None:
            put_client_id(r, &out, client_prefix)
        if walk(program, r, &out, names) != 1:
            return None
        if r.pos != r.end and not allow_trailing:
            fail(r, "frame goes on behind its body")
        copy_run(r, &out, r.pos)
        set_aside(&out)
        size = out.sent - 4
        if size > 0x7FFFFFFF:
            fail(r, "frame is too long after its replacements")
        # No other code has seen the first segment yet.
        write_size(<uint8_t*>PyBytes_AS_STRING(segments[0]), size)
        return (<RecordTrip>r.trip).divided(r, segments, start + added(client_prefix)) if is_of_parts(r) else segments
    finally:
        Py_CLEAR(out.way)
        Py_XDECREF(out.heap)


cdef list rewrite_head(Program program, object frame, Reader* r, Names names, bytes client_prefix):
    """As `rewrite_body`; r.tail says how many zeros end the frame."""
    cdef Output out
    cdef list segments = []
    cdef Py_ssize_t size
    open_output(&out)
    out.segments = <PyObject*>segments
    out.owner = <PyObject*>frame if r.own else NULL
    out.copied = out.sent = 0
    out.way, out.has_ways, out.has_transaction = NULL, False, False
    try:
        put_be(&out, 0, 4)
        try:
            if client_prefix is not None:
                put_client_id(r, &out, client_prefix)
            if walk(program, r, &out, names) != OPEN:
                return None
        except MalformedFrame:
            return None  # Perhaps only a part of it has arrived; else it fails again when it is complete.
        copy_run(r, &out, r.end)
        set_aside(&out)
        size = out.sent - 4 + r.whole - r.end
        if size > 0x7FFFFFFF:
            return None
        write_size(<uint8_t*>PyBytes_AS_STRING(segments[0]), size)
        return segments
    finally:
        Py_CLEAR(out.way)
        Py_XDECREF(out.heap)
