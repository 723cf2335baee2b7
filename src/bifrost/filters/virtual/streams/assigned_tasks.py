"""StreamsGroupHeartbeat (KIP-1071): a member has virtual tasks, the coordinator physical ones.

    the coordinator assigns task p        ──▶  the member gets the tasks of all virtual partitions of p
    the member has any of these           ──▶  the coordinator is told that it has p
    the member has none of them           ──▶  p is not named, and is free for another member

How tasks are divided says the topology, with which a member joins. Later heartbeats name subtopologies alone:

    this process knows the member         the heartbeat goes on
    it does not, or has not told it       the coordinator is asked first (StreamsGroupDescribe), for the topology of
    its tasks by the rules of now         the group, and for what the member is assigned, which it is told again

The second is so after a reload too, by which the operator may have raised `virtual`: for the coordinator nothing has
changed then, and it would tell the member nothing. A client that has its tasks already does nothing. If it cannot be
known how tasks are divided, none is passed on, in either direction.

A member may not be of an older topology than its group: it would get tasks by the newer one. Kafka Streams has one
epoch for all topologies, and the coordinator refuses another topology of the same epoch.

Source: GroupMetadataManager.streamsGroupHeartbeat, GroupMetadataManager.maybeUpdateTopology,
StreamsMembershipManager.onHeartbeatSuccess, StreamsGroupHeartbeatRequestManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from bifrost.filters.error_response import error_response
from bifrost.filters.filter import Note
from bifrost.filters.steps import FORWARD, Answer, AtBroker, RequestStep, ResponseStep
from bifrost.filters.virtual.division import virtual_topics
from bifrost.filters.virtual.groups.group_states import streams_group
from bifrost.filters.virtual.shown_partitions import LIMIT, MAX_SHOWN
from bifrost.filters.virtual.streams.divided_topology import Invalid, divide_topology, maps_of
from bifrost.filters.virtual.streams.known_members import KnownMember, MemberKey
from bifrost.filters.virtual.streams.shown_tasks import TASK_KINDS, UnknownTask, show_endpoints, show_tasks
from bifrost.tenancy.virtual_partitions.task_maps import TaskMaps, physical_task, physical_tasks
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import StreamsGroupHeartbeatResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from bifrost.filters.filter import Exchange
    from bifrost.filters.virtual.virtual_topics import VirtualTopics
    from bifrost.wire.entity import Entity
    from bifrost.wire.messages import StreamsGroupHeartbeatRequest

MAX_IDS = 512
"""Characters of the IDs of a group and its member, together, for which it is remembered; for others it is asked each
time."""
MAX_DESCRIBED = 1_000
"""Members of a group of which is remembered at once how their tasks are divided."""

STALE_TOPOLOGY = 0
"""The status of a member whose topology is older than the group's."""

TOO_EARLY = "With virtual partitions streams groups need brokers that describe them."
TOO_MANY = f"More than {MAX_SHOWN} virtual tasks and partitions are told to the member: the group needs more members."
NO_TOPOLOGY = "The group has no topology yet."
OLD_TOPOLOGY = (
    "The group has a newer topology. With virtual partitions a member has that of its group: stop older ones."
)
JOIN_AGAIN = "The group has another topology than the member has joined with: the member joins again."

_NO_TASKS: TaskMaps = {}


class _Beat(NamedTuple):
    """What a heartbeat has said, for its answer."""

    key: MemberKey | None
    """None: the member is not remembered."""
    epoch: int
    maps: TaskMaps
    is_told: bool
    """Whether the member knows its tasks, if the answer has none."""
    assigned: Any = None
    """What the coordinator has assigned to the member, if the answer does not say it; None: it does."""


_BEAT: Note[_Beat] = Note("streams_heartbeat")


