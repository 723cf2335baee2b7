# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Steps of transforms as the compiled ways of records take them. See batch_step.pyx."""

from libc.stdint cimport int64_t, uint8_t

from bifrost.records.codec.memory cimport MemoryBudget
from bifrost.wire.rewriting cimport RecordTrip

cdef struct Batch:
    const uint8_t* data
    Py_ssize_t size


cdef class BatchTrip(RecordTrip):
    cdef object sources
    cdef object owner          # what keeps the memory of the message alive; None: a step may not keep slices of it
    cdef object known          # see `at_hand`
    cdef dict answers          # what is known of keys, by their identity: the key and the answer
    cdef MemoryBudget budget   # of the message
    cdef MemoryBudget of_batch
    cdef int64_t taken         # bytes of new batches, which the budget has given
    cdef object answer_to(self, object key)
    cdef object at_hand(self)
    cdef uint8_t* new_batch(self, Py_ssize_t size) except NULL


cdef class BatchStep:
    cdef readonly str name
    cdef readonly bint makes_batches
    cdef readonly int cost     # how many rounds so many bytes stand for
    cdef bint take(self, Batch* batch, BatchTrip trip) except -1
