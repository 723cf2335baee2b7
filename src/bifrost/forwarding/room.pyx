# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Limits the bytes of frames held: of a tenant, of all unauthenticated clients, of the process.

A large frame asks for room for all of its bytes before more than a chunk of it is received, so one that has it may
always be received to its end. It is given back with the frame's memory, when the last slice has been written. Unfinished
small frames are counted by their chunks; while there is no room no connection begins another.
"""

cimport cython
from cpython.exc cimport PyErr_Fetch, PyErr_Restore
from cpython.object cimport PyObject

cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX

cpdef enum:
    LARGE_BYTES = 1048576    # larger frames leave a part of the room to all others

cdef enum:
    OWN_SHARE = 262144 # bytes that every tenant may hold, whatever others do


@cython.final
cdef class Room(MemoryLimit):
    """Bytes held, and the most that may be; `whole` is that of the process."""

    def __init__(self, Room whole=None, Py_ssize_t most=PY_SSIZE_T_MAX, Py_ssize_t for_small=0):
        self.whole = whole
        self.most, self.for_small = most, for_small

    @property
    def is_full(self):
        return self.full()

    cdef bint full(self) noexcept:
        if self.used >= self.most:
            return True
        return self.whole is not None and self.whole.used >= self.whole.most and self.used >= OWN_SHARE

    cdef bint fits(self, Py_ssize_t size, bint is_answer) noexcept:
        # Without a large frame held there is room for any size; and always for one answer: the held requests may wait
        # for a broker that waits for its answers to be read.
        if self.blocks == 0 or is_answer and self.answers == 0:
            return True
        return size <= self.most - self.used - (self.for_small if size > LARGE_BYTES else 0)

    cdef bint reserve(self, Py_ssize_t size, bint is_answer, bint has_turn) noexcept:
        """Take room for a frame; False: there is none, or others wait for it."""
        if not has_turn and size > LARGE_BYTES and (self.waiting or self.whole is not None and self.whole.waiting):
            return False
        if not self.fits(size, is_answer):
            return False
        if self.whole is not None and self.used + size > OWN_SHARE and not self.whole.fits(size, is_answer):
            return False
        self.add(size, is_answer)
        if self.whole is not None:
            self.whole.add(size, is_answer)
        return True

    cdef void add(self, Py_ssize_t size, bint is_answer) noexcept:
        self.used += size
        self.blocks += size
        if is_answer:
            self.answers += size

    cdef void give_back(self, Py_ssize_t size, bint is_answer) noexcept:
        self.add(-size, is_answer)
        if self.whole is not None:
            self.whole.add(-size, is_answer)
        self.tell()

    cdef void hold(self, Py_ssize_t size, bint is_answer) noexcept:
        """Take room for what is held already, though there may be none."""
        self.add(size, is_answer)
        if self.whole is not None:
            self.whole.add(size, is_answer)

    cdef void count(self, Py_ssize_t more) noexcept:
        """Count what is held already, or is held no longer."""
        self.used += more
        if self.whole is not None:
            self.whole.used += more
        if more < 0:
            self.tell()

    cdef void tell(self) noexcept:
        """Tell the waiting connections that there is room."""
        cdef PyObject* kind
        cdef PyObject* value
        cdef PyObject* trace
        cdef bint is_awaited = self.waiting > 0 or self.whole is not None and self.whole.waiting > 0
        if is_awaited and self.on_room is not None:
            PyErr_Fetch(&kind, &value, &trace)  # A frame's memory may go while an exception is on its way.
            try:
                self.on_room()
            except Exception:
                pass  # The waiting connections also check again by the clock.
            PyErr_Restore(kind, value, trace)
