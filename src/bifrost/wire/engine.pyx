# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The engine: it walks Kafka frames and rewrites, decodes, encodes, peeks into and splits them.

It knows no API. What to do at which byte is data that `bifrost.wire.programs` compiles from the schema, per
message and version. Every length is checked against what is left of the frame before it is used, an array's
count times its smallest element too; whatever does not parse raises MalformedFrame.

A `Program` (for `rewrite`) is flat, so that walking it takes no recursion. An op is (kind, flags, slot, a, b):

    SKIP a                 a bytes: neighbouring fields of fixed size are one op
    STRING, BYTES, UUID    slot: 0 neutral, 1..9 looked up in Names.tables[slot], or SLOT_DECODE
                           (a of a STRING is 1: a null one has to be decoded)
    ADDRESS                host and port of the broker whose node ID are the 4 bytes before: looked up by those bytes in
                           slot SLOT_ADDRESS, where the host's bytes stand with the 4 of the port behind them
    INT16, INT32 a         slot SLOT_USUAL: the number has to be a, or the frame has to be decoded
    ARRAY a, b             loop over the ops up to END; a: the op behind that END, b: smallest element in bytes
                           (flag FIXED: b is the size of every element, all are skipped at once, no END;
                           slot SLOT_USUAL: a null one has to be decoded)
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

A `Layout` (for `decode` and `encode`) is a message class and its fields, those absent at this version too. How
deep structs nest is up to the schema, not to the frame, so these two may recurse.
A `Peek` is a program of SKIP, STRING, BYTES and number ops; the numbers are the answer.

Source: the Kafka protocol guide; KIP-482 (flexible versions); Kafka's MessageDataGenerator.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_Fetch, PyErr_Restore
from cpython.dict cimport PyDict_GetItemWithError
from cpython.list cimport PyList_GET_SIZE
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from cpython.memoryview cimport PyMemoryView_FromObject
from cpython.object cimport PyObject, PyObject_GetAttr, PyObject_SetAttr
from cpython.ref cimport Py_XDECREF, _Py_REFCNT
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memmove
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from bifrost.wire.errors import EncodeError, FrameTooLarge, MalformedFrame

cdef extern from *:
    """
    #include <sys/mman.h>
    static void* map_block(size_t size) {
        void* data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return data == MAP_FAILED ? NULL : data;
    }
    #define memoryview_data(m) (PyMemoryView_GET_BUFFER(m)->buf)
    #define memoryview_size(m) (PyMemoryView_GET_BUFFER(m)->len)
    #define memoryview_base(m) (PyMemoryView_GET_BUFFER(m)->obj)
    """
    void* map_block(size_t size)    # NULL: there is no memory
    int munmap(void* data, size_t size)
    void* memoryview_data(object view)
    Py_ssize_t memoryview_size(object view)
    PyObject* memoryview_base(object view)
    bint PyMemoryView_Check(object view)

cdef extern from "Python.h":
    object PyType_GenericAlloc(type cls, Py_ssize_t items)
    void PyObject_GC_UnTrack(void* object)
    bint PyObject_IS_GC(object thing)
    Py_ssize_t PY_SSIZE_T_MAX
    int _PyBytes_Resize(PyObject** bytes, Py_ssize_t size) except -1
    PyObject* new_bytes "PyBytes_FromStringAndSize"(const char* data, Py_ssize_t size) except NULL
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1


cpdef enum Kind:
    SKIP, STRING, BYTES, UUID, ARRAY, STRUCT, TAGS, END
    RECORDS, BOOL, INT8, INT16, UINT16, INT32, UINT32, INT64, FLOAT64
    ADDRESS

cpdef enum Flag:
    COMPACT = 1      # length + 1 as a varint, instead of int16 (string) or int32
    NULLABLE = 2
    FIXED = 4        # Program: array of elements of one size
    LIST = 4         # Layout: array of this kind
    PRESENT = 8      # Layout: this version has the field, untagged
    TAGGED = 16      # Layout: this version has the field, tagged
    IGNORABLE = 32   # Layout: a value that this version cannot carry is left out without error

cpdef enum Usually:
    ANYTHING, ZERO, NOT_ZERO, NEGATIVE

cdef enum:
    MAX_DEPTH = 16         # a program, arrays and tagged fields within each other; Kafka's deepest has 6
    MAX_STRING = 0x7FFF    # bytes; Kafka refuses longer ones in compact form as well
    SLICE = 4096           # bytes: longer runs are cheaper to slice than to copy
    LOCAL = 4096           # bytes of output that need no memory of their own
    KEPT = 32768           # bytes: slices of a window this large may be kept, it keeps less than as much alive besides
    SPARE_BLOCKS = 16      # pieces of memory kept for the next large frames
    SPARE_BLOCK_BYTES = 9437184    # all of them: eight fetches of 1 MiB, or one of eight partitions
    OWN = 8192             # bytes: a frame from here on leaves the chunk as its own bytes
    CHUNK = 65536          # bytes read at once while no large frame is under way
    DIRECT = 32768         # bytes: an unfinished frame above this is received straight into its own memory
    SMALL_CHUNK = 4096     # the same two of those who have not authenticated
    SMALL_DIRECT = 2048
    STREAM = 262144        # bytes: a frame from here on goes on before it is whole, if it can
    HEAD = 4096            # bytes of it that have to be there first, or are tried once
    OPEN = 2               # of `walk`: what is left of the frame needs no change
    SPARES = 16            # chunks kept for the next reader
    FIRST_BYTES = 16

