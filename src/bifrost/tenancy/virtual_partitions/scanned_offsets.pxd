# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What a connection has fetched, for the compiled division of answers."""

from libc.stdint cimport int32_t, int64_t

cdef class ScannedRoom:
    cdef readonly Py_ssize_t used, most

cdef class ScannedOffsets:
    cdef ScannedRoom room
    cdef Py_ssize_t taken                 # of the room
    cdef dict topics                      # what was scanned of their virtual partitions, by number; none is empty
    cdef Py_ssize_t count                 # of these partitions
    cdef dict begun                       # the offset at which the consumer was, by virtual partition
    cdef readonly set without_start

    cdef dict of_topic(self, topic)
    cpdef bint may_begin(self, tuple partition, int64_t offset) except -1
    cpdef int note_begun(self, tuple partition, int64_t offset) except -1
    cdef int take(self, Py_ssize_t places) except -1
    cpdef bint has_room(self, Py_ssize_t partitions) except -1
    cdef int note_of(self, topic, number, int64_t offset, int64_t end, int32_t leader_epoch) except -1

cdef int64_t after(dict known, number, int64_t offset, int32_t leader_epoch) except? -2
