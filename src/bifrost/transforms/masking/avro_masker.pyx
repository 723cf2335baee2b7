# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Replaces fields of Avro values: one pass over the bytes, which checks them, and a Python object per such field alone.

Where fields are is decided once for a schema (avro_fields.py). A program has a node for each type at each place where
other fields are looked for:

    kind     what it is, as in schemas/avro_check.pyx
    first    where its children begin: fields of a record, branches of a union, items of an array
    count    how many these are; bytes of a fixed; symbols of an enum
    target   which form its values are replaced by; NO_TARGET: they are walked through

A map has a child for each key that a path names, and a last one for all other keys. Each child of a record has its
name; those that led to a field are what a sealed field is bound to.

Source: Avro 1.12 specification, "Binary Encoding".
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memmove

from bifrost.schemas.avro_check import NoAvro

from bifrost.schemas.avro_check cimport (
    _ARRAY, _MAP, _RECORD, _UNION, MAX_DEPTH, VALUES, Cursor, check_text, pass_plain, read_long, skip, wrong,
)
from bifrost.transforms.masking.masked_values cimport FieldMasker, Out
from bifrost.wire.steps cimport python_step

cdef enum:
    _NO_TARGET = -1
    LONG = 4096            # bytes that are moved in a round of a loop
    FIELD_ROUNDS = 8       # a field that is replaced is as long as so many rounds of other loops

NO_TARGET = _NO_TARGET

cdef struct Node:
    int32_t kind, first, count, target

cdef struct Name:
    const uint8_t* data
    Py_ssize_t size

cdef struct Walk:
    Cursor c
    const uint8_t* kept            # bytes from here on are not written yet
    int levels
    Name[MAX_DEPTH + 2] names      # that led here

cdef Py_ssize_t write_size(uint8_t* at, int64_t size) noexcept:
    """Write a size as Avro has numbers, and return in how many bytes."""
    cdef uint64_t left = <uint64_t>size << 1
    cdef Py_ssize_t count = 0
    while True:
        at[count] = left & 0x7F | (0x80 if left > 0x7F else 0)
        count += 1
        left >>= 7
        if not left:
            return count

