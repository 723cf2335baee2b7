# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What other compiled modules need to work in steps: when to pause, and the pause itself."""

from libc.stdint cimport int64_t

cdef int64_t steps_to_pause() noexcept    # rounds until the next pause
cdef int pause() except -1
cdef int python_step(int64_t rounds=*) except -1    # one round of a loop that has no Reader
cdef object done_aside(object call)       # for a long call of a library that lets other threads run meanwhile