SLOT_DECODE = 255
SLOT_USUAL = 254
SLOT_ADDRESS = 10
cdef int DECODE = SLOT_DECODE
cdef int USUAL = SLOT_USUAL
cdef enum:
    SLOTS = 11             # those with a table, and 0


include "engine_bytes.pxi"


# ---- rewrite ----

@cython.final
cdef class Names:
    """One direction of one namespace: what each name is on the other side."""
    cdef public list tables
    cdef readonly object missing

    def __init__(self, missing):
        self.missing = missing
        self.tables = [None] * SLOTS

    cdef object replacement(self, int slot, bytes name, Reader* r):
        cdef PyObject* known
        cdef object table = None, value
        if self.tables is not None and slot < PyList_GET_SIZE(self.tables):
            table = self.tables[slot]
        if table is not None:
            known = PyDict_GetItemWithError(<dict?>table, name)
            if known != NULL:
                return <bytes?><object>known
        r.steps -= MISS_STEPS
        value = self.missing(slot, name)
        return None if value is None else <bytes?>value


cdef struct Op:
    uint8_t kind, flags, slot
    int32_t a, b

cdef struct Tag:
    int64_t tag
    int32_t op

cdef class Program:
    """What `rewrite` does with one message at one version."""
    cdef Op* ops
    cdef Tag* tags

    def __cinit__(self, ops, tags=()):
        cdef Py_ssize_t i, n = len(ops), m = len(tags)
        cdef set kinds = {SKIP, STRING, BYTES, UUID, ARRAY, STRUCT, TAGS, END, INT16, INT32}
        if type(self) is Program:
            kinds.add(ADDRESS)
        elif isinstance(self, Peek):
            kinds = {SKIP, STRING, BYTES, END, BOOL, INT8, INT16, UINT16, INT32, UINT32, INT64}
        self.ops = <Op*>PyMem_RawMalloc(n * sizeof(Op) + 1)
        self.tags = <Tag*>PyMem_RawMalloc(m * sizeof(Tag) + 1)
        if self.ops == NULL or self.tags == NULL:
            raise MemoryError()
        for i, (kind, flags, slot, a, b) in enumerate(ops):
            target = a if kind in (ARRAY, STRUCT) else 0
            is_number = kind == INT16 or kind == INT32
            if not (0 <= target < n and (0 <= a or is_number) and 0 <= b < 65536
                    and (slot < SLOTS or slot == SLOT_DECODE or slot == SLOT_USUAL)):
                raise ValueError(f"op {i} is out of range: {(kind, flags, slot, a, b)}")
            if isinstance(self, Peek) and slot and (kind not in (INT16, INT32) or slot > NEGATIVE):
                raise ValueError(f"op {i} is out of range: {(kind, flags, slot, a, b)}")
            if kind not in kinds or kind == TAGS and a + b > m or kind == ARRAY and b == 0:
                raise ValueError(f"op {i} is out of range: {(kind, flags, slot, a, b)}")
            if kind == ADDRESS and (i == 0 or self.ops[i - 1].kind != SKIP or self.ops[i - 1].a < 4):
                raise ValueError(f"op {i} is out of range: {(kind, flags, slot, a, b)}")
            self.ops[i] = Op(kind, flags, slot, a, b)
        if n == 0 or self.ops[n - 1].kind != END:
            raise ValueError("a program closes with END")
        for i, (tag, op) in enumerate(tags):
            if not -1 <= op < n:
                raise ValueError(f"tag {tag} has no ops")
            self.tags[i] = Tag(tag, op)

    def __dealloc__(self):
        PyMem_RawFree(self.ops)
        PyMem_RawFree(self.tags)


cdef int cut(Output* out) except -1:
    """Close what is in the output as a segment."""
    if out.size:
        out.sent += out.size
        (<list>out.segments).append(take(out))
    return 0

cdef int copy_run(Reader* r, Output* out, Py_ssize_t to) except -1:
    """Take the frame over unchanged as far as `to`."""
    cdef Py_ssize_t size = to - out.copied
    if size >= SLICE and out.owner != NULL:
        cut(out)
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
    name = names.replacement(op.slot, PyBytes_FromStringAndSize(<const char*>old, size), r)
    if name is None:
        return 0
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