cdef class AvroMasker(FieldMasker):
    """The fields of the values of one schema, and what becomes of them."""

    cdef Node* nodes
    cdef int32_t* children
    cdef Name* names               # of each child; no data: it has none
    cdef Py_ssize_t size
    cdef int32_t root
    cdef int64_t max_values
    cdef list kept                 # keeps the names alive
    cdef list forms
    cdef list begin                # what names begin with
    cdef object replace

    def __cinit__(self, list nodes not None, list children not None, list forms not None, list begin not None,
                  int64_t max_values, replace not None, int32_t root=0):
        cdef Py_ssize_t i
        cdef Node* node
        self.size, self.forms, self.begin, self.max_values, self.replace = len(nodes), forms, begin, max_values, replace
        self.nodes = <Node*>malloc(max(1, self.size) * sizeof(Node))
        self.children = <int32_t*>malloc(max(1, len(children)) * sizeof(int32_t))
        self.names = <Name*>malloc(max(1, len(children)) * sizeof(Name))
        self.kept, self.root = [], root
        if self.nodes == NULL or self.children == NULL or self.names == NULL:
            raise MemoryError
        if not 0 <= root < self.size:
            raise ValueError("no such node")
        for i, (place, name) in enumerate(children):
            if not 0 <= place < self.size:
                raise ValueError("no such node")
            self.children[i], self.names[i].data, self.names[i].size = place, NULL, 0
            if name is not None:
                self.kept.append(name)
                self.names[i].data = <const uint8_t*><char*>PyBytes_AS_STRING(name)
                self.names[i].size = PyBytes_GET_SIZE(name)
        for i, (kind, first, count, target) in enumerate(nodes):
            node = self.nodes + i
            node.kind, node.first, node.count, node.target = kind, first, count, target
            if count < 0 or kind >= _ARRAY and (first < 0 or first + count > len(children)):
                raise ValueError("no such children")
            if (kind == _ARRAY and count != 1) or (kind == _MAP and count < 1):
                raise ValueError("an array has one child, a map one at least")
            if not _NO_TARGET <= target < len(forms):
                raise ValueError("no such form")

    def __dealloc__(self):
        free(self.nodes)
        free(self.children)
        free(self.names)

    cdef int mask(self, Out out, const uint8_t* data, Py_ssize_t size, Py_ssize_t start) except -1:
        cdef Walk w
        w.c.data, w.c.at, w.c.end, w.c.left = data, start, size, self.max_values
        w.kept, w.levels = data, 0
        if start < 0:
            return 0
        try:
            self.visit(&w, out, self.root, 0)
            if w.c.at != w.c.end:
                wrong(&w.c, "bytes behind the value")
        except NoAvro:
            return 0
        out.put(w.kept, data + size - w.kept)
        return 1

    cdef int visit(self, Walk* w, Out out, int32_t place, int depth) except -1:
        """Pass a value; replace it if it is a target."""
        cdef Node* node = self.nodes + place
        cdef Py_ssize_t begin = w.c.at
        w.c.left -= 1
        if w.c.left < 0:
            wrong(&w.c, "more values than are allowed")
        if w.c.left % VALUES == 0:
            python_step()
        if depth > MAX_DEPTH:
            wrong(&w.c, "more depth than is allowed")
        self.enter(w, out, node, depth)
        if node.target != _NO_TARGET:
            self.change(w, out, node.target, begin)
        return 0

    cdef int change(self, Walk* w, Out out, int32_t target, Py_ssize_t begin) except -1:
        """Put something in the place of what was read since `begin`."""
        cdef int i
        cdef list names
        content = PyBytes_FromStringAndSize(<const char*>w.c.data + begin, w.c.at - begin)
        python_step(FIELD_ROUNDS)
        if out.replace is None:
            new = self.replace(self.forms[target], content)
        else:
            names = list(self.begin)
            for i in range(w.levels):
                names.append(PyBytes_FromStringAndSize(<const char*>w.names[i].data, w.names[i].size))
            new = out.replace(out.record, names, content, self.forms[target])
        if new is None:
            return 0
        out.put(w.kept, w.c.data + begin - w.kept)
        out.put(<const uint8_t*><char*>PyBytes_AS_STRING(new), PyBytes_GET_SIZE(new))
        w.kept = w.c.data + w.c.at
        out.is_changed = True
        return 0

    cdef int enter(self, Walk* w, Out out, Node* node, int depth) except -1:
        """Pass what is in a value."""
        cdef int64_t number
        cdef Py_ssize_t i
        cdef Cursor* c = &w.c
        if node.kind == _RECORD:
            w.levels += 1
            for i in range(node.first, node.first + node.count):
                w.names[w.levels - 1] = self.names[i]
                self.visit(w, out, self.children[i], depth + 1)
            w.levels -= 1
        elif node.kind == _UNION:
            number = read_long(c)
            if not 0 <= number < node.count:
                wrong(c, "a branch that the union does not have")
            self.visit(w, out, self.children[node.first + number], depth + 1)
        elif node.kind == _ARRAY or node.kind == _MAP:
            self.enter_blocks(w, out, node, depth)
        else:
            pass_plain(c, node.kind, node.count)
        return 0

    cdef int32_t child_of(self, Node* node, const uint8_t* key, Py_ssize_t size) noexcept:
        """The node of the values with a key."""
        cdef Py_ssize_t i
        for i in range(node.first, node.first + node.count - 1):
            if self.names[i].size == size and memcmp(self.names[i].data, key, size) == 0:
                return self.children[i]
        return self.children[node.first + node.count - 1]

    cdef int enter_blocks(self, Walk* w, Out out, Node* node, int depth) except -1:
        """Pass the blocks of an array or a map; that of 0 items is the last."""
        cdef int64_t items, size, length, i
        cdef Py_ssize_t start = 0, size_at, size_end = 0, size_bytes = 0
        cdef int32_t child
        cdef Cursor* c = &w.c
        cdef Name* name = w.names + w.levels
        if node.kind == _MAP:
            w.levels += 1
        while True:
            items = read_long(c)
            if items == 0:
                break
            size = -1
            if items < 0:
                size_at = c.at
                size = read_long(c)
                start = c.at
                # The least number has no opposite.
                items = -items if items > -0x7FFFFFFFFFFFFFFF else 0x7FFFFFFFFFFFFFFF
                size_end = out.at + (c.data + start - w.kept)
                size_bytes = start - size_at
            for i in range(items):
                child = self.children[node.first]
                if node.kind == _MAP:
                    length = read_long(c)
                    skip(c, length)
                    check_text(c, c.at - length)
                    name.data, name.size = c.data + c.at - length, length
                    child = self.child_of(node, name.data, length)
                self.visit(w, out, child, depth + 1)
            if size >= 0 and c.at - start != size:
                wrong(c, "a block of another size than it says")
            if size >= 0 and w.kept > c.data + start:
                self.put_size(w, out, size_end, size_bytes, size)
        if node.kind == _MAP:
            w.levels -= 1
        return 0

    cdef int put_size(self, Walk* w, Out out, Py_ssize_t end, Py_ssize_t size_bytes, int64_t size) except -1:
        """Write what a block has come to in place of its size, whose bytes end at `end` of what is written."""
        cdef uint8_t[10] number
        cdef Py_ssize_t count, tail
        if write_size(number, size) != size_bytes:
            # What was sealed could not come back byte for byte.
            wrong(&w.c, "the size of a block in more bytes than it needs")
        out.put(w.kept, w.c.data + w.c.at - w.kept)
        w.kept = w.c.data + w.c.at
        tail = out.at - end
        count = write_size(number, tail)
        out.put(number, count)    # makes room
        memmove(out.memory.data + end - size_bytes + count, out.memory.data + end, tail)
        memcpy(out.memory.data + end - size_bytes, number, count)
        out.at -= size_bytes
        python_step(tail // LONG)
        return 0
