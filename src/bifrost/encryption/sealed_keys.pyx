# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Seals the keys of a batch's records, each to the same bytes every time, and opens them; docs/encryption.md has the layout.

A null stays null. The sealed text begins with a byte 1, for AES-SIV as OpenSSL has it takes no empty text.
"""

from array import array

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memcpy

from cryptography.exceptions import InvalidTag

from bifrost.encryption.errors import BrokenSeal, NotSealed, UnknownEnvelope, UnknownKek
from bifrost.records.codec.columns import BytesColumn
from bifrost.records.codec.errors import TooLarge

from bifrost.encryption.envelope cimport AES_SIV, MODE_KEY, TAG, VERSION, is_envelope
from bifrost.encryption.rows cimport Rows, readable, rows_of, writable
from bifrost.records.codec.memory cimport Memory, MemoryBudget, allocate
from bifrost.wire.steps cimport python_step

cdef enum:
    MOST_BYTES = 0x7FFFFFFF
    KEY_ID_AT = 8
    KEY_ID = 8
    HEADER = 16            # bytes before the sealed text
    ADDED = HEADER + TAG + 1

cdef bytes header_of(topic_key):
    return b"BFST" + bytes([VERSION, MODE_KEY, AES_SIV, 0]) + topic_key.key_id

cdef object column_of(Memory out, places, Py_ssize_t count, validity):
    view = memoryview(places).cast("B")
    return BytesColumn(out, view[: 4 * count].cast("i"), view[4 * count :].cast("i"), validity)

def seal_keys(columns, bytes binding not None, topic_key, MemoryBudget budget not None):
    cdef Py_ssize_t count = len(columns), i
    cdef Rows keys = rows_of(columns.keys, count)
    cdef bytes header = header_of(topic_key)
    cdef int64_t total = 0
    for i in range(count):
        if not keys.is_null(i):
            total += keys.sizes[i] + ADDED
    if total > MOST_BYTES:
        raise TooLarge("batch", MOST_BYTES)
    if total == 0:
        return columns
    cdef Memory out = allocate(budget, total)
    cdef object places = array("i", bytes(8 * count))
    cdef int32_t[::1] table = places
    cdef uint8_t* p = out.data
    bound = [binding, header]
    for i in range(count):
        python_step()
        table[i] = <int32_t>(p - out.data)
        if keys.is_null(i):
            continue
        text = b"\x01" + keys.data[keys.offsets[i] : keys.offsets[i] + keys.sizes[i]]
        memcpy(p, PyBytes_AS_STRING(header), HEADER)
        topic_key.cipher.encrypt_into(text, bound, writable(p + HEADER, keys.sizes[i] + TAG + 1))
        table[count + i] = keys.sizes[i] + ADDED
        p += keys.sizes[i] + ADDED
    assert p - out.data == total
    return columns.with_keys(column_of(out, places, count, columns.keys.validity))

cdef bint is_sealed(const uint8_t* p, int32_t size, bytes header, Py_ssize_t row) except -1:
    """Whether a key is sealed, with the key that a header names."""
    if not is_envelope(p, size):
        return False
    if size < ADDED:
        raise BrokenSeal(f"the sealed key of record {row} is cut off")
    if memcmp(p, PyBytes_AS_STRING(header), KEY_ID_AT) != 0:
        raise UnknownEnvelope(f"the key of record {row} is sealed with another version, mode or cipher")
    if memcmp(p + KEY_ID_AT, PyBytes_AS_STRING(header) + KEY_ID_AT, KEY_ID) != 0:
        raise UnknownKek(f"the key of record {row} is sealed with another key than the topic has")
    return True

def open_keys(columns, bytes binding not None, topic_key, MemoryBudget budget not None, *, bint accepts_plaintext=False):
    cdef Py_ssize_t count = len(columns), i
    cdef Rows keys = rows_of(columns.keys, count)
    cdef bytes header = header_of(topic_key), text
    cdef int64_t total = 0
    for i in range(count):
        if not keys.is_null(i):
            total += keys.sizes[i]
    # As they are sealed, they are larger than they will be.
    cdef Memory out = allocate(budget, total)
    cdef object places = array("i", bytes(8 * count))
    cdef int32_t[::1] table = places
    cdef uint8_t* p = out.data
    cdef const uint8_t* envelope
    cdef int32_t size
    bound = [binding, header]
    for i in range(count):
        python_step()
        table[i] = <int32_t>(p - out.data)
        if keys.is_null(i):
            continue
        envelope, size = keys.data + keys.offsets[i], keys.sizes[i]
        if is_sealed(envelope, size, header, i):
            try:
                text = topic_key.cipher.decrypt(bytes(readable(envelope + HEADER, size - HEADER)), bound)
            except InvalidTag:
                raise BrokenSeal(f"the key of record {i} was changed, or sealed for another place") from None
            if text[:1] != b"\x01":
                raise BrokenSeal(f"the key of record {i} is none that was sealed")
            size -= ADDED
            memcpy(p, PyBytes_AS_STRING(text) + 1, size)
        elif accepts_plaintext:
            memcpy(p, envelope, size)
        else:
            raise NotSealed(f"the key of record {i} is not sealed")
        table[count + i] = size
        p += size
    out.resize(p - out.data)
    return columns.with_keys(column_of(out, places, count, columns.keys.validity))
