# cython: language_level=3
"""How many bytes compressed records can come to, by the frames and blocks of their codec alone."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

cdef enum:
    XERIAL_HEADER = 16

cdef bint is_xerial(const uint8_t* p, Py_ssize_t n) noexcept
cdef int64_t read_snappy_size(const uint8_t* p, Py_ssize_t n, Py_ssize_t* pos) except -1
cdef int64_t xerial_size(const uint8_t* p, Py_ssize_t n) except -1
cdef int64_t gzip_hint(const uint8_t* p, Py_ssize_t n) except -1
cdef int64_t gzip_bound(Py_ssize_t n) noexcept
cdef int64_t lz4_bound(const uint8_t* p, Py_ssize_t n) except -1
cdef int64_t zstd_bound(const uint8_t* p, Py_ssize_t n) except -1
