# cython: language_level=3
"""How an answer tells its client to wait."""

from libc.stdint cimport int32_t

from bifrost.wire.program cimport Passage
from bifrost.wire.reader cimport Reader

cdef bint overwrite_throttle(Passage passage, bint is_produce, object frame, Reader* r, int32_t throttle_ms) except -1
cdef object own_copy(object frame, Reader* r)
cpdef int put_throttle(list segments, Py_ssize_t at, int32_t throttle_ms) except -1
