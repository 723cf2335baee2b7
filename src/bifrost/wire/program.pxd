# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Programs as other compiled modules walk them."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from bifrost.wire.reader cimport Reader, fail, need, read_varint

cpdef enum Usually:
    ANYTHING, ZERO, NOT_ZERO, NEGATIVE, KNOWN

cdef enum:
    MAX_DEPTH = 16         # arrays and tagged fields within each other; Kafka's deepest program has 6
    DECODE = 255           # SLOT_DECODE
    USUAL = 254            # SLOT_USUAL
    ADDRESS_SLOT = 10      # SLOT_ADDRESS
    SLOTS = 12             # those with a table, and 0
    PARTITION = 253        # SLOT_PARTITION
    WAY = 252              # SLOT_WAY
    TOPIC_NAME = 1         # these as in Entity of entity.py
    TRANSACTIONAL_ID = 3
    TOPIC_ID = 4

cdef struct Op:
    uint8_t kind, flags, slot
    int32_t a, b

cdef struct Tag:
    int64_t tag
    int32_t op

cdef class Program:
    cdef Op* ops
    cdef Tag* tags
    cdef bint has_ways     # whether it knows what to do where a topic has a way

cdef class Peek(Program):
    pass

@cython.final
cdef class Passage:
    cdef Program request, response
    cdef bint request_flexible, response_flexible, drops_trailing
    cdef readonly bint has_throttle, begins_with_throttle
    cdef object request_peek, response_peek
    cdef Peek request_usual, response_usual

cdef struct Level:
    int32_t again        # array: first op of an element; tagged fields: op behind TAGS
    int32_t tags         # op TAGS, or -1 for an array
    int64_t left         # elements or tagged fields still to come, this one included
    Py_ssize_t end       # tagged field: where its content must end

cdef inline Level* push(Level* level, Level* stack, Reader* r, int again, int tags, int64_t left) except NULL:
    if level == stack + MAX_DEPTH - 1:
        fail(r, "nested too deeply")
    level += 1
    level.again = again
    level.tags = tags
    level.left = left
    return level

cdef inline int enter_tag(Program program, Reader* r, Level* level) except -2:
    """The first op of the next tagged field; -1: it is unknown or holds a slot."""
    cdef int64_t tag = read_varint(r), size = read_varint(r)
    cdef Op* op = &program.ops[level.tags]
    cdef int i
    need(r, size)
    level.end = r.pos + size
    for i in range(op.a, op.a + op.b):
        if program.tags[i].tag == tag:
            return program.tags[i].op
    return -1

cdef int note_codes(Op* op, Reader* r, int64_t n) noexcept
cdef bint is_usual(Peek peek, Reader* r, int64_t known) except -1
