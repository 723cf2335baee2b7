# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Replaces fields of JSON values of all records of a batch: one pass over the bytes, a Python object per such field alone.

A path is a list of names, as in `customer.email`. At each object those paths are active whose names led there; an array
changes nothing about that. What stands where a path ends is replaced; a scalar where a path should go on is replaced by
null, because nothing says that it does not have inside what the path means.

    {"customer": {"email": "a@b.c"}}        customer.email -> one value replaced
    {"customer": [{"email": "a@b.c"}]}      likewise, arrays are passed through
    {"customer": "a@b.c"}                   the path ends early -> null

Names may repeat in an object and may be written with escapes: each of them is compared, as it reads.

Source: RFC 8259; the wire format of Confluent's serializers (a zero byte and four of an ID before the JSON).
"""

import json

from bifrost.schemas.avro_check import NoAvro

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcmp

from bifrost.schemas.avro_check cimport Cursor, check_text
from bifrost.transforms.masking.masked_values cimport FieldMasker, Out
from bifrost.wire.steps cimport python_step

cdef enum:
    PATHS = 64              # bits of a mask
    NAMES = 16              # of a path
    DEPTH = 100             # of nested arrays and objects
    ID_BYTES = 5            # before the JSON: a zero byte and the ID of a schema
    PIECE = 1 << 18         # bytes that are read without a pause: some 0.3 ms
    PIECE_ROUNDS = 65       # enough for a pause
    LONG = 1024             # bytes that count as one more round of a loop
    ANY = -1                # in place of a name's length: every name
    # What follows in an array or object.
    INVALID = 0
    ELEMENT = 1
    END = 2

MAX_PATHS = PATHS
MAX_NAMES = NAMES

TEXT, NUMBER, OTHER, NOTHING = range(4)

ctypedef const uint8_t* Name

cdef struct Scan:
    const uint8_t* p        # the next byte
    const uint8_t* end
    const uint8_t* kept     # bytes from here on are not written yet
    int depth
    bint has_escapes        # of the string that was read last
    Name[NAMES] name        # of each level, as they stand in the value, where a path goes on
    Py_ssize_t[NAMES] size

cdef class JsonMasker(FieldMasker):
    """The paths, and what becomes of the fields there."""

    cdef list names         # keeps the bytes alive
    cdef object replace
    cdef int count
    cdef int[PATHS] length
    cdef bint[PATHS] of_elements
    cdef Name[PATHS][NAMES] name
    cdef Py_ssize_t[PATHS][NAMES] size

    def __init__(self, list paths not None, replace not None):
        cdef int at, place
        if not 1 <= len(paths) <= PATHS:
            raise ValueError(f"1 to {PATHS} paths")
        self.names, self.replace, self.count = [], replace, len(paths)
        for at, (names, of_elements) in enumerate(paths):
            if not 1 <= len(names) <= NAMES:
                raise ValueError(f"a path has 1 to {NAMES} names")
            self.length[at], self.of_elements[at] = len(names), of_elements
            for place, name in enumerate(names):
                self.names.append(name)
                self.name[at][place] = NULL if name is None else <const uint8_t*>PyBytes_AS_STRING(name)
                self.size[at][place] = ANY if name is None else PyBytes_GET_SIZE(name)

    cdef uint64_t all_paths(self) noexcept:
        return ~<uint64_t>0 >> (PATHS - self.count)

    cdef int mask(self, Out out, const uint8_t* data, Py_ssize_t size, Py_ssize_t start) except -1:
        return mask_one(self, out, data, size, start)

    cdef uint64_t matching(self, uint64_t active, int level, const uint8_t* name, Py_ssize_t size) noexcept:
        """Which of the active paths have this name at a level."""
        cdef uint64_t found = 0
        cdef int i
        for i in range(self.count):
            if active >> i & 1 and level < self.length[i] and (
                self.size[i][level] == ANY
                or (self.size[i][level] == size and memcmp(self.name[i][level], name, size) == 0)
            ):
                found |= <uint64_t>1 << i
        return found

    cdef int ending(self, uint64_t active, int level) noexcept:
        """The first of the active paths that ends at a level; -1: none."""
        cdef int i
        for i in range(self.count):
            if active >> i & 1 and self.length[i] == level:
                return i
        return -1

# ---- JSON: each returns 1, or 0 where the bytes are none ----

cdef const uint8_t* next_stop(Scan* s) except NULL:
    """Pause, and return how far to read until the next one."""
    python_step(PIECE_ROUNDS)
    return min(s.p + PIECE, s.end)

cdef inline int skip_space(Scan* s) except -1:
    cdef const uint8_t* stop = min(s.p + PIECE, s.end)
    while s.p < s.end:
        if s.p[0] != c" " and s.p[0] != c"\n" and s.p[0] != c"\r" and s.p[0] != c"\t":
            return 0
        s.p += 1
        if s.p >= stop:
            stop = next_stop(s)
    return 0

cdef inline bint is_digit(Scan* s) noexcept:
    return s.p < s.end and c"0" <= s.p[0] <= c"9"

cdef inline bint is_hex(uint8_t c) noexcept:
    return c"0" <= c <= c"9" or c"a" <= c <= c"f" or c"A" <= c <= c"F"

cdef int read_string(Scan* s) except -1:
    """Pass a string; its quote is the next byte."""
    cdef int i
    cdef const uint8_t* stop = min(s.p + PIECE, s.end)
    s.has_escapes = False
    s.p += 1
    while True:
        if s.p >= stop:
            if s.p >= s.end:
                return 0
            stop = next_stop(s)
        if s.p[0] == c'"':
            s.p += 1
            return 1
        if s.p[0] < 0x20:
            return 0
        if s.p[0] == c"\\":
            s.has_escapes = True
            s.p += 1
            if s.p >= s.end:
                return 0
            if s.p[0] == c"u":
                if s.end - s.p < 5:
                    return 0
                for i in range(1, 5):
                    if not is_hex(s.p[i]):
                        return 0
                s.p += 4
            elif s.p[0] not in (c'"', c"\\", c"/", c"b", c"f", c"n", c"r", c"t"):
                return 0
        s.p += 1

cdef int read_digits(Scan* s) except -1:
    cdef const uint8_t* stop = min(s.p + PIECE, s.end)
    if not is_digit(s):
        return 0
    while is_digit(s):
        s.p += 1
        if s.p >= stop:
            stop = next_stop(s)
    return 1

cdef int read_number(Scan* s) except -1:
    if s.p[0] == c"-":
        s.p += 1
    if s.p < s.end and s.p[0] == c"0":
        s.p += 1
    elif not read_digits(s):
        return 0
    if s.p < s.end and s.p[0] == c".":
        s.p += 1
        if not read_digits(s):
            return 0
    if s.p < s.end and (s.p[0] == c"e" or s.p[0] == c"E"):
        s.p += 1
        if s.p < s.end and (s.p[0] == c"+" or s.p[0] == c"-"):
            s.p += 1
        return read_digits(s)
    return 1

cdef int read_word(Scan* s, const char* word, Py_ssize_t size) noexcept:
    if s.end - s.p < size or memcmp(s.p, word, size) != 0:
        return 0
    s.p += size
    return 1

cdef int read_scalar(Scan* s) except -1:
    if s.p[0] == c'"':
        return read_string(s)
    if s.p[0] == c"t":
        return read_word(s, b"true", 4)
    if s.p[0] == c"f":
        return read_word(s, b"false", 5)
    if s.p[0] == c"n":
        return read_word(s, b"null", 4)
    return read_number(s)

cdef int put_instead(Scan* s, Out out, const uint8_t* begin, const uint8_t* new, Py_ssize_t size) except -1:
    """Write what stands before `begin`, and something else in place of what was read since."""
    out.put(s.kept, begin - s.kept)
    out.put(new, size)
    s.kept = s.p
    out.is_changed = True
    return 1

cdef int read_value(Scan* s, JsonMasker m, Out out, uint64_t active, int level) except -1:
    """Pass a value; mask what the active paths mean that is in it. `level` is how many names led here."""
    cdef const uint8_t* begin
    skip_space(s)
    if s.p >= s.end:
        return 0
    python_step()
    if s.p[0] == c"{":
        return read_object(s, m, out, active, level)
    if s.p[0] == c"[":
        return read_array(s, m, out, active, level, -1)
    begin = s.p
    if not read_scalar(s):
        return 0
    python_step((s.p - begin) // LONG)
    if active and begin[0] != c"n":
        if out.replace is not None:
            return replace_placed(s, out, begin, level)
        return put_instead(s, out, begin, <const uint8_t*>b"null", 4)
    return 1

cdef int begin_elements(Scan* s, uint8_t closing) noexcept:
    """Pass the beginning of an array or object; return what follows."""
    s.depth += 1
    if s.depth > DEPTH:
        return INVALID
    s.p += 1
    skip_space(s)
    if s.p < s.end and s.p[0] == closing:
        s.p += 1
        s.depth -= 1
        return END
    return ELEMENT

cdef int next_element(Scan* s, uint8_t closing) noexcept:
    """Pass what stands behind an element; return what follows."""
    cdef uint8_t after
    skip_space(s)
    if s.p >= s.end:
        return INVALID
    after = s.p[0]
    s.p += 1
    if after == closing:
        s.depth -= 1
        return END
    return ELEMENT if after == c"," else INVALID

cdef int read_array(Scan* s, JsonMasker m, Out out, uint64_t active, int level, int masked) except -1:
    """Pass an array; `masked` is the path that its elements are to be masked by, -1: none is."""
    cdef int is_fine, follows = begin_elements(s, c"]")
    while follows == ELEMENT:
        is_fine = read_value(s, m, out, active, level) if masked < 0 else mask_value(s, m, out, masked, level)
        follows = next_element(s, c"]") if is_fine else INVALID
    return follows == END

cdef int read_object(Scan* s, JsonMasker m, Out out, uint64_t active, int level) except -1:
    cdef uint64_t found
    cdef int is_fine, ending, follows = begin_elements(s, c"}")
    cdef const uint8_t* begin
    while follows == ELEMENT:
        skip_space(s)
        if s.p >= s.end or s.p[0] != c'"':
            return 0
        begin = s.p
        if read_name(s, m, active, level, &found) == 0:
            return 0
        if found:
            s.name[level], s.size[level] = begin, s.p - begin
        skip_space(s)
        if s.p >= s.end or s.p[0] != c":":
            return 0
        s.p += 1
        ending = m.ending(found, level + 1)
        is_fine = read_value(s, m, out, found, level + 1) if ending < 0 else mask_value(s, m, out, ending, level + 1)
        follows = next_element(s, c"}") if is_fine else INVALID
    return follows == END

cdef int read_name(Scan* s, JsonMasker m, uint64_t active, int level, uint64_t* found) except -1:
    """Pass the name of a member, and leave in `found` which of the active paths go on there."""
    cdef const uint8_t* begin = s.p
    found[0] = 0
    if not read_string(s):
        return 0
    if active and s.has_escapes:
        name = json.loads(PyBytes_FromStringAndSize(<const char*>begin, s.p - begin)).encode("utf-8", "surrogatepass")
        found[0] = m.matching(active, level, <const uint8_t*>PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name))
    elif active:
        found[0] = m.matching(active, level, begin + 1, s.p - begin - 2)
    return 1

cdef int mask_value(Scan* s, JsonMasker m, Out out, int path, int level) except -1:
    """Pass a value that a path ends at, and put its mask in its place."""
    cdef const uint8_t* begin
    skip_space(s)
    if s.p >= s.end:
        return 0
    if s.p[0] == c"[" and m.of_elements[path]:
        return read_array(s, m, out, 0, level, path)
    begin = s.p
    if not read_value(s, m, out, 0, 0):
        return 0
    if out.replace is not None:
        return 1 if begin[0] == c"n" else replace_placed(s, out, begin, level)
    python_step(8)  # as long as so many rounds of other loops
    new = m.replace(path, kind_of(begin), PyBytes_FromStringAndSize(<const char*>begin, s.p - begin))
    return put_instead(s, out, begin, <const uint8_t*>PyBytes_AS_STRING(new), PyBytes_GET_SIZE(new))

cdef int kind_of(const uint8_t* begin) noexcept:
    """What a value is that was read: TEXT, NUMBER, OTHER or NOTHING."""
    if begin[0] == c'"':
        return 0
    if begin[0] == c"-" or c"0" <= begin[0] <= c"9":
        return 1
    return 3 if begin[0] == c"n" else 2

cdef int replace_placed(Scan* s, Out out, const uint8_t* begin, int level) except -1:
    """Put in the place of what was read since `begin` what the caller says; `level` names led there."""
    cdef int i
    cdef list names = []
    python_step(8)
    for i in range(level):
        name = PyBytes_FromStringAndSize(<const char*>s.name[i], s.size[i])
        # A name is one, however its characters are written.
        names.append(json.loads(name).encode("utf-8", "surrogatepass") if b"\\" in name else name[1 : s.size[i] - 1])
    new = out.replace(out.record, names, PyBytes_FromStringAndSize(<const char*>begin, s.p - begin), None)
    if new is None:
        return 1
    return put_instead(s, out, begin, <const uint8_t*>PyBytes_AS_STRING(new), PyBytes_GET_SIZE(new))

cdef bint is_text(const uint8_t* data, Py_ssize_t size) except -1:
    """Whether bytes are UTF-8; other readers may see other names in what is not. It pauses."""
    cdef Cursor c
    c.data, c.at, c.end = data, size, size
    try:
        check_text(&c, 0)
    except NoAvro:
        return False
    return True

cdef int mask_one(JsonMasker m, Out out, const uint8_t* data, Py_ssize_t size, Py_ssize_t start) except -1:
    """Write a value with its masks; 0: it is no JSON, and nothing of it may stay."""
    cdef Scan s
    s.p = s.kept = data
    s.end = data + size
    s.depth = 0
    if start >= 0:
        s.p += start
    elif size > ID_BYTES and data[0] == 0:
        s.p += ID_BYTES
    if not is_text(s.p, s.end - s.p) or not read_value(&s, m, out, m.all_paths(), 0):
        return 0
    skip_space(&s)
    if s.p != s.end:
        return 0
    out.put(s.kept, s.end - s.kept)
    return 1
