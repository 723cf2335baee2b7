# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Seals the values of a batch one by one, and opens them; docs/encryption.md has the layout and what is bound.

For compacted topics, whose cleaner takes records one by one and needs their keys. A null stays null: it is what deletes a key.
"""

from array import array

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcmp, memcpy

from cryptography.exceptions import InvalidTag

from bifrost.encryption.errors import BrokenSeal, NotSealed, UnknownEnvelope
from bifrost.records.codec.columns import BytesColumn
from bifrost.records.codec.errors import TooLarge

from bifrost.encryption.envelope cimport (
    CUT_OFF, DEK_AT, MODE_VALUE, NO_ENVELOPE, NONCE, NONCE_AT, OTHER_VERSION, PREFIX, TAG, dek_size, put_be32, put_start
)
from bifrost.encryption.rows cimport Rows, rows_of
from bifrost.encryption.span cimport Span
from bifrost.records.codec.memory cimport Memory, MemoryBudget, allocate
from bifrost.wire.steps cimport python_step

cdef enum:
    MOST_BYTES = 0x7FFFFFFF

cdef class Bound:
    """The additional data of one value after the other: place, envelope before its ciphertext, key of the record.

    The key is its size and its bytes; of a null the size is -1.
    """
    cdef bytearray room
    cdef Py_ssize_t place
    cdef Span span

    def __init__(self, bytes binding):
        self.room = bytearray(binding)
        self.place = len(binding)
        self.span = Span()

    cdef Span of(self, const uint8_t* envelope, Py_ssize_t size, Rows keys, Py_ssize_t row):
        cdef Py_ssize_t key = 0 if keys.is_null(row) else keys.sizes[row]
        cdef Py_ssize_t needed = self.place + size + 4 + key
        cdef uint8_t* p
        if len(self.room) < needed:
            self.room = self.room + bytearray(needed - len(self.room))
        p = <uint8_t*>(<char*>self.room) + self.place
        memcpy(p, envelope, size)
        put_be32(p + size, <uint32_t>-1 if keys.is_null(row) else <uint32_t>key)
        memcpy(p + size + 4, keys.data + keys.offsets[row], key)
        return self.span.at(p - self.place, needed)

# ---- sealing ----

def seal_values(columns, bytes binding not None, dek, MemoryBudget budget not None):
    cdef Py_ssize_t count = len(columns), i, before
    cdef Rows values = rows_of(columns.values, count), keys = rows_of(columns.keys, count)
    cdef bytes header = dek.header, prefix = dek.nonce_prefix
    cdef Bound bound = Bound(binding)
    cdef Span nonce = Span(), text = Span(), sealed = Span(is_writable=True)
    cdef int64_t total = 0, plain = 0, messages = 0
    cdef uint32_t counter
    cdef int32_t size
    cdef uint8_t* p
    before = DEK_AT + PyBytes_GET_SIZE(header)
    for i in range(count):
        if not values.is_null(i):
            messages += 1
            plain += values.sizes[i]
    total = plain + messages * (before + TAG)
    if total > MOST_BYTES:
        raise TooLarge("batch", MOST_BYTES)
    if messages == 0:
        return columns
    cdef Memory out = allocate(budget, total)
    cdef object places = array("i", bytes(8 * count))
    cdef int32_t[::1] table = places
    counter = dek.take(messages, plain)
    cipher = dek.dek.cipher
    p = out.data
    for i in range(count):
        python_step()
        table[i] = <int32_t>(p - out.data)
        if values.is_null(i):
            continue
        size = values.sizes[i]
        put_start(p, MODE_VALUE)
        memcpy(p + NONCE_AT, PyBytes_AS_STRING(prefix), PREFIX)
        put_be32(p + NONCE_AT + PREFIX, counter)
        memcpy(p + DEK_AT, PyBytes_AS_STRING(header), PyBytes_GET_SIZE(header))
        counter += 1
        cipher.encrypt_into(
            nonce.at(p + NONCE_AT, NONCE),
            text.at(values.data + values.offsets[i], size),
            bound.of(p, before, keys, i),
            sealed.at(p + before, size + TAG),
        )
        table[count + i] = <int32_t>(before + size + TAG)
        p += before + size + TAG
    assert p - out.data == total
    view = memoryview(places).cast("B")
    return columns.with_values(
        BytesColumn(out, view[: 4 * count].cast("i"), view[4 * count :].cast("i"), columns.values.validity)
    )

# ---- opening ----

cdef class SealedValues:
    cdef object columns
    cdef Rows values
    cdef Py_ssize_t plain_size       # bytes of all values when they are opened
    cdef object which                # by row: the place of its DEK among the headers, -1: null, -2: not sealed
    cdef readonly tuple dek_headers
    cdef readonly Py_ssize_t not_sealed

    def open(self, bytes binding not None, deks not None, MemoryBudget budget not None, *, bint accepts_plaintext=False):
        cdef Py_ssize_t count = self.values.count, i, before
        cdef Rows values = self.values, keys = rows_of(self.columns.keys, count)
        cdef Bound bound = Bound(binding)
        cdef Opening opening = Opening()
        cdef int32_t[::1] which = self.which
        cdef int32_t size
        cdef uint8_t* p
        cdef const uint8_t* envelope
        if self.not_sealed and not accepts_plaintext:
            raise NotSealed(f"{self.not_sealed} of {count} values are not sealed")
        if not self.dek_headers:
            return self.columns
        ciphers = [deks[one].cipher for one in self.dek_headers]
        sizes = [DEK_AT + len(one) for one in self.dek_headers]
        cdef Memory out = allocate(budget, self.plain_size)
        cdef object places = array("i", bytes(8 * count))
        cdef int32_t[::1] table = places
        p = out.data
        for i in range(count):
            python_step()
            table[i] = <int32_t>(p - out.data)
            if which[i] == -1:
                continue
            size = values.sizes[i]
            envelope = values.data + values.offsets[i]
            if which[i] == -2:
                memcpy(p, envelope, size)
            else:
                before = sizes[which[i]]
                size -= <int32_t>(before + TAG)
                opening.take(ciphers[which[i]], envelope, before, size, bound.of(envelope, before, keys, i), p, i)
            table[count + i] = size
            p += size
        assert p - out.data == self.plain_size
        view = memoryview(places).cast("B")
        return self.columns.with_values(
            BytesColumn(
                out, view[: 4 * count].cast("i"), view[4 * count :].cast("i"), self.columns.values.validity
            )
        )

cdef class Opening:
    """Opens one value after the other."""
    cdef Span nonce, sealed, text

    def __cinit__(self):
        self.nonce, self.sealed, self.text = Span(), Span(), Span(is_writable=True)

    cdef int take(
        self, object cipher, const uint8_t* envelope, Py_ssize_t before, Py_ssize_t size, Span bound, uint8_t* out,
        Py_ssize_t row,
    ) except -1:
        try:
            cipher.decrypt_into(
                self.nonce.at(envelope + NONCE_AT, NONCE),
                self.sealed.at(envelope + before, size + TAG),
                bound,
                self.text.at(out, size),
            )
        except InvalidTag:
            raise BrokenSeal(
                f"the value of record {row} was changed, or sealed for another place or key of a record, or with another key"
            ) from None
        return 0

def read_sealed_values(columns):
    cdef Py_ssize_t count = len(columns), i, dek
    cdef SealedValues sealed = SealedValues.__new__(SealedValues)
    cdef Rows values = rows_of(columns.values, count)
    cdef dict found = {}
    cdef bytes last = None, header
    cdef int32_t place = -1
    cdef const uint8_t* p
    sealed.which = array("i", bytes(4 * count))
    cdef int32_t[::1] which = sealed.which
    sealed.columns, sealed.values = columns, values
    for i in range(count):
        if values.is_null(i):
            which[i] = -1
            continue
        p = values.data + values.offsets[i]
        dek = dek_size(p, values.sizes[i], MODE_VALUE)
        if dek == OTHER_VERSION:
            raise UnknownEnvelope(f"the envelope of record {i} has another version, mode or cipher")
        if dek == CUT_OFF:
            raise BrokenSeal(f"the envelope of record {i} is cut off")
        if dek == NO_ENVELOPE:
            which[i] = -2
            sealed.not_sealed += 1
            sealed.plain_size += values.sizes[i]
            continue
        if last is None or dek != PyBytes_GET_SIZE(last) or memcmp(p + DEK_AT, PyBytes_AS_STRING(last), dek) != 0:
            last = p[DEK_AT : DEK_AT + dek]
            place = found.setdefault(last, len(found))
        which[i] = place
        sealed.plain_size += values.sizes[i] - DEK_AT - dek - TAG
    sealed.dek_headers = tuple(found)
    return sealed
