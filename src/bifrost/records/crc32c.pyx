# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""CRC-32C, the checksum of record batches; by the processor's own instruction where there is one, else by tables.

The instruction takes 8 bytes each cycle, but its result comes three cycles later. So three lanes of a piece are summed side by
side, and joined: a sum moves behind N more bytes as if these were zero, which is linear, hence a look-up.

Source: RFC 3720, appendix B.4; Intel's SSE4.2; M. Adler's note on joining CRCs (zlib's crc32_combine).
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>

    #define CRC32C_LANE 1024
    static uint32_t crc32c_table[8][256];
    static uint32_t crc32c_move[4][256];

    static uint32_t crc32c_by_table(uint32_t crc, const uint8_t *p, size_t n) {
        for (; n >= 8; n -= 8, p += 8) {
            crc ^= p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
            crc = crc32c_table[7][crc & 0xFF] ^ crc32c_table[6][crc >> 8 & 0xFF]
                ^ crc32c_table[5][crc >> 16 & 0xFF] ^ crc32c_table[4][crc >> 24]
                ^ crc32c_table[3][p[4]] ^ crc32c_table[2][p[5]]
                ^ crc32c_table[1][p[6]] ^ crc32c_table[0][p[7]];
        }
        for (; n; n--, p++)
            crc = crc >> 8 ^ crc32c_table[0][(crc ^ *p) & 0xFF];
        return crc;
    }

    #if defined(__x86_64__) && defined(__GNUC__)
    #define crc32c_has_instruction() __builtin_cpu_supports("sse4.2")
    #define crc32c_moved(c) (crc32c_move[0][(c) & 0xFF] ^ crc32c_move[1][(c) >> 8 & 0xFF] \
                           ^ crc32c_move[2][(c) >> 16 & 0xFF] ^ crc32c_move[3][(c) >> 24 & 0xFF])

    __attribute__((target("sse4.2")))
    static uint32_t crc32c_by_instruction(uint32_t crc, const uint8_t *p, size_t n) {
        uint64_t a = crc, b, c, x, y, z;
        size_t i;
        for (; n >= 3 * CRC32C_LANE; n -= 3 * CRC32C_LANE, p += 3 * CRC32C_LANE) {
            b = c = 0;
            for (i = 0; i < CRC32C_LANE; i += 8) {
                memcpy(&x, p + i, 8);
                memcpy(&y, p + CRC32C_LANE + i, 8);
                memcpy(&z, p + 2 * CRC32C_LANE + i, 8);
                a = __builtin_ia32_crc32di(a, x);
                b = __builtin_ia32_crc32di(b, y);
                c = __builtin_ia32_crc32di(c, z);
            }
            a = crc32c_moved(a) ^ b;
            a = crc32c_moved(a) ^ c;
        }
        for (; n >= 8; n -= 8, p += 8) {
            memcpy(&x, p, 8);
            a = __builtin_ia32_crc32di(a, x);
        }
        for (; n; n--, p++)
            a = __builtin_ia32_crc32qi((uint32_t)a, *p);
        return (uint32_t)a;
    }
    #else
    #define crc32c_has_instruction() 0
    #define crc32c_by_instruction crc32c_by_table
    #endif
    """
    enum: CRC32C_LANE
    uint32_t crc32c_table[8][256]
    uint32_t crc32c_move[4][256]
    uint32_t crc32c_by_table(uint32_t crc, const uint8_t* p, size_t n) nogil
    uint32_t crc32c_by_instruction(uint32_t crc, const uint8_t* p, size_t n) nogil
    bint crc32c_has_instruction()

cdef void fill_tables() noexcept:
    cdef uint8_t[CRC32C_LANE] zeros
    cdef uint32_t crc
    cdef int i, j, bit
    for i in range(256):
        crc = i
        for bit in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        crc32c_table[0][i] = crc
    for i in range(256):
        for j in range(1, 8):
            crc = crc32c_table[j - 1][i]
            crc32c_table[j][i] = crc >> 8 ^ crc32c_table[0][crc & 0xFF]
    for i in range(CRC32C_LANE):
        zeros[i] = 0
    for j in range(4):
        crc32c_move[j][0] = 0
        for i in range(1, 256):
            bit = i & -i
            crc32c_move[j][i] = (
                crc32c_move[j][i ^ bit] ^ crc32c_move[j][bit] if i != bit
                else crc32c_by_table(<uint32_t>bit << 8 * j, zeros, CRC32C_LANE)
            )

fill_tables()

HAS_INSTRUCTION = crc32c_has_instruction()

cdef bint by_instruction = crc32c_has_instruction()

cdef uint32_t checksum(const uint8_t* data, size_t size) noexcept nogil:
    if by_instruction:
        return ~crc32c_by_instruction(0xFFFFFFFF, data, size)
    return ~crc32c_by_table(0xFFFFFFFF, data, size)

cdef uint32_t checksum_on(uint32_t crc, const uint8_t* data, size_t size) noexcept nogil:
    if by_instruction:
        return ~crc32c_by_instruction(~crc, data, size)
    return ~crc32c_by_table(~crc, data, size)

cdef uint32_t[64] behind_zeros    # x to the power of 8 * 2^i: what 2^i zero bytes multiply a sum by

cdef uint32_t product(uint32_t a, uint32_t b) noexcept nogil:
    """The product of two polynomials modulo that of the checksum; the highest bit stands for 1."""
    cdef uint32_t made = 0
    while a:
        if a >> 31:
            made ^= b
        b = b >> 1 ^ (<uint32_t>0x82F63B78 if b & 1 else <uint32_t>0)
        a <<= 1
    return made

cdef void fill_powers() noexcept:
    cdef int i
    behind_zeros[0] = <uint32_t>1 << 23
    for i in range(1, 64):
        behind_zeros[i] = product(behind_zeros[i - 1], behind_zeros[i - 1])

fill_powers()

cdef uint32_t checksum_changed(uint32_t crc, const uint8_t* change, size_t size, size_t behind) noexcept nogil:
    """The checksum of bytes of which `size` were changed by XOR, before the last `behind`; those are not read.

    A checksum that was wrong before is wrong by as much now.
    """
    cdef uint32_t moved = crc32c_by_table(0, change, size)
    cdef int i = 0
    while behind:
        if behind & 1:
            moved = product(behind_zeros[i], moved)
        behind >>= 1
        i += 1
    return crc ^ moved

def crc32c_changed(uint32_t crc, bytes change not None, size_t behind):
    return checksum_changed(crc, <const uint8_t*>PyBytes_AS_STRING(change), PyBytes_GET_SIZE(change), behind)

def crc32c(data, uint32_t before=0, *, bint by_table=False):
    cdef Py_buffer view
    cdef uint32_t crc
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    if by_table:
        crc = ~crc32c_by_table(~before, <const uint8_t*>view.buf, view.len)
    else:
        crc = checksum_on(before, <const uint8_t*>view.buf, view.len)
    PyBuffer_Release(&view)
    return crc
