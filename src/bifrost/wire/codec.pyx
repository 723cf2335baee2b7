# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Layouts, and how messages are decoded and encoded by them.

A `Layout` is a message class and its fields, those absent at this version too; `bifrost.wire.programs` compiles it from
the schema. How deep structs nest is up to the schema, not to the frame, so these walks may recurse.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.list cimport PyList_GET_SIZE
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.object cimport PyObject, PyObject_GetAttr
from cpython.ref cimport Py_XDECREF, _Py_REFCNT
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memmove

from bifrost.wire.errors import EncodeError
from bifrost.wire.window import owner_of

from bifrost.wire.framer cimport Block, TakenRoom
from bifrost.wire.output cimport (
    PART, Output, extend, is_part, open_output, put, put_be, put_length, put_varint, set_aside, take, varint_size,
    write_size, write_varint,
)
from bifrost.wire.reader cimport (
    BOOL, BYTES, FLOAT64, IGNORABLE, LIST, MAX_STRING, NULLABLE, PRESENT, RECORDS, STRING, STRUCT, TAGGED, UINT16, UINT32,
    UUID, Reader, close_frame, fail, need, number_size, open_frame, read_bytes_length, read_count, read_marker,
    read_number, read_string_length, read_varint, step,
)
from bifrost.wire.slots cimport new_list, set_slot, slot_of, slot_value
from bifrost.wire.steps cimport pause, python_step
from bifrost.wire.window cimport window

from bifrost.wire.steps import let_go

cdef extern from "Python.h":
    object PyType_GenericAlloc(type cls, Py_ssize_t items)
    void PyObject_GC_UnTrack(void* object)
    bint PyObject_IS_GC(object thing)
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1

cdef enum:
    SLICE = 4096         # bytes: larger fields leave as slices of the frame
    ELSEWHERE = 65536    # bytes of a frame in pieces that are not in counted memory


cdef class Layout:
    """A message class, or a struct's, and its fields as they are at one version."""

    def __cinit__(self, type cls not None, str name not None, bint flexible, fields):
        cdef Field* field
        cdef int kind, flags, tag, smallest
        self.cls = cls
        self.name = name
        self.flexible = flexible
        # Tagged fields go last, by tag: in this order they are written.
        self.owned = sorted(fields, key=lambda field: field[3] if field[2] & <int>TAGGED else -1)
        self.fields = <Field*>PyMem_RawMalloc(len(self.owned) * sizeof(Field) + 1)
        if self.fields == NULL:
            raise MemoryError()
        for attribute, kind, flags, tag, default, layout, smallest in self.owned:
            if kind == STRUCT and not isinstance(layout, Layout) or not (0 < smallest < 65536):
                raise ValueError(f"{name}.{attribute} is incomplete")
            field = &self.fields[self.count]
            field.kind, field.flags, field.tag, field.smallest = kind, flags, tag, smallest
            field.name, field.slot = <PyObject*>attribute, slot_of(cls, attribute)
            field.default = <PyObject*>default
            field.layout = <PyObject*>layout
            field.fresh = default == ()
            self.count += 1
            self.tagged += flags & TAGGED != 0
        if self.tagged > 0x7F or self.tagged and not flexible:
            raise ValueError(f"{name} cannot have {self.tagged} tagged fields")

    def __dealloc__(self):
        PyMem_RawFree(self.fields)


cdef object fresh_default(Field* field):
    """The value of an absent field."""
    if not field.fresh:
        return <object>field.default
    if not field.flags & LIST:
        return fresh_struct(<Layout>field.layout)
    return new_list()

cdef object fresh_struct(Layout layout):
    cdef object struct = PyType_GenericAlloc(layout.cls, 0)
    cdef int i
    PyObject_GC_UnTrack(<void*>struct)
    for i in range(layout.count):
        set_slot(struct, layout.fields[i].slot, fresh_default(&layout.fields[i]))
    return struct


def untrack(thing not None):
    """Hide an object that is in no cycle from the garbage collector."""
    if PyObject_IS_GC(thing):
        PyObject_GC_UnTrack(<void*>thing)


