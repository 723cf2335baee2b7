# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Memory for unpacked records, counted in budgets as long as it lives.

    process (shared by all requests) <── request <── batch      what the batch takes, all three have less

Memory is uninitialised when it is allocated, and pages that are never written are never resident.
"""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc

from bifrost.records.codec.errors import NoRoom, TooLarge


@cython.final
@cython.no_gc_clear  # memory gives back its bytes when it goes
cdef class MemoryBudget:
    def __init__(self, str bound not None, int64_t limit, MemoryBudget parent=None, *, bint is_shared=False):
        self.bound = bound
        self.limit = limit
        self.parent = parent
        self.is_shared = is_shared

    cpdef int64_t room(self) noexcept:
        cdef MemoryBudget one = self
        cdef int64_t least = self.limit - self.used
        while one.parent is not None:
            one = one.parent
            least = min(least, one.limit - one.used)
        return least

    cpdef int take(self, int64_t size) except -1:
        cdef MemoryBudget one = self
        if size < 0:
            raise ValueError("a negative size")
        if size > self.room():
            self.refuse(size)
        while one is not None:
            one.used += size
            one = one.parent
        return 0

    cpdef int give_back(self, int64_t size) except -1:
        cdef MemoryBudget one = self
        while one is not None:
            one.used -= size
            one = one.parent
        return 0

    cdef int refuse(self, int64_t size) except -1:
        """Raise what says which budget has not enough; what waiting cannot mend comes first."""
        cdef MemoryBudget one = self
        while one is not None:
            if size > one.limit if one.is_shared else size > one.limit - one.used:
                raise TooLarge(one.bound, one.limit)
            one = one.parent
        one = self
        while size <= one.limit - one.used:
            one = one.parent
        raise NoRoom(one.bound, one.limit)


@cython.final
@cython.no_gc_clear
cdef class Memory:
    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.data, self.size, True, flags)
        self.views += 1

    def __releasebuffer__(self, Py_buffer* view):
        self.views -= 1

    def __len__(self):
        return self.size

    cdef int resize(self, Py_ssize_t size) except -1:
        """Give it another size; its content stays, as far as it fits. Nothing may view it."""
        cdef uint8_t* data
        assert self.views == 0
        if size > self.size:
            self.budget.take(size - self.size)
        data = <uint8_t*>realloc(self.data, max(size, 1))
        if data == NULL:
            if size > self.size:
                self.budget.give_back(size - self.size)
            raise MemoryError
        if size < self.size:
            self.budget.give_back(self.size - size)
        self.data, self.size = data, size
        return 0

    def __dealloc__(self):
        free(self.data)
        if self.budget is not None:
            self.budget.give_back(self.size)

cdef Memory allocate(MemoryBudget budget, Py_ssize_t size):
    cdef Memory memory = Memory.__new__(Memory)
    budget.take(size)
    memory.data = <uint8_t*>malloc(max(size, 1))
    if memory.data == NULL:
        budget.give_back(size)
        raise MemoryError
    memory.size = size
    memory.budget = budget
    return memory
