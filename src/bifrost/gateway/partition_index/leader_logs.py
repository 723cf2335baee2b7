"""Asks brokers about logs with the account of a tenant: which topics there are, where they begin and end, and records.

One request at a time. Answers about many topics are read in a thread: clients do not wait for it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from bifrost.gateway.brokers.broker_client import BrokerClient
from bifrost.gateway.brokers.broker_login import Login
from bifrost.gateway.brokers.cluster import Broker, Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.tenancy.virtual_partitions.index.index_entry import NO_TOPIC_ID, Place
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import FetchRequest, ListOffsetsRequest, MetadataRequest

REQUEST_TIMEOUT_MS = 30_000
EARLIEST, LATEST = -2, -1
"""What ListOffsets takes for the start and the end of a log."""
AT_A_TIME = 1_000
"""Most partitions of one ListOffsets."""
_METADATA, _LIST_OFFSETS, _FETCH, _OLDEST_METADATA, _OLDEST_FETCH = 12, 5, 12, 4, 4
"""The newest versions that are used: Metadata with IDs of topics, Fetch by name; and the oldest: Metadata that creates
no topic, Fetch of batches with headers."""


class TopicAtBrokers(NamedTuple):
    """A topic as Metadata tells it."""

    name: bytes
    topic_id: bytes
    leaders: Mapping[int, int]
    """The broker by partition, where it is known."""


class Bounds(NamedTuple):
    """Where a log begins, and where it ends for consumers."""

    start: int
    end: int


class LeaderLogs:
    """The brokers of a cluster, for one account."""

    def __init__(self, cluster: Cluster, login: Login | None) -> None:
        """Connect later; `login` is the account, None: none, or the gateway's."""
        self._cluster, self._login = cluster, login
        self._open: dict[int, tuple[Broker, BrokerClient]] = {}

    async def close(self) -> None:
        """Close the connections."""
        clients, self._open = self._open, {}
        for _, client in clients.values():
            await client.close()

    async def topics(self) -> list[TopicAtBrokers]:
        """Return all topics that the account may see.

        Raises:
            BrokerError: no broker answers.
        """
        broker = self._cluster.any_broker()
        if broker is None:
            raise BrokerError("no broker is known")
        request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
        answer = await self._ask(broker.node_id, request, ApiKey.METADATA, _METADATA, _OLDEST_METADATA)
        return [
            TopicAtBrokers(
                one.name.encode(),
                bytes(getattr(one, "topic_id", NO_TOPIC_ID)),
                {part.partition_index: part.leader_id for part in one.partitions},
            )
            for one in answer.topics
            if not one.error_code and one.name
        ]

    async def bounds(self, node_id: int, places: Iterable[Place]) -> dict[Place, Bounds]:
        """Return where logs begin and end whose leader a broker is; those are missing that it does not tell.

        Raises:
            BrokerError: it does not answer.
        """
        wanted, found = list(places), dict[Place, Bounds]()
        for at in range(0, len(wanted), AT_A_TIME):
            some = wanted[at : at + AT_A_TIME]
            # The end first: a log that is cut between the two answers would seem to begin behind it.
            ends = await self._offsets(node_id, some, LATEST)
            starts = await self._offsets(node_id, some, EARLIEST)
            found |= {
                place: Bounds(starts[place], max(starts[place], end))
                for place, end in ends.items()
                if place in starts
            }
        return found

    async def read(self, node_id: int, place: Place, offset: int, max_bytes: int) -> tuple[int, bytes]:
        """Return an error code, and what a broker has of a log from an offset on: at least a batch, if there is one.

        Raises:
            BrokerError: it does not answer.
        """
        topic, partition = place
        wanted = FetchRequest.FetchPartition(
            partition=partition,
            current_leader_epoch=-1,
            fetch_offset=offset,
            last_fetched_epoch=-1,
            log_start_offset=-1,
            partition_max_bytes=max_bytes,
        )
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=max_bytes,
            isolation_level=0,
            session_id=0,
            session_epoch=-1,
            topics=[FetchRequest.FetchTopic(topic=topic.decode(), partitions=[wanted])],
        )
        answer = await self._ask(node_id, request, ApiKey.FETCH, _FETCH, _OLDEST_FETCH)
        code = int(getattr(answer, "error_code", 0))
        for response in answer.responses:
            for one in response.partitions:
                return code or int(one.error_code), bytes(one.records or b"")
        return code or int(ErrorCode.KAFKA_STORAGE_ERROR), b""

    async def _offsets(self, node_id: int, places: Iterable[Place], time: int) -> dict[Place, int]:
        new, topics = ListOffsetsRequest, dict[bytes, list[Any]]()
        for topic, partition in places:
            one = new.ListOffsetsPartition(partition_index=partition, current_leader_epoch=-1, timestamp=time)
            topics.setdefault(topic, []).append(one)
        named = [new.ListOffsetsTopic(name=name.decode(), partitions=some) for name, some in topics.items()]
        request = new(replica_id=-1, isolation_level=0, topics=named)
        answer = await self._ask(node_id, request, ApiKey.LIST_OFFSETS, _LIST_OFFSETS, 1)
        return {
            (topic.name.encode(), one.partition_index): one.offset
            for topic in answer.topics
            for one in topic.partitions
            if not one.error_code and one.offset >= 0
        }

    async def _ask(self, node_id: int, request: Message, api_key: ApiKey, newest: int, oldest: int) -> Any:
        broker = self._cluster.broker(node_id)
        if broker is None:
            raise BrokerError(f"broker {node_id} is gone")
        known = self._open.get(node_id)
        if known is None or known[0] is not broker:
            if known is not None:
                await known[1].close()
            client = BrokerClient(
                broker.host,
                broker.port,
                timeout_ms=REQUEST_TIMEOUT_MS,
                security=self._cluster.security,
                login=self._login,
            )
            known = self._open[node_id] = broker, client
        version = broker.newest(api_key, newest)
        if version < oldest:
            raise BrokerError(f"{known[1].address}: it has no {type(request).__name__} of version {oldest}")
        return await known[1].request(request, version)
