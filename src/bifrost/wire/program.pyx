# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Programs: what to do at which byte of a message, compiled from the schema. None of this knows an API.

`bifrost.wire.programs` compiles a program per message and version. Every length is checked against what is left of the
frame before it is used, an array's count times its smallest element too; whatever does not parse raises MalformedFrame.
`bifrost.wire.rewriting` walks a program to replace names; here stand the walks that replace nothing: `peek`,
`count_items`, and `prune`, which leaves out other tenants' elements before a message is decoded: a list of all may be a
thousand times the tenant's own.

A `Program` (for `rewrite`) is flat, so that walking it takes no recursion. An op is (kind, flags, slot, a, b):

    SKIP a                 a bytes: neighbouring fields of fixed size are one op
    CODE a                 the same, with an error code among them, which a walk notes in its reader; the slot says
                           where, counted from 1
    STRING, BYTES, UUID    slot: 0 neutral, 1..9 and 11 looked up in Names.tables[slot], or SLOT_DECODE
                           (a of a STRING is 1: a null one has to be decoded)
                           (slot SLOT_WAY of BYTES: records, which take the way of their topic, if it has one)
    ADDRESS                host and port of the broker whose node ID are the 4 bytes before: looked up by those bytes in
                           slot SLOT_ADDRESS, where the host's bytes stand with the 4 of the port behind them
    INT16, INT32 a         slot SLOT_USUAL: the number has to be a, or the frame has to be decoded
                           (of an INT32 SLOT_PARTITION: the partition of the records behind it)
    ARRAY a, b             loop over the ops up to END; a: the op behind that END, b: smallest element in bytes
                           (flag FIXED: b is the size of every element, all are skipped at once, no END, slot as of
                           CODE, or 0; slot SLOT_USUAL: a null one has to be decoded)
    STRUCT a               a nullable one: an int8 marker; if it says null, go on at op a
    TAGS a, b              tagged fields: b entries of `tags` from the a-th on, each (tag, first op), or (tag, -1)
                           if a slot lies within; their ops stand behind the program's own END, each up to END
    END                    of a loop's element, of a tagged field, of the program

    ProduceRequest v9:    0  STRING  COMPACT NULLABLE slot 3    TransactionalId
                          1  SKIP    a=6                        Acks, TimeoutMs
                          2  ARRAY   COMPACT a=11 b=3           TopicData
                          3    STRING  COMPACT slot 1             Name
                          4    ARRAY   COMPACT a=9 b=6            PartitionData
                          5      SKIP    a=4                        Index
                          6      BYTES   COMPACT NULLABLE           Records
                          7      TAGS
                          8      END
                          9    TAGS
                         10    END
                         11  TAGS
                         12  END

A `Peek` is a program of SKIP, STRING, BYTES and number ops; the numbers are the answer.

Source: the Kafka protocol guide; KIP-482 (flexible versions); Kafka's MessageDataGenerator.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport int16_t, uint32_t
from libc.string cimport memcmp

from bifrost.wire.output cimport Output, open_output, put_length, take
from bifrost.wire.reader cimport (
    ADDRESS, ARRAY, BOOL, BYTES, CODE, END, FIXED, INT8, INT16, INT32, INT64, SKIP, STRING, STRUCT, TAGS, UINT16, UINT32, UUID,
    be16, be32, close_frame, note_code, number_size, open_frame, read_bytes_length, read_count, read_marker, read_number,
    read_string_length, step,
)

SLOT_DECODE = DECODE
SLOT_USUAL = USUAL
SLOT_ADDRESS = ADDRESS_SLOT
SLOT_PARTITION = PARTITION
SLOT_WAY = WAY


