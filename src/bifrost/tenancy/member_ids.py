"""Maps the IDs of group members between broker and tenant, where client IDs have a prefix.

A classic group's coordinator makes the ID of a new dynamic member: the client ID, a hyphen and a random UUID
(ClassicGroup.generateMemberId), so it contains the prefix of the client ID. The client must see its own client ID
there, and the broker must get its own member ID back, from any gateway, after any restart. So the other form of an ID
has to be computed from the ID alone. The version of the UUID tells the two forms apart: a broker's is 4, random
(java.util.UUID.randomUUID); the tenant's is 8, which RFC 9562 reserves for custom use.

    broker                                                    tenant
    __vt_acme_app-3f0c91d2-6c1a-4b7e-9d53-0a8e5f3b2c11  <->   app-3f0c91d2-6c1a-8b7e-9d53-0a8e5f3b2c11
    anything else                                       <->   the same

One function goes both ways: it exchanges the IDs of the left column with those of the right one, and changes no other.
The columns have no ID in common, for the versions differ, so it is its own inverse on all byte strings, and no two IDs
become one. That holds for every origin of an ID: members with a `group.instance.id`, from which the coordinator makes
the ID; members that choose their own ID (KIP-848, KIP-932, KIP-1071); members that joined before client IDs had a
prefix.
"""

import re

_TAIL = re.compile(rb"-[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
"""The end of such an ID; the group is the version."""

_TAIL_BYTES = 37
_VERSION_AT = -22
"""The position of the version, from the end."""

_BROKERS, _TENANTS = b"4", b"8"


def other_side(member_id: bytes, prefix: bytes) -> bytes:
    """Return a member's ID on the other side, from the tenant's or from the broker's.

    Args:
        member_id: the ID on one side.
        prefix: the prefix that the broker sees before the tenant's client IDs.
    """
    tail = _TAIL.search(member_id, max(0, len(member_id) - _TAIL_BYTES))
    if tail is None:
        return member_id
    if tail[1] == _TENANTS:
        return prefix + _with_version(member_id, _BROKERS)
    if tail[1] == _BROKERS and member_id.startswith(prefix) and len(member_id) >= len(prefix) + _TAIL_BYTES:
        return _with_version(member_id[len(prefix) :], _TENANTS)
    return member_id


def _with_version(member_id: bytes, version: bytes) -> bytes:
    return member_id[:_VERSION_AT] + version + member_id[_VERSION_AT + 1 :]