cdef struct Level:
    int32_t again        # array: first op of an element; tagged fields: op behind TAGS
    int32_t tags         # op TAGS, or -1 for an array
    int64_t left         # elements or tagged fields still to come, this one included
    Py_ssize_t end       # tagged field: where its content must end

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

cdef int walk(Program program, Reader* r, Output* out, Names names) except -1:
    """Rewrite the body. 1: done; 0: this frame has to be decoded; OPEN: see engine_stream.pxi."""
    cdef Level stack[MAX_DEPTH]
    cdef Level* level = stack    # the program itself; arrays and tagged fields lie above
    cdef Op* op
    cdef Py_ssize_t at
    cdef int64_t n
    cdef int i = 0, kind
    while True:
        op = &program.ops[i]
        i += 1
        kind = op.kind
        if kind == SKIP:
            need(r, op.a)
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
            n = read_length(r, op.flags, 4)
            if n > 0:
                if op.slot:
                    return 0
                if n > r.end - r.pos:
                    need_whole(r, n)
                    r.tail = tail_behind(program, i, level, stack)
                    return OPEN if r.tail == r.whole - r.pos - n else 0
                r.pos += n
        elif kind == TAGS:
            n = read_varint(r)
            if n:
                level = push(level, stack, r, i, i - 1, n)
                i = enter_tag(program, r, level)
                if i < 0:
                    return 0
        elif kind == ARRAY:
            n = read_count(r, op.flags, op.b)
            if op.slot and n and (op.slot == DECODE) == (n > 0):
                return 0
            if n > 0:
                if op.flags & FIXED:
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
            if op.slot and memcmp(r.data + at, ZERO_UUID, 16) and not substitute(op, r, out, names, at, 16):
                return 0
        elif kind == INT16 or kind == INT32:
            at = r.pos
            need(r, number_size(kind))
            r.pos += number_size(kind)
            n = <int16_t>be16(r.data + at) if kind == INT16 else <int32_t>be32(r.data + at)
            if op.slot and n != op.a:
                return 0
        elif kind == ADDRESS:
            if not readdress(op, r, out, names):
                return 0
        else:
            if not read_marker(r, op.flags):
                i = op.a
            elif op.slot:
                return 0

cdef const char* ZERO_UUID = b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"

cdef inline Level* push(Level* level, Level* stack, Reader* r, int again, int tags, int64_t left) except NULL:
    if level == stack + MAX_DEPTH - 1:
        fail(r, "nested too deeply")
    level += 1
    level.again = again
    level.tags = tags
    level.left = left
    return level


def rewrite(Program program not None, frame, Py_ssize_t start, Names names not None, bytes head=None,
            bint allow_trailing=False):
    """Copy a frame, its names replaced; None if that cannot be done in place."""
    cdef Reader r
    open_frame(frame, start, &r)
    try:
        return rewrite_body(program, frame, &r, names, head, None, allow_trailing)
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
    cdef Py_ssize_t begin = out.size
    out.copied = 0
    put_be(out, 0, 4)
    if client_prefix is not None:
        put_client_id(r, out, client_prefix)
    if walk(program, r, out, names) != 1:
        return False
    if r.pos != r.end and not allow_trailing:
        fail(r, "frame goes on behind its body")
    copy_run(r, out, r.pos)
    write_size(out.data + begin, out.size - begin - 4)
    return True

cdef list rewrite_body(Program program, object frame, Reader* r, Names names, bytes head, bytes client_prefix,
                       bint allow_trailing):
    cdef Output out
    cdef list segments = []
    cdef Py_ssize_t size, start = r.pos
    open_output(&out)
    out.segments = <PyObject*>segments
    out.owner = <PyObject*>frame if r.own else NULL
    out.copied = out.sent = 0
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
        cut(&out)
        size = out.sent - 4
        if size > 0x7FFFFFFF:
            fail(r, "frame is too long after its replacements")
        # No other code has seen the first segment yet.
        write_size(<uint8_t*>PyBytes_AS_STRING(segments[0]), size)
        return segments
    finally:
        Py_XDECREF(out.heap)


# ---- peek ----

cdef class Peek(Program):
    """Which numbers near the front of a body are of interest, and in the slot of each what it usually is."""

cdef inline bint is_usually(int what, int64_t number) noexcept:
    if what == ZERO:
        return number == 0
    if what == NOT_ZERO:
        return number != 0
    return number < 0 if what == NEGATIVE else what == ANYTHING

cdef bint is_usual(Peek peek, Reader* r) except -1:
    """Whether all numbers are what they usually are."""
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
            if op.kind != SKIP and not is_usually(op.slot, number):
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


include "engine_load.pxi"
include "engine_stream.pxi"
include "engine_usage.pxi"
include "engine_forward.pxi"
include "engine_prune.pxi"
include "engine_codec.pxi"
include "engine_room.pxi"
include "engine_framer.pxi"
include "engine_batch.pxi"
