# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads the usual place and alias from what the state has of them.

What they do not take is read, or refused, by `Place.read` and `read_body` (alias_table.py), with which they agree on all
that they take. A start with a large state reads some places of each moved topic, and this takes a third of the time.
"""

cdef object place_of(str text, object read_path, type place_type):
    """Return the place in a text; None: there is none."""
    cdef Py_ssize_t slash = text.find("/")
    if slash < 0 or slash == len(text) - 1:
        return None
    return tuple.__new__(place_type, (read_path(text[:slash]), text[slash + 1:]))

def read_place(str text not None, object read_path not None, type place_type not None):
    return place_of(text, read_path, place_type)

def read_usual(dict body not None, object read_path not None, type place_type not None, type alias_type not None,
               dict accesses not None):
    cdef list shared = []
    owner, shares = body.get("owner"), body.get("shares")
    if type(owner) is not str or type(shares) is not dict:
        return None
    for text, access in (<dict>shares).items():
        allowed = accesses.get(access) if type(access) is str else None
        place = place_of(<str>text, read_path, place_type) if type(text) is str else None
        if place is None or allowed is None:
            return None
        shared.append((place, allowed))
    place = place_of(<str>owner, read_path, place_type)
    return None if place is None else tuple.__new__(alias_type, (place, tuple(shared)))
