# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads the usual ACL from the body of its record, and finds the ID that is made from it.

What it does not take is read, or refused, by `read_body` (stored_acls.py) and `AclBinding.binding_id`, with which it
agrees on all that it takes. A start with a large state reads each ACL, so this is a quarter of what they need.
"""

cdef enum:
    MOST_CHARACTERS = 256                                # MAX_NAME_BYTES of acl_binding.py, of 4 bytes each at the most
    CLUSTER = 4

cdef inline str text(dict body, str name):
    """Return a field that is a text; None: it is missing, or none."""
    found = body.get(name)
    return <str>found if type(found) is str else None

def read_usual(dict body not None, type binding_type not None, object numbers not None, object intern not None,
               object digest not None):
    cdef str resource_type, pattern_type, name, principal, host, operation, permission, before, behind
    cdef Py_ssize_t colon
    cdef tuple found
    resource_type, pattern_type = text(body, "resource_type"), text(body, "pattern_type")
    operation, permission = text(body, "operation"), text(body, "permission")
    name, principal, host = text(body, "name"), text(body, "principal"), text(body, "host")
    if (
        len(body) != 7 or resource_type is None or pattern_type is None or operation is None or permission is None
        or not name or principal is None or host is None
        or len(name) + len(principal) + len(host) > MOST_CHARACTERS
    ):
        return None
    colon = principal.find(":")
    if colon < 1 or colon == len(principal) - 1:
        return None
    found = numbers(resource_type, pattern_type, operation, permission)
    if len(found) != 6:
        raise TypeError("the numbers of an ACL are four, and the text around its names two")
    before, behind = found[4], found[5]
    if before is None or behind is None or <int>found[0] == CLUSTER:
        return None
    principal, host = intern(principal), intern(host)
    binding = tuple.__new__(binding_type, (found[0], found[1], name, principal, host, found[2], found[3]))
    whole = before + name + "\0" + principal + "\0" + host + behind
    return binding, digest(whole.encode()).hexdigest()[:32]
