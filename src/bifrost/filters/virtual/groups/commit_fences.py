"""Whether a member may still commit, which its coordinator says before offsets go to offset groups.

An offset group (tenancy/virtual_partitions/offset_groups.py) has no members, so its coordinator cannot see that a
member was fenced. The gateway asks first, in one round or two:

    from outside of a group       a description for each kind of group           has the group members?
    a member                      Heartbeat                                      is it one of the classic protocol?
    if no such member is known    OffsetFetch, with the member's ID and epoch    is it one of a newer kind?

A Heartbeat is judged as a commit of a classic member is. An OffsetFetch from version 9 on is judged by member ID and
epoch in a group of the newer protocol (KIP-848) and in a streams group (KIP-1071), and by neither in one of the classic
protocol. So the coordinator is asked in the name of a member that cannot exist as well: if that is unknown, the group
is one that knows its members, and the first answer counts.

An epoch must be that of the member. Coordinators with KIP-1251 (from 4.2 on) take a commit with an older one for a
partition that the member has had since then; here it is STALE_MEMBER_EPOCH, as before that KIP: the client commits
again once it has its new epoch, or its application does (commitSync of Java).

Source: ClassicGroup.validateOffsetCommit, ClassicGroup.validateOffsetDelete, ConsumerGroup.validateOffsetCommit,
ConsumerGroup.validateOffsetFetch, StreamsGroup.validateOffsetCommit, StreamsGroup.validateOffsetFetch,
OffsetMetadataManager.validateTransactionalOffsetCommit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from bifrost.filters.virtual.groups.group_states import (
    Asked,
    classic_group,
    newer_group,
    read_members,
    streams_group,
)
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import HeartbeatRequest, OffsetFetchRequest

if TYPE_CHECKING:
    from bifrost.filters.filter import Exchange

BY_EPOCH = 9
"""The first version of OffsetCommit and OffsetFetch that has member epochs (KIP-848)."""

_WITH_EPOCHS = ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_HEARTBEAT
"""How members join that have epochs."""

_HEARTBEAT_VERSION = 3
"""With static members (KIP-345), which brokers have from 2.3 on; before the versions with tagged fields."""

_NOT_A_MEMBER = ""
"""No member has this ID: a coordinator makes one for a member that joins with it."""

_PASSING = frozenset({ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS})
"""What a Heartbeat tells a member of the current generation. While its group prepares the next one it may commit."""

_NOT_CLASSIC = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})
"""What a Heartbeat tells a member of a newer kind of group, the second one that was replaced as a static member."""


class Fence(NamedTuple):
    """What the coordinator is asked."""

    requests: tuple[Asked, ...]
    judge: Callable[[tuple[Any, ...]], int | Fence]
    """Returns the error of the commit by the answers, 0 if it may be, or what else is to be asked."""


class Committer(NamedTuple):
    """Who commits, by its own account."""

    group_id: str
    generation_id: int
    """Or the epoch of a member of a newer kind of group; less than 0: no member."""
    member_id: str
    group_instance_id: str | None
    is_transaction: bool = False


def fence_outside(exchange: Exchange, group_id: str, if_it_has_members: ErrorCode) -> Fence:
    """Return what shows whether a group has members; then the error is this one."""

    def judge(answers: tuple[Any, ...]) -> int:
        for members in map(read_members, answers):
            if members.has_any or members.error_code:
                return int(if_it_has_members if members.has_any else members.error_code)
        return 0

    kinds = classic_group(group_id), newer_group(exchange, group_id), streams_group(exchange, group_id)
    return Fence(tuple(asked for asked in kinds if asked is not None), judge)


def fence_member(exchange: Exchange, committer: Committer) -> Fence:
    """Return what shows whether a member may commit."""

    def judge(answers: tuple[Any, ...]) -> int | Fence:
        error = int(answers[0].error_code)
        if error in _NOT_CLASSIC and _has_epochs(exchange):
            return _fence_newer_member(exchange, committer, error)
        return 0 if error in _PASSING else error

    heartbeat = HeartbeatRequest(
        group_id=committer.group_id,
        generation_id=committer.generation_id,
        member_id=committer.member_id,
        group_instance_id=committer.group_instance_id,
    )
    return Fence(((heartbeat, _HEARTBEAT_VERSION),), judge)


def _has_epochs(exchange: Exchange) -> bool:
    offered = exchange.offered
    return (
        offered is not None
        and offered.offers(ApiKey.OFFSET_FETCH, BY_EPOCH)
        and any(offered.offers(api_key, 0) for api_key in _WITH_EPOCHS)
    )


def _fence_newer_member(exchange: Exchange, committer: Committer, if_classic: int) -> Fence:
    def judge(answers: tuple[Any, ...]) -> int:
        error, of_a_stranger = (_error_of(answer) for answer in answers)
        if of_a_stranger != ErrorCode.UNKNOWN_MEMBER_ID:
            return of_a_stranger or if_classic
        if error not in (ErrorCode.NONE, ErrorCode.STALE_MEMBER_EPOCH):
            return error
        if committer.is_transaction:
            return int(ErrorCode.ILLEGAL_GENERATION) if error else 0
        return error if exchange.api_version >= BY_EPOCH else int(ErrorCode.UNSUPPORTED_VERSION)

    new = OffsetFetchRequest.OffsetFetchRequestGroup
    requests = tuple(
        (
            # Stable offsets are those of all that the coordinator has done so far, and so are the members then.
            OffsetFetchRequest(
                groups=[
                    new(
                        group_id=committer.group_id,
                        member_id=member_id,
                        member_epoch=committer.generation_id,
                        topics=[],
                    )
                ],
                require_stable=True,
            ),
            BY_EPOCH,
        )
        for member_id in (committer.member_id, _NOT_A_MEMBER)
    )
    return Fence(requests, judge)


def _error_of(answer: Any) -> int:
    return int(answer.groups[0].error_code) if answer.groups else int(ErrorCode.GROUP_ID_NOT_FOUND)