def release(Layout layout not None, message not None):
    """Empty the lists of a message that is no longer needed, in steps: to free all of it at once takes as long."""
    cdef Field* field
    cdef int i
    for i in range(layout.count):
        field = &layout.fields[i]
        if field.flags & LIST:
            items = PyObject_GetAttr(message, <object>field.name)
            # What filters have kept of it has other references.
            if isinstance(items, list) and _Py_REFCNT(<PyObject*>items) <= 2:
                release_list(field, <list>items)

cdef int release_list(Field* field, list items) except -1:
    cdef object element
    if field.kind == STRUCT:
        for element in items:
            if _Py_REFCNT(<PyObject*>element) <= 2:
                release(<Layout>field.layout, element)
            python_step()
        element = None
    let_go(items)
    return 0


# ---- decode ----

def decode(Layout layout not None, frame, Py_ssize_t start, bint allow_trailing=False):
    """Read a message."""
    cdef Reader r
    open_frame(frame, start, &r)
    try:
        message = decode_struct(layout, &r, frame if r.own else None)
        if r.pos != r.end and not allow_trailing:
            fail(&r, "frame goes on behind its body")
        return message
    finally:
        close_frame(&r)

cdef object decode_struct(Layout layout, Reader* r, object owner):
    cdef object struct = PyType_GenericAlloc(layout.cls, 0)
    cdef Field* field
    cdef int i
    PyObject_GC_UnTrack(<void*>struct)
    step(r)
    for i in range(layout.count):
        field = &layout.fields[i]
        value = decode_field(field, r, owner) if field.flags & PRESENT else fresh_default(field)
        set_slot(struct, field.slot, value)
    if layout.flexible:
        decode_tags(layout, struct, r, owner)
    return struct

cdef int decode_tags(Layout layout, object struct, Reader* r, object owner) except -1:
    cdef int64_t left = read_varint(r), tag, size
    cdef Py_ssize_t end
    cdef int i
    while left:
        left -= 1
        step(r)
        tag = read_varint(r)
        size = read_varint(r)
        need(r, size)
        end = r.pos + size
        for i in range(layout.count - layout.tagged, layout.count):
            if layout.fields[i].tag == tag:
                value = decode_field(&layout.fields[i], r, owner)
                set_slot(struct, layout.fields[i].slot, value)
                if r.pos != end:
                    fail(r, "tagged field has another size than announced")
                break
        else:
            r.pos = end
    return 0

cdef object decode_field(Field* field, Reader* r, object owner):
    cdef int64_t count, i
    cdef object element
    if not field.flags & LIST:
        return decode_value(field, field.flags, r, owner)
    count = read_count(r, field.flags, field.smallest)
    if count < 0:
        return None
    cdef list values = new_list()
    for i in range(count):
        step(r)
        values.append(decode_value(field, field.flags & ~NULLABLE, r, owner))
    return values

cdef object decode_value(Field* field, int flags, Reader* r, object owner):
    """A value that is not an array."""
    cdef int kind = field.kind
    if kind == STRING:
        return decode_string(r, flags)
    if kind == STRUCT:
        if flags & NULLABLE and not read_marker(r, flags):
            return None
        return decode_struct(<Layout>field.layout, r, owner)
    if kind == BYTES or kind == RECORDS:
        return decode_bytes(r, flags, owner if kind == RECORDS else None)
    if kind == UUID:
        need(r, 16)
        r.pos += 16
        return PyBytes_FromStringAndSize(<const char*>r.data + r.pos - 16, 16)
    return read_number(r, kind)

cdef object decode_string(Reader* r, int flags):
    cdef int64_t size = read_string_length(r, flags)
    if size < 0:
        return None
    try:
        text = PyUnicode_DecodeUTF8(<const char*>r.data + r.pos, size, NULL)
    except UnicodeDecodeError:
        fail(r, "string is not UTF-8")
    r.pos += size
    return text

cdef object decode_bytes(Reader* r, int flags, object owner):
    """Bytes; a large piece of `owner`, the frame, is not copied."""
    cdef int64_t size = read_bytes_length(r, flags)
    if size < 0:
        return None
    r.pos += size
    if size >= SLICE and owner is not None:
        return window(owner, r.data + r.pos - size, size, True)
    return PyBytes_FromStringAndSize(<const char*>r.data + r.pos - size, size)


# ---- encode ----

def encode(Layout layout not None, message, bytes head not None):
    """Write a frame: its length, the header `head`, the message."""
    return encoded(layout, message, head, None)

