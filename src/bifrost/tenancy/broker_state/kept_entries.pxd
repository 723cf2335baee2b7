# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What brokers keep of a namespace's requests, as lanes ask for it."""

cimport cython
from libc.stdint cimport int32_t, uint8_t, uint64_t

from bifrost.tenancy.broker_state.entry_set cimport EntrySet
from bifrost.tenancy.broker_state.group_members cimport GroupMembers
from bifrost.wire.program cimport Program
from bifrost.wire.reader cimport Reader


cdef class EntryWalk(Program):
    cdef readonly bint has_offsets, names_members, has_joins


@cython.final
cdef class KeptEntries:
    cdef readonly object state
    cdef readonly EntrySet groups, offsets, transactional_ids, producers, client_ids
    cdef readonly GroupMembers members
    cdef uint64_t seed
    cdef bytes last_client_id
    cdef bint admits_client(self, const uint8_t* client_id, Py_ssize_t size) except -1
    cdef bint admits_request(self, EntryWalk walk, Reader* r, Py_ssize_t start) except -1
    cdef bint walk_over(self, EntryWalk walk, Reader* r) except -1
    cdef uint64_t member_of(self, bytes group, bytes member) except? 0
    cdef bint keeps_quiet(self, uint64_t member, int32_t epoch, Py_ssize_t size) except -1
    cdef bint admits_metadata(self, uint64_t topic, int32_t partition, Py_ssize_t size) except -1
    cdef bint admits_records(self, Reader* r, uint64_t topic, int partition, const uint8_t* records, Py_ssize_t size,
                             Py_ssize_t there) except -1
