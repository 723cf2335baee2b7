# cython: language_level=3
"""Takes the fields of named tuples in compiled code, which reads them by their places."""

cdef inline tuple fields_of(object found, Py_ssize_t count):
    """Return a tuple, of a class of its own too, with at least so many fields; what follows takes them unchecked.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(found, tuple) or len(<tuple>found) < count:
        raise TypeError(f"a tuple of {count} fields is wanted, not {type(found).__name__}")
    return <tuple>found
