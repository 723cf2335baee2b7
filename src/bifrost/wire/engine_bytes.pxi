"""The engine's bytes: a reader that checks, an output that grows, windows on memory. Part of engine.pyx."""

# ---- reading: every function checks before it reads ----

cdef struct Reader:
    const uint8_t* data
    Py_ssize_t pos
    Py_ssize_t end
    Py_ssize_t whole     # where the frame ends, of which perhaps only the beginning is there
    Py_ssize_t tail      # see engine_stream.pxi
    bint own             # the frame is a bytes object: slices of it may be kept
    bint hot             # see engine_steps.pxi
    int64_t steps
    Py_buffer view       # else this holds its memory until close_frame

include "engine_steps.pxi"

cdef int fail(Reader* r, str reason) except -1:
    raise MalformedFrame(reason, r.pos)

cdef inline int need(Reader* r, int64_t size) except -1:
    if size > r.end - r.pos:
        fail(r, "frame ends within a field")
    return 0

cdef inline int need_whole(Reader* r, int64_t size) except -1:
    if size > r.whole - r.pos:
        fail(r, "frame ends within a field")
    return 0

cdef inline uint16_t be16(const uint8_t* p) noexcept:
    return <uint16_t>(p[0] << 8 | p[1])

cdef inline uint32_t be32(const uint8_t* p) noexcept:
    return <uint32_t>p[0] << 24 | <uint32_t>p[1] << 16 | <uint32_t>p[2] << 8 | p[3]

cdef inline uint64_t be64(const uint8_t* p) noexcept:
    return <uint64_t>be32(p) << 32 | be32(p + 4)

cdef inline int64_t read_varint(Reader* r) except -1:
    """An unsigned varint of at most 32 bits."""
    cdef uint8_t byte
    cdef uint32_t value
    cdef int shift
    if r.pos < r.end and r.data[r.pos] < 0x80:
        r.pos += 1
        return r.data[r.pos - 1]
    value = 0
    for shift in range(0, 35, 7):
        need(r, 1)
        byte = r.data[r.pos]
        if shift == 28 and byte > 0x0F:
            break
        r.pos += 1
        value |= <uint32_t>(byte & 0x7F) << shift
        if byte < 0x80:
            return value
    return fail(r, "varint is longer than 32 bits")

cdef inline int64_t read_length(Reader* r, int flags, int width) except -2:
    """The length of a string, bytes or array: -1 if null, else within what a signed 32-bit count could be."""
    cdef int64_t length
    if flags & COMPACT:
        length = read_varint(r) - 1
    else:
        need(r, width)
        length = <int16_t>be16(r.data + r.pos) if width == 2 else <int32_t>be32(r.data + r.pos)
        r.pos += width
    if length < 0:
        if length < -1:
            fail(r, "negative length")
        if not flags & NULLABLE:
            fail(r, "null in a field that is not nullable")
    return length

cdef inline int64_t read_string_length(Reader* r, int flags) except -2:
    """The length of a string, -1 if null; that many bytes are there."""
    cdef int64_t length = read_length(r, flags, 2)
    if length > MAX_STRING:
        fail(r, "string is too long")
    need(r, length)
    return length

cdef inline int64_t read_bytes_length(Reader* r, int flags) except -2:
    """The length of bytes or records, -1 if null; that many bytes are there."""
    cdef int64_t length = read_length(r, flags, 4)
    need(r, length)
    return length

cdef inline int64_t read_count(Reader* r, int flags, int smallest) except -2:
    """The count of an array, -1 if null; so many elements of `smallest` bytes (65535 at most) are there."""
    cdef int64_t count = read_length(r, flags, 4)
    if count > 0 and count * smallest > r.whole - r.pos:
        fail(r, "array has more elements than the frame can hold")
    return count

cdef inline int read_marker(Reader* r, int flags) except -1:
    """Whether a nullable struct follows: int8 below 0 is null; in a tagged field 0 is."""
    cdef int8_t marker
    need(r, 1)
    marker = <int8_t>r.data[r.pos]
    r.pos += 1
    return marker > 0 if flags & TAGGED else marker >= 0

cdef object read_number(Reader* r, int kind):
    """A number or bool."""
    cdef const uint8_t* p = r.data + r.pos
    cdef int size = number_size(kind)
    cdef uint64_t bits
    cdef double real
    need(r, size)
    r.pos += size
    if kind == INT32:
        return <int32_t>be32(p)
    if kind == INT16:
        return <int16_t>be16(p)
    if kind == INT64:
        return <int64_t>be64(p)
    if kind == INT8:
        return <int8_t>p[0]
    if kind == BOOL:
        return p[0] != 0
    if kind == UINT16:
        return be16(p)
    if kind == UINT32:
        return be32(p)
    bits = be64(p)
    memcpy(&real, &bits, 8)
    return real

cdef inline int number_size(int kind) noexcept:
    if kind == BOOL or kind == INT8:
        return 1
    if kind == INT16 or kind == UINT16:
        return 2
    return 4 if kind == INT32 or kind == UINT32 else 8

