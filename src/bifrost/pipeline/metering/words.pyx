# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Gives the strings of a column codes: 0 for the first one, 1 for the next that differs from it, and so on."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memset

from bifrost.pipeline.metering.json_text cimport NO_MEMORY, ODD, OK, is_utf8

cdef enum:
    FIRST_SLOTS = 64
    FIRST_BYTES = 1024


cdef inline uint64_t hash_of(const uint8_t* text, int64_t size, uint64_t seed) noexcept nogil:
    """Return a hash that a writer of names cannot foresee without the seed."""
    cdef uint64_t value = seed ^ <uint64_t>size, word
    while size >= 8:
        memcpy(&word, text, 8)
        value = (value ^ word) * <uint64_t>0x9E3779B97F4A7C15
        value ^= value >> 29
        text += 8
        size -= 8
    word = 0
    memcpy(&word, text, size)
    value = (value ^ word) * <uint64_t>0xBF58476D1CE4E5B9
    return value ^ (value >> 32)


cdef int enter_slots(Words* words, int32_t count, uint64_t seed) noexcept nogil:
    """Make the hash table anew, of another size."""
    cdef int32_t* slots = <int32_t*>calloc(count, sizeof(int32_t))
    cdef int64_t begin = 0
    cdef uint64_t slot
    cdef int32_t code
    if slots == NULL:
        return NO_MEMORY
    for code in range(words.count):
        slot = hash_of(words.text + begin, words.ends[code] - begin, seed) & <uint64_t>(count - 1)
        while slots[slot]:
            slot = (slot + 1) & <uint64_t>(count - 1)
        slots[slot] = code + 1
        begin = words.ends[code]
    free(words.slots)
    words.slots, words.slot_count = slots, count
    return OK


cdef int add_word(Words* words, const uint8_t* text, int64_t size) noexcept nogil:
    """Store a new string behind the others."""
    cdef void* larger
    cdef int64_t wanted = words.text_size + size
    if wanted > words.text_capacity:
        wanted = wanted * 2 + FIRST_BYTES
        if wanted > 0x7FFFFFFF:
            return NO_MEMORY
        larger = realloc(words.text, wanted)
        if larger == NULL:
            return NO_MEMORY
        words.text, words.text_capacity = <uint8_t*>larger, wanted
    if words.count == words.ends_capacity:
        wanted = words.ends_capacity * 2 + FIRST_SLOTS
        larger = realloc(words.ends, wanted * sizeof(int32_t))
        if larger == NULL:
            return NO_MEMORY
        words.ends, words.ends_capacity = <int32_t*>larger, <int32_t>wanted
    memcpy(words.text + words.text_size, text, size)
    words.text_size += size
    words.ends[words.count] = <int32_t>words.text_size
    words.count += 1
    return OK


cdef int find_word(Words* words, const uint8_t* text, int64_t size, bint is_ascii, uint64_t seed,
                   int32_t* code) noexcept nogil:
    """Find the code of a string, or give it one."""
    cdef uint64_t slot
    cdef int status
    if words.last >= 0 and is_word(words, words.last, text, size):
        code[0] = words.last
        return OK
    if words.count * 2 >= words.slot_count:
        status = enter_slots(words, words.slot_count * 2 if words.slot_count else FIRST_SLOTS, seed)
        if status != OK:
            return status
    slot = hash_of(text, size, seed) & <uint64_t>(words.slot_count - 1)
    while words.slots[slot]:
        if is_word(words, words.slots[slot] - 1, text, size):
            code[0] = words.last = words.slots[slot] - 1
            return OK
        slot = (slot + 1) & <uint64_t>(words.slot_count - 1)
    if not is_ascii and not is_utf8(text, size):
        return ODD
    status = add_word(words, text, size)
    if status == OK:
        words.slots[slot] = words.count
        code[0] = words.last = words.count - 1
    return status


cdef void clear_words(Words* words) noexcept nogil:
    """Forget the strings, and keep the memory."""
    if words.slots != NULL:
        memset(words.slots, 0, words.slot_count * sizeof(int32_t))
    words.count, words.text_size, words.last = 0, 0, -1


cdef void free_words(Words* words) noexcept nogil:
    """Give back the memory."""
    free(words.text)
    free(words.ends)
    free(words.slots)