class AssignedTasksFilter:
    """Shows members of streams groups virtual tasks, and the coordinator physical ones."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: StreamsGroupHeartbeatRequest) -> RequestStep:
        """Say which of the coordinator's tasks the member has a part of; ask how they are divided if need be."""
        virtual, exchange.wants_response = virtual_topics(exchange), True
        key = _key_of(exchange, request)
        if request.topology is not None:
            maps = divide_topology(virtual, request.topology)
            if isinstance(maps, Invalid):
                return _refused(exchange, request, ErrorCode.STREAMS_INVALID_TOPOLOGY, maps.text)
            beat = _Beat(key, request.member_epoch, maps, is_told=False)
        elif request.member_epoch <= 0:
            # It leaves, or joins without a topology, which no coordinator takes: what it has is of no account.
            if key is not None:
                virtual.streams_members.forget(key)
            for kind in TASK_KINDS:
                if getattr(request, kind):
                    setattr(request, kind, [])
            request.task_offsets = request.task_end_offsets = None
            beat = _Beat(None, request.member_epoch, _NO_TASKS, is_told=False)
        else:
            found = self._beat_of(exchange, request, key)
            if not isinstance(found, _Beat):
                return found
            beat = found
        text = _name_physical(request, beat.maps)
        if text is not None:
            return _refused(exchange, request, ErrorCode.INVALID_REQUEST, text)
        exchange.keep(_BEAT, beat)
        return FORWARD

    def _beat_of(
        self, exchange: Exchange, request: StreamsGroupHeartbeatRequest, key: MemberKey | None
    ) -> _Beat | AtBroker | Answer:
        """Return how the tasks of a member are divided that has joined before, or what is asked first."""
        virtual, epoch = virtual_topics(exchange), request.member_epoch
        members = virtual.streams_members
        known = None if key is None else members.find(key, epoch)
        met = exchange.met.get(AtBroker)
        if isinstance(met, AtBroker):
            return _described(exchange, request, key, met.answers[0])
        now_ms = exchange.scope.namespace.now_ms()
        if known is not None and (known.is_told or key is None or not members.may_ask(*key[:2], now_ms)):
            return _Beat(key, epoch, known.maps, known.is_told)
        asked = streams_group(exchange, request.group_id)
        if asked is None:
            return _refused(exchange, request, ErrorCode.UNSUPPORTED_VERSION, TOO_EARLY)
        return AtBroker((asked,))

    def on_response(self, exchange: Exchange, response: StreamsGroupHeartbeatResponse) -> ResponseStep:
        """Show the member the virtual tasks of those that the coordinator assigns to it."""
        virtual, beat = virtual_topics(exchange), exchange.kept(_BEAT)
        if response.error_code:
            return _without_tasks(response, response.error_code, response.error_message)
        if any(one.status_code == STALE_TOPOLOGY for one in in_steps(response.status or ())):
            return _without_tasks(response, ErrorCode.STREAMS_INVALID_TOPOLOGY_EPOCH, OLD_TOPOLOGY)
        if (
            response.active_tasks is None
            and beat.assigned is not None
            and response.member_epoch == beat.epoch
        ):
            for kind in TASK_KINDS:
                setattr(response, kind, _copied(getattr(beat.assigned, kind)))
        shown = show_tasks(beat.maps, response, MAX_SHOWN)
        if isinstance(shown, UnknownTask):
            return _without_tasks(response, ErrorCode.FENCED_MEMBER_EPOCH, JOIN_AGAIN)
        room = None if shown is None else show_endpoints(virtual, response, shown)
        if room is None:
            virtual.hit(LIMIT)
            return _without_tasks(response, ErrorCode.INVALID_REQUEST, TOO_MANY)
        if beat.key is not None:
            is_told = beat.is_told or response.active_tasks is not None
            known = KnownMember(response.member_epoch, beat.maps, is_told)
            virtual.streams_members.put(beat.key, known)
        return FORWARD


def _key_of(exchange: Exchange, request: StreamsGroupHeartbeatRequest) -> MemberKey | None:
    if len(request.group_id) + len(request.member_id) > MAX_IDS:
        return None
    return exchange.scope.namespace.path, request.group_id, request.member_id


