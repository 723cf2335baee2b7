# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads JSON's tokens. What a gateway does not write is `ODD`, though it may be JSON: see `journal_parser`.

Source: RFC 8259, RFC 3629.
"""

from libc.stdint cimport int64_t, uint8_t

cdef enum:
    MAX_DIGITS = 18          # so that no number overflows
    MAX_SKIPPED_DEPTH = 8    # of a field that the schema does not have


cdef inline bint is_plain(uint8_t byte) noexcept nogil:
    """Return whether a byte of a string stands for itself: no quote, no escape, no control character."""
    return byte != 34 and byte != 92 and byte >= 32


cdef int read_plain(Cursor* c, bint* is_ascii) noexcept nogil:
    """Pass over the bytes of a string up to its quote or first escape."""
    cdef uint8_t seen = 0
    while c.at < c.end and is_plain(c.at[0]):
        seen |= c.at[0]
        c.at += 1
    is_ascii[0] = seen < 128
    return OK if c.at < c.end and c.at[0] >= 32 else ODD


cdef bint is_utf8(const uint8_t* text, int64_t size) noexcept nogil:
    """Return whether bytes are UTF-8: none overlong, no surrogate, nothing above U+10FFFF."""
    cdef int64_t at = 0
    cdef int more, i
    cdef uint8_t lead, least, most
    while at < size:
        lead = text[at]
        at += 1
        if lead < 0x80:
            continue
        if lead < 0xC2 or lead > 0xF4:
            return False
        more = 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3
        least = 0xA0 if lead == 0xE0 else 0x90 if lead == 0xF0 else 0x80
        most = 0x9F if lead == 0xED else 0x8F if lead == 0xF4 else 0xBF
        if size - at < more or text[at] < least or text[at] > most:
            return False
        for i in range(1, more):
            if (text[at + i] & 0xC0) != 0x80:
                return False
        at += more
    return True


cdef int read_number(Cursor* c, int64_t* number) noexcept nogil:
    """Read an integer of at most MAX_DIGITS digits."""
    cdef bint is_negative = c.at < c.end and c.at[0] == 45
    cdef const uint8_t* first
    cdef int64_t value = 0
    if is_negative:
        c.at += 1
    first = c.at
    while c.at < c.end and 48 <= c.at[0] <= 57:
        if c.at - first == MAX_DIGITS:
            return ODD
        value = value * 10 + (c.at[0] - 48)
        c.at += 1
    if c.at == first or (first[0] == 48 and c.at - first > 1):
        return ODD
    if c.at < c.end and (c.at[0] == 46 or c.at[0] == 69 or c.at[0] == 101):
        return ODD
    number[0] = -value if is_negative else value
    return OK


cdef int skip_value(Cursor* c, int depth) noexcept nogil:
    """Pass over the value of a field that the schema does not have."""
    cdef uint8_t first = peek(c)
    cdef int64_t number
    cdef bint is_ascii
    if first == 34:
        c.at += 1
        if read_plain(c, &is_ascii) != OK or c.at[0] != 34 or not is_ascii:
            return ODD
        c.at += 1
        return OK
    if first == 123 or first == 91:
        return skip_inside(c, first, depth + 1)
    if first == 116:
        return OK if take_word(c, b"true", 4) else ODD
    if first == 102:
        return OK if take_word(c, b"false", 5) else ODD
    if first == 110:
        return OK if take_word(c, b"null", 4) else ODD
    return read_number(c, &number)


cdef int skip_inside(Cursor* c, uint8_t opening, int depth) noexcept nogil:
    """Pass over an object or a list."""
    cdef uint8_t closing = opening + 2
    if depth > MAX_SKIPPED_DEPTH:
        return ODD
    c.at += 1
    if take(c, closing):
        return OK
    while True:
        if opening == 123:
            if peek(c) != 34 or skip_value(c, depth) != OK or not take(c, 58):
                return ODD
        if skip_value(c, depth) != OK:
            return ODD
        if take(c, closing):
            return OK
        if not take(c, 44):
            return ODD


cdef int read_escape(Cursor* c, uint8_t* text, int64_t* size) noexcept nogil:
    """Read what follows a backslash."""
    cdef const char* escapes = b"\"\\/bfnrt"
    cdef const char* meanings = b"\"\\/\b\f\n\r\t"
    cdef int i, point = 0
    cdef uint8_t byte
    if c.at >= c.end:
        return ODD
    byte = c.at[0]
    c.at += 1
    for i in range(8):
        if byte == <uint8_t>escapes[i]:
            text[size[0]] = <uint8_t>meanings[i]
            size[0] += 1
            return OK
    if byte != 117 or c.end - c.at < 4:
        return ODD
    for i in range(4):
        byte = c.at[i]
        if 48 <= byte <= 57:
            point = point * 16 + byte - 48
        elif 97 <= (byte | 32) <= 102:
            point = point * 16 + (byte | 32) - 87
        else:
            return ODD
    if 0xD800 <= point < 0xE000:
        return ODD
    c.at += 4
    return write_point(point, text, size)


cdef int write_point(int point, uint8_t* text, int64_t* size) noexcept nogil:
    """Write a code point below U+10000 as UTF-8; an escape is longer than that."""
    cdef uint8_t* at = text + size[0]
    if point < 0x80:
        at[0] = <uint8_t>point
        size[0] += 1
    elif point < 0x800:
        at[0], at[1] = <uint8_t>(0xC0 | point >> 6), <uint8_t>(0x80 | (point & 0x3F))
        size[0] += 2
    else:
        at[0] = <uint8_t>(0xE0 | point >> 12)
        at[1], at[2] = <uint8_t>(0x80 | (point >> 6 & 0x3F)), <uint8_t>(0x80 | (point & 0x3F))
        size[0] += 3
    return OK
