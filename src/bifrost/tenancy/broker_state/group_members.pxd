# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Members of groups as the walk over requests enters them."""

cimport cython
from libc.stdint cimport uint64_t

from bifrost.tenancy.broker_state.entry_set cimport EntrySet

cdef enum:
    MEMBER_BYTES = 2048    # of what a member tells: a broker keeps some twice as much of it beside that


cdef inline uint64_t mixed(uint64_t x) noexcept:
    """Spread the bits of a number; no two numbers give the same. Source: Steele, Lea and Flood, SplitMix64."""
    x = (x ^ (x >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t>0x94D049BB133111EB
    return x ^ (x >> 31)

cdef inline uint64_t both(uint64_t one, uint64_t other) noexcept:
    """The entry of two; 0 stands for none."""
    return mixed(mixed(one) + other) or 1


@cython.final
cdef class GroupMembers:
    cdef readonly EntrySet usual, lasting
    cdef uint64_t unnamed
    cdef bint admits(self, uint64_t member, Py_ssize_t size, bint lasts) except -1
    cdef bint admits_unnamed(self, uint64_t group, Py_ssize_t size, bint lasts) except -1
    cdef bint admits_assignments(self, uint64_t member, Py_ssize_t size) except -1
    cdef int keep(self, uint64_t member) except -1
