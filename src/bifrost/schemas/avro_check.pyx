# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Checks that bytes are an Avro value of a schema, without making the value: no memory is taken, whatever the bytes say.

It works in steps (wire/steps.pyx): a payload may have a million values. All that a check remembers is on its own stack,
so several may be under way with one program.

A program has a node for each type of the schema:

    kind     what it is
    first    where its children begin in `children`: fields of a record, branches of a union, items of an array, values of a map
    count    how many these are; bytes of a fixed; symbols of an enum

Source: Avro 1.12 specification, "Binary Encoding".
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.unicode cimport PyUnicode_DecodeUTF8Stateful
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc

from bifrost.wire.steps cimport python_step

cdef enum:
    PIECE = 16384          # bytes of a text that are looked at without a pause
    PIECE_ROUNDS = 64      # as long as so many rounds

NULL_TYPE, BOOLEAN, INT, LONG, FLOAT, DOUBLE = _NULL, _BOOLEAN, _INT, _LONG, _FLOAT, _DOUBLE
BYTES, STRING, FIXED, ENUM, ARRAY, MAP, UNION, RECORD = _BYTES, _STRING, _FIXED, _ENUM, _ARRAY, _MAP, _UNION, _RECORD

cdef struct Node:
    int32_t kind, first, count

class NoAvro(ValueError):
    pass

cdef int wrong(Cursor* c, str reason) except -1:
    raise NoAvro(f"{reason} at byte {c.at}")

cdef int64_t read_long(Cursor* c) except? -1:
    cdef uint64_t value = 0
    cdef int shift
    cdef uint8_t byte
    for shift in range(0, 70, 7):
        if c.at >= c.end:
            wrong(c, "the bytes end within a number")
        byte = c.data[c.at]
        c.at += 1
        value |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            return <int64_t>(value >> 1 ^ -(value & 1))
    return wrong(c, "a number of more than 10 bytes")

cdef int skip(Cursor* c, int64_t size) except -1:
    if size < 0 or size > c.end - c.at:
        wrong(c, "a length that the bytes do not have")
    c.at += size
    return 0

cdef int check_text(Cursor* c, Py_ssize_t start) except -1:
    """Check that the bytes from `start` on are UTF-8."""
    cdef Py_ssize_t at = start, end, i, read
    while at < c.at:
        end = min(at + PIECE, c.at)
        read = end - at
        for i in range(at, end):
            if c.data[i] >= 0x80:
                try:
                    # A character may begin in one piece and end in the next; behind the last piece there is none.
                    PyUnicode_DecodeUTF8Stateful(
                        <const char*>c.data + at, end - at, "strict", NULL if end == c.at else &read
                    )
                except UnicodeDecodeError:
                    wrong(c, "a text that is not UTF-8")
                break
        at += read
        if end < c.at:
            python_step(PIECE_ROUNDS)
    return 0

cdef int pass_plain(Cursor* c, int kind, int64_t count) except -1:
    """Check and pass a value of a type without parts; `count`: bytes of a fixed, symbols of an enum."""
    cdef int64_t number
    if kind == _LONG:
        read_long(c)
    elif kind == _INT or kind == _ENUM:
        number = read_long(c)
        if kind == _INT and not -0x80000000 <= number <= 0x7FFFFFFF:
            wrong(c, "a number beyond 32 bits")
        if kind == _ENUM and not 0 <= number < count:
            wrong(c, "a symbol that the enum does not have")
    elif kind == _STRING or kind == _BYTES:
        number = read_long(c)
        skip(c, number)
        if kind == _STRING:
            check_text(c, c.at - number)
    elif kind == _BOOLEAN:
        skip(c, 1)
        if c.data[c.at - 1] > 1:
            wrong(c, "a boolean that is neither 0 nor 1")
    elif kind == _FIXED:
        skip(c, count)
    elif kind == _FLOAT:
        skip(c, 4)
    elif kind == _DOUBLE:
        skip(c, 8)
    return 0

cdef class AvroProgram:
    cdef Node* nodes
    cdef int32_t* children
    cdef Py_ssize_t size

    def __cinit__(self, list kinds not None, list firsts not None, list counts not None, list children not None):
        cdef Py_ssize_t i
        cdef Node* node
        self.size = len(kinds)
        if not self.size or len(firsts) != self.size or len(counts) != self.size:
            raise ValueError("the lists differ in length")
        self.nodes = <Node*>malloc(self.size * sizeof(Node))
        self.children = <int32_t*>malloc(max(1, len(children)) * sizeof(int32_t))
        if self.nodes == NULL or self.children == NULL:
            raise MemoryError
        for i in range(len(children)):
            self.children[i] = children[i]
            if not 0 <= self.children[i] < self.size:
                raise ValueError("no such node")
        for i in range(self.size):
            node = self.nodes + i
            node.kind, node.first, node.count = kinds[i], firsts[i], counts[i]
            if node.count < 0 or node.kind >= _ARRAY and (node.first < 0 or node.first + node.count > len(children)):
                raise ValueError("no such children")

    def __dealloc__(self):
        free(self.nodes)
        free(self.children)

    def check(self, data not None, int64_t max_values):
        cdef Cursor c
        cdef Py_buffer view
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            c.data = <const uint8_t*>view.buf
            c.at, c.end, c.left = 0, view.len, max_values
            self.check_node(&c, 0, 0)
            if c.at != c.end:
                wrong(&c, "bytes behind the value")
        finally:
            PyBuffer_Release(&view)
        return max_values - c.left

    cdef int check_node(self, Cursor* c, int32_t place, int depth) except -1:
        cdef Node* node = self.nodes + place
        cdef int64_t number
        cdef Py_ssize_t i
        c.left -= 1
        if c.left < 0:
            wrong(c, "more values than are allowed")
        if c.left % VALUES == 0:
            python_step()
        if depth > MAX_DEPTH:
            wrong(c, "more depth than is allowed")
        if node.kind == _RECORD:
            for i in range(node.first, node.first + node.count):
                self.check_node(c, self.children[i], depth + 1)
        elif node.kind == _UNION:
            number = read_long(c)
            if not 0 <= number < node.count:
                wrong(c, "a branch that the union does not have")
            self.check_node(c, self.children[node.first + number], depth + 1)
        elif node.kind == _ARRAY or node.kind == _MAP:
            self.check_blocks(c, node, depth)
        else:
            pass_plain(c, node.kind, node.count)
        return 0

    cdef int check_blocks(self, Cursor* c, Node* node, int depth) except -1:
        """Check the blocks of an array or a map; that of 0 items is the last."""
        cdef int64_t items, size, length, i
        cdef Py_ssize_t start = 0
        while True:
            items = read_long(c)
            if items == 0:
                return 0
            size = -1
            if items < 0:
                size = read_long(c)
                start = c.at
                # The least number has no opposite.
                items = -items if items > -0x7FFFFFFFFFFFFFFF else 0x7FFFFFFFFFFFFFFF
            for i in range(items):
                if node.kind == _MAP:
                    length = read_long(c)
                    skip(c, length)
                    check_text(c, c.at - length)
                self.check_node(c, self.children[node.first], depth + 1)
            if size >= 0 and c.at - start != size:
                wrong(c, "a block of another size than it says")
