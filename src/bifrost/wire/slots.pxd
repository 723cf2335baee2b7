# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Fields of messages, taken from where their objects have them: see slots.pyx."""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF

cdef extern from "Python.h":
    void PyObject_GC_UnTrack(void* object)


cdef Py_ssize_t slot_of(type kind, str name) except -1
cdef object copy_of(object struct)

cdef inline object slot_value(object struct, Py_ssize_t slot):
    """Return a field of an object whose class has this slot.

    Raises:
        AttributeError: the field was never set.
    """
    cdef PyObject* value = (<PyObject**>(<char*><PyObject*>struct + slot))[0]
    if value == NULL:
        raise AttributeError(f"{type(struct).__qualname__} has a field that was never set")
    return <object>value

cdef inline void set_slot(object struct, Py_ssize_t slot, object value) noexcept:
    """Set a field of an object whose class has this slot."""
    cdef PyObject** place = <PyObject**>(<char*><PyObject*>struct + slot)
    cdef PyObject* before = place[0]
    Py_INCREF(value)
    place[0] = <PyObject*>value
    Py_XDECREF(before)

cdef inline list new_list():
    """Return a list for a field; no garbage collection visits it: a message is a tree, and nothing in it is part of a
    cycle."""
    cdef list made = []
    PyObject_GC_UnTrack(<void*>made)
    return made
