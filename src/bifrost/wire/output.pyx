# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Grows an Output and takes out what was written. See output.pxd."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF

cdef extern from "Python.h":
    int _PyBytes_Resize(PyObject** bytes, Py_ssize_t size) except -1
    PyObject* new_bytes "PyBytes_FromStringAndSize"(const char* data, Py_ssize_t size) except NULL

cdef int grow(Output* out, Py_ssize_t size) except -1:
    out.capacity = max(2 * out.capacity, out.size + size)
    if out.heap == NULL:
        out.heap = new_bytes(NULL, out.capacity)
        memcpy(PyBytes_AS_STRING(<object>out.heap), out.local, out.size)
    else:
        _PyBytes_Resize(&out.heap, out.capacity)
    out.data = <uint8_t*>PyBytes_AS_STRING(<object>out.heap)
    return 0

cdef int set_aside(Output* out) except -1:
    """Close what is in the output as a segment."""
    if out.size:
        out.sent += out.size
        (<list>out.segments).append(take(out))
    return 0

cdef object take(Output* out):
    """What was written, as bytes; the output is empty again."""
    cdef object result
    if out.heap == NULL:
        result = PyBytes_FromStringAndSize(<const char*>out.data, out.size)
    else:
        _PyBytes_Resize(&out.heap, out.size)
        result = <object>out.heap
        Py_XDECREF(out.heap)
    open_output(out)
    return result
