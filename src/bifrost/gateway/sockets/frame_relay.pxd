"""What `socket_stream.pyx` needs of a relay: where to receive to, and which object to tell."""

from bifrost.forwarding.forwarding cimport Forwarding, Outlet
from bifrost.wire.framer cimport Framer


cdef class CompiledRelay:
    cdef Framer framer
    cdef Forwarding session
    cdef object owner, protocol, to, size_of_queue, is_closing
    cdef Outlet outlet
    cdef bint is_request
    cdef int fd
    cdef int received(self, Py_ssize_t size) except -1
    cdef int take(self, Py_ssize_t size, Forwarding session) except -1
    cdef int begin_to_pass(self) except -1
    cdef int take_piece(self, list out) except -1
    cdef bint passes(self, frame) except -1
    cdef int decide(self, list frames) except -1
    cdef int write(self, list segments) except -1


cdef Py_ssize_t write_now(int fd, list segments) except -1