cdef class Program:
    """What `rewrite` does with one message at one version."""

    def __cinit__(self, ops, tags=()):
        cdef Py_ssize_t i, n = len(ops), m = len(tags)
        cdef int64_t kind, flags, slot, a, b, target
        cdef uint32_t kinds = (1 << SKIP | 1 << STRING | 1 << BYTES | 1 << UUID | 1 << ARRAY | 1 << STRUCT | 1 << TAGS
                               | 1 << END | 1 << INT16 | 1 << INT32)
        cdef bint is_peek = isinstance(self, Peek), is_good
        if type(self) is Program:
            kinds |= 1 << ADDRESS | 1 << CODE
        elif is_peek:
            kinds = (1 << SKIP | 1 << STRING | 1 << BYTES | 1 << END | 1 << BOOL | 1 << INT8 | 1 << INT16 | 1 << UINT16
                     | 1 << INT32 | 1 << UINT32 | 1 << INT64)
        else:
            kinds |= 1 << INT8  # The journal's, which counts and rewrites nothing.
        self.ops = <Op*>PyMem_RawMalloc(n * sizeof(Op) + 1)
        self.tags = <Tag*>PyMem_RawMalloc(m * sizeof(Tag) + 1)
        if self.ops == NULL or self.tags == NULL:
            raise MemoryError()
        for i, (kind, flags, slot, a, b) in enumerate(ops):
            target = a if kind == ARRAY or kind == STRUCT else 0
            is_good = (0 <= kind < 32 and kinds >> kind & 1 and 0 <= flags < 256 and 0 <= target < n
                       and (0 <= a or kind == INT16 or kind == INT32) and -0x80000000 <= a <= 0x7FFFFFFF
                       and 0 <= b < 65536)
            if is_peek:
                is_good = is_good and (slot == 0 or (kind == INT16 or kind == INT32) and 0 <= slot <= KNOWN)
            elif kind == CODE:
                is_good = is_good and 0 < slot < USUAL and slot < a
            elif kind == ARRAY and flags & FIXED and slot < USUAL:
                is_good = is_good and 0 <= slot < b
            else:
                is_good = is_good and (0 <= slot < SLOTS or slot == DECODE or slot == USUAL
                                       or kind == INT32 and slot == PARTITION or kind == BYTES and slot == WAY)
            is_good = is_good and not (kind == TAGS and a + b > m) and not (kind == ARRAY and b == 0)
            if kind == ADDRESS:
                is_good = is_good and i > 0 and self.ops[i - 1].kind in (SKIP, CODE) and self.ops[i - 1].a >= 4
            if not is_good:
                raise ValueError(f"op {i} is out of range: {(kind, flags, slot, a, b)}")
            self.ops[i] = Op(kind, flags, slot, a, b)
            self.has_ways = self.has_ways or (not is_peek and (slot == PARTITION or slot == WAY))
        if n == 0 or self.ops[n - 1].kind != END:
            raise ValueError("a program closes with END")
        for i, (tag, op) in enumerate(tags):
            if not -1 <= op < n:
                raise ValueError(f"tag {tag} has no ops")
            self.tags[i] = Tag(tag, op)

    def __dealloc__(self):
        PyMem_RawFree(self.ops)
        PyMem_RawFree(self.tags)


cdef class Peek(Program):
    """Which numbers near the front of a body are of interest, and in the slot of each what it usually is."""


@cython.final
cdef class Passage:
    """How the messages of one API and version are forwarded undecoded."""

    def __init__(self, Program request, Program response, bint request_flexible, bint response_flexible,
                 request_peek=None, response_peek=None, Peek request_usual=None, Peek response_usual=None,
                 bint drops_trailing=False, bint has_throttle=False, bint begins_with_throttle=False):
        self.request = request
        self.response = response
        self.request_flexible = request_flexible
        self.response_flexible = response_flexible
        self.request_peek = request_peek
        self.response_peek = response_peek
        self.request_usual = request_usual
        self.response_usual = response_usual
        self.drops_trailing = drops_trailing
        self.has_throttle, self.begins_with_throttle = has_throttle, begins_with_throttle


# ---- peek ----

cdef inline bint is_usually(int what, int64_t number, int64_t known) noexcept:
    if what == ZERO:
        return number == 0
    if what == KNOWN:
        return number == 0 or number == known
    if what == NOT_ZERO:
        return number != 0
    return number < 0 if what == NEGATIVE else what == ANYTHING

