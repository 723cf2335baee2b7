# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Puts a topic that has become moved or shared into the index of its tenant, in the usual case.

It does what `TopicAliases` does in any case (topic_aliases.py): a start with a large state does it for each topic.
"""

from bifrost.state.tuple_fields cimport fields_of

cdef inline object tenant_of(object place):
    """Return the tenant of a place, which is the first part of its namespace."""
    return fields_of(fields_of(place, 1)[0], 1)[0]

def put_new(object home not None, object alias not None, bytes physical not None, dict topics not None,
            set limited not None, dict standings not None, dict owners not None, type standing_type not None,
            bytes nowhere not None):
    cdef tuple of_alias = fields_of(alias, 2), shared, one
    cdef object owner = of_alias[0], tenant = tenant_of(home), place
    cdef bint is_owner_home = owner == home, is_away = not is_owner_home
    shared = fields_of(of_alias[1], 0)
    if len(shared) > 1 or home in topics or owner in topics or physical in standings:
        return False
    if tenant_of(owner) != tenant or (is_owner_home and not shared):
        return False
    place = None
    if shared:
        one = fields_of(shared[0], 2)
        place = one[0]
        if tenant_of(place) != tenant or place in topics or place == owner:
            return False
        if place == home:
            is_away = False
    if is_away:
        topics[home] = nowhere
    topics[owner] = physical
    standing = tuple.__new__(standing_type, (owner, None, is_owner_home))
    owners[physical] = owner
    if place is None:
        standings[physical] = (standing,)
        return True
    topics[place] = physical
    limited.add(place)
    standings[physical] = (standing, tuple.__new__(standing_type, (place, one[1], place == home)))
    return True
