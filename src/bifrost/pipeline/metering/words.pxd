# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The different strings of a column, each with a code."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

cdef struct Words:
    # The different strings of a node: their bytes one behind the other, and a hash table of their codes.
    uint8_t* text
    int64_t text_size
    int64_t text_capacity
    int32_t* ends            # ends[code] is where the string ends; it begins where the one before it ends
    int32_t count
    int32_t ends_capacity
    int32_t* slots           # code + 1, or 0
    int32_t slot_count       # a power of two
    int32_t last             # the code that was found last, or -1


cdef inline bint is_word(Words* words, int32_t code, const uint8_t* text, int64_t size) noexcept nogil:
    cdef int64_t begin = words.ends[code - 1] if code else 0
    return words.ends[code] - begin == size and memcmp(words.text + begin, text, size) == 0


cdef int find_word(Words* words, const uint8_t* text, int64_t size, bint is_ascii, uint64_t seed,
                   int32_t* code) noexcept nogil
cdef void clear_words(Words* words) noexcept nogil
cdef void free_words(Words* words) noexcept nogil
