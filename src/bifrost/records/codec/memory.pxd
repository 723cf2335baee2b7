# cython: language_level=3
"""Budgets of bytes, and memory that is counted in them."""

from libc.stdint cimport int64_t, uint8_t


cdef class MemoryBudget:
    cdef readonly str bound
    cdef public int64_t limit
    cdef readonly int64_t used
    cdef readonly MemoryBudget parent
    cdef readonly bint is_shared

    cpdef int64_t room(self) noexcept
    cpdef int take(self, int64_t size) except -1
    cpdef int give_back(self, int64_t size) except -1
    cdef int refuse(self, int64_t size) except -1


cdef class Memory:
    cdef uint8_t* data
    cdef Py_ssize_t size
    cdef Py_ssize_t views
    cdef MemoryBudget budget

    cdef int resize(self, Py_ssize_t size) except -1

cdef Memory allocate(MemoryBudget budget, Py_ssize_t size)
