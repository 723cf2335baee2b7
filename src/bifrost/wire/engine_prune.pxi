"""Leaves out other tenants' elements before decoding: a list of all may be a thousand times the tenant's own.

Part of engine.pyx.
"""

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
