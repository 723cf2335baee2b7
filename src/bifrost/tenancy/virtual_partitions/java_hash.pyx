# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Java's `String.hashCode`, in compiled code: names of consumer groups may have 32 KiB, and each is hashed."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t


def java_hash(str text not None):
    cdef bytes units = text.encode("utf-16-be", "surrogatepass")
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(units)
    cdef const uint8_t* end = p + PyBytes_GET_SIZE(units)
    cdef uint32_t value = 0
    while p < end:
        value = value * 31 + (<uint32_t>p[0] << 8 | p[1])
        p += 2
    return value
