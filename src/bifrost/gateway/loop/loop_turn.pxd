from libc.stdint cimport int64_t

cdef class LoopTurn:
    cdef const int64_t* turns    # how many the loop has ended; NULL: no `LoopWatch` runs
    cdef int64_t number, began_ns
    cdef int follow(self, const int64_t* turns) except -1
    cdef inline bint is_counted(self) noexcept:
        """Whether a `LoopWatch` counts the turns."""
        return self.turns != NULL
    cdef void note(self, int64_t now_ns) noexcept
    cpdef int64_t until_ns(self, int64_t most_ns, int64_t least_ns) noexcept

cpdef LoopTurn turn_of(loop)
