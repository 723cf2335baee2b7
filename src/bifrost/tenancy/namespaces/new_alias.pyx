# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Puts a topic that has become moved or shared into the index of its tenant, in the usual case.

It does what `TopicAliases` does in any case (topic_aliases.py): a start with a large state does it for each topic.
"""

def put_new(object home not None, object alias not None, bytes physical not None, dict topics not None,
            set limited not None, dict standings not None, dict owners not None, type standing_type not None,
            bytes nowhere not None):
    cdef object owner = (<tuple>alias)[0], tenant = (<tuple>(<tuple>home)[0])[0], place, one
    cdef tuple shared = <tuple>(<tuple>alias)[1]
    cdef bint is_owner_home = owner == home, is_away = not is_owner_home
    if len(shared) > 1 or home in topics or owner in topics or physical in standings:
        return False
    if (<tuple>(<tuple>owner)[0])[0] != tenant or (is_owner_home and not shared):
        return False
    place = None
    if shared:
        one = (<tuple>shared)[0]
        place = (<tuple>one)[0]
        if (<tuple>(<tuple>place)[0])[0] != tenant or place in topics or place == owner:
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
    standings[physical] = (standing, tuple.__new__(standing_type, (place, (<tuple>one)[1], place == home)))
    return True
