# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Finds the fields of a record of the state in its bytes, where they stand as `encode` writes them.

    {"schema":1,"version":3,"at":1700000000000,"change":"6f..","writer":"host/1","on_behalf_of":null,"body":{..}}
                        ^       ^                        ^    ^ author                                      ^ body

It knows this one layout, and leaves JSON to its caller: what stands in another way is read by `decode`
(record_decoding.py), which also reads the author and the body. A start with a large state reads every record, so this is a
tenth of what a whole decoder takes. For the same reason the records of a transaction are decoded, and put into the
table, in one call each.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp

from bifrost.state.tuple_fields cimport fields_of

cdef enum:
    MOST_DIGITS = 18                                     # all such numbers fit into 64 bits
    QUOTE = 0x22
    COLON = 0x3A
    ZERO = 0x30
    NINE = 0x39
    BACKSLASH = 0x5C
    FIRST_PRINTABLE = 0x20
    LAST_PRINTABLE = 0x7E

cdef const char* AT = b',"at":'
cdef const char* CHANGE = b',"change":"'
cdef const char* WRITER = b'"writer":"'
cdef const char* ON_BEHALF_OF = b',"on_behalf_of":'
cdef const char* NULL_TEXT = b'null'
cdef const char* COMMA = b','
cdef const char* FIRST_QUOTE = b'"'
cdef const char* BODY = b',"body":'
cdef const char* START = b'{"schema":1,"version":'

cdef struct Text:
    const uint8_t* data
    Py_ssize_t at, end

cdef inline bint skip(Text* t, const char* expected, Py_ssize_t size) noexcept:
    """Go behind an expected text; return whether it is there."""
    if size > t.end - t.at or memcmp(t.data + t.at, expected, size) != 0:
        return False
    t.at += size
    return True

cdef inline int64_t number(Text* t) noexcept:
    """Go behind a number and return it; -1: there is none, or one that is written in another way."""
    cdef Py_ssize_t start = t.at
    cdef int64_t value = 0
    while t.at < t.end and ZERO <= t.data[t.at] <= NINE:
        value = value * 10 + (t.data[t.at] - ZERO)
        t.at += 1
        if t.at - start > MOST_DIGITS:
            return -1
    if t.at == start or (t.data[start] == ZERO and t.at - start > 1):
        return -1
    return value

cdef inline bint string(Text* t) noexcept:
    """Go behind the end of a string, of which the first quote was skipped; return whether it has one."""
    while t.at < t.end:
        if t.data[t.at] == QUOTE:
            t.at += 1
            return True
        t.at += 2 if t.data[t.at] == BACKSLASH else 1
    return False

def split_fields(bytes value not None):
    cdef const char* start = value
    cdef Text t = Text(<const uint8_t*>start, 0, len(value))
    cdef int64_t version, at_ms
    cdef Py_ssize_t change, change_end, author, author_end, i
    if not skip(&t, START, 22):
        return None
    version = number(&t)
    if version < 1 or not skip(&t, AT, 6):
        return None
    at_ms = number(&t)
    if at_ms < 0 or not skip(&t, CHANGE, 11):
        return None
    change = t.at
    if not string(&t):
        return None
    change_end = t.at - 1
    for i in range(change, change_end):                  # plain ASCII, so the text is what stands there
        if t.data[i] == BACKSLASH or not FIRST_PRINTABLE <= t.data[i] <= LAST_PRINTABLE:
            return None
    if not skip(&t, COMMA, 1):
        return None
    author = t.at
    if not skip(&t, WRITER, 10) or not string(&t) or not skip(&t, ON_BEHALF_OF, 16):
        return None
    if skip(&t, FIRST_QUOTE, 1):
        if not string(&t):
            return None
    elif not skip(&t, NULL_TEXT, 4):
        return None
    author_end = t.at
    if not skip(&t, BODY, 8) or t.end - t.at < 2 or t.data[t.end - 1] != 0x7D:
        return None
    return (
        version,
        at_ms,
        (start + change)[:change_end - change].decode("ascii"),
        (start + author)[:author_end - author],
        (start + t.at)[:t.end - 1 - t.at],
    )

cdef object decoded(tuple one, dict kinds, type record_type, type key_type, object read_author, object read_body,
                    Py_ssize_t most_name, Py_ssize_t most_bytes):
    """Return a record of the log as one of the state; None: it has another layout, or is none."""
    cdef tuple split, author
    cdef bytes key, value
    cdef Py_ssize_t colon = 0, size
    cdef const char* start
    if type(one[2]) is not bytes or type(one[3]) is not bytes:
        return None
    key, value = <bytes>one[2], <bytes>one[3]
    start, size = key, len(key)
    if size + len(value) > most_bytes or size > most_name:
        return None
    while colon < size and start[colon] != COLON:
        colon += 1
    if colon + 1 >= size:
        return None
    kind = kinds.get(start[:colon])
    split = None if kind is None else split_fields(value)
    if split is None:
        return None
    try:
        name = start[colon + 1:size].decode("utf-8")
        author = fields_of(read_author(split[3]), 2)
        body = {} if split[4] == b"{}" else read_body(split[4])
    except ValueError:
        return None
    if body is not None and type(body) is not dict:
        return None
    named = tuple.__new__(key_type, (kind, name))
    return tuple.__new__(record_type, (named, split[0], split[1], split[2], author[0], author[1], body))

def decode_records(
    list records not None,
    dict kinds not None,
    type record_type not None,
    type key_type not None,
    object read_author not None,
    object read_body not None,
    Py_ssize_t most_name,
    Py_ssize_t most_bytes,
):
    cdef list found = []
    for one in records:
        found.append(decoded(
            fields_of(one, 4), kinds, record_type, key_type, read_author, read_body, most_name, most_bytes
        ))
    return found

def put_new(list log not None, list read not None, Py_ssize_t start, object values not None, dict last not None,
            Py_ssize_t most_last, set changed not None, set changes not None):
    cdef Py_ssize_t at = 0, size = 0
    cdef object record, key                              # tuples of classes of their own, which stay what they are
    cdef tuple one, fields
    cdef str kind
    cdef bytes named, name, value
    cdef dict of_kind
    if len(read) < len(log):
        raise ValueError(f"{len(log)} records of the log, and only {len(read)} were read")
    if start < 0:
        raise ValueError("records are put from the first one on, or from one behind it")
    start = min(start, len(log))
    for at in range(start, len(log)):
        record = read[at]
        if record is None:
            break
        one, fields = fields_of(log[at], 4), fields_of(record, 7)
        if fields[6] is None:
            break
        key = fields[0]
        kind = fields_of(key, 1)[0]
        of_kind = values.get(kind)
        if of_kind is None:
            break
        named, value = one[2], one[3]
        name = named[len(kind) + 1:]
        if of_kind.setdefault(name, value) is not value:
            break
        if len(last) < most_last:
            last[key] = record
        size += len(named) + len(value)
        changed.add(key)
        changes.add(fields[3])
    else:
        at = len(log)
    return at - start, size
