# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Packs and unpacks the records of a batch by their codec.

Unpacking writes into memory that was allocated before, of the size that the blocks can come to (framing.pyx) or that the
budget has left, whichever is less; the libraries stop where it ends. So a bomb never has more than the budget.

gzip is zlib's, in both directions (inflate.pyx says why); it packs twice as fast as cramjam, which has the other codecs.
What goes piece by piece may pause behind each (wire/steps.pyx). cramjam unpacks lz4, zstd and snappy without a frame in
one call, 0.4 to 1.5 ms for each MiB and more where every few bytes are a match; what may be large is unpacked by another
thread, while the work pauses.

cramjam is imported with the first batch of these: a gateway that unpacks nothing does not carry it.
"""

import zlib
from functools import partial

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from bifrost.records.codec.errors import CorruptBatch, TooLarge

from bifrost.records.codec.framing cimport (
    XERIAL_HEADER, gzip_bound, gzip_hint, is_xerial, lz4_bound, read_snappy_size, xerial_size, zstd_bound
)
from bifrost.records.codec.inflate cimport TOO_SMALL, inflate_into
from bifrost.records.codec.memory cimport Memory, MemoryBudget, allocate
from bifrost.wire.reader cimport be32
from bifrost.wire.steps cimport done_aside, python_step

cdef enum:
    NONE, GZIP, SNAPPY, LZ4, ZSTD
    MOST_RECORDS = 0x7FFFFFFF      # bytes: offsets into them have 32 bits, as a batch's length has
    XERIAL_BLOCK = 32 * 1024       # as Kafka's SnappyOutputStream
    LZ4_BLOCK = 64 * 1024          # as Kafka's Lz4BlockOutputStream
    GZIP_PIECE = 64 * 1024         # packed at a time: some 0.6 ms
    ZSTD_PIECE = 128 * 1024        # as a block of zstd's
    AT_ONCE = 1024 * 1024          # bytes of memory for unpacked records that are not worth a thread
    PIECE_ROUNDS = 1000            # a pause behind a piece
    BLOCK_ROUNDS = 32              # and behind some blocks of these

NAMES = ("none", "gzip", "snappy", "lz4", "zstd")

cdef bytes XERIAL_START = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
# Version 1, independent blocks of 64 KiB, no checksums: what Kafka writes. The last byte is the header's checksum.
cdef bytes LZ4_START = b"\x04\x22\x4D\x18\x60\x40\x82"

cdef object unpack_error = None
cdef object unpackers = None
cdef object packers = None
cdef object zstd_stream = None

cdef int load() except -1:
    """Import the library once."""
    global unpack_error, unpackers, packers, zstd_stream
    import cramjam
    unpack_error = cramjam.DecompressionError
    zstd_stream = cramjam.zstd.Compressor
    unpackers = (
        None, None, cramjam.snappy.decompress_raw_into, cramjam.lz4.decompress_into, cramjam.zstd.decompress_into
    )
    packers = (
        None, None, cramjam.snappy.compress_raw_into, cramjam.lz4.compress_block_into, cramjam.zstd.compress_into
    )
    return 0

# ---- unpacking ----

def unpack(int codec, packed not None, MemoryBudget budget not None):
    cdef Py_buffer view
    if codec <= NONE or codec > ZSTD:
        raise CorruptBatch(f"no codec has the number {codec}")
    if unpackers is None and codec != GZIP:
        load()
    PyObject_GetBuffer(packed, &view, PyBUF_SIMPLE)
    try:
        return unpack_view(codec, packed, <const uint8_t*>view.buf, view.len, budget)
    finally:
        PyBuffer_Release(&view)

cdef Memory unpack_view(int codec, object packed, const uint8_t* p, Py_ssize_t n, MemoryBudget budget):
    cdef Py_ssize_t pos = 0
    cdef int64_t size
    cdef Memory memory
    if codec == SNAPPY:
        if is_xerial(p, n):
            return unpack_xerial(packed, p, n, budget)
        return unpack_exactly(packed, read_snappy_size(p, n, &pos), budget)
    if codec == LZ4:
        return unpack_stream(codec, packed, lz4_bound(p, n), budget)
    if codec == ZSTD:
        return unpack_stream(codec, packed, zstd_bound(p, n), budget)
    size = gzip_hint(p, n)
    if size < gzip_bound(n):
        memory = unpack_into(codec, packed, allocate(budget, checked(size)))
        if memory is not None:
            return memory
    return unpack_stream(codec, packed, gzip_bound(n), budget)

cdef int64_t checked(int64_t size) except -1:
    if size > MOST_RECORDS:
        raise TooLarge("batch", MOST_RECORDS)
    return size

cdef Memory unpack_into(int codec, object packed, Memory memory):
    """Unpack into memory and cut it to what was written; None: it was too small."""
    cdef int64_t written
    cdef object call
    if codec == GZIP:
        written = inflate_into(packed, memory.data, memory.size)
        if written == TOO_SMALL:
            return None
    else:
        try:
            call = partial(unpackers[codec], packed, writable(memory.data, memory.size))
            written = call() if memory.size <= AT_ONCE else done_aside(call)
        except unpack_error as error:
            if "write whole buffer" in str(error):
                return None
            raise CorruptBatch(f"{NAMES[codec]}: the compressed records are malformed") from None
    assert 0 <= written <= memory.size
    if written < memory.size:
        memory.resize(written)
    return memory

cdef Memory unpack_stream(int codec, object packed, int64_t most, MemoryBudget budget):
    """Unpack what comes to `most` bytes at the most."""
    cdef int64_t room = min(budget.room(), MOST_RECORDS)
    cdef Memory memory = unpack_into(codec, packed, allocate(budget, min(most, room)))
    if memory is not None:
        return memory
    if most <= room:
        raise CorruptBatch(f"{NAMES[codec]}: more bytes than its blocks can have")
    checked(room + 1)
    budget.take(room + 1)
    raise AssertionError("there was no room for it")

cdef Memory unpack_exactly(object packed, int64_t size, MemoryBudget budget):
    """Unpack one piece of snappy, whose size is known."""
    cdef Memory memory = unpack_into(SNAPPY, packed, allocate(budget, checked(size)))
    if memory is None or memory.size != size:
        raise CorruptBatch("snappy: another size than it says")
    return memory

cdef Memory unpack_xerial(object packed, const uint8_t* p, Py_ssize_t n, MemoryBudget budget):
    cdef Memory memory = allocate(budget, checked(xerial_size(p, n)))
    cdef object source = memoryview(packed)
    cdef object target = PyMemoryView_FromMemory(<char*>memory.data, memory.size, PyBUF_WRITE)
    cdef Py_ssize_t pos = XERIAL_HEADER, at, size
    cdef int64_t unpacked, done = 0
    try:
        while pos < n:
            size = be32(p + pos)
            pos += 4
            at = pos
            unpacked = read_snappy_size(p, pos + size, &at)
            if unpackers[SNAPPY](source[pos : pos + size], target[done : done + unpacked]) != unpacked:
                raise CorruptBatch("snappy: another size than it says")
            pos += size
            done += unpacked
            python_step(BLOCK_ROUNDS)
    except unpack_error:
        raise CorruptBatch("snappy: the compressed records are malformed") from None
    return memory

# ---- packing ----

cdef Py_ssize_t most_packed(int codec, Py_ssize_t size) noexcept:
    """How many bytes packing can come to, at the most."""
    if codec == SNAPPY:
        return XERIAL_HEADER + size + size // 6 + (size // XERIAL_BLOCK + 1) * 64
    if codec == LZ4:
        return 16 + size + (size // LZ4_BLOCK + 1) * 4
    return size + (size >> 7) + 1024

cdef bytes pack(int codec, const uint8_t* data, Py_ssize_t size, object level, Py_ssize_t head):
    """Return `head` bytes that are not initialised, and behind them the records packed."""
    return pack_pieces(codec, (PyMemoryView_FromMemory(<char*>data, size, 0x100),), size, level, head)  # PyBUF_READ

cdef bytes pack_pieces(int codec, tuple pieces, Py_ssize_t size, object level, Py_ssize_t head):
    """As above, for records of `size` bytes in pieces, which need not stand in one place."""
    cdef bytes out
    cdef uint8_t* p
    if codec == GZIP:
        return behind(head, pack_gzip(pieces, -1 if level is None else level))
    if packers is None:
        load()
    if codec == ZSTD and (size > ZSTD_PIECE or len(pieces) != 1):
        return behind(head, pack_zstd(pieces, 3 if level is None else level))
    out = PyBytes_FromStringAndSize(NULL, head + most_packed(codec, size))
    p = <uint8_t*>PyBytes_AS_STRING(out) + head
    if codec == SNAPPY:
        return out[: head + pack_xerial(pieces, p)]
    if codec == LZ4:
        return out[: head + pack_lz4(pieces, p)]
    level = 3 if level is None else level
    return out[: head + <Py_ssize_t>packers[codec](pieces[0], writable(p, most_packed(codec, size)), level=level)]

cdef bytes behind(Py_ssize_t head, object packed):
    """Bytes behind others that are not initialised."""
    cdef Py_buffer view
    cdef bytes out
    PyObject_GetBuffer(packed, &view, PyBUF_SIMPLE)
    try:
        out = PyBytes_FromStringAndSize(NULL, head + view.len)
        memcpy(PyBytes_AS_STRING(out) + head, view.buf, view.len)
        return out
    finally:
        PyBuffer_Release(&view)

cdef object blocks(tuple pieces, Py_ssize_t size):
    """All bytes of the pieces in blocks of this size, the last of which may be smaller."""
    if len(pieces) == 1 and 0 < len(pieces[0]) <= size:
        return pieces
    return cut_blocks(pieces, size)

def cut_blocks(tuple pieces, Py_ssize_t size):
    """Yield them."""
    cdef bytearray begun = bytearray()  # a block that has bytes of several pieces
    cdef Py_ssize_t pos, end
    cdef object piece
    for piece in pieces:
        piece = memoryview(piece)
        pos, end = 0, len(piece)
        if begun:
            pos = min(size - len(begun), end)
            begun += piece[:pos]
            if len(begun) < size:
                continue
            yield bytes(begun)
            begun = bytearray()
        while end - pos >= size:
            yield piece[pos : pos + size]
            pos += size
        begun += piece[pos:]
    if begun:
        yield bytes(begun)

cdef bytes pack_gzip(tuple pieces, object level):
    cdef object stream = zlib.compressobj(level, wbits=16 + zlib.MAX_WBITS)
    cdef list made = []
    for block in blocks(pieces, GZIP_PIECE):
        made.append(stream.compress(block))
        python_step(PIECE_ROUNDS)
    made.append(stream.flush())
    return b"".join(made)

cdef object pack_zstd(tuple pieces, object level):
    cdef object stream = zstd_stream(level=level)
    for block in blocks(pieces, ZSTD_PIECE):
        stream.compress(bytes(block))  # It takes nothing else.
        python_step(PIECE_ROUNDS)
    return stream.finish()

cdef object writable(uint8_t* p, Py_ssize_t size):
    return PyMemoryView_FromMemory(<char*>p, size, PyBUF_WRITE)

cdef inline void put_be32(uint8_t* p, uint32_t value) noexcept:
    p[0], p[1], p[2], p[3] = value >> 24, value >> 16 & 0xFF, value >> 8 & 0xFF, value & 0xFF

cdef inline void put_le32(uint8_t* p, uint32_t value) noexcept:
    p[0], p[1], p[2], p[3] = value & 0xFF, value >> 8 & 0xFF, value >> 16 & 0xFF, value >> 24

cdef Py_ssize_t pack_xerial(tuple pieces, uint8_t* p) except -1:
    cdef Py_ssize_t done = XERIAL_HEADER, size, written
    memcpy(p, PyBytes_AS_STRING(XERIAL_START), XERIAL_HEADER)
    for block in blocks(pieces, XERIAL_BLOCK):
        size = len(block)
        written = packers[SNAPPY](block, writable(p + done + 4, size + size // 6 + 32))
        put_be32(p + done, <uint32_t>written)
        done += 4 + written
        python_step(BLOCK_ROUNDS)
    return done

cdef Py_ssize_t pack_lz4(tuple pieces, uint8_t* p) except -1:
    cdef Py_ssize_t done = PyBytes_GET_SIZE(LZ4_START), size, written
    cdef bytes room = PyBytes_FromStringAndSize(NULL, LZ4_BLOCK + LZ4_BLOCK // 255 + 16)
    cdef object scratch = writable(<uint8_t*>PyBytes_AS_STRING(room), PyBytes_GET_SIZE(room))
    cdef const uint8_t[::1] unpacked
    memcpy(p, PyBytes_AS_STRING(LZ4_START), done)
    for block in blocks(pieces, LZ4_BLOCK):
        size = len(block)
        written = packers[LZ4](block, scratch, store_size=False)
        if written < size:
            put_le32(p + done, <uint32_t>written)
            memcpy(p + done + 4, PyBytes_AS_STRING(room), written)
        else:
            unpacked, written = block, size
            put_le32(p + done, <uint32_t>size | 0x80000000)
            memcpy(p + done + 4, &unpacked[0], size)
        done += 4 + written
        python_step(BLOCK_ROUNDS)
    put_le32(p + done, 0)
    return done + 4

def compress(int codec, data not None, level=None):
    cdef Py_buffer view
    if codec <= NONE or codec > ZSTD:
        raise ValueError(f"no codec has the number {codec}")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        return pack(codec, <const uint8_t*>view.buf, view.len, level, 0)
    finally:
        PyBuffer_Release(&view)

def compress_pieces(int codec, tuple pieces not None, level=None):
    if codec <= NONE or codec > ZSTD:
        raise ValueError(f"no codec has the number {codec}")
    return pack_pieces(codec, pieces, sum(map(len, pieces)), level, 0)