cdef bint is_usual(Peek peek, Reader* r, int64_t known) except -1:
    """Whether all numbers are what they usually are; `known` is a number that is as usual as 0 for some."""
    cdef Op* op = peek.ops
    cdef Py_ssize_t size
    cdef int64_t number = 0
    while op.kind != END:
        if op.kind == STRING:
            r.pos += max(0, read_string_length(r, op.flags))
        elif op.kind == BYTES:
            r.pos += max(0, read_bytes_length(r, op.flags))
        else:
            size = op.a if op.kind == SKIP else number_size(op.kind)
            need(r, size)
            if op.kind == INT32:
                number = <int32_t>be32(r.data + r.pos)
            elif op.kind == INT16:
                number = <int16_t>be16(r.data + r.pos)
            if op.kind != SKIP and not is_usually(op.slot, number, known):
                return False
            r.pos += size
        op += 1
    return True

def peek(Peek peek not None, frame, Py_ssize_t start):
    """Read the numbers that `peek` names."""
    cdef Reader r
    cdef Op* op = peek.ops
    cdef list numbers = []
    open_frame(frame, start, &r)
    try:
        while op.kind != END:
            if op.kind == SKIP:
                need(&r, op.a)
                r.pos += op.a
            elif op.kind == STRING:
                r.pos += max(0, read_string_length(&r, op.flags))
            elif op.kind == BYTES:
                r.pos += max(0, read_bytes_length(&r, op.flags))
            else:
                numbers.append(read_number(&r, op.kind))
            op += 1
        return tuple(numbers)
    finally:
        close_frame(&r)


# ---- prune and count ----

cdef int skip_op(Program program, Reader* r, int i, int depth) except -1:
    """Read past what op `i` stands for; return the op behind it."""
    cdef Op* op = &program.ops[i]
    cdef int64_t n
    cdef int j
    if depth == MAX_DEPTH:
        fail(r, "nested too deeply")
    if op.kind == SKIP:
        need(r, op.a)
        r.pos += op.a
    elif op.kind == CODE:
        need(r, op.a)
        note_code(r, r.data + r.pos + op.slot - 1)
        r.pos += op.a
    elif op.kind == STRING:
        r.pos += max(0, read_string_length(r, op.flags))
    elif op.kind == BYTES:
        r.pos += max(0, read_bytes_length(r, op.flags))
    elif op.kind == UUID:
        need(r, 16)
        r.pos += 16
    elif op.kind == INT16 or op.kind == INT32:
        need(r, number_size(op.kind))
        r.pos += number_size(op.kind)
    elif op.kind == ADDRESS:
        r.pos += max(0, read_string_length(r, op.flags))
        need(r, 4)
        r.pos += 4
    elif op.kind == TAGS:
        for _ in range(read_varint(r)):
            step(r)
            read_varint(r)
            n = read_varint(r)
            need(r, n)
            r.pos += n
    elif op.kind == ARRAY:
        n = read_count(r, op.flags, op.b)
        if op.flags & FIXED:
            note_codes(op, r, n)
            r.pos += max(0, n) * op.b
        else:
            while n > 0:
                n -= 1
                step(r)
                j = i + 1
                while program.ops[j].kind != END:
                    j = skip_op(program, r, j, depth + 1)
        return op.a
    elif op.kind == STRUCT and not read_marker(r, op.flags):
        return op.a
    return i + 1

cdef int note_codes(Op* op, Reader* r, int64_t n) noexcept:
    """Note the error codes in the n elements, all of one size, of the array at `op`, if its elements have one."""
    cdef const uint8_t* at = r.data + r.pos + op.slot - 1
    # Of a frame that is not whole, not all may be there: then the walk ends, and comes again.
    if op.slot == 0 or op.slot >= USUAL or n * op.b > r.end - r.pos:
        return 0
    while n > 0:
        n -= 1
        note_code(r, at)
        at += op.b
    return 0

def error_codes(Program program not None, frame, Py_ssize_t start):
    """The error codes in a body, and how often each is there."""
    cdef Reader r
    cdef int i = 0
    open_frame(frame, start, &r)
    try:
        while program.ops[i].kind != END:
            i = skip_op(program, &r, i, 0)
        return [(r.code[i], r.times[i]) for i in range(r.codes)]
    finally:
        close_frame(&r)

def end_of_fields(Program program not None, frame, Py_ssize_t start):
    """Where the fields of a body end that are not tagged."""
    cdef Reader r
    cdef int i = 0
    open_frame(frame, start, &r)
    try:
        while program.ops[i].kind != END and program.ops[i].kind != TAGS:
            i = skip_op(program, &r, i, 0)
        return r.pos
    finally:
        close_frame(&r)

