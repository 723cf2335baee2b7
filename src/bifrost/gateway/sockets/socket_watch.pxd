from cpython.object cimport PyObject

from bifrost.forwarding.forwarding cimport Outlet

cdef enum:
    READABLE = 1    # as libuv's UV_READABLE and UV_WRITABLE
    WRITABLE = 2

cdef extern from *:
    cdef struct watch:    # socket_watch.pyx defines it
        PyObject* owner


cdef class Watched(Outlet):
    """A connection that is told when its socket can be read or written."""

    cdef readonly object loop
    cdef watch* watching
    cdef int fd
    cdef int events    # that it waits for
    cdef int wait_for(self, int events) except -1
    cdef int start(self, int events) except -1
    cdef int wait_by_asyncio(self, int events) except -1
    cdef int stop_waiting(self) except -1
    cdef int ready(self, int events) except -1
