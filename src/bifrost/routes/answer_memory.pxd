# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Memory for an answer that is put together of others."""

from bifrost.wire.framer cimport Block, MemoryLimit

# For up to so many bytes, of frames that are given up. The difference to their room is counted in `room`; None: in theirs.
cdef Block memory_of(list frames, Py_ssize_t size, MemoryLimit room)
