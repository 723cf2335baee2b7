# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Windows: memoryviews on memory that a framer or a frame owns.

Slices of a frame leave as windows that keep it alive, so large fields are never copied. A small frame is a window on a
chunk that other frames use too: its slices are copied, and `keep` copies it.
"""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_CheckExact
from cpython.memoryview cimport PyMemoryView_FromObject
from cpython.object cimport PyObject


@cython.final
@cython.no_gc
@cython.freelist(64)
cdef class Window:
    """A piece of memory that `owner` (bytes or Chunk) keeps alive."""
    cdef object owner
    cdef void* data
    cdef Py_ssize_t size
    cdef bint readonly

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.data, self.size, self.readonly, flags)

cdef object window(object owner, const void* data, Py_ssize_t size, bint readonly):
    cdef Window piece = Window.__new__(Window)
    piece.owner = owner
    piece.data = <void*>data
    piece.size = size
    piece.readonly = readonly
    return PyMemoryView_FromObject(piece)

cdef bint memoryview_is_kept(object frame) noexcept:
    """Whether it is one of ours on memory that slices may keep alive: a Block's, or a good part of a Chunk's."""
    cdef PyObject* base
    if not PyMemoryView_Check(frame) or memoryview_size(frame) < KEPT:
        return False
    base = memoryview_base(frame)
    return base != NULL and type(<object>base) is Window and (<Window>base).readonly

def keep(frame not None):
    return frame if PyBytes_CheckExact(frame) or memoryview_is_kept(frame) else bytes(frame)

cpdef object owner_of(frame):
    """What keeps the memory of a window alive; None: it is no window."""
    cdef PyObject* base
    if not PyMemoryView_Check(frame):
        return None
    base = memoryview_base(frame)
    return (<Window>base).owner if base != NULL and type(<object>base) is Window else None
