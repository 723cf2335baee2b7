# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads the first items of a request that is too large to be decoded: they are what its answer names.

Every element of every list is an item, and so is every tagged field; a string uses up its bytes. When either number is
used up, the reading ends where it is: the lists that are being read keep the elements that they have, and every field
behind has its default. An element of a list of structs that was not read to its end is left out, unless it is the only
one: it may be identified by what is missing. Bytes, records and tagged fields are passed; no answer names what is in one.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from bifrost.wire.codec cimport Field, Layout, decode_value, fresh_default
from bifrost.wire.reader cimport (
    BYTES, LIST, NULLABLE, PRESENT, RECORDS, STRING, STRUCT, Reader, close_frame, fail, need, open_frame,
    read_bytes_length, read_count, read_marker, read_varint, step,
)
from bifrost.wire.slots cimport new_list, set_slot

from bifrost.wire.codec import release

cdef extern from "Python.h":
    object PyType_GenericAlloc(type cls, Py_ssize_t items)
    void PyObject_GC_UnTrack(void* object)

cdef struct Left:
    int64_t items, size
    bint is_over


def read_first_items(
    Layout layout not None, frame, Py_ssize_t start, int64_t items, int64_t size, bint allow_trailing=False
):
    """The beginning of a message."""
    cdef Reader r
    cdef Left left
    left.items, left.size, left.is_over = items, size, False
    open_frame(frame, start, &r)
    try:
        message = read_struct(layout, &r, &left)
        if not (left.is_over or r.pos == r.end or allow_trailing):
            fail(&r, "frame goes on behind its body")
        return message
    finally:
        close_frame(&r)

cdef object read_struct(Layout layout, Reader* r, Left* left):
    cdef object struct = PyType_GenericAlloc(layout.cls, 0)
    cdef Field* field
    cdef int i
    PyObject_GC_UnTrack(<void*>struct)
    for i in range(layout.count):
        field = &layout.fields[i]
        if left.is_over or not field.flags & PRESENT:
            value = fresh_default(field)
        elif field.flags & LIST:
            value = read_list(field, r, left)
        else:
            value = read_value(field, field.flags, r, left)
        set_slot(struct, field.slot, value)
    if layout.flexible and not left.is_over:
        pass_tags(r, left)
    return struct

cdef object read_list(Field* field, Reader* r, Left* left):
    cdef int64_t count = read_count(r, field.flags, field.smallest)
    cdef list values = new_list()
    if count < 0:
        return None
    while count > 0 and has_left(r, left):
        count -= 1
        values.append(read_value(field, field.flags & ~NULLABLE, r, left))
        if left.is_over and len(values) > 1:
            release(<Layout>field.layout, values.pop())
    return values

cdef object read_value(Field* field, int flags, Reader* r, Left* left):
    """A value that is not an array."""
    cdef Py_ssize_t before = r.pos
    if field.kind == BYTES or field.kind == RECORDS:
        r.pos += max(0, read_bytes_length(r, flags))
        return fresh_default(field)
    if field.kind == STRUCT:
        if flags & NULLABLE and not read_marker(r, flags):
            return None
        return read_struct(<Layout>field.layout, r, left)
    value = decode_value(field, flags, r, None)
    if field.kind == STRING:
        left.size -= r.pos - before
    return value

cdef int pass_tags(Reader* r, Left* left) except -1:
    cdef int64_t count = read_varint(r), size
    while count > 0 and has_left(r, left):
        count -= 1
        read_varint(r)
        size = read_varint(r)
        need(r, size)
        r.pos += size
    return 0

cdef int has_left(Reader* r, Left* left) except -1:
    """Whether one more item may be read."""
    step(r)
    left.items -= 1
    left.is_over = left.is_over or left.items < 0 or left.size < 0
    return not left.is_over
