# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Varints of records: zigzag-encoded, seven bits a byte (`ByteUtils.writeVarlong` of Kafka)."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef inline uint64_t zigzag(int64_t value) noexcept:
    return <uint64_t>value << 1 ^ <uint64_t>(value >> 63)

cdef inline int varint_size(int64_t value) noexcept:
    cdef uint64_t left = zigzag(value)
    cdef int size = 1
    while left >= 0x80:
        left >>= 7
        size += 1
    return size

cdef inline uint8_t* put_varint(uint8_t* p, int64_t value) noexcept:
    cdef uint64_t left = zigzag(value)
    while left >= 0x80:
        p[0] = <uint8_t>(left | 0x80)
        left >>= 7
        p += 1
    p[0] = <uint8_t>left
    return p + 1
