# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The layout of an envelope (docs/encryption.md), for the compiled modules that write and read it.

    magic "BFST", version uint8 = 1, mode uint8, cipher uint8, reserved uint8 = 0, nonce (12 bytes),
    wrapped DEK (wrapped_dek.py), in batches the original attributes and timestamps (of virtual partitions the producer as well),
    ciphertext, tag (16 bytes)
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from bifrost.wire.reader cimport be16

cdef enum:
    VERSION = 1
    MODE_BATCH = 1
    MODE_VALUE = 2
    MODE_KEY = 3
    MODE_VIRTUAL = 6      # a batch of a virtual partition
    AES_256_GCM = 1
    AES_SIV = 2
    MODE_AT = 5
    NONCE_AT = 8
    NONCE = 12
    PREFIX = 8            # random bytes of a nonce; behind them is the counter
    DEK_AT = 20
    DEK_HEAD = 8          # bytes of a wrapped DEK before its reference
    TAG = 16

    NO_ENVELOPE = -1
    CUT_OFF = -2
    OTHER_VERSION = -3

cdef inline void put_be16(uint8_t* p, uint16_t value) noexcept:
    p[0], p[1] = value >> 8, value & 0xFF

cdef inline void put_be32(uint8_t* p, uint32_t value) noexcept:
    p[0], p[1], p[2], p[3] = value >> 24, value >> 16 & 0xFF, value >> 8 & 0xFF, value & 0xFF

cdef inline void put_be64(uint8_t* p, uint64_t value) noexcept:
    put_be32(p, <uint32_t>(value >> 32))
    put_be32(p + 4, <uint32_t>value)

cdef inline bint is_envelope(const uint8_t* p, Py_ssize_t size) noexcept:
    return size >= 4 and memcmp(p, <const char*>b"BFST", 4) == 0

cdef inline void put_start(uint8_t* p, int mode) noexcept:
    """Write what stands before the nonce."""
    memcpy(p, <const char*>b"BFST", 4)
    p[4], p[5], p[6], p[7] = VERSION, mode, AES_256_GCM, 0

cdef inline Py_ssize_t dek_size(const uint8_t* p, Py_ssize_t size, int mode) noexcept:
    """The bytes of an envelope's wrapped DEK, or what is wrong with the envelope."""
    cdef Py_ssize_t wrapped
    if not is_envelope(p, size):
        return NO_ENVELOPE
    if size < 8:
        return CUT_OFF
    if p[4] != VERSION or p[5] != mode or p[6] != AES_256_GCM or p[7] != 0:
        return OTHER_VERSION
    if size < DEK_AT + DEK_HEAD:
        return CUT_OFF
    wrapped = DEK_HEAD + be16(p + DEK_AT + 4) + be16(p + DEK_AT + 6)
    return wrapped if size - DEK_AT - TAG >= wrapped else CUT_OFF
