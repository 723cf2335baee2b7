# cython: language_level=3
"""Packs the records of a batch, for other compiled modules."""

from libc.stdint cimport uint8_t

cdef bytes pack(int codec, const uint8_t* data, Py_ssize_t size, object level, Py_ssize_t head)
