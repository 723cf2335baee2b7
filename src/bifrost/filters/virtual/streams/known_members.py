"""The members of streams groups (KIP-1071) of which this process knows how their tasks are divided.

A member names its topics when it joins, and its later heartbeats name subtopologies alone. What is remembered holds for
the epoch that the member was told last: a member that has joined again, at another process and perhaps with another
topology, has another epoch, and its group is asked about anew.

Source: GroupMetadataManager.streamsGroupHeartbeat: a topology comes with a member that joins, which gets a new epoch if
it has changed.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from bifrost.tenancy.bounded_map import BoundedMap

if TYPE_CHECKING:
    from bifrost.tenancy.virtual_partitions.task_maps import TaskMaps

MAX_REMEMBERED = 100_000
"""Members and subtopologies of a tenant, each counted for each of its members: some 20 MB, with usual IDs. Beyond it
those are forgotten that were not heard of for the longest, and their groups are asked about."""
MAX_GROUPS = 1_000
"""Groups of which is remembered when they were asked about."""
ASKED_FOR_MS = 1_000
"""How long a group is not asked about again only to tell a member its tasks: an answer has all members."""

MemberKey = tuple[str, str, str]
"""The namespace, the group's ID and the member's."""


class KnownMember(NamedTuple):
    """A member of a streams group."""

    epoch: int
    """For which this holds."""
    maps: TaskMaps
    is_told: bool
    """Whether the member was told its tasks by the rules that the tenant has now."""


class KnownMembers:
    """Those of one tenant, since its rules were read."""

    __slots__ = ("_asked", "_known", "_size")

    def __init__(self) -> None:
        """Begin without any."""
        self._known: OrderedDict[MemberKey, KnownMember] = OrderedDict()
        self._size = 0
        self._asked: BoundedMap[tuple[str, str], int] = BoundedMap(MAX_GROUPS)

    def find(self, key: MemberKey, epoch: int) -> KnownMember | None:
        """Return what is known of a member that has this epoch."""
        known = self._known.get(key)
        return known if known is not None and known.epoch == epoch else None

    def put(self, key: MemberKey, known: KnownMember) -> None:
        """Remember a member, and forget others if they are too many."""
        self.forget(key)
        self._known[key] = known
        self._size += _size_of(known)
        while self._size > MAX_REMEMBERED and len(self._known) > 1:
            _, oldest = self._known.popitem(last=False)
            self._size -= _size_of(oldest)

    def forget(self, key: MemberKey) -> None:
        """Forget a member that leaves."""
        known = self._known.pop(key, None)
        if known is not None:
            self._size -= _size_of(known)

    def may_ask(self, namespace: str, group_id: str, now_ms: int) -> bool:
        """Whether a coordinator may be asked about a group to tell a member its tasks; then not for ASKED_FOR_MS."""
        until_ms = self._asked.get((namespace, group_id))
        if until_ms is not None and now_ms < until_ms:
            return False
        self._asked.put((namespace, group_id), now_ms + ASKED_FOR_MS)
        return True


def _size_of(known: KnownMember) -> int:
    return 1 + len(known.maps)
