"""OffsetCommit, TxnOffsetCommit and OffsetDelete of virtual partitions that the brokers do not have.

    client ──▶ may the member commit? ──▶ the offsets of other groups of partitions ──▶ the rest of the client's request

The first two are requests of the gateway's own to the coordinator, over the connection that the client's request takes.
All offset groups have its coordinator, and are part of the same transaction.

An offset group has no members, which would keep its offsets while nothing is committed. So each offset there has a
stamp, and plain commits have a retention of their own: see tenancy/virtual_partitions/kept_offsets.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import FORWARD, AtBroker, Need, RequestStep, ResponseStep
from bifrost.filters.virtual.division import NO_PARTITION, TopicKey, copied, virtual_topics
from bifrost.filters.virtual.groups.commit_fences import Committer, Fence, fence_member, fence_outside
from bifrost.filters.virtual.offset_owners import call_as_clients_do, owner_of
from bifrost.tenancy.topic_ids import ZERO_TOPIC_ID
from bifrost.tenancy.virtual_partitions.commit_stamps import stamped
from bifrost.tenancy.virtual_partitions.kept_offsets import RETENTION_MS
from bifrost.tenancy.virtual_partitions.partition_map import (
    FIRST_GROUP,
    PartitionGroup,
    PhysicalPartition,
    VirtualPartition,
)
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    TxnOffsetCommitResponse,
)
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bifrost.wire.entity import Entity
    from bifrost.wire.message import Message
    from bifrost.wire.messages import TxnOffsetCommitRequest

_BY_NAME = 4
"""The newest version of OffsetCommit that says how long offsets are kept, which all brokers from 2.0 on have."""

_COMMITS = "commits"

_WHILE_TOUCHED = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NON_EMPTY_GROUP})
"""What a coordinator answers for an offset group that has a member; it has none but that of a touch."""


class _Elsewhere(NamedTuple):
    """The partitions of a request whose offsets are in offset groups."""

    by_group: dict[PartitionGroup, dict[TopicKey, list[Any]]]
    """With their physical numbers."""
    answers: dict[TopicKey, dict[int, int]]
    """Errors by virtual partition, of those that are answered here."""


_ELSEWHERE: Note[_Elsewhere] = Note("offsets_in_offset_groups")
_MOVES: Note[dict[tuple[TopicKey, int], int]] = Note("offsets_of_moved_consumers")
"""By virtual partition; they count once the coordinator has accepted them."""


class _OffsetsFilter:
    """What the requests have in common."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()
    _is_commit = True

    def on_request(self, exchange: Exchange, request: Any) -> RequestStep:
        """Write the offsets of other groups of partitions; leave the rest in the request."""
        if self._is_commit:
            _keep_moves(exchange, request)
        met = exchange.met.get(AtBroker)
        elsewhere = _take_elsewhere(exchange, request)
        if elsewhere is None:
            return FORWARD
        if elsewhere.by_group:
            if isinstance(met, AtBroker) and met.plan == _COMMITS:
                _take_answers(exchange, elsewhere, met.answers)
            else:
                judged = self._judged(exchange, request, met)
                if isinstance(judged, Fence):
                    return AtBroker(judged.requests, plan=judged)
                if not judged:
                    return AtBroker(self._requests(exchange, request, elsewhere), plan=_COMMITS)
                _answer_all(exchange, elsewhere, judged)
        exchange.keep(_ELSEWHERE, elsewhere)
        exchange.wants_response = True
        return FORWARD

    def _add(self, exchange: Exchange, response: Any, new_topic: Any, new_partition: Any) -> None:
        """Add the answers for partitions whose offsets are in offset groups."""
        elsewhere = exchange.find(_ELSEWHERE)
        if elsewhere is None:
            return
        call_as_clients_do(virtual_topics(exchange), response.topics)
        known = {
            (one.name, getattr(one, "topic_id", ZERO_TOPIC_ID)): one for one in in_steps(response.topics)
        }
        for key, answers in in_steps(elsewhere.answers.items()):
            topic = known.get(key)
            if topic is None:
                topic = (
                    new_topic(name=key[0])
                    if key[1] == ZERO_TOPIC_ID
                    else new_topic(name=key[0], topic_id=key[1])
                )
                response.topics.append(topic)
            topic.partitions += [
                new_partition(partition_index=index, error_code=code)
                for index, code in in_steps(answers.items())
            ]

    def _judged(self, exchange: Exchange, request: Any, met: Need | None) -> int | Fence:
        """Return the error of the commit, 0 if it may be, or what the coordinator is to be asked."""
        if isinstance(met, AtBroker):
            assert isinstance(met.plan, Fence), "the other requests are the commits themselves"
            return met.plan.judge(met.answers)
        fence = self._fence(exchange, request)
        return 0 if fence is None else fence

    def _fence(self, exchange: Exchange, request: Any) -> Fence | None:
        """Return what the coordinator is asked first; None: nothing."""
        raise NotImplementedError

    def _requests(
        self, exchange: Exchange, request: Any, elsewhere: _Elsewhere
    ) -> tuple[tuple[Message, int], ...]:
        """Return a request for each group of partitions, in their order."""
        raise NotImplementedError


