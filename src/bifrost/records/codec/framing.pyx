# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""How many bytes compressed records can come to, by the frames and blocks of their codec alone.

Nothing is unpacked for it, so memory of the right size is there before the first byte is unpacked, and a frame that is
cut off, or is not of the form that Kafka reads, is refused at once. What a frame claims about itself is used only
where the bytes there are bear it out.

    snappy   as xerial's stream: 82 "SNAPPY" 00, version int32, compatible int32, then blocks: length int32, snappy;
             or one snappy without a frame, which begins with its unpacked size (librdkafka)
    lz4      one frame of independent blocks of at most 64 KiB to 4 MiB
    zstd     frames of blocks of at most 128 KiB, and frames to be skipped
    gzip     members; nothing but the last one's size is known without unpacking

Source: snappy-java's SnappyInputStream; Kafka's Lz4BlockInputStream; LZ4 Frame Format 1.6; RFC 8878; RFC 1952.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcmp

from bifrost.records.codec.errors import CorruptBatch
from bifrost.wire.reader cimport be32

cdef enum:
    LZ4_MAGIC = 0x184D2204
    ZSTD_BLOCK = 128 * 1024
    GZIP_LEAST = 18        # bytes of an empty member's header and trailer
    DEFLATE_RATIO = 1032   # deflate makes at most so many bytes of one
    LZ4_RATIO = 255
    # A block of xerial's has 1 KiB at least, but for the last one and where a stream was flushed. Without this a
    # request could ask for millions of calls, each for a byte.
    LEAST_XERIAL = 512
    FLUSHED_XERIAL = 64

cdef uint32_t ZSTD_MAGIC = 0xFD2FB528
cdef uint32_t SKIPPED_MAGIC = 0x184D2A50
cdef const uint8_t* XERIAL = b"\x82SNAPPY\x00"

cdef inline uint32_t le32(const uint8_t* p) noexcept:
    return p[0] | <uint32_t>p[1] << 8 | <uint32_t>p[2] << 16 | <uint32_t>p[3] << 24

cdef int corrupt(str codec, str reason) except -1:
    raise CorruptBatch(f"{codec}: {reason}")

cdef bint is_xerial(const uint8_t* p, Py_ssize_t n) noexcept:
    return n >= XERIAL_HEADER and memcmp(p, XERIAL, 8) == 0

cdef int64_t read_snappy_size(const uint8_t* p, Py_ssize_t n, Py_ssize_t* pos) except -1:
    """The unpacked size with which a piece of snappy begins, an unsigned varint of at most 32 bits."""
    cdef int64_t value = 0
    cdef int shift
    for shift in range(0, 35, 7):
        if pos[0] >= n:
            corrupt("snappy", "cut off")
        value |= <int64_t>(p[pos[0]] & 0x7F) << shift
        pos[0] += 1
        if p[pos[0] - 1] < 0x80:
            return value if value <= 0xFFFFFFFF else corrupt("snappy", "a size of more than 32 bits")
    return corrupt("snappy", "a size of more than 32 bits")

cdef int64_t xerial_size(const uint8_t* p, Py_ssize_t n) except -1:
    """What all blocks of xerial's stream come to."""
    cdef Py_ssize_t pos = XERIAL_HEADER, at
    cdef int64_t total = 0, blocks = 0
    cdef uint32_t size
    if be32(p + 8) == 0 or be32(p + 8) >> 31:
        corrupt("snappy", "the version of xerial's stream is not 1 or newer")
    while pos < n:
        if n - pos < 4:
            corrupt("snappy", "cut off")
        size = be32(p + pos)
        pos += 4
        if size == 0 or size > n - pos:
            corrupt("snappy", "a block is empty or cut off")
        at = pos
        total += read_snappy_size(p, pos + size, &at)
        pos += size
        blocks += 1
    if blocks > FLUSHED_XERIAL + total // LEAST_XERIAL:
        corrupt("snappy", "its blocks are too small")
    return total

cdef int64_t gzip_hint(const uint8_t* p, Py_ssize_t n) except -1:
    """What the last member says of its size: all, where there is one member, as everywhere in practice."""
    cdef int64_t size
    if n < GZIP_LEAST:
        corrupt("gzip", "cut off")
    size = le32(p + n - 4)
    return min(size, gzip_bound(n))