def count_items(Program program not None, frame, Py_ssize_t start, int64_t most):
    """The elements of all arrays in a body; when they are more than `most`, some number above it."""
    cdef Reader r
    cdef int64_t items = 0
    open_frame(frame, start, &r)
    try:
        count_ops(program, &r, 0, 0, most, &items)
        return items
    finally:
        close_frame(&r)

cdef int count_ops(Program program, Reader* r, int i, int depth, int64_t most, int64_t* items) except -1:
    """Read past all up to END, and count; return the op behind it."""
    cdef Op* op
    cdef int64_t n
    if depth == MAX_DEPTH:
        fail(r, "nested too deeply")
    while program.ops[i].kind != END:
        op = &program.ops[i]
        if op.kind != ARRAY:
            i = skip_op(program, r, i, depth)
            continue
        n = max(0, read_count(r, op.flags, op.b))
        items[0] += n
        if op.flags & FIXED:
            r.pos += n * op.b
            n = 0
        while n > 0 and items[0] <= most:
            n -= 1
            step(r)
            count_ops(program, r, i + 1, depth + 1, most, items)
        if items[0] > most:
            return 0
        i = op.a
    return i + 1

cdef bint has_name(Program program, int i):
    """Whether the elements of the array at op `i` have a string with a slot, not within something else."""
    cdef int j = i + 1
    if program.ops[i].flags & FIXED:
        return False
    while program.ops[j].kind != END:
        if program.ops[j].kind == STRING and program.ops[j].slot:
            return True
        j = program.ops[j].a if program.ops[j].kind == ARRAY else j + 1
    return False

cdef bint is_foreign(Reader* r, int flags, bytes prefix) except -1:
    """Read a name; return whether it has another prefix. None and the empty name belong to no tenant."""
    cdef Py_ssize_t size = read_string_length(r, flags), start = r.pos
    r.pos += max(0, size)
    return size > 0 and (size < PyBytes_GET_SIZE(prefix)
                         or memcmp(r.data + start, PyBytes_AS_STRING(prefix), PyBytes_GET_SIZE(prefix)) != 0)

cdef list own_elements(Program program, Reader* r, int i, bytes prefix):
    """Read the array at op `i`; return the array without foreign elements, in pieces."""
    cdef list pieces = []
    cdef Output out
    cdef Op* op = &program.ops[i]
    cdef Py_ssize_t begin, kept_from
    cdef int64_t n = read_count(r, op.flags, op.b), kept = n
    cdef int j
    cdef bint foreign
    kept_from = r.pos
    for _ in range(n):
        step(r)
        begin, foreign, j = r.pos, False, i + 1
        while program.ops[j].kind != END:
            if program.ops[j].kind == STRING and program.ops[j].slot:
                foreign = is_foreign(r, program.ops[j].flags, prefix) or foreign
                j += 1
            else:
                j = skip_op(program, r, j, 1)
        if foreign:
            kept -= 1
            pieces.append(PyBytes_FromStringAndSize(<const char*>r.data + kept_from, begin - kept_from))
            kept_from = r.pos
    pieces.append(PyBytes_FromStringAndSize(<const char*>r.data + kept_from, r.pos - kept_from))
    open_output(&out)
    put_length(&out, kept, op.flags, 4)
    pieces.insert(0, take(&out))
    return pieces


def prune(Program program not None, frame, Py_ssize_t start, bytes prefix not None):
    """Leave out of top-level arrays the elements that have, in a slot, a name with another prefix."""
    cdef Reader r
    cdef list pieces = []
    cdef Py_ssize_t copied = 0
    cdef int i = 0
    open_frame(frame, start, &r)
    try:
        while program.ops[i].kind != END:
            if program.ops[i].kind == ARRAY and has_name(program, i):
                pieces.append(PyBytes_FromStringAndSize(<const char*>r.data + copied, r.pos - copied))
                pieces += own_elements(program, &r, i, prefix)
                copied = r.pos
                i = program.ops[i].a
            else:
                i = skip_op(program, &r, i, 0)
        pieces.append(PyBytes_FromStringAndSize(<const char*>r.data + copied, r.end - copied))
        return b"".join(pieces)
    finally:
        close_frame(&r)