cdef int open_frame(object frame, Py_ssize_t start, Reader* r) except -1:
    """Let `r` read `frame` from `start`; to be closed afterwards."""
    r.own = PyBytes_CheckExact(frame)
    if not r.own and memoryview_is_kept(frame):
        r.own = True
        r.data = <const uint8_t*>memoryview_data(frame)
        r.end = memoryview_size(frame)
    elif r.own:
        r.data = <const uint8_t*>PyBytes_AS_STRING(frame)
        r.end = PyBytes_GET_SIZE(frame)
    else:
        PyObject_GetBuffer(frame, &r.view, PyBUF_SIMPLE)
        r.data = <const uint8_t*>r.view.buf
        r.end = r.view.len
    r.pos, r.whole, r.tail = start, r.end, -1
    r.hot, r.steps = False, pause_steps
    if start < 0 or start > r.end:
        close_frame(r)
        fail(r, "frame ends before its body")
    return 0

cdef inline int open_hot_frame(object frame, Reader* r) except -1:
    open_frame(frame, 0, r)
    r.hot, r.steps = True, HOT_STEPS
    return 0

cdef inline void close_frame(Reader* r) noexcept:
    if not r.own:
        PyBuffer_Release(&r.view)


# ---- memory that is handed out ----

@cython.final
@cython.no_gc
@cython.freelist(64)
cdef class Window:
    """A piece of memory that `owner` (bytes or Chunk) keeps alive."""
    cdef object owner
    cdef void* data
    cdef Py_ssize_t size
    cdef bint readonly

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.data, self.size, self.readonly, flags)

cdef object window(object owner, const void* data, Py_ssize_t size, bint readonly):
    cdef Window piece = Window.__new__(Window)
    piece.owner = owner
    piece.data = <void*>data
    piece.size = size
    piece.readonly = readonly
    return PyMemoryView_FromObject(piece)

cdef inline bint memoryview_is_kept(object frame) noexcept:
    """Whether it is one of ours on memory that slices may keep alive: a Block's, or a good part of a Chunk's."""
    cdef PyObject* base
    if not PyMemoryView_Check(frame) or memoryview_size(frame) < KEPT:
        return False
    base = memoryview_base(frame)
    return base != NULL and type(<object>base) is Window and (<Window>base).readonly

def keep(frame not None):
    """Return the frame, or a copy of it if its memory will be used again."""
    return frame if PyBytes_CheckExact(frame) or memoryview_is_kept(frame) else bytes(frame)

cdef struct Output:
    # What is written grows in `local`, then in a bytes object; it leaves as one or several segments.
    uint8_t* data
    Py_ssize_t size, capacity
    PyObject* heap           # bytes, owned; NULL while `local` is used
    PyObject* owner          # rewrite: the frame if it may be sliced, else NULL
    PyObject* segments       # rewrite: list of what is finished
    Py_ssize_t copied, sent  # rewrite: how far the frame is taken over; bytes in `segments`
    uint8_t local[LOCAL]

cdef inline void open_output(Output* out) noexcept:
    out.data = out.local
    out.size = 0
    out.capacity = LOCAL
    out.heap = NULL

cdef int grow(Output* out, Py_ssize_t size) except -1:
    out.capacity = max(2 * out.capacity, out.size + size)
    if out.heap == NULL:
        out.heap = new_bytes(NULL, out.capacity)
        memcpy(PyBytes_AS_STRING(<object>out.heap), out.local, out.size)
    else:
        _PyBytes_Resize(&out.heap, out.capacity)
    out.data = <uint8_t*>PyBytes_AS_STRING(<object>out.heap)
    return 0

cdef inline uint8_t* extend(Output* out, Py_ssize_t size) except NULL:
    """Room for `size` more bytes, already counted; valid until the next call."""
    if size > out.capacity - out.size:
        grow(out, size)
    out.size += size
    return out.data + out.size - size

cdef inline int put(Output* out, const void* data, Py_ssize_t size) except -1:
    memcpy(extend(out, size), data, size)
    return 0

cdef inline int put_be(Output* out, uint64_t value, int width) except -1:
    cdef uint8_t* p = extend(out, width)
    while width:
        width -= 1
        p[width] = value & 0xFF
        value >>= 8
    return 0

cdef inline void write_size(uint8_t* p, Py_ssize_t size) noexcept:
    """Write a frame's length."""
    p[0], p[1], p[2], p[3] = size >> 24 & 0xFF, size >> 16 & 0xFF, size >> 8 & 0xFF, size & 0xFF

cdef inline int varint_size(uint32_t value) noexcept:
    cdef int size = 1
    while value >= 0x80:
        value >>= 7
        size += 1
    return size

cdef inline void write_varint(uint8_t* p, uint32_t value) noexcept:
    while value >= 0x80:
        p[0] = <uint8_t>(value | 0x80)
        p += 1
        value >>= 7
    p[0] = <uint8_t>value

cdef inline int put_varint(Output* out, uint32_t value) except -1:
    write_varint(extend(out, varint_size(value)), value)
    return 0

cdef inline int put_length(Output* out, int64_t length, int flags, int width) except -1:
    """The length of a string, bytes or array; -1 for null."""
    return put_varint(out, <uint32_t>(length + 1)) if flags & COMPACT else put_be(out, length, width)

cdef object take(Output* out):
    """What was written, as bytes; the output is empty again."""
    cdef object result
    if out.heap == NULL:
        result = PyBytes_FromStringAndSize(<const char*>out.data, out.size)
    else:
        _PyBytes_Resize(&out.heap, out.size)
        result = <object>out.heap
        Py_XDECREF(out.heap)
    open_output(out)
    return result
