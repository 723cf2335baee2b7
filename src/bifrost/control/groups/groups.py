"""The consumer groups of namespaces at the brokers, as `bifrost control` shows, deletes and sets them back.

Groups and topics have the names by which the namespace's own clients know them, so a group of a namespace below is
`eu:reports`. What these names mean the same object says as for clients, with moved and shared topics.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bifrost.config.model import Config
from bifrost.control.backend import Backend, Unavailable
from bifrost.control.clusters.group_state import GroupMember, ListedGroup, TopicPartition
from bifrost.control.namespaces import Namespaces
from bifrost.state.state_key import StateKey
from bifrost.tenancy.names import PhysicalGroup, PhysicalTopic, TenantNames, VirtualGroup, VirtualTopic
from bifrost.tenancy.namespaces.alias_table import KIND
from bifrost.tenancy.namespaces.namespace_path import Path
from bifrost.tenancy.namespaces.topic_aliases import TenantPlace, TopicAliases

EARLIEST, LATEST = -2, -1
"""Timestamps of ListOffsets: the first offset, and the one after the last."""

_STATES_WITHOUT_MEMBERS = ("Empty", "Dead")


class NoSuchGroup(Exception):
    """A namespace has no such group; the text is what does not exist."""


class GroupRefused(ValueError):
    """A group cannot be deleted or set back so; the text says why. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """What a group has committed of a partition."""

    topic: str
    partition: int
    offset: int | None
    """None: nothing is committed."""
    end_offset: int | None
    """None: the topic does not exist, or has no leader."""

    @property
    def lag(self) -> int | None:
        """How many offsets the group has to read still."""
        if self.offset is None or self.end_offset is None:
            return None
        return max(self.end_offset - self.offset, 0)


@dataclass(frozen=True, slots=True)
class Group:
    """A consumer group."""

    group_id: str
    state: str
    members: tuple[GroupMember, ...]
    offsets: tuple[CommittedOffset, ...]


@dataclass(frozen=True, slots=True)
class Reset:
    """Where a group is to go on in a partition: at a timestamp, or at an offset within what is there."""

    timestamp: int | None = None
    """In milliseconds since 1970, EARLIEST or LATEST; after the last record it is the end."""
    offset: int | None = None
    shift_by: int | None = None
    """To be added to what is committed."""


