# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A buffer of the library of ciphers that is another one for each value."""

from libc.stdint cimport uint8_t

cdef class Span:
    cdef uint8_t* data
    cdef Py_ssize_t size
    cdef bint is_writable
    cdef int views

    cdef inline Span at(self, const uint8_t* data, Py_ssize_t size):
        """Give this memory, which must stay as long as the call to which the span is given.

        Raises:
            BufferError: the last call still holds the memory that it was given.
        """
        if self.views:
            raise BufferError("the memory that was given last is still held")
        self.data, self.size = <uint8_t*>data, size
        return self
