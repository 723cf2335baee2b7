"""The two compiled sides of a router, as other modules see them: the client's, and a broker's."""

from bifrost.forwarding.forwarding cimport Forwarding
from bifrost.routes.split_request cimport SentPart


cdef class StraightLink:
    cdef public object connection, task, timer, awaited, unsent
    cdef public bint waits_unanswered, has_unanswered
    cdef public double looks_s
    cpdef bint is_open(self) except -1
    cpdef bint is_ready(self) except -1


cdef class StraightRouter:
    cdef public object turns, held, fresh
    cdef readonly dict links
    cdef public object to
    cdef public bint is_closed
    cdef bint is_receiving, is_in_batch, is_delivering
    cdef Forwarding session
    cdef object client, read, waiting, loop
    cdef Py_ssize_t send_on(self, list frame) except -1
    cdef int send_to(self, node, list segments, answered, double timeout_s) except -1
    cdef bint take_answer(self, StraightLink link, frame) except -1
    cpdef bint take_part(self, SentPart part, frame, bint may_be_done) except -1
    cdef bint passes(self, frame) except -1
    cdef int give_ready(self) except -1
    cdef int write_answers(self) except -1