def encode_in_room_of(Layout layout not None, message, bytes head not None, frame not None):
    """Write a frame that was made of another one, and takes over its room."""
    owner = owner_of(frame)
    return encoded(layout, message, head, owner if isinstance(owner, Block) else None)

def encode_in_pieces(Layout layout not None, message, bytes head not None, frame not None):
    """Likewise, in pieces: what lies in the memory of that frame stays there."""
    cdef list pieces = []
    owner = owner_of(frame)
    whole = encoded(layout, message, head, owner if isinstance(owner, Block) else None, pieces)
    return pieces if whole is None else [whole]

def encode_in_taken_room(Layout layout not None, message, bytes head not None, TakenRoom taken not None):
    """Write a frame, and let its memory take over that room."""
    return encoded(layout, message, head, None, None, taken)

def encode_body(Layout layout not None, message):
    """Write a message without length and header."""
    return encoded(layout, message, None, None)

cdef object encoded(Layout layout, object message, bytes head, Block place, list pieces=None, TakenRoom taken=None):
    """Write a message; None: it is in `pieces`, as all but a little of it is in the memory of `place`."""
    cdef Output out
    cdef Block block
    cdef bytes whole
    cdef list segments = []
    open_output(&out)
    out.segments = <PyObject*>segments
    out.sent, out.open = 0, 0
    try:
        if head is not None:
            put_be(&out, 0, 4)
            put(&out, PyBytes_AS_STRING(head), PyBytes_GET_SIZE(head))
        encode_struct(layout, message, &out)
        if pieces is not None and place is not None and elsewhere(segments, &out, place) <= ELSEWHERE:
            set_aside(&out)
            check_size(layout, out.sent)
            pieces += segments
            # No other code has seen the first one yet.
            write_size(<uint8_t*>PyBytes_AS_STRING(pieces[0]), out.sent - 4)
            return None
        if segments and place is not None:
            block = in_block(layout, segments, &out)
            # From here on it is given back with this memory; the frame's own goes soon.
            block.size, block.room, block.is_answer = place.size, place.room, place.is_answer
            place.room = None
            return window(block, block.data, out.sent, True)
        if segments and taken is not None and taken.room is not None:
            block = in_block(layout, segments, &out)
            block.size, block.room, block.is_answer = taken.size, taken.room, True
            taken.room = None
            return window(block, block.data, out.sent, True)
        whole = joined(segments, &out) if segments else take(&out)
    finally:
        Py_XDECREF(out.heap)
    if head is not None:
        check_size(layout, PyBytes_GET_SIZE(whole))
        # No other code has seen it yet.
        write_size(<uint8_t*>PyBytes_AS_STRING(whole), PyBytes_GET_SIZE(whole) - 4)
    return whole

cdef int check_size(Layout layout, Py_ssize_t size) except -1:
    if size - 4 > 0x7FFFFFFF:
        raise EncodeError(f"{layout.name} is longer than a frame can be")
    return 0

cdef Py_ssize_t elsewhere(list segments, Output* out, Block place) except -1:
    """How many bytes of what was written are not in the memory of `place`, and so are counted nowhere."""
    cdef Py_ssize_t size = out.size
    for one in segments:
        owner = one
        while owner is not None and owner is not place:
            owner = owner_of(owner)  # What was decoded lies in the frame, and this in its memory.
        if owner is None:
            size += len(one)
    return size

cdef bytes joined(list segments, Output* out):
    """Put the parts of what was written together."""
    cdef bytes whole
    set_aside(out)
    whole = PyBytes_FromStringAndSize(NULL, out.sent)
    join(segments, PyBytes_AS_STRING(whole))
    return whole

cdef Block in_block(Layout layout, list segments, Output* out):
    """Put a frame together in memory that may be that of an earlier one, and is counted nowhere yet."""
    cdef Block block
    set_aside(out)
    check_size(layout, out.sent)
    block = Block.__new__(Block, out.sent)
    join(segments, <char*>block.data)
    write_size(block.data, out.sent - 4)
    return block

