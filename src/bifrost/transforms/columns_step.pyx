# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A transform of columns as a step: it is asked as it is, but its message need not be decoded.

For transforms that make no object for a record, and that change all batches in the same way. What they say of a batch
other than its new records is left to the filters of records, which ask once more.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from bifrost.records.codec.client_batch import as_batch, build_batch, read_columns
from bifrost.records.codec.columns import Columns
from bifrost.transforms.record_transform import Direction

from bifrost.transforms.batch_step cimport Batch, BatchStep, BatchTrip
from bifrost.wire.window cimport window

cdef enum:
    COST = 6    # to seal 64 values of 1 KiB takes as many times as long as to seal their batch


cdef class ColumnsStep(BatchStep):
    """Takes batches along one transform."""
    cdef object transform, direction

    def __init__(self, transform not None, direction not None):
        self.name, self.makes_batches, self.cost = transform.name, True, COST
        self.transform, self.direction = transform, direction

    cdef bint take(self, Batch* batch, BatchTrip trip) except -1:
        cdef uint8_t* out
        cdef bytes made
        if trip.owner is not None:
            data = window(trip.owner, batch.data, batch.size, True)
        else:
            data = PyBytes_FromStringAndSize(<const char*>batch.data, batch.size)
        read = as_batch(data)
        columns = read_columns(read, trip.of_batch)
        found = self.transform.transform(read, columns, self.direction, trip.at_hand(), trip.of_batch)
        if found is columns:
            return True
        if type(found) is not Columns:
            return False
        if self.direction is Direction.PRODUCE and found.offset_deltas.tobytes() != columns.offset_deltas.tobytes():
            return False
        made = build_batch(read, found, trip.of_batch)
        out = trip.new_batch(PyBytes_GET_SIZE(made))
        memcpy(out, PyBytes_AS_STRING(made), PyBytes_GET_SIZE(made))
        batch.data, batch.size = out, PyBytes_GET_SIZE(made)
        return True
