from libc.stdint cimport int64_t

from bifrost.forwarding.load cimport Load
from bifrost.gateway.loop.loop_turn cimport LoopTurn
from bifrost.gateway.sockets.socket_watch cimport Watched

cdef class Readable(Watched):
    cdef bint is_queued
    cdef bint wants_turn    # it has more to read, and may be read
    cdef int read_some(self, int reads) except -1
    cdef int watch(self, bint is_wanted) except -1
    cdef Load load(self)

cdef class ReadTurns:
    cdef object queue, unread
    cdef LoopTurn turn
    cdef Py_ssize_t bytes_read
    cdef bint is_called
    cdef int64_t number    # of the turn
    cdef bint has_own_room(self, Readable one) except -1
    cdef int note(self, Readable one, Py_ssize_t size) except -1
    cdef int read(self, Readable one) except -1
    cdef int read_now(self, Readable one, int reads) except -1
    cdef int wait(self, Readable one) except -1
    cdef int call(self, loop) except -1

cdef ReadTurns turns_of(loop)