cdef int join(list segments, char* whole) except -1:
    """Copy segments one behind the other, with pauses in between: fresh memory and the copy take time."""
    cdef Py_buffer view
    cdef Py_ssize_t size = 0, done, more
    segments.reverse()
    while segments:
        PyObject_GetBuffer(segments.pop(), &view, PyBUF_SIMPLE)
        try:
            done = 0
            while done < view.len:
                more = min(view.len - done, <Py_ssize_t>PART)
                memcpy(whole + size, <const char*>view.buf + done, more)
                done += more
                size += more
                pause()
        finally:
            PyBuffer_Release(&view)
    return 0

cdef int refuse(Layout layout, Field* field, str problem) except -1:
    raise EncodeError(f"{layout.name}.{<object>field.name} {problem}")

cdef int encode_struct(Layout layout, object struct, Output* out) except -1:
    cdef Field* field
    cdef object value
    cdef int i
    python_step()
    if not isinstance(struct, layout.cls):
        raise EncodeError(f"{layout.name} cannot be written from {type(struct).__name__}")
    for i in range(layout.count - layout.tagged):
        field = &layout.fields[i]
        if not field.flags & PRESENT and field.flags & IGNORABLE:
            continue
        value = slot_value(struct, field.slot)
        if field.flags & PRESENT:
            encode_field(layout, field, value, out)
        elif not is_default(field, value):
            refuse(layout, field, "has a value, but this version has no such field")
    if layout.flexible:
        encode_tags(layout, struct, out)
    return 0

cdef int encode_tags(Layout layout, object struct, Output* out) except -1:
    cdef Py_ssize_t count_at = out.size, at, size
    cdef Field* field
    cdef int i, more
    extend(out, 1)[0] = 0
    for i in range(layout.count - layout.tagged, layout.count):
        field = &layout.fields[i]
        value = slot_value(struct, field.slot)
        if is_default(field, value):
            continue
        out.data[count_at] += 1
        put_varint(out, field.tag)
        at = out.size
        extend(out, 1)
        out.open += 1
        encode_field(layout, field, value, out)
        out.open -= 1
        # One byte was left for the size; a longer content moves up.
        size = out.size - at - 1
        more = varint_size(size) - 1
        if more:
            extend(out, more)
            memmove(out.data + at + 1 + more, out.data + at + 1, size)
        write_varint(out.data + at, size)
    return 0

cdef bint is_default(Field* field, object value) except -1:
    """Whether a value need not be written. Source: FieldSpec.generateNonDefaultValueCheck."""
    cdef object default = <object>field.default
    cdef Layout layout
    cdef int i
    if value is None or default is None:
        return value is default
    if field.flags & LIST:
        return len(value) == 0
    if field.kind != STRUCT:
        return value == default
    layout = <Layout>field.layout
    if not isinstance(value, layout.cls):
        return False  # Which cannot be written.
    for i in range(layout.count):
        if not is_default(&layout.fields[i], slot_value(value, layout.fields[i].slot)):
            return False
    return True

cdef int encode_field(Layout layout, Field* field, object value, Output* out) except -1:
    if not field.flags & LIST:
        return encode_value(layout, field, field.flags, value, out)
    if value is None:
        return put_null(layout, field, field.flags, out, 4)
    if not isinstance(value, list):
        refuse(layout, field, f"is a list, not {type(value).__name__}")
    put_length(out, PyList_GET_SIZE(value), field.flags, 4)
    for element in <list>value:
        python_step()
        encode_value(layout, field, field.flags & ~NULLABLE, element, out)
        if is_part(out) and not out.open:
            set_aside(out)
    return 0

cdef int put_null(Layout layout, Field* field, int flags, Output* out, int width) except -1:
    if not flags & NULLABLE:
        refuse(layout, field, "cannot be None")
    return put_length(out, -1, flags, width)

cdef int encode_value(Layout layout, Field* field, int flags, object value, Output* out) except -1:
    """Write a value that is not an array."""
    cdef int kind = field.kind
    if kind == STRING:
        return encode_string(layout, field, flags, value, out)
    if kind == STRUCT:
        if value is None and not flags & NULLABLE:
            refuse(layout, field, "cannot be None")
        if flags & NULLABLE:
            put_be(out, 1 if value is not None else 0 if flags & TAGGED else 0xFF, 1)
        return 0 if value is None else encode_struct(<Layout>field.layout, value, out)
    if kind == BYTES or kind == RECORDS or kind == UUID:
        return encode_bytes(layout, field, flags, value, out)
    return encode_number(layout, field, value, out)

