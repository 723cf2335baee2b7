# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Members of groups, and what they have told the coordinator.

A broker keeps what a member tells when it joins (subscription, user data, topology), and what its leader assigns, for as
long as the member lives. That is until its session ends: HALF_HOUR_MS after its last sign of life at the most. So a member
is one entry, and each MEMBER_BYTES of what it has told are one more; a sign of life keeps all of them:

    the member                            one entry
    the member + JOINED, 1, 2, ...        what it has told when it joined
    the member + ASSIGNED, 1, 2, ...      what it has told about the assignments of others, as their leader

They are in the set `usual`, which forgets what was not used for half an hour to an hour. In `lasting`, which forgets after
half a day to a day, are those that may live without a sign of life for longer: a member for which its group waits longer
(`rebalance_timeout_ms`), and what one has told that had no name yet, for it cannot be found again by the name that the
broker gives to it.
"""

cimport cython
from libc.stdint cimport uint64_t

from bifrost.tenancy.broker_state.entry_set cimport EntrySet

HALF_HOUR_MS = 30 * 60 * 1000

cdef enum:
    JOINED = 1
    ASSIGNED = 2


cdef inline bint admits_parts(EntrySet entries, uint64_t told, Py_ssize_t size) except -1:
    """Enter so many bytes of what was told. The same member with as many has the same entries."""
    cdef Py_ssize_t part
    for part in range(1, 1 + size // MEMBER_BYTES):
        if not entries.admits(both(told, <uint64_t>part)):
            return False
    return True

cdef inline int keep_parts(EntrySet entries, uint64_t told) except -1:
    cdef uint64_t part = 1
    while entries.was_known(both(told, part)):
        entries.admits(both(told, part))
        part += 1
    return 0

cdef bint keep_in(EntrySet entries, uint64_t member) except -1:
    """Keep a member, with all that it has told, if these entries have it."""
    if entries.is_known(member):
        return True
    if not entries.was_known(member):
        return False
    entries.admits(member)
    keep_parts(entries, member + JOINED)
    keep_parts(entries, member + ASSIGNED)
    return True


@cython.final
cdef class GroupMembers:
    def __init__(self, now_ms):
        self.usual = EntrySet(0, now_ms, HALF_HOUR_MS)
        self.lasting = EntrySet(0, now_ms)

    @property
    def most(self):
        return self.usual.most

    @most.setter
    def most(self, Py_ssize_t most):
        self.usual.most = self.lasting.most = most

    def __len__(self):
        return len(self.usual) + len(self.lasting)

    cdef bint admits(self, uint64_t member, Py_ssize_t size, bint lasts) except -1:
        """Enter a member that tells so many bytes. False: not all of it has room."""
        cdef EntrySet entries = self.lasting if lasts else self.usual
        keep_in(self.usual, member)
        keep_in(self.lasting, member)
        return entries.admits(member) and admits_parts(entries, member + JOINED, size)

    cdef bint admits_unnamed(self, uint64_t group, Py_ssize_t size, bint lasts) except -1:
        """Enter a member to which the broker gives a name."""
        self.unnamed += 1
        return self.admits(both(group, self.unnamed), size, lasts or size >= MEMBER_BYTES)

    cdef bint admits_assignments(self, uint64_t member, Py_ssize_t size) except -1:
        """Enter so many bytes of what a leader assigns to the members of its group."""
        cdef EntrySet entries
        self.keep(member)
        entries = self.lasting if self.lasting.is_known(member) else self.usual
        return admits_parts(entries, member + ASSIGNED, size)

    cdef int keep(self, uint64_t member) except -1:
        """A member gives a sign of life: keep it, and enter it if there is room, for another process may know it."""
        cdef bint is_known = keep_in(self.usual, member)
        if not (keep_in(self.lasting, member) or is_known):
            self.usual.admits(member)
        return 0
