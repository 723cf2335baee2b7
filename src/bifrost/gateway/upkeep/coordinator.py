"""Asks a coordinator about groups, in the gateway's or a tenant's name: which there are, and what offsets they have.

There may be masses of both, so answers are read in a thread: clients do not wait for it.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from bifrost.gateway.brokers.broker_client import BrokerClient
from bifrost.gateway.brokers.broker_login import Login
from bifrost.gateway.brokers.cluster import Broker, Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.tenancy.virtual_partitions.commit_stamps import read_stamp
from bifrost.tenancy.virtual_partitions.kept_offsets import TOUCHED, KeptOffset
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
)

REQUEST_TIMEOUT_MS = 60_000
"""How long a request may take: a JoinGroup waits for `group.initial.rebalance.delay.ms`, three seconds by default."""

SESSION_TIMEOUT_MS = 30_000
"""After this time the coordinator removes the member of a touch that did not leave; between the brokers' bounds
(`group.min.session.timeout.ms` is 6 s by default, and the largest was 5 min before Kafka 2.6)."""

_LIST_GROUPS, _OFFSET_FETCH, _JOIN_GROUP, _LEAVE_GROUP = 5, 7, 5, 3
"""Newest versions that are used here: OffsetFetch of one group, JoinGroup and LeaveGroup before their tagged fields."""
_DESCRIBE_GROUPS, _OFFSET_DELETE, _DESCRIBE_CONFIGS = 5, 0, 1

_BROKER_RESOURCE = 4
"""ConfigResource.Type.BROKER."""
_RETENTION = "offsets.retention.minutes"

_DEAD = "Dead"
"""What DescribeGroups says of a group that there is not."""


class Coordinator:
    """One broker, for requests about the groups that it coordinates. They go one after the other."""

    def __init__(self, cluster: Cluster, broker: Broker, login: Login | None) -> None:
        """Connect later.

        Args:
            cluster: whose broker it is.
            broker: which one.
            login: the account to use; None: none, or the gateway's.
        """
        self._broker = broker
        self._client = BrokerClient(
            broker.host,
            broker.port,
            timeout_ms=REQUEST_TIMEOUT_MS,
            security=cluster.security,
            login=login,
        )

    async def close(self) -> None:
        """Close the connection."""
        await self._client.close()

    async def retention_s(self) -> int | None:
        """Return how long the broker keeps offsets, in seconds; None: it does not say.

        Raises:
            BrokerError: it does not answer.
        """
        resource = DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=_BROKER_RESOURCE,
            resource_name=str(self._broker.node_id),
            configuration_keys=[_RETENTION],
        )
        answer = await self._client.request(DescribeConfigsRequest(resources=[resource]), _DESCRIBE_CONFIGS)
        values = [one.value or "" for result in answer.results for one in result.configs]
        return next((int(value) * 60 for value in values if value.isdecimal()), None)

    async def groups(self) -> dict[str, str]:
        """Return the protocol type of each group, by its physical ID.

        Raises:
            BrokerError: the broker does not answer, or not yet.
        """
        answer = await self._ask(ListGroupsRequest(), ApiKey.LIST_GROUPS, _LIST_GROUPS)
        _check("ListGroups", answer.error_code)
        return await asyncio.to_thread(_types_of, answer)

    async def offsets(self, group_id: str) -> list[KeptOffset]:
        """Return the offsets of a group.

        Raises:
            BrokerError: the broker does not answer, or not this account.
        """
        request = OffsetFetchRequest(group_id=group_id, topics=None, require_stable=False)
        answer = await self._ask(request, ApiKey.OFFSET_FETCH, _OFFSET_FETCH)
        _check("OffsetFetch", answer.error_code)
        return await asyncio.to_thread(_offsets_of, answer)

    async def touch(self, group_id: str) -> None:
        """Join a group and leave it.

        Raises:
            BrokerError: the broker does not answer, or lets nobody join.
        """
        joined = await self._join(group_id, "")
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            joined = await self._join(group_id, joined.member_id)
        _check("JoinGroup", joined.error_code)
        member = LeaveGroupRequest.MemberIdentity(member_id=joined.member_id)
        leave = LeaveGroupRequest(group_id=group_id, members=[member])
        left = await self._ask(leave, ApiKey.LEAVE_GROUP, _LEAVE_GROUP, oldest=_LEAVE_GROUP)
        _check("LeaveGroup", left.error_code)

    async def _join(self, group_id: str, member_id: str) -> Any:
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(name=TOUCHED, metadata=b"")
        join = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=SESSION_TIMEOUT_MS,
            member_id=member_id,
            group_instance_id=None,
            protocol_type=TOUCHED,
            protocols=[protocol],
        )
        return await self._ask(join, ApiKey.JOIN_GROUP, _JOIN_GROUP)

    async def is_gone(self, group_id: str) -> bool:
        """Whether the coordinator knows no member and no offset of a group, and says so to this account.

        Raises:
            BrokerError: the broker does not answer.
        """
        request = DescribeGroupsRequest(groups=[group_id])
        (told,) = (await self._ask(request, ApiKey.DESCRIBE_GROUPS, _DESCRIBE_GROUPS)).groups
        is_dead = told.error_code in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND)
        # That is also said of groups of the newer kinds, which are listed.
        return is_dead and told.group_state == _DEAD and group_id not in await self.groups()

    async def delete(self, group_id: str, offsets: Iterable[KeptOffset]) -> int:
        """Delete offsets of a group; return how many are gone.

        Raises:
            BrokerError: the broker does not answer, or deletes none.
        """
        by_topic: dict[str, list[int]] = {}
        for one in offsets:
            by_topic.setdefault(one.topic, []).append(one.partition)
        new = OffsetDeleteRequest
        topics: Sequence[Any] = [
            new.OffsetDeleteRequestTopic(
                name=name,
                partitions=[new.OffsetDeleteRequestPartition(partition_index=one) for one in partitions],
            )
            for name, partitions in by_topic.items()
        ]
        request = new(group_id=group_id, topics=list(topics))
        answer = await self._ask(request, ApiKey.OFFSET_DELETE, _OFFSET_DELETE)
        _check("OffsetDelete", answer.error_code)
        return sum(not one.error_code for topic in answer.topics for one in topic.partitions)

    async def _ask(self, request: Message, api_key: ApiKey, newest: int, oldest: int = 0) -> Any:
        version = self._broker.newest(api_key, newest)
        if version < oldest:
            raise BrokerError(
                f"{self._client.address}: it has no {type(request).__name__} of version {oldest}"
            )
        return await self._client.request(request, version)


def _types_of(answer: Any) -> dict[str, str]:
    return {one.group_id: one.protocol_type for one in answer.groups}


def _offsets_of(answer: Any) -> list[KeptOffset]:
    return [
        KeptOffset(topic.name, one.partition_index, read_stamp(one.metadata))
        for topic in answer.topics
        for one in topic.partitions
        if not one.error_code and one.committed_offset >= 0
    ]


def _check(step: str, error_code: int) -> None:
    if error_code:
        raise BrokerError(f"{step}: {ErrorCode(error_code).name}")
