# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads JSON's tokens: a value at a time, without memory of its own."""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp

cdef enum:
    OK = 0
    ODD = 1
    NO_MEMORY = 2

cdef struct Cursor:
    const uint8_t* at
    const uint8_t* end


cdef inline uint8_t peek(Cursor* c) noexcept nogil:
    """Return the next byte that is no white space, 0 at the end."""
    while c.at < c.end:
        if c.at[0] != 32 and c.at[0] != 10 and c.at[0] != 13 and c.at[0] != 9:
            return c.at[0]
        c.at += 1
    return 0


cdef inline bint take(Cursor* c, uint8_t wanted) noexcept nogil:
    """Pass over a byte, if it is the next one."""
    if peek(c) != wanted:
        return False
    c.at += 1
    return True


cdef inline bint take_word(Cursor* c, const char* word, int size) noexcept nogil:
    if c.end - c.at < size or memcmp(c.at, word, size) != 0:
        return False
    c.at += size
    return True


cdef int read_plain(Cursor* c, bint* is_ascii) noexcept nogil
cdef bint is_utf8(const uint8_t* text, int64_t size) noexcept nogil
cdef int read_number(Cursor* c, int64_t* number) noexcept nogil
cdef int skip_value(Cursor* c, int depth) noexcept nogil
cdef int read_escape(Cursor* c, uint8_t* text, int64_t* size) noexcept nogil
