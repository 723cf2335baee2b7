# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What a connection has fetched, for the compiled division of answers."""

from libc.stdint cimport int32_t, int64_t

cdef class ScannedOffsets:
    cdef dict known                       # what was scanned, by virtual partition
    cdef dict begun                       # the offset at which the consumer was, likewise
    cdef readonly set without_start

    cpdef int64_t after(self, partition, int64_t offset, int32_t leader_epoch) except? -2
    cpdef bint may_begin(self, partition, int64_t offset) except -1
    cpdef int note_begun(self, partition, int64_t offset) except -1
    cpdef bint has_room(self, Py_ssize_t partitions) except -1
    cpdef int note(self, partition, int64_t offset, int64_t end, int32_t leader_epoch) except -1
