# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Where the objects of messages have their fields, so that compiled code takes them from there.

Each field of a message class is a slot (message.py), which lies at the same place in all of its objects. Python looks
for it by its name in the class and its bases, and then asks what it has found there: for one field that is nothing, but
a Fetch of a hundred partitions has a thousand.

Nothing here checks the class of an object: whoever uses a slot has done so.
"""

from cpython.object cimport PyObject, PyObject_SetAttr
from cpython.ref cimport Py_XINCREF

from types import MemberDescriptorType

cdef extern from "Python.h":
    ctypedef struct PyMemberDef:
        Py_ssize_t offset
    ctypedef struct PyMemberDescrObject:
        PyMemberDef* d_member
    object PyType_GenericAlloc(type cls, Py_ssize_t items)

cdef extern from *:
    """
    #define object_size(kind) (((PyTypeObject*)(kind))->tp_basicsize)
    """
    Py_ssize_t object_size(type kind)

cdef type checked = None    # the class of which something was copied last


cdef Py_ssize_t slot_of(type kind, str name) except -1:
    """Return where the objects of a message class have a field.

    Raises:
        ValueError: the class has no such slot.
    """
    found = getattr(kind, name, None)
    if type(found) is not MemberDescriptorType:
        raise ValueError(f"{kind.__qualname__} has no slot {name!r}")
    return (<PyMemberDescrObject*>found).d_member.offset


cdef object copy_of(object struct):
    """Return another object with the same fields.

    Raises:
        TypeError: the object has more than slots.
    """
    global checked
    cdef type kind = type(struct)
    cdef Py_ssize_t at = sizeof(PyObject), size = object_size(kind)
    if kind is not checked:
        slots = kind.__dict__.get("__slots__")
        if type(slots) is not tuple or size != at + len(slots) * <Py_ssize_t>sizeof(PyObject*):
            raise TypeError(f"{kind.__qualname__} has more than slots")
        checked = kind
    cdef object made = PyType_GenericAlloc(kind, 0)
    cdef PyObject** there = <PyObject**><PyObject*>made
    cdef PyObject** here = <PyObject**><PyObject*>struct
    PyObject_GC_UnTrack(<void*>made)
    while at < size:
        Py_XINCREF(here[at // sizeof(PyObject*)])
        there[at // sizeof(PyObject*)] = here[at // sizeof(PyObject*)]
        at += sizeof(PyObject*)
    return made


def copy_struct(struct not None, dict changes not None):
    made = copy_of(struct)
    for name, value in changes.items():
        if type(value) is list:
            PyObject_GC_UnTrack(<void*>value)
        PyObject_SetAttr(made, name, value)
    return made
