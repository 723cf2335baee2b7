"""Heartbeats of newer groups: a member that joined by other rules, or at another gateway, is told its assignment once.

These are consumer groups (KIP-848) and share groups (KIP-932).

A coordinator tells an assignment to a member that joins, that says all it has, or whose partitions have changed. When
the operator raises `virtual`, nothing has changed for the coordinator, and members would not read the new partitions.
So what the coordinator has assigned to a member is put into the first answer that comes without it:

    the member joins, or says all that it has    the answer has its assignment
    this process has told it before              the heartbeat goes on as it is
    neither                                      the coordinator is asked first (its Describe request)

What the coordinator describes is what it has assigned when the heartbeat comes, for only a member's own heartbeats
change that, and where this one does, its answer has an assignment. A client that has it already does nothing.

Source: GroupMetadataManager.consumerGroupHeartbeat (isFullRequest) and shareGroupHeartbeat, KIP-848, KIP-932.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from bifrost.filters.filter import Note
from bifrost.filters.steps import FORWARD, AtBroker, RequestStep, ResponseStep
from bifrost.filters.virtual.division import virtual_topics
from bifrost.filters.virtual.groups.group_states import newer_group, share_group
from bifrost.tenancy.bounded_map import BoundedMap
from bifrost.wire.messages import ConsumerGroupHeartbeatResponse, ShareGroupHeartbeatResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from bifrost.filters.filter import Exchange
    from bifrost.filters.virtual.groups.group_states import Asked
    from bifrost.wire.entity import Entity
    from bifrost.wire.messages import ConsumerGroupHeartbeatRequest, ShareGroupHeartbeatRequest

    _Request = ConsumerGroupHeartbeatRequest | ShareGroupHeartbeatRequest
    _Response = ConsumerGroupHeartbeatResponse | ShareGroupHeartbeatResponse

MAX_MEMBERS = 10_000
"""Members of a tenant that are remembered, in some 4 MB with usual IDs. One that was forgotten is told again."""
MAX_GROUPS = 1_000
"""Groups of which is remembered when they were asked about."""
ASKED_FOR_MS = 1_000
"""How long a group is not asked about again: an answer has all its members, and is as large as they are many."""
MAX_IDS = 512
"""Characters of the IDs of a group and its member, together, for which it is remembered; others are not told."""

_JOINS, _NO_TIMEOUT = 0, -1

_Member = tuple[str, str, str]
"""The namespace, the group's ID and the member's."""


class ToldMembers:
    """The members that this process has told what they have, by the rules that the tenant has now."""

    __slots__ = ("_asked", "_told")

    def __init__(self) -> None:
        """Begin without any."""
        self._told: BoundedMap[_Member, bool] = BoundedMap(MAX_MEMBERS)
        self._asked: BoundedMap[tuple[str, str], int] = BoundedMap(MAX_GROUPS)

    def has(self, member: _Member) -> bool:
        """Whether a member was told."""
        return self._told.get(member) is not None

    def note(self, member: _Member) -> None:
        """Remember that a member was told."""
        self._told.put(member, True)

    def forget(self, member: _Member) -> None:
        """Forget a member that leaves."""
        self._told.discard(member)

    def may_ask(self, namespace: str, group_id: str, now_ms: int) -> bool:
        """Whether a coordinator may be asked about a group now; then it is not again for ASKED_FOR_MS."""
        until_ms = self._asked.get((namespace, group_id))
        if until_ms is not None and now_ms < until_ms:
            return False
        self._asked.put((namespace, group_id), now_ms + ASKED_FOR_MS)
        return True


class _Telling(NamedTuple):
    """What a member is told."""

    member: _Member
    epoch: int
    assigned: list[Any] | None
    """Topics with physical partitions, if the coordinator does not say it; None: it does."""


_TELLING: Note[_Telling] = Note("told_assignment")


class ToldMembersFilter:
    """Tells members their assignment that may have it by other rules."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def __init__(
        self,
        response: type[_Response],
        question: Callable[[Exchange, str], Asked | None],
        says_all: Callable[[Any], bool],
    ) -> None:
        """Describe the kind of groups.

        Args:
            response: of its heartbeats.
            question: returns what the coordinator is asked which members a group has; None: it cannot be asked.
            says_all: whether the coordinator answers a heartbeat with an assignment in any case.
        """
        self._response: Any = response
        self._question, self._says_all = question, says_all

    def on_request(self, exchange: Exchange, request: _Request) -> RequestStep:
        """Find out what the member is assigned, if it was not told."""
        told, epoch = virtual_topics(exchange).told_members, request.member_epoch
        member = exchange.scope.namespace.path, request.group_id, request.member_id
        if len(request.group_id) + len(request.member_id) > MAX_IDS:
            return FORWARD
        if epoch < 0:
            told.forget(member)
            return FORWARD
        assigned = None
        if not self._says_all(request):
            if told.has(member):
                return FORWARD
            met, asked = exchange.met.get(AtBroker), self._question(exchange, request.group_id)
            if not isinstance(met, AtBroker):
                is_asked = asked is not None and told.may_ask(*member[:2], exchange.scope.namespace.now_ms())
                return AtBroker((asked,)) if asked is not None and is_asked else FORWARD
            assigned = _described(met.answers[0], request.member_id)
            if assigned is None:
                return FORWARD
        exchange.keep(_TELLING, _Telling(member, epoch, assigned))
        exchange.wants_response = True
        return FORWARD

    def on_response(self, exchange: Exchange, response: _Response) -> ResponseStep:
        """Tell it, if the coordinator does not."""
        telling = exchange.find(_TELLING)
        if telling is None or response.error_code:
            return FORWARD
        if response.assignment is None and telling.assigned is not None:
            if response.member_epoch != telling.epoch:
                return FORWARD
            new = self._response
            response.assignment = new.Assignment(
                topic_partitions=[
                    new.TopicPartitions(topic_id=one.topic_id, partitions=one.partitions)
                    for one in in_steps(telling.assigned)
                ]
            )
        if response.assignment is not None:
            # A member that joins by v0 has its ID from the coordinator.
            namespace, group_id, member_id = telling.member
            member = namespace, group_id, response.member_id or member_id
            virtual_topics(exchange).told_members.note(member)
        return FORWARD


def _consumer_says_all(request: ConsumerGroupHeartbeatRequest) -> bool:
    return request.member_epoch == _JOINS or (
        request.rebalance_timeout_ms != _NO_TIMEOUT
        and request.subscribed_topic_names is not None
        and request.topic_partitions is not None
    )


def _sharer_says_all(request: ShareGroupHeartbeatRequest) -> bool:
    return request.member_epoch == _JOINS


TOLD_CONSUMERS = ToldMembersFilter(ConsumerGroupHeartbeatResponse, newer_group, _consumer_says_all)
TOLD_SHARERS = ToldMembersFilter(ShareGroupHeartbeatResponse, share_group, _sharer_says_all)


def _described(answer: Any, member_id: str) -> list[Any] | None:
    """Return what a member is assigned; None: the group does not have it."""
    for group in answer.groups:
        for member in in_steps(group.members):
            if member.member_id == member_id:
                return list(member.assignment.topic_partitions)
    return None
