"""The two compiled sides of a router, as other modules see them: the client's, and a broker's."""

from bifrost.forwarding.forwarding cimport Forwarding


cdef class StraightLink:
    cdef public object connection, task, timer, awaited, unsent
    cpdef bint is_open(self) except -1
    cpdef bint is_ready(self) except -1


cdef class StraightRouter:
    cdef public object turns, held, fresh
    cdef readonly dict links
    cdef public bint is_closed
    cdef bint is_receiving, is_in_batch, is_delivering
    cdef Forwarding session
    cdef object client, read, waiting, loop
    cdef bint send_straight(self, list frame) except -1
    cdef bint take_answer(self, StraightLink link, frame) except -1
    cdef bint passes(self, frame) except -1
    cdef int give_ready(self) except -1
