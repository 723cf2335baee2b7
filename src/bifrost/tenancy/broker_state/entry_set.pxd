# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A bounded set of hashes as other compiled modules use it."""

cimport cython
from libc.stdint cimport int64_t, uint64_t

cdef struct Table:
    uint64_t* slots          # of a power of two, open addressing; 0: free
    Py_ssize_t size, count


@cython.final
cdef class EntrySet:
    cdef public Py_ssize_t most
    cdef object now_ms
    cdef Table recent, grown, before
    cdef Py_ssize_t taken_over   # slots of `grown` from whose entries `recent` has been filled
    cdef Py_ssize_t kept         # entries of `before` that are in `recent` as well
    cdef int64_t turn_ms, half_ms
    cdef Py_ssize_t count(self) noexcept
    cdef bint is_known(self, uint64_t entry) noexcept
    cdef bint was_known(self, uint64_t entry) noexcept
    cdef bint enter_other(self, uint64_t entry) except -1
    cdef int forget_old(self) except -1
    cdef int add(self, uint64_t entry) except -1
    cdef void take_over(self, Py_ssize_t slots) noexcept

    cdef inline bint admits(self, uint64_t entry) except -1:
        """Remember that an entry is in use. False: it is new, and there is no room for it."""
        return self.is_known(entry) or self.enter_other(entry)