class Groups:
    """The groups of all namespaces."""

    def __init__(self, config: Config, backend: Backend, namespaces: Namespaces) -> None:
        """Follow the moved and shared topics of the state."""
        self._backend, self._namespaces = backend, namespaces
        self._tenants = {one.name: one for one in config.tenants}
        self._namespaces_client_ids = config.namespaced_client_ids()
        self._aliases = TopicAliases()
        self._aliases.configure(
            {
                one.name: TenantPlace(
                    config.cluster_of(one).name, one.name_prefixes.topic, one.namespace_encoding == "dotted"
                )
                for one in config.tenants
            }
        )
        self._stale: set[StateKey] = {record.key for record in backend.table.of_kind(KIND)}
        backend.table.watch(KIND, self._stale.update)

    async def seen_in(self, path: Path) -> list[ListedGroup]:
        """Return the groups that clients of a namespace see, in order.

        Raises:
            InvalidNamespace: it does not exist.
            Unavailable: the cluster does not answer.
        """
        names = self._names(path)
        found = []
        for one in await self._backend.list_groups(path[0]):
            name = names.virtual_group(PhysicalGroup(one.group_id.encode()))
            if name is not None:
                found.append(ListedGroup(name.decode(), one.state, one.group_type))
        return sorted(found, key=lambda one: one.group_id)

    async def describe(self, path: Path, group_id: str) -> Group:
        """Return a group with its members, and what it has committed of topics that the namespace sees.

        Raises:
            InvalidNamespace: the namespace does not exist.
            NoSuchGroup: it has no such group.
            Unavailable: the cluster does not answer.
        """
        names = self._names(path)
        found = await self._backend.describe_group(path[0], _physical(names, group_id))
        if found is None:
            raise NoSuchGroup(f"group {group_id} of namespace {':'.join(path)}")
        ends = await self._backend.offsets_at(path[0], list(found.offsets), LATEST)
        members = tuple(
            GroupMember(
                names.other_member_id(one.member_id.encode()).decode(),
                names.virtual_client_id(one.client_id.encode()).decode(),
                one.host,
            )
            for one in found.members
        )
        return Group(group_id, found.state, members, _shown(names, found.offsets, ends))

    async def delete(self, path: Path, group_id: str) -> Group:
        """Delete a group with what it has committed, and return it.

        Raises:
            InvalidNamespace, NoSuchGroup, Unavailable: as `describe`.
            GroupRefused: it has members, or the brokers do not delete it.
        """
        found = await self.describe(path, group_id)
        error = await self._backend.delete_group(path[0], _physical(self._names(path), group_id))
        if error is not None:
            raise GroupRefused(f"group {group_id}: {error}")
        return found

    async def reset(
        self,
        path: Path,
        group_id: str,
        partitions: Mapping[str, Sequence[int]] | None,
        to: Reset,
        *,
        dry_run: bool,
    ) -> tuple[CommittedOffset, ...]:
        """Set back, or forward, where a group without members goes on; return the new offsets.

        Args:
            path: the namespace.
            group_id: the group, which need not exist.
            partitions: by topic the partitions, none for all of a topic; None: all of what the group has committed.
            to: where it goes on.
            dry_run: whether only to say where it would go on.
        Raises:
            InvalidNamespace: the namespace does not exist.
            GroupRefused: the group has members, a topic or partition does not exist, or the brokers refuse.
            Unavailable: the cluster does not answer.
        """
        names, tenant = self._names(path), path[0]
        physical = _physical(names, group_id)
        found = await self._backend.describe_group(tenant, physical)
        if found is not None and found.state not in _STATES_WITHOUT_MEMBERS:
            raise GroupRefused(f"group {group_id} is {found.state}: stop its members first")
        committed = {} if found is None else found.offsets
        if partitions is None:
            wanted = [
                one for one in committed if names.virtual_topic(PhysicalTopic(one[0].encode())) is not None
            ]
        else:
            wanted = await self._wanted(tenant, names, partitions)
        first = await self._backend.offsets_at(tenant, wanted, EARLIEST)
        ends = await self._backend.offsets_at(tenant, wanted, LATEST)
        there = [one for one in wanted if one in first and one in ends]
        if to.timestamp is None:
            offsets = {one: min(max(_target(to, one, committed), first[one]), ends[one]) for one in there}
        else:
            at = await self._backend.offsets_at(tenant, there, to.timestamp)
            offsets = {one: at.get(one, ends[one]) for one in there}
        if offsets and not dry_run:
            errors = await self._backend.commit_offsets(tenant, physical, offsets)
            if errors:
                (topic, partition), error = min(errors.items())
                shown = names.virtual_topic(PhysicalTopic(topic.encode())) or b"?"
                raise GroupRefused(f"group {group_id}: {shown.decode()}-{partition}: {error}")
        return _shown(names, offsets, ends)

    async def _wanted(
        self, tenant: str, names: TenantNames, partitions: Mapping[str, Sequence[int]]
    ) -> list[TopicPartition]:
        topics = {name: names.physical_topic(VirtualTopic(name.encode())).decode() for name in partitions}
        known = await self._backend.partitions_of(tenant, list(topics.values()))
        wanted = []
        for name, physical in topics.items():
            there = [one for one in known if one[0] == physical]
            some = [(physical, number) for number in partitions[name]] or there
            missing = [number for _, number in some if (physical, number) not in there]
            if not some or missing:
                raise GroupRefused(f"topic {name} has no partition {missing[0] if missing else 0}")
            wanted += some
        return wanted

    def _names(self, path: Path) -> TenantNames:
        """Return the names of clients that are bound to a namespace.

        Raises:
            InvalidNamespace: it does not exist.
            Unavailable: the records of moved topics cannot be understood.
        """
        self._namespaces.tree.check(path)
        try:
            for key in sorted(self._stale, key=str):
                self._aliases.apply(key, self._backend.table.get(key))
        except ValueError as error:
            raise Unavailable(f"moved topics: {error}") from None
        self._stale.clear()
        tenant = self._tenants[path[0]]
        is_dotted = tenant.namespace_encoding == "dotted"
        below = self._namespaces.tree.nested(Path((tenant.name,)))
        return TenantNames(
            tenant.name,
            prefixes=tenant.name_prefixes,
            tiers=path[1:],
            namespaces=None if is_dotted else frozenset(one[1:] for one in below),
            namespaces_client_ids=tenant.name in self._namespaces_client_ids,
            aliases=self._aliases.parts,
            sees_shared=True,
        )


def _physical(names: TenantNames, group_id: str) -> str:
    return names.physical_group(VirtualGroup(group_id.encode())).decode()


def _target(to: Reset, partition: TopicPartition, committed: Mapping[TopicPartition, int]) -> int:
    """Return the offset that is asked for, which may be outside of what is there."""
    if to.offset is not None:
        return to.offset
    if partition not in committed:
        raise GroupRefused(f"partition {partition[1]} has no committed offset that could be shifted")
    return committed[partition] + (to.shift_by or 0)


def _shown(
    names: TenantNames, offsets: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> tuple[CommittedOffset, ...]:
    """Return offsets by the topics' names in the namespace, without those that it does not see."""
    found = []
    for (topic, partition), offset in offsets.items():
        name = names.virtual_topic(PhysicalTopic(topic.encode()))
        if name is not None:
            found.append(CommittedOffset(name.decode(), partition, offset, ends.get((topic, partition))))
    return tuple(sorted(found, key=lambda one: (one.topic, one.partition)))
