# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Memory that is handed out as a memoryview, and what is asked of one that comes back."""

from cpython.object cimport PyObject

cdef extern from *:
    """
    #define memoryview_data(m) (PyMemoryView_GET_BUFFER(m)->buf)
    #define memoryview_size(m) (PyMemoryView_GET_BUFFER(m)->len)
    #define memoryview_base(m) (PyMemoryView_GET_BUFFER(m)->obj)
    """
    void* memoryview_data(object view)
    Py_ssize_t memoryview_size(object view)
    PyObject* memoryview_base(object view)
    bint PyMemoryView_Check(object view)

cdef enum:
    KEPT = 32768           # bytes: slices of a window this large may be kept, it keeps less than as much alive besides

cdef object window(object owner, const void* data, Py_ssize_t size, bint readonly)
cdef bint memoryview_is_kept(object frame) noexcept
cpdef object owner_of(frame)
