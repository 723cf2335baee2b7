# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A reader of a frame that checks every length before it reads, and the kinds of fields that it reads.

Inline, because the loops that walk over frames stand in several modules.
"""

from cpython.buffer cimport PyBuffer_Release
from cpython.object cimport PyObject
from cpython.ref cimport Py_CLEAR
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cpdef enum Kind:
    SKIP, STRING, BYTES, UUID, ARRAY, STRUCT, TAGS, END
    RECORDS, BOOL, INT8, INT16, UINT16, INT32, UINT32, INT64, FLOAT64
    ADDRESS, CODE

cpdef enum Flag:
    COMPACT = 1      # length + 1 as a varint, instead of int16 (string) or int32
    NULLABLE = 2
    FIXED = 4        # Program: array of elements of one size
    LIST = 4         # Layout: array of this kind
    PRESENT = 8      # Layout: this version has the field, untagged
    TAGGED = 16      # Layout: this version has the field, tagged
    IGNORABLE = 32   # Layout: a value that this version cannot carry is left out without error

cdef enum:
    MAX_STRING = 0x7FFF    # bytes; Kafka refuses longer ones in compact form as well
    HOT_STEPS = 8192       # rounds on the hot path of all frames that came together: half a millisecond
    MISS_STEPS = 64        # rounds that a name stands for about which Python code of the namespace decides: 2 to 4 us
    LONG_NAME_BITS = 8     # a name of 30 KiB takes as long as a hundred usual ones, and is no topic's
    CODES = 8              # different error codes of one frame that are told apart
    OTHER_CODE = 0         # stands for those beyond; as an error code 0 is NONE

cdef struct Reader:
    const uint8_t* data
    Py_ssize_t pos
    Py_ssize_t end
    Py_ssize_t whole     # where the frame ends, of which perhaps only the beginning is there
    Py_ssize_t tail      # see rewriting.pyx
    bint own             # the frame is a bytes object: slices of it may be kept
    bint hot             # see steps.pyx
    int64_t steps
    int64_t given        # on the hot path: the steps at its beginning
    int names            # how many were looked up
    int codes            # how many of the next two are used: error codes that were passed, and how often each
    int16_t code[CODES + 1]
    int64_t times[CODES + 1]
    PyObject* trip       # RecordTrip, owned; NULL: no way was taken (rewriting.pyx)
    PyObject* producer   # of the connection, borrowed: in its name ways may write batches; NULL: they may not
    Py_buffer view       # else this holds its memory until close_frame

cdef int fail(Reader* r, str reason) except -1
cdef int open_frame(object frame, Py_ssize_t start, Reader* r) except -1
cdef int out_of_steps(Reader* r) except -1
cdef void add_code(Reader* r, int code) noexcept
cdef object read_number(Reader* r, int kind)

cdef inline uint16_t be16(const uint8_t* p) noexcept:
    return <uint16_t>(p[0] << 8 | p[1])

cdef inline int open_hot_frame(object frame, Reader* r) except -1:
    open_frame(frame, 0, r)
    give_hot_steps(r, HOT_STEPS)
    return 0

cdef inline void give_hot_steps(Reader* r, int64_t steps) noexcept:
    r.hot, r.steps, r.given, r.names, r.codes = True, steps, steps, 0, 0

cdef inline void close_frame(Reader* r) noexcept:
    Py_CLEAR(r.trip)
    if not r.own:
        PyBuffer_Release(&r.view)

cdef inline int step(Reader* r) except -1:
    """One round of a loop; 1: no further here."""
    r.steps -= 1
    return out_of_steps(r) if r.steps < 0 else 0

cdef inline int need(Reader* r, int64_t size) except -1:
    if size > r.end - r.pos:
        fail(r, "frame ends within a field")
    return 0

cdef inline void note_code(Reader* r, const uint8_t* at) noexcept:
    """Note the error code that stands there, if it is one."""
    if at[0] | at[1]:
        add_code(r, <int16_t>be16(at))

cdef inline int need_whole(Reader* r, int64_t size) except -1:
    if size > r.whole - r.pos:
        fail(r, "frame ends within a field")
    return 0

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

cdef inline int number_size(int kind) noexcept:
    if kind == BOOL or kind == INT8:
        return 1
    if kind == INT16 or kind == UINT16:
        return 2
    return 4 if kind == INT32 or kind == UINT32 else 8

cdef inline bint is_zero_uuid(const uint8_t* p) noexcept:
    return be64(p) == 0 and be64(p + 8) == 0
