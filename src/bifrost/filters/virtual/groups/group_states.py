"""Whether a group has members, and of which protocol: what its coordinator is asked, and how the answer is read.

DescribeGroups tells it of groups of the classic protocol, ConsumerGroupDescribe of those of the newer one (KIP-848),
StreamsGroupDescribe of streams groups (KIP-1071). Each takes a group of another kind for one that there is not.
Coordinators before 3.7 do not know the second, and those before 4.2 not the third.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    ConsumerGroupDescribeRequest,
    DescribeGroupsRequest,
    ShareGroupDescribeRequest,
    StreamsGroupDescribeRequest,
)

if TYPE_CHECKING:
    from bifrost.filters.filter import Exchange
    from bifrost.wire.message import Message

Asked = tuple["Message", int]
"""A request for the coordinator, with its version."""

_CLASSIC_VERSION, _NEWER_VERSION, _SHARE_VERSION, _STREAMS_VERSION = 4, 0, 1, 0
"""The first since static members, before tagged fields; the first; the first that is not a draft; and the first."""

_WITHOUT_MEMBERS = frozenset({"Empty", "Dead"})
_NO_SUCH_GROUP = frozenset({ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION})
"""The second: the cluster has the protocol turned off, so no group is of it."""


class Members(NamedTuple):
    """What a coordinator says of a group, as one of a certain protocol."""

    has_any: bool
    """Whether there is such a group, with members."""
    error_code: ErrorCode = ErrorCode.NONE
    """Why that is not known."""


def classic_group(group_id: str) -> Asked:
    """Return the question whether a group has members of the classic protocol."""
    return DescribeGroupsRequest(groups=[group_id]), _CLASSIC_VERSION


def newer_group(exchange: Exchange, group_id: str) -> Asked | None:
    """Return the question whether a group of the newer protocol has members; None: the coordinator has no such groups.

    Members of the classic protocol that have joined such a group count as well.
    """
    if exchange.offered is None or not exchange.offered.offers(
        ApiKey.CONSUMER_GROUP_DESCRIBE, _NEWER_VERSION
    ):
        return None
    return ConsumerGroupDescribeRequest(group_ids=[group_id]), _NEWER_VERSION


def share_group(exchange: Exchange, group_id: str) -> Asked | None:
    """Return the question which members a share group (KIP-932) has; None: the coordinator has no such groups."""
    if exchange.offered is None or not exchange.offered.offers(ApiKey.SHARE_GROUP_DESCRIBE, _SHARE_VERSION):
        return None
    return ShareGroupDescribeRequest(group_ids=[group_id]), _SHARE_VERSION


def streams_group(exchange: Exchange, group_id: str) -> Asked | None:
    """Return the question what a streams group is and has; None: the coordinator has no such groups."""
    if exchange.offered is None or not exchange.offered.offers(
        ApiKey.STREAMS_GROUP_DESCRIBE, _STREAMS_VERSION
    ):
        return None
    return StreamsGroupDescribeRequest(group_ids=[group_id]), _STREAMS_VERSION


def read_members(answer: Any) -> Members:
    """Return what an answer of any kind says of its only group."""
    if not answer.groups:
        return Members(False, ErrorCode.GROUP_ID_NOT_FOUND)  # Its name is no longer the tenant's.
    group = answer.groups[0]
    if group.error_code and group.error_code not in _NO_SUCH_GROUP:
        return Members(False, ErrorCode(group.error_code))
    return Members(not group.error_code and group.group_state not in _WITHOUT_MEMBERS)
