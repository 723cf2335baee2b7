# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Where topics and partitions stand in a message, and how to step over everything else.

    BEFORE   the message's fields before the array of topics
    TOPIC    a topic's fields before the array of its partitions; its name or ID is the key
    PARTITION  a whole partition, with its index, and in an answer its error code
    TOPIC_END  the rest of a topic
    AFTER    the rest of the message

A frame may lie in several pieces: a `Cursor` goes over them as if they were one, and checks each length.
"""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.string cimport memcpy

from bifrost.wire.errors import MalformedFrame
from bifrost.wire.reader cimport COMPACT, MAX_STRING, NULLABLE, be16, be32


@cython.final
cdef class Shape:
    def __cinit__(self, sections, bint is_flexible, int leader_tag=-1):
        cdef int i = 0, section
        if len(sections) != SECTIONS:
            raise ValueError("a shape has five sections")
        self.ops = <Op*>PyMem_Calloc(1 + sum(map(len, sections)), sizeof(Op))
        if self.ops == NULL:
            raise MemoryError
        for section in range(SECTIONS):
            self.first[section] = i
            for what, flags, a in sections[section]:
                self.ops[i] = Op(what, flags, a)
                i += 1
        self.first[SECTIONS] = i
        self.is_flexible, self.leader_tag = is_flexible, leader_tag

    def __dealloc__(self):
        PyMem_Free(self.ops)

    cdef int walk(self, int section, Cursor* c) except -1:
        """Step over a section; note what is in it."""
        return run(self.ops, self.first[section], self.first[section + 1], c, 0)

    cdef int64_t read_count(self, Cursor* c) except -2:
        """The count of topics or partitions; -1 for null."""
        return read_count(c, COMPACT | NULLABLE if self.is_flexible else NULLABLE, 1)


cdef int open_pieces(Cursor* c, Piece* pieces, int count) noexcept:
    c.pieces, c.count, c.at, c.pos = pieces, count, 0, 0
    c.end = pieces[count - 1].begin + pieces[count - 1].size if count else 0
    return 0

cdef int fail(Cursor* c, str reason) except -1:
    raise MalformedFrame(reason, c.pos)

cdef inline int need(Cursor* c, int64_t size) except -1:
    if size > c.end - c.pos:
        fail(c, "frame ends within a field")
    return 0

cdef inline int skip(Cursor* c, int64_t size) except -1:
    need(c, size)
    c.pos += size
    return 0

cdef int copy(Cursor* c, Py_ssize_t at, Py_ssize_t size, uint8_t* to) noexcept:
    """Copy bytes that are there, from one piece or several."""
    cdef Piece* p
    cdef Py_ssize_t n
    # Cursors go forward, but for the few places that are read again.
    if at < c.pieces[c.at].begin:
        c.at = 0
    while size:
        p = &c.pieces[c.at]
        if at >= p.begin + p.size:
            c.at += 1
            continue
        n = min(size, p.begin + p.size - at)
        memcpy(to, p.data + at - p.begin, n)
        to += n
        at += n
        size -= n
    return 0

cdef int32_t read_int32(Cursor* c, Py_ssize_t at) noexcept:
    cdef uint8_t scratch[4]
    copy(c, at, 4, scratch)
    return <int32_t>be32(scratch)

cdef inline uint8_t read_byte(Cursor* c) except? 255:
    cdef uint8_t byte
    need(c, 1)
    copy(c, c.pos, 1, &byte)
    c.pos += 1
    return byte

cdef int64_t read_varint(Cursor* c) except -1:
    cdef uint32_t value = 0
    cdef uint8_t byte
    cdef int shift
    for shift in range(0, 35, 7):
        byte = read_byte(c)
        if shift == 28 and byte > 0x0F:
            break
        value |= <uint32_t>(byte & 0x7F) << shift
        if byte < 0x80:
            return value
    return fail(c, "varint is longer than 32 bits")

cdef int64_t read_length(Cursor* c, int flags, int width) except -2:
    cdef int64_t length
    cdef uint8_t scratch[4]
    if flags & COMPACT:
        length = read_varint(c) - 1
    else:
        need(c, width)
        copy(c, c.pos, width, scratch)
        length = <int16_t>be16(scratch) if width == 2 else <int32_t>be32(scratch)
        c.pos += width
    if length < -1:
        fail(c, "negative length")
    if length < 0 and not flags & NULLABLE:
        fail(c, "null in a field that is not nullable")
    return length

cdef int64_t read_count(Cursor* c, int flags, int smallest) except -2:
    cdef int64_t count = read_length(c, flags, 4)
    if count > 0 and count * smallest > c.end - c.pos:
        fail(c, "array has more elements than the frame can hold")
    return count

cdef int skip_tags(Cursor* c) except -1:
    cdef int64_t count = read_varint(c)
    while count > 0:
        count -= 1
        read_varint(c)
        skip(c, read_varint(c))
    return 0

cdef int skip_string(Cursor* c, int flags) except -1:
    cdef int64_t length = read_length(c, flags, 2)
    if length > MAX_STRING:
        fail(c, "string is too long")
    if length > 0:
        skip(c, length)
    return 0

cdef int note_key(Op* op, Cursor* c) except -1:
    cdef int64_t length = 16
    if op.what == NAME_KEY:
        length = read_length(c, op.flags, 2)
        if length > MAX_STRING:
            fail(c, "string is too long")
    need(c, length)
    c.key_at, c.key_size = c.pos, max(0, length)
    c.pos += c.key_size
    return 0

cdef int run_array(Op* ops, int i, Cursor* c, int depth) except -1:
    """Step over the array at op `i`."""
    cdef int64_t left
    if ops[i].what == FIXED_ARRAY:
        left = read_count(c, ops[i].flags, ops[i].a)
        return skip(c, left * ops[i].a) if left > 0 else 0
    if ops[i].what == NULLABLE_STRUCT:
        left = 0 if read_byte(c) >= 0x80 else 1
    else:
        left = read_count(c, ops[i].flags, 1)
    if depth == MAX_NESTED:
        fail(c, "nested too deeply")
    while left > 0:
        left -= 1
        run(ops, i + 1, i + 1 + ops[i].a, c, depth + 1)
    return 0

cdef int run(Op* ops, int i, int end, Cursor* c, int depth) except -1:
    cdef int what
    cdef int64_t size
    cdef uint8_t scratch[4]
    while i < end:
        what = ops[i].what
        if what == SKIP:
            skip(c, ops[i].a)
        elif what == INDEX:
            need(c, 4)
            c.index_at, c.index = c.pos, read_int32(c, c.pos)
            c.pos += 4
        elif what == ERROR:
            need(c, 2)
            copy(c, c.pos, 2, scratch)
            c.error_at, c.error = c.pos, <int16_t>be16(scratch)
            c.pos += 2
        elif what == STRING:
            skip_string(c, ops[i].flags)
        elif what == BYTES or what == DATA:
            size = read_length(c, ops[i].flags, 4)
            if size > 0:
                skip(c, size)
                c.data_size += size if what == DATA else 0
        elif what == TAGS:
            c.tags_at = c.pos
            skip_tags(c)
        elif what == NAME_KEY or what == ID_KEY:
            note_key(&ops[i], c)
        else:
            run_array(ops, i, c, depth)
            if what != FIXED_ARRAY:
                i += ops[i].a
        i += 1
    return 0
