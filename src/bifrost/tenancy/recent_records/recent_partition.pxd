# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What brokers have answered of late, for the compiled look at all partitions of a Fetch."""

from libc.stdint cimport int32_t, int64_t

cdef class Bounds:
    cdef readonly int32_t leader_epoch
    cdef readonly int64_t high_watermark, last_stable_offset, log_start_offset, came_ns

    cdef bint is_valid(self, int32_t leader_epoch, int64_t now_ns) noexcept

cdef class RecentAnswer:
    cdef readonly int64_t begin, end, max_bytes
    cdef readonly Bounds bounds
    cdef readonly object aborted
    cdef public bytes records
    cdef public bint is_dropped

cdef class PlaceOfReader:
    cdef int64_t offset       # where the connection has asked last
    cdef int64_t seen_ns      # and when
    cdef int64_t since_ns     # when it has asked first

cdef class RecentPartition:
    cdef public object place
    cdef readonly list answers
    cdef readonly int64_t brought_ns
    cdef object open                      # the connections that have not ended
    cdef Bounds last_bounds
    cdef list polled
    cdef readonly dict readers            # their places, by connection
    cdef int64_t last_span                # how many offsets the last answer with records went on; -1: there was none
    cdef bint has_others

    cpdef int note_reader(self, reader, int64_t offset, int64_t now_ns, bint is_part) except -1
    cdef bint is_gone(self, reader, PlaceOfReader place, int64_t now_ns) except -1
    cdef int make_place(self, int64_t now_ns) except -1
    cpdef bint has_company(self, reader, int64_t offset, int64_t now_ns) except -1
    cpdef bint is_needed(self, RecentAnswer answer, int64_t now_ns) except -1
    cpdef Bounds bounds(self, int32_t leader_epoch, int64_t now_ns)
    cpdef RecentAnswer find(self, int64_t offset, int32_t leader_epoch, int64_t max_bytes, int64_t now_ns)
    cdef bint still_has(self, RecentAnswer answer, int32_t leader_epoch, int64_t now_ns) noexcept
    cpdef int begin_poll(self, int64_t offset, int32_t leader_epoch, int64_t max_bytes, int64_t min_bytes, end,
                         int64_t now_ns=*) except -1
    cpdef object poll(self, int64_t offset, int32_t leader_epoch, int64_t max_bytes, int64_t min_bytes,
                      bint takes_earlier=*, int64_t since_ns=*)