class CommittedPartitionsFilter(_OffsetsFilter):
    """Commits offsets of virtual partitions."""

    def on_response(self, exchange: Exchange, response: OffsetCommitResponse) -> ResponseStep:
        """Join the answers."""
        one = OffsetCommitResponse
        self._add(exchange, response, one.OffsetCommitResponseTopic, one.OffsetCommitResponsePartition)
        _note_moves(exchange, response)
        return FORWARD

    def _fence(self, exchange: Exchange, request: OffsetCommitRequest) -> Fence | None:
        generation, group_id = request.generation_id_or_member_epoch, request.group_id
        if generation < 0:
            return fence_outside(exchange, group_id, ErrorCode.UNKNOWN_MEMBER_ID)
        committer = Committer(group_id, generation, request.member_id, request.group_instance_id)
        return fence_member(exchange, committer)

    def _requests(
        self, exchange: Exchange, request: OffsetCommitRequest, elsewhere: _Elsewhere
    ) -> tuple[tuple[Message, int], ...]:
        _stamp(exchange, elsewhere, is_transactional=False)
        new = OffsetCommitRequest.OffsetCommitRequestTopic
        return tuple(
            (
                OffsetCommitRequest(
                    group_id=owner_of(exchange, request.group_id, group),
                    generation_id_or_member_epoch=-1,
                    member_id="",
                    retention_time_ms=RETENTION_MS,
                    topics=[new(name=_name(exchange, key), partitions=some) for key, some in topics.items()],
                ),
                _BY_NAME,
            )
            for group, topics in sorted(elsewhere.by_group.items())
        )


class TransactionOffsetsFilter(_OffsetsFilter):
    """Commits offsets of virtual partitions as a part of a transaction."""

    def on_response(self, exchange: Exchange, response: TxnOffsetCommitResponse) -> ResponseStep:
        """Join the answers."""
        one = TxnOffsetCommitResponse
        self._add(exchange, response, one.TxnOffsetCommitResponseTopic, one.TxnOffsetCommitResponsePartition)
        _note_moves(exchange, response)
        return FORWARD

    def _fence(self, exchange: Exchange, request: TxnOffsetCommitRequest) -> Fence | None:
        generation, group_id = request.generation_id, request.group_id
        if generation < 0:
            return None  # From outside of a generation a broker takes any (TxnOffsetCommit before v3).
        committer = Committer(
            group_id, generation, request.member_id, request.group_instance_id, is_transaction=True
        )
        return fence_member(exchange, committer)

    def _requests(
        self, exchange: Exchange, request: TxnOffsetCommitRequest, elsewhere: _Elsewhere
    ) -> tuple[tuple[Message, int], ...]:
        _stamp(exchange, elsewhere, is_transactional=True)
        new = type(request).TxnOffsetCommitRequestTopic
        return tuple(
            (
                copied(
                    request,
                    group_id=owner_of(exchange, request.group_id, group),
                    generation_id=-1,
                    member_id="",
                    group_instance_id=None,
                    topics=[new(name=key[0], partitions=some) for key, some in topics.items()],
                ),
                exchange.api_version,
            )
            for group, topics in sorted(elsewhere.by_group.items())
        )


class DeletedOffsetsFilter(_OffsetsFilter):
    """Deletes offsets of virtual partitions, where the consumer group has no members."""

    _is_commit = False

    def on_response(self, exchange: Exchange, response: OffsetDeleteResponse) -> ResponseStep:
        """Join the answers."""
        one = OffsetDeleteResponse
        if not response.error_code:
            self._add(exchange, response, one.OffsetDeleteResponseTopic, one.OffsetDeleteResponsePartition)
        return FORWARD

    def _fence(self, exchange: Exchange, request: OffsetDeleteRequest) -> Fence | None:
        return fence_outside(exchange, request.group_id, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)

    def _requests(
        self, exchange: Exchange, request: OffsetDeleteRequest, elsewhere: _Elsewhere
    ) -> tuple[tuple[Message, int], ...]:
        new = OffsetDeleteRequest.OffsetDeleteRequestTopic
        return tuple(
            (
                OffsetDeleteRequest(
                    group_id=owner_of(exchange, request.group_id, group),
                    topics=[new(name=key[0], partitions=some) for key, some in topics.items()],
                ),
                exchange.api_version,
            )
            for group, topics in sorted(elsewhere.by_group.items())
        )