def _described(
    exchange: Exchange, request: StreamsGroupHeartbeatRequest, key: MemberKey | None, answer: Any
) -> _Beat | Answer:
    """Return how tasks are divided by what the coordinator says of the group; an error that it says is the answer."""
    if not answer.groups:
        return _refused(
            exchange, request, ErrorCode.GROUP_ID_NOT_FOUND
        )  # Its name is no longer the tenant's.
    group = answer.groups[0]
    if group.error_code:
        return _refused(exchange, request, ErrorCode(group.error_code), group.error_message)
    if group.topology is None:
        return _refused(exchange, request, ErrorCode.COORDINATOR_NOT_AVAILABLE, NO_TOPOLOGY)
    virtual = virtual_topics(exchange)
    maps = maps_of(virtual, group.topology.subtopologies or [])
    if isinstance(maps, Invalid):
        return _refused(exchange, request, ErrorCode.STREAMS_INVALID_TOPOLOGY, maps.text)
    assigned = None
    for member in in_steps(group.members):
        if member.member_id == request.member_id:
            assigned = member.assignment
    _remember(virtual, maps, group, exchange.scope.namespace.path)
    return _Beat(key, request.member_epoch, maps, is_told=False, assigned=assigned)


def _remember(virtual: VirtualTopics, maps: TaskMaps, group: Any, namespace: str) -> None:
    """Remember how the tasks of the other members are divided, so that the group is not asked about for each."""
    members = virtual.streams_members
    for member in in_steps(group.members[:MAX_DESCRIBED]):
        key = namespace, group.group_id, member.member_id
        if len(group.group_id) + len(member.member_id) <= MAX_IDS and not members.find(
            key, member.member_epoch
        ):
            members.put(key, KnownMember(member.member_epoch, maps, is_told=False))


def _name_physical(request: StreamsGroupHeartbeatRequest, maps: TaskMaps) -> str | None:
    """Name the coordinator's tasks in a heartbeat; return what is wrong with it."""
    for kind in TASK_KINDS:
        for tasks in in_steps(getattr(request, kind) or ()):
            if tasks.subtopology_id not in maps:
                return _no_such(tasks.subtopology_id)
            tasks.partitions = physical_tasks(maps[tasks.subtopology_id], tasks.partitions)
    # What is furthest behind counts: the coordinator's task is as far as the last of its virtual ones.
    for offsets, furthest in ("task_offsets", min), ("task_end_offsets", max):
        named = getattr(request, offsets)
        if named is not None:
            unknown = next(
                (one.subtopology_id for one in in_steps(named) if one.subtopology_id not in maps), None
            )
            if unknown is not None:
                return _no_such(unknown)
            setattr(request, offsets, _joined(named, maps, furthest))
    return None


def _no_such(subtopology_id: str) -> str:
    return f"Subtopology {subtopology_id[:MAX_IDS]} does not exist in the topology."


def _joined(offsets: list[Any], maps: TaskMaps, furthest: Callable[[int, int], int]) -> list[Any]:
    """Return one offset for each of the coordinator's tasks."""
    joined: dict[tuple[str, int], Any] = {}
    for one in in_steps(offsets):
        one.partition = physical_task(maps[one.subtopology_id], one.partition)
        known = joined.setdefault((one.subtopology_id, one.partition), one)
        known.offset = furthest(known.offset, one.offset)
    return list(joined.values())


def _copied(tasks: list[Any]) -> list[StreamsGroupHeartbeatResponse.TaskIds]:
    new = StreamsGroupHeartbeatResponse.TaskIds
    return [
        new(subtopology_id=one.subtopology_id, partitions=list(one.partitions)) for one in in_steps(tasks)
    ]


def _without_tasks(response: StreamsGroupHeartbeatResponse, error: int, text: str | None) -> ResponseStep:
    response.error_code, response.error_message = int(error), text
    for kind in TASK_KINDS:
        setattr(response, kind, None)
    response.partitions_by_user_endpoint = None
    return FORWARD


def _refused(
    exchange: Exchange, request: StreamsGroupHeartbeatRequest, error: ErrorCode, text: str | None = None
) -> Answer:
    answer = error_response(request, exchange.api_version, error, message=text)
    assert answer is not None, "the answer to a heartbeat has a place for an error"
    return Answer(answer)
