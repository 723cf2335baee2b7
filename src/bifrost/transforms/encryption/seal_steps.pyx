# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Sealing and opening batches as steps: what batch_sealing.py does where the DEK is at hand and nothing is wrong."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_GET_SIZE
from libc.stdint cimport int32_t, uint8_t

from bifrost.encryption.dek import Dek, WritingDek
from bifrost.transforms.encryption.dek_needs import DekToOpen

from bifrost.encryption.sealed_batch cimport (
    Sealed, Shape, dek_header_of, find_envelope, measure, open_into, opened_size, prepare, seal_into, unpacked
)
from bifrost.records.batch_header cimport COUNT_AT, HEADER
from bifrost.transforms.batch_step cimport Batch, BatchStep, BatchTrip
from bifrost.wire.reader cimport be32

cdef enum:
    KEPT_KEYS = 64     # DEKs of a partition of which the key is kept: those of the last ten hours, as they are renewed


cdef class SealStep(BatchStep):
    """Seals the batches of a partition."""
    cdef bytes binding
    cdef object key

    def __init__(self, str name not None, bytes binding not None, key not None):
        self.name, self.binding, self.key, self.makes_batches = name, binding, key, True

    cdef bint take(self, Batch* batch, BatchTrip trip) except -1:
        cdef Shape shape
        cdef tuple kept
        cdef uint8_t* out
        dek = trip.answer_to(self.key)
        if type(dek) is not WritingDek:
            return False
        measure(batch.data, batch.size, PyBytes_GET_SIZE(dek.header), False, &shape)
        kept = prepare(&shape, trip.of_batch)
        out = trip.new_batch(shape.whole)
        seal_into(out, batch.data, batch.size, &shape, kept, self.binding, dek, trip.of_batch)
        batch.data, batch.size = out, shape.whole
        return True


cdef class OpenStep(BatchStep):
    """Opens the batches of a partition."""
    cdef bytes binding
    cdef object kek, context
    cdef dict keys

    def __init__(self, str name not None, bytes binding not None, kek not None, context not None):
        self.name, self.binding, self.kek, self.context, self.makes_batches = name, binding, kek, context, True
        self.keys = {}

    cdef bint take(self, Batch* batch, BatchTrip trip) except -1:
        cdef Sealed sealed
        cdef Py_buffer view
        cdef int32_t count = <int32_t>be32(batch.data + COUNT_AT)
        if count == 0:
            return True  # Compaction, or another gateway, has left nothing in it.
        if count < 0 or batch.size <= HEADER:
            return False
        sealed.header, sealed.records, sealed.end = batch.data, batch.data + HEADER, batch.size - HEADER
        records = unpacked(batch.data, batch.size, trip.of_batch)
        if records is None:
            return self.open(&sealed, batch, trip)
        PyObject_GetBuffer(records, &view, PyBUF_SIMPLE)
        try:
            sealed.records, sealed.end = <const uint8_t*>view.buf, view.len
            return self.open(&sealed, batch, trip)
        finally:
            PyBuffer_Release(&view)

    cdef bint open(self, Sealed* sealed, Batch* batch, BatchTrip trip) except -1:
        cdef uint8_t* out
        if not find_envelope(sealed):
            return False
        dek = trip.answer_to(self.key_of(dek_header_of(sealed)))
        if type(dek) is not Dek:
            return False
        trip.of_batch.take(opened_size(sealed))  # The batch belongs to the caller, but it may not be larger than others.
        trip.of_batch.give_back(opened_size(sealed))
        out = trip.new_batch(opened_size(sealed))
        open_into(out, sealed, self.binding, dek)
        batch.data, batch.size = out, opened_size(sealed)
        return True

    cdef object key_of(self, bytes header):
        """Return what a DEK is asked for by, the same object for the same DEK."""
        found = self.keys.get(header)
        if found is None:
            if len(self.keys) >= KEPT_KEYS:
                self.keys.clear()
            found = self.keys[header] = DekToOpen(self.kek, self.context, header)
        return found
