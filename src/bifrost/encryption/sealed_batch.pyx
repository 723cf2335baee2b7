# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Seals the records of a batch whole, and opens sealed batches; docs/encryption.md has the layout and what is bound.

A broker refuses a batch whose count and records differ. So the sealed batch has as many records as the client's: the envelope
is the value of the first one, all others are empty. A broker may change the base offset, the leader epoch, the codec, the
timestamp type and its timestamp; everything else must be as it was sealed, down to the last bit of the empty records.

A batch of a virtual partition gets another producer ID and sequence on its way to the broker (filters/virtual/). Its envelope has those of
the client, and these are bound and come back.

The empty records of a batch that was compressed would cost more than its compression gained, if it has many small ones. Then the sealed
batch is in gzip, which every version of Kafka reads: the envelope in stored blocks, for it cannot be compressed, and the
empty records deflated.

Source: Kafka's LogValidator, MemoryRecordsBuilder; RFC 1951 and 1952.
"""

import zlib
from functools import lru_cache

from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBUF_WRITE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from cryptography.exceptions import InvalidTag

from bifrost.encryption.errors import BrokenSeal, UnknownEnvelope
from bifrost.records.codec.compression import NAMES, unpack
from bifrost.records.codec.errors import CorruptBatch, TooLarge

from bifrost.encryption.envelope cimport (
    CUT_OFF, DEK_AT, MODE_AT, MODE_BATCH, MODE_VIRTUAL, NO_ENVELOPE, NONCE, NONCE_AT, OTHER_VERSION, PREFIX, TAG, dek_size, put_be16,
    put_be32, put_be64, put_start
)
from bifrost.records.batch_header cimport (
    ATTRIBUTES_AT, BASE_TIMESTAMP_AT, CODEC, CONTROL, COUNT_AT, CRC_AT, CRC_FROM, HEADER, LENGTH_AT, MAX_TIMESTAMP_AT,
    PRODUCER_EPOCH_AT, PRODUCER_ID_AT, SEQUENCE_AT, UNCOUNTED
)
from bifrost.records.codec.memory cimport Memory, MemoryBudget, allocate
from bifrost.records.codec.varints cimport put_varint, varint_size
from bifrost.records.crc32c cimport checksum
from bifrost.wire.reader cimport be16, be32, be64

cdef enum:
    LOG_APPEND_TIME = 0x08
    GZIP = 1
    ORIGINAL = 18          # bytes of the original attributes and timestamps
    PRODUCER = 14          # bytes of a producer's ID, epoch and sequence
    TRANSACTIONAL = 0x10
    GROUP_SHIFT = 40       # where the mark of a virtual partition begins in a producer ID (virtual_batches.pyx)
    BOUND = 24             # bytes of a batch's header that are bound
    MOST_BYTES = 0x7FFFFFFF - HEADER
    EMPTY_LENGTH = 16      # bytes of an empty record, at the most: its varints have 1, 10 and 5
    START = 30             # bytes of the first record before its value, at the most
    STORED = 0xFFFF        # bytes of a stored block, at the most
    STORED_HEAD = 5
    GZIP_HEAD = 10
    GZIP_TAIL = 8
    LEAST_DEFLATED = 256   # bytes of empty records from which on they are deflated
    DEFLATED_PART = 64     # and the part of the sealed bytes that they have then
    CACHED_RECORDS = 4096  # of a batch whose deflated empty records are kept: some KiB

cdef bytes GZIP_START = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

# ---- varints ----

cdef inline bint pass_varint(const uint8_t* p, Py_ssize_t end, Py_ssize_t* pos, int64_t* value) noexcept:
    """Read a varint; false: it is cut off or too long."""
    cdef uint64_t read = 0
    cdef int shift
    for shift in range(0, 70, 7):
        if pos[0] >= end:
            return False
        read |= <uint64_t>(p[pos[0]] & 0x7F) << shift
        pos[0] += 1
        if p[pos[0] - 1] < 0x80:
            value[0] = <int64_t>(read >> 1) ^ -<int64_t>(read & 1)
            return True
    return False

# ---- the records of a sealed batch ----

cdef uint8_t* put_start_of_first(uint8_t* p, int64_t envelope, int64_t timestamp_delta) noexcept:
    """Write the first record up to its value; behind the value belongs its count of headers, 0."""
    # attributes, timestamp, offset, key, value, headers
    p = put_varint(p, 4 + varint_size(timestamp_delta) + varint_size(envelope) + envelope)
    p[0] = 0
    p = put_varint(p + 1, timestamp_delta)
    p[0], p[1] = 0, 1
    return put_varint(p + 2, envelope)

cdef uint8_t* put_empty(uint8_t* p, int64_t count, int64_t timestamp_delta) noexcept:
    """Write all records but the first."""
    cdef int64_t i
    cdef int fixed = 4 + varint_size(timestamp_delta)
    for i in range(1, count):
        p = put_varint(p, fixed + varint_size(i))
        p[0] = 0
        p = put_varint(p + 1, timestamp_delta)
        p = put_varint(p, i)
        p[0], p[1], p[2] = 1, 1, 0
        p += 3
    return p

cdef int64_t empty_bytes(int64_t count, int64_t timestamp_delta) noexcept:
    """The bytes of all records but the first, as `put_empty` writes them."""
    cdef int64_t total = (count - 1) * (6 + varint_size(timestamp_delta))
    cdef int bits
    for bits in range(6, 31, 7):  # from there on the varint of an offset has one byte more
        total += max(count - (<int64_t>1 << bits), 0)
    return total

@lru_cache(maxsize=128)
def deflated_empty(int64_t count):
    """Return the empty records of that many, deflated, as the end of a stream, and their bytes as they are."""
    cdef int64_t size = empty_bytes(count, 0)
    cdef bytes plain = PyBytes_FromStringAndSize(NULL, size)
    put_empty(<uint8_t*>PyBytes_AS_STRING(plain), count, 0)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(plain) + packer.flush(), plain

# ---- additional data ----

cdef bytes additional(
    bytes binding, const uint8_t* envelope, Py_ssize_t size, const uint8_t* header, const uint8_t* producer
):
    """Return what is bound: the place, the envelope before its ciphertext, and the header of the batch.

    attributes without codec and timestamp type, last offset delta, producer ID and epoch, base sequence, count
    """
    cdef Py_ssize_t place = PyBytes_GET_SIZE(binding)
    cdef bytes out = PyBytes_FromStringAndSize(NULL, place + size + BOUND)
    cdef uint8_t* p = <uint8_t*>PyBytes_AS_STRING(out)
    memcpy(p, PyBytes_AS_STRING(binding), place)
    memcpy(p + place, envelope, size)
    p += place + size
    put_be16(p, be16(header + ATTRIBUTES_AT) & ~(CODEC | LOG_APPEND_TIME))
    memcpy(p + 2, header + ATTRIBUTES_AT + 2, 4)
    memcpy(p + 6, producer, PRODUCER)
    memcpy(p + 6 + PRODUCER, header + COUNT_AT, 4)
    return out

# ---- sealing ----

cdef int measure(const uint8_t* p, Py_ssize_t size, Py_ssize_t dek, bint is_virtual, Shape* shape) except -1:
    """Say what a batch comes to when it is sealed."""
    cdef uint8_t[START] start
    shape.count = <int32_t>be32(p + COUNT_AT)
    if shape.count < 1 or size == HEADER:
        raise CorruptBatch("a batch without records cannot be sealed")
    shape.is_virtual = is_virtual
    shape.envelope = DEK_AT + dek + ORIGINAL + (PRODUCER if is_virtual else 0)
    shape.sealed = shape.envelope + size - HEADER + TAG
    # The first record has the latest timestamp and all others the base, so the empty ones depend on their count alone.
    shape.timestamp_delta = <int64_t>(be64(p + MAX_TIMESTAMP_AT) - be64(p + BASE_TIMESTAMP_AT))
    shape.first = put_start_of_first(start, shape.sealed, shape.timestamp_delta) - start + shape.sealed + 1
    shape.empty = empty_bytes(shape.count, 0)
    if shape.first + shape.empty > MOST_BYTES:
        raise TooLarge("batch", MOST_BYTES)
    shape.is_deflated = be16(p + ATTRIBUTES_AT) & CODEC != 0 and shape.empty > max(LEAST_DEFLATED, shape.first // DEFLATED_PART)
    shape.whole = HEADER + shape.first + shape.empty
    return 0

cdef tuple prepare(Shape* shape, MemoryBudget budget):
    """Return what stands for the empty records where they are deflated, else None; say what the batch comes to then.

    The batch belongs to the caller, but it may not be larger than others.
    """
    cdef tuple kept
    budget.take(shape.first + shape.empty)
    budget.give_back(shape.first + shape.empty)
    if not shape.is_deflated:
        return None
    kept = deflated_empty(shape.count) if shape.count <= CACHED_RECORDS else deflated_empty.__wrapped__(shape.count)
    shape.whole = (
        HEADER + GZIP_HEAD + shape.first + (shape.first + STORED - 1) // STORED * STORED_HEAD
        + PyBytes_GET_SIZE(kept[0]) + GZIP_TAIL
    )
    return kept

cdef uint8_t* put_first(uint8_t* p, const uint8_t* batch, Py_ssize_t size, Shape* shape, bytes binding, dek) except NULL:
    """Write the first record, with the sealed batch as its value."""
    cdef bytes header = dek.header, prefix = dek.nonce_prefix
    cdef uint32_t counter
    cdef uint8_t* envelope = put_start_of_first(p, shape.sealed, shape.timestamp_delta)
    cdef uint8_t* at = envelope + DEK_AT
    put_start(envelope, MODE_VIRTUAL if shape.is_virtual else MODE_BATCH)
    memcpy(at, PyBytes_AS_STRING(header), PyBytes_GET_SIZE(header))
    at += PyBytes_GET_SIZE(header)
    memcpy(at, batch + ATTRIBUTES_AT, 2)
    memcpy(at + 2, batch + BASE_TIMESTAMP_AT, 16)
    at += ORIGINAL
    if shape.is_virtual:
        memcpy(at, batch + PRODUCER_ID_AT, PRODUCER)
        at += PRODUCER
    assert at - envelope == shape.envelope and PyBytes_GET_SIZE(prefix) == PREFIX
    counter = dek.take(1, size)
    memcpy(envelope + NONCE_AT, PyBytes_AS_STRING(prefix), PREFIX)
    put_be32(envelope + NONCE_AT + PREFIX, counter)
    written = dek.dek.cipher.encrypt_into(
        PyMemoryView_FromMemory(<char*>envelope + NONCE_AT, NONCE, PyBUF_READ),
        PyMemoryView_FromMemory(<char*>batch + HEADER, size - HEADER, PyBUF_READ),
        additional(binding, envelope, shape.envelope, batch, batch + PRODUCER_ID_AT),
        PyMemoryView_FromMemory(<char*>at, size - HEADER + TAG, PyBUF_WRITE),
    )
    assert written == size - HEADER + TAG
    at += size - HEADER + TAG
    at[0] = 0  # count of headers
    return at + 1

cdef uint8_t* put_gzip(uint8_t* p, const uint8_t* first, Py_ssize_t size, bytes deflated, bytes empty) except NULL:
    """Write both as a member of gzip: the first record in stored blocks, the others as they were deflated."""
    cdef Py_ssize_t done = 0, block
    cdef uint32_t crc = zlib.crc32(empty, zlib.crc32(PyMemoryView_FromMemory(<char*>first, size, PyBUF_READ)))
    cdef uint32_t length = <uint32_t>(size + PyBytes_GET_SIZE(empty))
    cdef int i
    memcpy(p, PyBytes_AS_STRING(GZIP_START), GZIP_HEAD)
    p += GZIP_HEAD
    while done < size:
        block = min(size - done, STORED)
        p[0] = 0  # neither the last block nor compressed
        p[1], p[2] = block & 0xFF, block >> 8
        p[3], p[4] = ~p[1] & 0xFF, ~p[2] & 0xFF
        memcpy(p + STORED_HEAD, first + done, block)
        p += STORED_HEAD + block
        done += block
    memcpy(p, PyBytes_AS_STRING(deflated), PyBytes_GET_SIZE(deflated))
    p += PyBytes_GET_SIZE(deflated)
    for i in range(4):
        p[i], p[4 + i] = crc >> 8 * i & 0xFF, length >> 8 * i & 0xFF
    return p + GZIP_TAIL

cdef int finish(uint8_t* p, Py_ssize_t size) noexcept:
    """Write what depends on all other bytes of a batch."""
    put_be32(p + LENGTH_AT, <uint32_t>(size - UNCOUNTED))
    put_be32(p + CRC_AT, checksum(p + CRC_FROM, size - CRC_FROM))
    return 0

cdef int seal_into(
    uint8_t* out, const uint8_t* p, Py_ssize_t size, Shape* shape, tuple kept, bytes binding, dek, MemoryBudget budget
) except -1:
    """Seal a batch into the `shape.whole` bytes of `out`; `kept` is what `prepare` has returned for it."""
    cdef uint8_t* end
    cdef Memory first
    memcpy(out, p, HEADER)
    put_be16(out + ATTRIBUTES_AT, be16(p + ATTRIBUTES_AT) & ~CODEC | (GZIP if shape.is_deflated else 0))
    if shape.is_deflated:
        first = allocate(budget, shape.first)
        end = put_first(first.data, p, size, shape, binding, dek)
        assert end - first.data == shape.first
        end = put_gzip(out + HEADER, first.data, shape.first, kept[0], kept[1])
    else:
        end = put_first(out + HEADER, p, size, shape, binding, dek)
        end = put_empty(end, shape.count, 0)
    assert end - out == shape.whole
    finish(out, shape.whole)
    return 0

def seal_batch(batch, bytes binding not None, dek, MemoryBudget budget not None, *, bint is_virtual=False):
    cdef Py_buffer view
    cdef const uint8_t* p
    cdef Shape shape
    cdef bytes out
    cdef tuple kept
    PyObject_GetBuffer(batch.data, &view, PyBUF_SIMPLE)
    p = <const uint8_t*>view.buf
    try:
        if view.len < HEADER or be16(p + ATTRIBUTES_AT) & CONTROL:
            raise CorruptBatch("only batches of records are sealed")
        measure(p, view.len, PyBytes_GET_SIZE(dek.header), is_virtual, &shape)
        kept = prepare(&shape, budget)
        out = PyBytes_FromStringAndSize(NULL, shape.whole)
        seal_into(<uint8_t*>PyBytes_AS_STRING(out), p, view.len, &shape, kept, binding, dek, budget)
        return out
    finally:
        PyBuffer_Release(&view)

# ---- opening ----

cdef object unpacked(const uint8_t* p, Py_ssize_t size, MemoryBudget budget):
    """Return the records of a batch, unpacked if a broker or the sealer packed them; None: they are not packed."""
    cdef int codec = be16(p + ATTRIBUTES_AT) & CODEC
    if codec >= len(NAMES):
        raise CorruptBatch(f"no codec has the number {codec}")
    if codec == 0:
        return None
    return unpack(codec, PyMemoryView_FromMemory(<char*>p + HEADER, size - HEADER, PyBUF_READ), budget)

cdef bint find_envelope(Sealed* sealed) except -1:
    """Find the envelope in the first record; false: there is none."""
    cdef const uint8_t* p = sealed.records
    cdef Py_ssize_t pos = 0, end = sealed.end, dek
    cdef int64_t length = 0, value = 0
    cdef bint is_virtual
    if not pass_varint(p, end, &pos, &length):
        return False
    pos += 1  # attributes
    # timestamp, offset, length of the key, which is -1
    if not (pass_varint(p, end, &pos, &value) and pass_varint(p, end, &pos, &value)):
        return False
    if not pass_varint(p, end, &pos, &value) or value != -1:
        return False
    if not pass_varint(p, end, &pos, &length) or length < 0 or length > end - pos:
        return False
    is_virtual = length > MODE_AT and p[pos + MODE_AT] == MODE_VIRTUAL
    sealed.original = ORIGINAL + (PRODUCER if is_virtual else 0)
    dek = dek_size(p + pos, length, MODE_VIRTUAL if is_virtual else MODE_BATCH)
    if dek == NO_ENVELOPE:
        return False
    if dek == OTHER_VERSION:
        raise UnknownEnvelope("the envelope has another version, mode or cipher")
    if dek == CUT_OFF or length < DEK_AT + dek + sealed.original + TAG:
        raise BrokenSeal("the envelope is cut off")
    sealed.value, sealed.size, sealed.before = pos, length, DEK_AT + dek + sealed.original
    return True

cdef bytes dek_header_of(Sealed* sealed):
    """What names the DEK of a sealed batch: see `read_wrapped_dek`."""
    return sealed.records[sealed.value + DEK_AT : sealed.value + sealed.before - sealed.original]

cdef Py_ssize_t opened_size(Sealed* sealed) noexcept:
    """The bytes of the batch that it was."""
    return HEADER + sealed.size - sealed.before - TAG

cdef bint has_records_as_sealed(Sealed* sealed, int64_t first_delta, int64_t other_delta) except -1:
    """Whether all that stands around the envelope is as it was written, with these timestamps."""
    cdef const uint8_t* p = sealed.records
    cdef int64_t count = <int32_t>be32(sealed.header + COUNT_AT), size
    cdef uint8_t[START] start
    cdef Py_ssize_t end = put_start_of_first(start, sealed.size, first_delta) - start
    cdef bytes empty
    if end != sealed.value or memcmp(p, start, end) != 0:
        return False
    end += sealed.size
    size = empty_bytes(count, other_delta)
    if sealed.end - end != 1 + size or p[end] != 0:
        return False
    if size == 0:
        return True
    empty = PyBytes_FromStringAndSize(NULL, size)
    put_empty(<uint8_t*>PyBytes_AS_STRING(empty), count, other_delta)
    return memcmp(p + end + 1, PyBytes_AS_STRING(empty), size) == 0

cdef bint has_producer_as_sealed(const uint8_t* header, const uint8_t* producer) noexcept:
    """Whether the header of a batch of a virtual partition has what the gateway makes of the client's producer.

    A transaction keeps ID and epoch, and its batches are numbered anew. The ID of another producer has the mark of its group
    above it. What had no producer may have got one of the gateway's own, of which each batch is the first of an epoch.
    """
    cdef int64_t stored = <int64_t>be64(header + PRODUCER_ID_AT), own = <int64_t>be64(producer)
    if memcmp(producer, header + PRODUCER_ID_AT, PRODUCER) == 0:
        return True
    if own < 0:
        return stored >= 0 and be32(header + SEQUENCE_AT) == 0
    if memcmp(producer + 8, header + PRODUCER_EPOCH_AT, 2) != 0:
        return False
    if be16(header + ATTRIBUTES_AT) & TRANSACTIONAL:
        return stored == own
    return (
        stored >= 0 and stored & ((<int64_t>1 << GROUP_SHIFT) - 1) == own
        and memcmp(producer + 10, header + SEQUENCE_AT, 4) == 0
    )

cdef bint is_as_sealed(Sealed* sealed) except -1:
    """Whether everything outside the ciphertext is as the sealer or a broker leaves it."""
    cdef const uint8_t* header = sealed.header
    cdef const uint8_t* original = sealed.records + sealed.value + sealed.before - sealed.original
    cdef int64_t base = <int64_t>be64(original + 2), latest = <int64_t>be64(original + 10), highest
    cdef int64_t new_base = <int64_t>be64(header + BASE_TIMESTAMP_AT)
    cdef int64_t new_latest = <int64_t>be64(header + MAX_TIMESTAMP_AT)
    cdef int64_t count = <int32_t>be32(header + COUNT_AT)
    cdef uint16_t attributes = be16(header + ATTRIBUTES_AT)
    if count < 1 or (attributes ^ be16(original)) & ~(CODEC | LOG_APPEND_TIME):
        return False
    if sealed.original > ORIGINAL and not has_producer_as_sealed(header, original + ORIGINAL):
        return False
    # The header of a batch has the append time where that is the type; the records keep what their client said.
    highest = max(latest, base, <int64_t>-1) if count > 1 else max(latest, <int64_t>-1)
    if not attributes & LOG_APPEND_TIME and new_latest != latest and new_latest != highest:
        return False
    # A broker that packs the records again makes the first one's timestamp the base.
    if new_base != base and new_base != latest:
        return False
    return has_records_as_sealed(sealed, minus(latest, new_base), minus(base, new_base))

cdef int open_into(uint8_t* out, Sealed* sealed, bytes binding, dek) except -1:
    """Open a sealed batch into the `opened_size` bytes of `out`; after an error it holds nothing of use."""
    cdef const uint8_t* header = sealed.header
    cdef const uint8_t* envelope = sealed.records + sealed.value
    cdef const uint8_t* original = envelope + sealed.before - sealed.original
    cdef const uint8_t* producer = original + ORIGINAL if sealed.original > ORIGINAL else header + PRODUCER_ID_AT
    cdef Py_ssize_t size = sealed.size - sealed.before - TAG
    if not is_as_sealed(sealed):
        raise BrokenSeal("the batch around the envelope is not as it was sealed")
    try:
        written = dek.cipher.decrypt_into(
            PyMemoryView_FromMemory(<char*>envelope + NONCE_AT, NONCE, PyBUF_READ),
            PyMemoryView_FromMemory(<char*>envelope + sealed.before, size + TAG, PyBUF_READ),
            additional(binding, envelope, sealed.before, header, producer),
            PyMemoryView_FromMemory(<char*>out + HEADER, size, PyBUF_WRITE),
        )
    except InvalidTag:
        raise BrokenSeal("the batch was changed, or sealed for another place or with another key") from None
    assert written == size
    memcpy(out, header, HEADER)
    memcpy(out + PRODUCER_ID_AT, producer, PRODUCER)
    put_be16(out + ATTRIBUTES_AT, be16(original) | be16(header + ATTRIBUTES_AT) & LOG_APPEND_TIME)
    memcpy(out + BASE_TIMESTAMP_AT, original + 2, 8 if be16(header + ATTRIBUTES_AT) & LOG_APPEND_TIME else 16)
    finish(out, HEADER + size)
    return 0

cdef inline int64_t minus(int64_t one, int64_t other) noexcept:
    """As in Java, a difference has 64 bits, whatever timestamps a client sent."""
    return <int64_t>(<uint64_t>one - <uint64_t>other)

cdef class SealedBatch:
    cdef Py_buffer batch, records    # the whole batch, and its records if they were packed
    cdef Sealed sealed
    cdef readonly bytes dek_header

    def __dealloc__(self):
        PyBuffer_Release(&self.records)
        PyBuffer_Release(&self.batch)

    cdef int hold(self, batch, MemoryBudget budget) except -1:
        """Hold the batch and its records."""
        PyObject_GetBuffer(batch, &self.batch, PyBUF_SIMPLE)
        self.sealed.header = <const uint8_t*>self.batch.buf
        self.sealed.records, self.sealed.end = self.sealed.header + HEADER, self.batch.len - HEADER
        records = unpacked(self.sealed.header, self.batch.len, budget)
        if records is not None:
            PyObject_GetBuffer(records, &self.records, PyBUF_SIMPLE)
            self.sealed.records, self.sealed.end = <const uint8_t*>self.records.buf, self.records.len
        return 0

    def open(self, bytes binding not None, dek, MemoryBudget budget not None):
        cdef Py_ssize_t size = opened_size(&self.sealed)
        cdef bytes out
        budget.take(size - HEADER)  # see `prepare`
        budget.give_back(size - HEADER)
        out = PyBytes_FromStringAndSize(NULL, size)
        open_into(<uint8_t*>PyBytes_AS_STRING(out), &self.sealed, binding, dek)
        return out

def read_sealed(batch, MemoryBudget budget not None):
    cdef SealedBatch sealed = SealedBatch.__new__(SealedBatch)
    if len(batch.data) <= HEADER or batch.record_count < 1:
        return None
    sealed.hold(batch.data, budget)
    if not find_envelope(&sealed.sealed):
        return None
    sealed.dek_header = dek_header_of(&sealed.sealed)
    return sealed
