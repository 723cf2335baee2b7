# cython: language_level=3
"""Sealing and opening as other compiled modules do it: from where a batch stands to where the caller wants it."""

from libc.stdint cimport int64_t, uint8_t

from bifrost.records.codec.memory cimport MemoryBudget


cdef struct Shape:
    # The sizes of a sealed batch.
    Py_ssize_t envelope    # bytes before the ciphertext
    int64_t sealed         # bytes of the envelope
    int64_t first          # bytes of the first record
    int64_t empty          # bytes of all others
    int64_t count
    int64_t timestamp_delta
    int64_t whole          # bytes of the sealed batch
    bint is_deflated       # whether its empty records are deflated
    bint is_virtual        # whether it is one of a virtual partition

cdef struct Sealed:
    # A sealed batch whose envelope was found.
    const uint8_t* header
    const uint8_t* records # unpacked
    Py_ssize_t end         # bytes of these
    Py_ssize_t value       # where in them the envelope begins
    Py_ssize_t size        # bytes of the envelope
    Py_ssize_t before      # bytes of the envelope before its ciphertext
    Py_ssize_t original    # bytes of these that say how the client's batch was

cdef int measure(const uint8_t* p, Py_ssize_t size, Py_ssize_t dek, bint is_virtual, Shape* shape) except -1
cdef tuple prepare(Shape* shape, MemoryBudget budget)
cdef int seal_into(
    uint8_t* out, const uint8_t* p, Py_ssize_t size, Shape* shape, tuple kept, bytes binding, dek, MemoryBudget budget
) except -1
cdef object unpacked(const uint8_t* p, Py_ssize_t size, MemoryBudget budget)
cdef bint find_envelope(Sealed* sealed) except -1
cdef bytes dek_header_of(Sealed* sealed)
cdef Py_ssize_t opened_size(Sealed* sealed) noexcept
cdef int open_into(uint8_t* out, Sealed* sealed, bytes binding, dek) except -1
