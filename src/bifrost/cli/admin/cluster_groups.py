"""Consumer groups of a cluster for the admin API, by requests of the gateway's own account to their coordinators.

Each group has a coordinator, and each partition a leader, so one operation may ask several brokers.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Any, Self

from bifrost.control.clusters.group_state import GroupMember, GroupState, ListedGroup, TopicPartition
from bifrost.gateway.brokers.broker_client import BrokerClient
from bifrost.gateway.brokers.cluster import Broker, Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    ConsumerGroupDescribeRequest,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    ListGroupsRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
)

_LIST_GROUPS, _FIND_COORDINATOR, _DESCRIBE, _CONSUMER_DESCRIBE, _DELETE = 5, 3, 5, 0, 2
_METADATA, _LIST_OFFSETS, _OFFSET_FETCH, _OFFSET_COMMIT = 8, 5, 7, 8
"""Newest versions used here: one key or group in a request, and topics by name."""
_CONSUMER_TYPES = ("classic", "consumer")
_CONSUMER_PROTOCOLS = ("", "consumer")
"""Protocol types of classic groups whose members are consumers; `` is a group that has only offsets."""
_DEAD = "Dead"
"""What DescribeGroups answers for a group that does not exist."""
_ADMIN_GENERATION = -1
"""Generation of a commit that no member makes: a coordinator takes it only for a group without members."""


class ClusterGroups:
    """The groups of one cluster, with a connection to each broker that is asked; an asynchronous context manager."""

    def __init__(self, cluster: Cluster, timeout_ms: int) -> None:
        """Connect to no broker yet; `cluster` knows its brokers."""
        self._cluster, self._timeout_ms = cluster, timeout_ms
        self._clients: dict[int, BrokerClient] = {}
        self._closing = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Return this."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        await self._closing.aclose()

    async def listed(self) -> list[ListedGroup]:
        """Return all groups of consumers, of every tenant.

        Raises:
            BrokerError: a broker does not answer, so the list would lack groups.
        """
        found = []
        if self._cluster.unreachable:
            raise BrokerError(f"broker {min(self._cluster.unreachable)} does not answer")
        for node_id in sorted(self._cluster.node_ids):
            answer = await self._ask(node_id, ListGroupsRequest(), ApiKey.LIST_GROUPS, _LIST_GROUPS)
            _check(answer.error_code, "ListGroups")
            for one in answer.groups:
                kind = (getattr(one, "group_type", "") or "classic").lower()
                if kind in _CONSUMER_TYPES and one.protocol_type in _CONSUMER_PROTOCOLS:
                    state = getattr(one, "group_state", "") or "Unknown"
                    found.append(ListedGroup(one.group_id, state, kind))
        return found

    async def describe(self, group_id: str) -> GroupState | None:
        """Return a group; None: it does not exist.

        Raises:
            BrokerError: a broker does not answer, or refuses.
        """
        node_id = await self._coordinator(group_id)
        described = await self._described(node_id, group_id)
        if described is None:
            return None
        members = tuple(
            GroupMember(one.member_id, one.client_id, one.client_host) for one in described.members
        )
        return GroupState(described.group_state, members, await self._offsets(node_id, group_id))

    async def delete(self, group_id: str) -> str | None:
        """Delete a group; return Kafka's error, None for none.

        Raises:
            BrokerError: a broker does not answer.
        """
        node_id = await self._coordinator(group_id)
        request = DeleteGroupsRequest(groups_names=[group_id])
        (one,) = (await self._ask(node_id, request, ApiKey.DELETE_GROUPS, _DELETE)).results
        return None if one.error_code == ErrorCode.NONE else ErrorCode(one.error_code).name

    async def commit(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, str]:
        """Commit offsets of a group without members; return Kafka's error of each that stays as it was.

        Raises:
            BrokerError: the coordinator does not answer.
        """
        topics = defaultdict(list)
        for (topic, partition), offset in offsets.items():
            topics[topic].append(
                OffsetCommitRequest.OffsetCommitRequestPartition(
                    partition_index=partition, committed_offset=offset, committed_metadata=""
                )
            )
        request = OffsetCommitRequest(
            group_id=group_id,
            generation_id_or_member_epoch=_ADMIN_GENERATION,
            member_id="",
            topics=[
                OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=partitions)
                for topic, partitions in topics.items()
            ],
        )
        node_id = await self._coordinator(group_id)
        answer = await self._ask(node_id, request, ApiKey.OFFSET_COMMIT, _OFFSET_COMMIT)
        return {
            (topic.name, one.partition_index): ErrorCode(one.error_code).name
            for topic in answer.topics
            for one in topic.partitions
            if one.error_code
        }

    async def partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        """Return the partitions of topics; those that do not exist have none.

        Raises:
            BrokerError: no broker answers.
        """
        return sorted(await self._leaders(topics))

    async def positions(
        self, partitions: Iterable[TopicPartition], timestamp: int
    ) -> dict[TopicPartition, int]:
        """Return the offsets of partitions at a timestamp; those without a leader, or without an offset, are left out.

        Args:
            partitions: what is asked for.
            timestamp: in milliseconds since 1970; -1: the end, -2: the beginning.
        Raises:
            BrokerError: a leader does not answer.
        """
        wanted = set(partitions)
        by_leader: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for (topic, partition), leader in (await self._leaders({one for one, _ in wanted})).items():
            if (topic, partition) in wanted and leader >= 0:
                by_leader[leader][topic].append(partition)
        found: dict[TopicPartition, int] = {}
        for leader, topics in by_leader.items():
            request = ListOffsetsRequest(
                replica_id=-1,
                isolation_level=0,
                topics=[
                    ListOffsetsRequest.ListOffsetsTopic(
                        name=topic,
                        partitions=[
                            ListOffsetsRequest.ListOffsetsPartition(
                                partition_index=one, current_leader_epoch=-1, timestamp=timestamp
                            )
                            for one in sorted(numbers)
                        ],
                    )
                    for topic, numbers in topics.items()
                ],
            )
            answer = await self._ask(leader, request, ApiKey.LIST_OFFSETS, _LIST_OFFSETS)
            found |= {
                (topic.name, one.partition_index): one.offset
                for topic in answer.topics
                for one in topic.partitions
                if one.error_code == ErrorCode.NONE and one.offset >= 0
            }
        return found

    async def _leaders(self, topics: Iterable[str]) -> dict[TopicPartition, int]:
        named = [MetadataRequest.MetadataRequestTopic(name=one) for one in sorted(set(topics))]
        if not named:
            return {}
        request = MetadataRequest(topics=named, allow_auto_topic_creation=False)
        answer = await self._ask(self._any(), request, ApiKey.METADATA, _METADATA)
        return {
            (topic.name, one.partition_index): one.leader_id
            for topic in answer.topics
            for one in topic.partitions
        }

    async def _coordinator(self, group_id: str) -> int:
        request = FindCoordinatorRequest(key=group_id, key_type=0)
        answer = await self._ask(self._any(), request, ApiKey.FIND_COORDINATOR, _FIND_COORDINATOR)
        _check(answer.error_code, "FindCoordinator")
        return int(answer.node_id)

    async def _described(self, node_id: int, group_id: str) -> Any:
        """Return a group of either protocol; None: it does not exist."""
        if self._broker(node_id).newest(ApiKey.CONSUMER_GROUP_DESCRIBE, _CONSUMER_DESCRIBE) >= 0:
            asked: Message = ConsumerGroupDescribeRequest(group_ids=[group_id])
            api_key = ApiKey.CONSUMER_GROUP_DESCRIBE
            (one,) = (await self._ask(node_id, asked, api_key, _CONSUMER_DESCRIBE)).groups
            if one.error_code == ErrorCode.NONE:
                return one
            if (
                one.error_code != ErrorCode.GROUP_ID_NOT_FOUND
            ):  # It is of the classic protocol, or there is none.
                _check(one.error_code, "ConsumerGroupDescribe")
        asked = DescribeGroupsRequest(groups=[group_id])
        (one,) = (await self._ask(node_id, asked, ApiKey.DESCRIBE_GROUPS, _DESCRIBE)).groups
        _check(one.error_code, "DescribeGroups")
        is_of_consumers = one.protocol_type in _CONSUMER_PROTOCOLS
        return one if one.group_state != _DEAD and is_of_consumers else None

    async def _offsets(self, node_id: int, group_id: str) -> dict[TopicPartition, int]:
        request = OffsetFetchRequest(group_id=group_id, topics=None)
        answer = await self._ask(node_id, request, ApiKey.OFFSET_FETCH, _OFFSET_FETCH)
        _check(answer.error_code, "OffsetFetch")
        return {
            (topic.name, one.partition_index): one.committed_offset
            for topic in answer.topics
            for one in topic.partitions
            if one.error_code == ErrorCode.NONE and one.committed_offset >= 0
        }

    def _any(self) -> int:
        broker = self._cluster.any_broker()
        if broker is None:
            raise BrokerError("no broker is known")
        return broker.node_id

    def _broker(self, node_id: int) -> Broker:
        broker = self._cluster.broker(node_id)
        if broker is None:
            raise BrokerError(f"broker {node_id} is not known")
        return broker

    async def _ask(self, node_id: int, request: Message, api_key: ApiKey, ours: int) -> Any:
        broker = self._broker(node_id)
        client = self._clients.get(node_id)
        if client is None:
            client = self._clients[node_id] = BrokerClient(
                broker.host, broker.port, timeout_ms=self._timeout_ms, security=self._cluster.security
            )
            self._closing.push_async_callback(client.close)
        return await client.request(request, broker.newest(api_key, ours))


def _check(error_code: int, what: str) -> None:
    if error_code != ErrorCode.NONE:
        raise BrokerError(f"{what} is answered {ErrorCode(error_code).name}")
