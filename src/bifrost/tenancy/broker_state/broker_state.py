"""How much one tenant's requests may make brokers keep. Pure.

Sizes in the heap of a broker, Kafka 4.3.1 (docs/security.md): 1.3 to 1.9 KB of a group with one committed offset, 4 to
5 KB of a member and as much as it tells when it joins, 0.12 KB of a further offset and as much as its metadata has,
0.5 KB of a transactional ID, 0.5 KB of a producer in a partition, and where brokers have quotas by client ID 3 to 15 KB
of a client ID.

Each process (each worker) counts what has passed in it, and begins anew when it is started. So what is there already is
not counted before it is used again, and a tenant that stays below its limits never meets them after a restart either.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from bifrost.tenancy.broker_state.entry_set import EntrySet
from bifrost.tenancy.broker_state.group_members import GroupMembers
from bifrost.tenancy.broker_state.kept_entries import KeptEntries
from bifrost.tenancy.policy import Refusal
from bifrost.wire.error_codes import ErrorCode


class StateLimits(NamedTuple):
    """How many a tenant may use in a day, and of members in an hour, by the names of the settings."""

    max_groups: int
    max_group_members: int
    max_committed_offsets: int
    max_transactional_ids: int
    max_producers: int
    max_client_ids: int


_NOUNS: Mapping[str, str] = {
    "max_groups": "groups",
    "max_group_members": "members of groups, or 2 KiB of what they tell,",
    "max_committed_offsets": "partitions with offsets committed by a group, or 512 bytes of their metadata,",
    "max_transactional_ids": "transactional IDs",
    "max_producers": "producers with an ID, counted for each partition,",
}
_CODES = {"max_group_members": ErrorCode.GROUP_MAX_SIZE_REACHED}
"""The errors that Kafka itself has for such a limit."""


class BrokerState:
    """What the requests of one tenant make brokers keep."""

    __slots__ = (
        "_hits",
        "_tenant",
        "client_ids",
        "groups",
        "members",
        "offsets",
        "producers",
        "transactional_ids",
    )

    def __init__(self, now_ms: Callable[[], int], hits: Counter[tuple[str, str]], tenant: str) -> None:
        """Begin with nothing, and limits of zero.

        Args:
            now_ms: a monotonic clock, in milliseconds.
            hits: where to count refusals, by limit and tenant.
            tenant: whose requests they are.
        """
        self._hits, self._tenant = hits, tenant
        self.groups, self.offsets = EntrySet(0, now_ms), EntrySet(0, now_ms)
        self.members = GroupMembers(now_ms)
        self.transactional_ids, self.producers = EntrySet(0, now_ms), EntrySet(0, now_ms)
        self.client_ids = EntrySet(0, now_ms)

    def limit(self, limits: StateLimits) -> None:
        """Set or change the limits."""
        for entries, most in zip(self.entries().values(), limits, strict=True):
            entries.most = most

    def entries(self) -> Mapping[str, EntrySet | GroupMembers]:
        """Return what was used lately, by the limit for it."""
        sets = (
            self.groups,
            self.members,
            self.offsets,
            self.transactional_ids,
            self.producers,
            self.client_ids,
        )
        return dict(zip(StateLimits._fields, sets, strict=True))

    def used(self) -> Iterator[tuple[str, float]]:
        """Yield the part of each limit that is used, above 0; those of which nothing is used are left out.

        It is above 1 where a limit was lowered below what is used.
        """
        for limit, entries in self.entries().items():
            if len(entries):
                yield limit, len(entries) / max(1, entries.most)

    def of(self, namespace: str) -> KeptEntries:
        """Return what enters the requests of one of the tenant's namespaces, given by its path."""
        return KeptEntries(self, namespace)

    def count(self, limit: str, times: int = 1) -> None:
        """Count that so many have found no room."""
        self._hits[limit, self._tenant] += times

    def refuse(self, limit: str, times: int = 1) -> Refusal:
        """Count that so many have found no room, and return why, for people."""
        self.count(limit, times)
        most = self.entries()[limit].most
        used = f"{most} {_NOUNS[limit]} in the last {'hour' if limit == 'max_group_members' else 'day'}"
        text = f"the tenant has used {used}, and this cluster allows no more ({limit})"
        return Refusal(_CODES.get(limit, ErrorCode.POLICY_VIOLATION), text)