cdef int64_t gzip_bound(Py_ssize_t n) noexcept:
    return <int64_t>n * DEFLATE_RATIO

cdef int64_t lz4_bound(const uint8_t* p, Py_ssize_t n) except -1:
    """What the blocks of the one frame can come to."""
    cdef Py_ssize_t pos = 7
    cdef int64_t total = 0, largest
    cdef uint32_t size
    cdef int flags, code
    if n < 11 or le32(p) != LZ4_MAGIC:
        corrupt("lz4", "no frame")
    flags, code = p[4], p[5] >> 4
    if flags >> 6 != 1 or flags & 0x03 or p[5] & 0x8F or code < 4:
        corrupt("lz4", "a header that Kafka does not read")
    if not flags & 0x20:
        corrupt("lz4", "blocks that depend on others, which Kafka does not read")
    if flags & 0x08:  # the content's size
        pos += 8
    largest = <int64_t>1 << 8 + 2 * code
    while True:
        if n - pos < 4:
            corrupt("lz4", "cut off")
        size = le32(p + pos)
        pos += 4
        if size == 0:
            break
        if size & 0x7FFFFFFF > min(largest, n - pos):
            corrupt("lz4", "a block is too large or cut off")
        if size >> 31:  # not compressed
            size &= 0x7FFFFFFF
            total += size
        else:
            total += min(largest, <int64_t>size * LZ4_RATIO)
        pos += size + (4 if flags & 0x10 else 0)
    if flags & 0x04:  # the content's checksum
        pos += 4
    if pos != n:
        corrupt("lz4", "cut off, or bytes behind the frame")
    return total

cdef int64_t zstd_bound(const uint8_t* p, Py_ssize_t n) except -1:
    """What all frames can come to."""
    cdef Py_ssize_t pos = 0
    cdef int64_t total = 0
    while pos < n:
        if n - pos < 5:
            corrupt("zstd", "cut off")
        if le32(p + pos) == ZSTD_MAGIC:
            total += zstd_frame(p, n, &pos)
        elif le32(p + pos) & 0xFFFFFFF0 == SKIPPED_MAGIC:
            if n - pos < 8 or le32(p + pos + 4) > n - pos - 8:
                corrupt("zstd", "cut off")
            pos += 8 + <Py_ssize_t>le32(p + pos + 4)
        else:
            corrupt("zstd", "no frame")
    return total

cdef int64_t zstd_frame(const uint8_t* p, Py_ssize_t n, Py_ssize_t* at) except -1:
    """What one frame can come to; `at` moves behind it."""
    cdef Py_ssize_t pos = at[0] + 5
    cdef int flags = p[at[0] + 4]
    cdef bint is_single = flags >> 5 & 1
    cdef int claim_size = 1 << (flags >> 6) if flags >> 6 else is_single
    cdef int64_t total = 0, largest = ZSTD_BLOCK, claim = 0
    cdef uint32_t block, size
    cdef int i
    if flags & 0x0B:
        corrupt("zstd", "a dictionary or a reserved bit")
    if n - pos < claim_size + (not is_single):
        corrupt("zstd", "cut off")
    if not is_single:
        largest = <int64_t>1 << 10 + (p[pos] >> 3)
        largest = min(ZSTD_BLOCK, largest + (largest >> 3) * (p[pos] & 7))
        pos += 1
    for i in range(claim_size):
        claim |= <int64_t>p[pos + i] << 8 * i
    pos += claim_size
    if claim_size == 2:
        claim += 256
    block = 0
    while not block & 1:  # the last one
        if n - pos < 3:
            corrupt("zstd", "cut off")
        block = p[pos] | <uint32_t>p[pos + 1] << 8 | <uint32_t>p[pos + 2] << 16
        size = block >> 3
        pos += 3
        if size > ZSTD_BLOCK or block >> 1 & 3 == 3:
            corrupt("zstd", "a block that is too large or of no kind")
        total += largest if block >> 1 & 3 == 2 else size
        pos += 1 if block >> 1 & 3 == 1 else size  # one byte, repeated
        if pos > n:
            corrupt("zstd", "cut off")
    if flags & 0x04:  # the checksum
        pos += 4
    if pos > n:
        corrupt("zstd", "cut off")
    at[0] = pos
    return total if claim_size == 0 or claim < 0 else min(total, claim)
