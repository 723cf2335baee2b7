# cython: language_level=3
"""CRC-32C, for other compiled modules."""

from libc.stdint cimport uint8_t, uint32_t

cdef uint32_t checksum(const uint8_t* data, size_t size) noexcept nogil

cdef uint32_t checksum_on(uint32_t crc, const uint8_t* data, size_t size) noexcept nogil

cdef uint32_t checksum_changed(uint32_t crc, const uint8_t* change, size_t size, size_t behind) noexcept nogil