cdef int encode_string(Layout layout, Field* field, int flags, object value, Output* out) except -1:
    cdef Py_ssize_t size
    cdef const char* text = NULL
    if value is None:
        return put_null(layout, field, flags, out, 2)
    if not isinstance(value, str):
        refuse(layout, field, f"is a string, not {type(value).__name__}")
    try:
        text = PyUnicode_AsUTF8AndSize(value, &size)
    except UnicodeEncodeError:
        refuse(layout, field, "is not a string that UTF-8 can carry")
    if size > MAX_STRING:
        refuse(layout, field, f"is longer than {MAX_STRING} bytes")
    put_length(out, size, flags, 2)
    return put(out, text, size)

cdef int encode_pieces(Layout layout, Field* field, int flags, tuple pieces, Output* out) except -1:
    """Write records that are in several pieces of memory."""
    cdef int64_t size = 0
    for piece in pieces:
        if not isinstance(piece, (bytes, bytearray, memoryview)):
            refuse(layout, field, f"is bytes, not {type(piece).__name__}")
        size += piece.nbytes if isinstance(piece, memoryview) else len(piece)
    if size > 0x7FFFFFFE:
        refuse(layout, field, f"cannot be {size} bytes")
    put_length(out, size, flags, 4)
    for piece in pieces:
        python_step()
        put_piece(layout, field, piece, out)
    return 0

cdef int put_piece(Layout layout, Field* field, object piece, Output* out) except -1:
    """Write bytes without their length; a large piece that does not change is not copied before all is joined."""
    cdef Py_buffer view
    try:
        PyObject_GetBuffer(piece, &view, PyBUF_SIMPLE)
    except BufferError:
        refuse(layout, field, "is not one piece of memory")
    try:
        if view.len < SLICE or out.open or not view.readonly:
            return put(out, view.buf, view.len)
    finally:
        PyBuffer_Release(&view)
    set_aside(out)
    out.sent += view.len
    (<list>out.segments).append(piece)
    return 0

cdef int encode_bytes(Layout layout, Field* field, int flags, object value, Output* out) except -1:
    cdef Py_buffer view
    if value is None:
        return put_null(layout, field, flags if field.kind != UUID else 0, out, 4)
    if field.kind == RECORDS and isinstance(value, tuple):
        return encode_pieces(layout, field, flags, <tuple>value, out)
    if not isinstance(value, (bytes, bytearray, memoryview)):
        refuse(layout, field, f"is bytes, not {type(value).__name__}")
    try:
        PyObject_GetBuffer(value, &view, PyBUF_SIMPLE)
    except BufferError:
        refuse(layout, field, "is not one piece of memory")
    try:
        if view.len > 0x7FFFFFFE or field.kind == UUID and view.len != 16:
            refuse(layout, field, f"cannot be {view.len} bytes")
        if field.kind != UUID:
            put_length(out, view.len, flags, 4)
        if field.kind != RECORDS:
            return put(out, view.buf, view.len)
    finally:
        PyBuffer_Release(&view)
    return put_piece(layout, field, value, out)

cdef int encode_number(Layout layout, Field* field, object value, Output* out) except -1:
    cdef int kind = field.kind, bits = 8 * number_size(kind), overflow = 0
    cdef long long number
    cdef uint64_t raw
    cdef double real = 0
    if kind == FLOAT64:
        if not isinstance(value, (float, int)):
            refuse(layout, field, f"is a number, not {type(value).__name__}")
        try:
            real = value
        except OverflowError:
            refuse(layout, field, "is out of range")
        memcpy(&raw, &real, 8)
        return put_be(out, raw, 8)
    if not isinstance(value, bool if kind == BOOL else int):
        refuse(layout, field, f"is {'a bool' if kind == BOOL else 'an integer'}, not {type(value).__name__}")
    number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if kind == UINT16 or kind == UINT32:
        overflow |= number < 0 or number >> bits != 0
    elif bits < 64:
        overflow |= number >> (bits - 1) != number >> 63
    if overflow:
        refuse(layout, field, f"is out of range: {value}")
    return put_be(out, <uint64_t>number, bits // 8)