def _keep_moves(exchange: Exchange, request: Any) -> None:
    """Keep where the consumers of a commit may have been moved until it is answered."""
    found = {(key, number): to for key, number, to in virtual_topics(exchange).moves(request.topics)}
    if found:
        exchange.keep(_MOVES, found)
        exchange.wants_response = True


def _note_moves(exchange: Exchange, response: Any) -> None:
    """Note where consumers were moved, of what was accepted: a zombie's commit says nothing."""
    moves, virtual = exchange.find(_MOVES), virtual_topics(exchange)
    for topic in in_steps(() if moves is None else response.topics):
        key = topic.name, getattr(topic, "topic_id", ZERO_TOPIC_ID)
        for one in in_steps(topic.partitions):
            offset = 0 if moves is None or one.error_code else moves.get((key, one.partition_index), 0)
            if offset:
                virtual.note_moved(key, one.partition_index, offset)


def _take_elsewhere(exchange: Exchange, request: Any) -> _Elsewhere | None:
    """Take the partitions whose offsets are elsewhere out of a request, and call the others as the brokers do.

    None: the request is as it was.
    """
    virtual, found, has_other_numbers = virtual_topics(exchange), _Elsewhere({}, {}), False
    for topic in in_steps(request.topics):
        key = topic.name, getattr(topic, "topic_id", ZERO_TOPIC_ID)
        partitions = virtual.map_of_either(*key)
        if partitions is None:
            continue
        own = []
        for partition in in_steps(topic.partitions):
            number = partition.partition_index
            if not partitions.has(number):
                found.answers.setdefault(key, {})[number] = NO_PARTITION
                continue
            group, physical = partitions.place_of(VirtualPartition(number))
            partition.partition_index = physical
            if group == FIRST_GROUP:
                own.append(partition)
                has_other_numbers = has_other_numbers or physical != number
            else:
                found.by_group.setdefault(group, {}).setdefault(key, []).append(partition)
        topic.partitions = own
    if not found.by_group and not found.answers and not has_other_numbers:
        return None
    request.topics = [topic for topic in in_steps(request.topics) if topic.partitions]
    return found


def _stamp(exchange: Exchange, elsewhere: _Elsewhere, *, is_transactional: bool) -> None:
    """Note with each offset for an offset group when it is committed, and how."""
    stamp = virtual_topics(exchange).commit_stamp(is_transactional=is_transactional)
    for topics in in_steps(elsewhere.by_group.values()):
        for some in topics.values():
            for one in in_steps(some):
                one.committed_metadata = stamped(one.committed_metadata, stamp)


def _answer_all(exchange: Exchange, elsewhere: _Elsewhere, error: int) -> None:
    for group, topics in in_steps(elsewhere.by_group.items()):
        for key, some in topics.items():
            _answer(exchange, elsewhere, key, group, ((one.partition_index, error) for one in in_steps(some)))


def _take_answers(exchange: Exchange, elsewhere: _Elsewhere, answers: tuple[Any, ...]) -> None:
    for (group, topics), answer in zip(sorted(elsewhere.by_group.items()), answers, strict=True):
        # OffsetDelete has an error of the whole: a group without offsets is none that could have been deleted.
        whole = int(getattr(answer, "error_code", 0))
        whole = 0 if whole == ErrorCode.GROUP_ID_NOT_FOUND else _told(whole)
        codes = {
            (topic.name, one.partition_index): _told(int(one.error_code))
            for topic in in_steps(answer.topics)
            for one in in_steps(topic.partitions)
        }
        for key, some in topics.items():
            name = _name(exchange, key)
            told = (
                (
                    one.partition_index,
                    whole or codes.get((name, one.partition_index), 0 if not codes else NO_PARTITION),
                )
                for one in in_steps(some)
            )
            _answer(exchange, elsewhere, key, group, told)


def _told(code: int) -> int:
    """Return what a client is told of an error of an offset group. While that is touched it has a member, for the time
    of a rebalance (three seconds by default), and only that one could commit or delete: the client tries again."""
    return int(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) if code in _WHILE_TOUCHED else code


def _answer(
    exchange: Exchange,
    elsewhere: _Elsewhere,
    key: TopicKey,
    group: PartitionGroup,
    told: Iterable[tuple[int, int]],
) -> None:
    partitions = virtual_topics(exchange).map_of_either(*key)
    assert partitions is not None, "the topic had virtual partitions when the request was divided"
    answers = elsewhere.answers.setdefault(key, {})
    for physical, error in told:
        answers[partitions.virtual_of(group, PhysicalPartition(physical))] = error


def _name(exchange: Exchange, key: TopicKey) -> str:
    """Return the name of a topic that a request may name by its ID."""
    return key[0] or exchange.scope.namespace.topic_of(key[1]) or ""
