"""Finds the sizes of tenants' topics for the journal: which exist (Metadata), how large they are (DescribeLogDirs).

Requests ask for small pages, so that no answer blocks the event loop for long: ten thousand topics at once take a
second to decode. Behind each page there is a pause, so that a snapshot has a bounded part of a broker's time.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any

import structlog

from bifrost.gateway.brokers.broker_client import BrokerClient
from bifrost.gateway.brokers.cluster import Broker, Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.journal.topic_sizes import Replica, TopicSizes
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DescribeLogDirsRequest, DescribeTopicPartitionsRequest, MetadataRequest

log = structlog.get_logger()

PAGE_PARTITIONS = 200
"""Partitions in one answer: some 20 ms to decode."""

PART = 0.1
"""Largest part of the time in which a snapshot keeps a broker busy, with one request at a time: a tenth of one of its
request handlers, however many topics there are. To find the first topic of a page a broker goes through all topics."""

LONGEST_PAUSE_S = 2.0
"""Longest pause behind a page, where brokers are busy with others: 100,000 partitions then take some 20 minutes."""

_METADATA, _LOG_DIRS = 9, 4


class JournalSnapshots:
    """Looks at the topics of one physical cluster."""

    def __init__(self, cluster: Cluster, timeout_ms: int) -> None:
        """Send no request yet; `timeout_ms` bounds every request."""
        self._cluster, self._timeout_ms = cluster, timeout_ms
        self._began_s = 0.0
        """When the page at hand was asked for, by the event loop's clock."""

    async def take(self, is_wanted: Callable[[str], bool]) -> AsyncIterator[Sequence[TopicSizes]]:
        """Yield pages of the topics whose physical names are wanted, with their sizes.

        Raises:
            BrokerError: no broker returns the list of topics.
        """
        clients = _Clients(self._cluster, self._timeout_ms)
        self._began_s = asyncio.get_running_loop().time()
        try:
            async for topics in self._pages(clients):
                wanted = [topic for topic in topics if is_wanted(topic.name)]
                if wanted:
                    await self._weigh(clients, wanted)
                    yield wanted
        finally:
            await clients.close()

    async def _pages(self, clients: "_Clients") -> AsyncIterator[list[TopicSizes]]:
        broker = self._cluster.any_broker()
        if broker is None:
            raise BrokerError("no broker is known")
        if broker.newest(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0) == 0:
            async for page in self._described(clients, broker):
                yield page
            return
        # Before Kafka 3.7 there are no pages.
        request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
        version = broker.newest(ApiKey.METADATA, _METADATA)
        answer = await clients.of(broker).request(request, version)
        found = [_sizes_of(topic) for topic in answer.topics if topic.error_code == ErrorCode.NONE]
        for at in range(0, len(found), PAGE_PARTITIONS):
            if at:
                await self._pause()
            yield found[at : at + PAGE_PARTITIONS]

    async def _described(self, clients: "_Clients", broker: Broker) -> AsyncIterator[list[TopicSizes]]:
        """Ask page by page; a topic whose partitions are on several pages is yielded when all of them have arrived."""
        cursor, under_way = None, None
        while True:
            request = DescribeTopicPartitionsRequest(
                topics=[], response_partition_limit=PAGE_PARTITIONS, cursor=cursor
            )
            answer = await clients.of(broker).request(request, 0)
            found = [_sizes_of(topic) for topic in answer.topics if topic.error_code == ErrorCode.NONE]
            if under_way is not None and found and found[0].name == under_way.name:
                found[0].partitions.update(under_way.partitions)
            elif under_way is not None:
                found.insert(0, under_way)
            under_way = None
            following = answer.next_cursor
            if following is not None and found and found[-1].name == following.topic_name:
                under_way = found.pop()
            yield found
            if following is None:
                return
            await self._pause()
            cursor = DescribeTopicPartitionsRequest.Cursor(
                topic_name=following.topic_name, partition_index=following.partition_index
            )

    async def _pause(self) -> None:
        """Leave the brokers to others for as long as the page at hand demands."""
        loop = asyncio.get_running_loop()
        taken_s = loop.time() - self._began_s
        await asyncio.sleep(min(taken_s * (1 / PART - 1), LONGEST_PAUSE_S))
        self._began_s = loop.time()

    async def _weigh(self, clients: "_Clients", topics: Sequence[TopicSizes]) -> None:
        """Ask every broker how large its replicas are; if a broker does not answer, theirs stay unknown."""
        by_broker: dict[int, list[TopicSizes]] = {}
        for topic in topics:
            for node_id in topic.node_ids:
                by_broker.setdefault(node_id, []).append(topic)
        names = {topic.name: topic for topic in topics}
        await asyncio.gather(
            *(self._weigh_at(clients, node_id, of_broker, names) for node_id, of_broker in by_broker.items())
        )

    async def _weigh_at(
        self,
        clients: "_Clients",
        node_id: int,
        topics: Iterable[TopicSizes],
        names: Mapping[str, TopicSizes],
    ) -> None:
        broker = self._cluster.broker(node_id)
        version = -1 if broker is None else broker.newest(ApiKey.DESCRIBE_LOG_DIRS, _LOG_DIRS)
        if broker is None or version < 0:
            return
        wanted = [
            DescribeLogDirsRequest.DescribableLogDirTopic(
                topic=topic.name,
                partitions=[index for index, one in topic.partitions.items() if node_id in one.sizes],
            )
            for topic in topics
        ]
        try:
            answer = await clients.of(broker).request(DescribeLogDirsRequest(topics=wanted), version)
        except BrokerError as error:
            log.warning("journal_sizes_unknown", node_id=node_id, error=str(error))
            return
        _note_sizes(answer, node_id, names)


def _note_sizes(answer: Any, node_id: int, names: Mapping[str, TopicSizes]) -> None:
    for result in answer.results:
        if result.error_code != ErrorCode.NONE:
            continue
        for topic in result.topics:
            for one in topic.partitions:
                # A future replica is a copy on its way to another disk, and is temporary.
                if not one.is_future_key and topic.name in names:
                    names[topic.name].weigh(one.partition_index, node_id, one.partition_size)


def _sizes_of(topic: Any) -> TopicSizes:
    partitions = {
        one.partition_index: Replica(one.leader_id, dict.fromkeys(one.replica_nodes))
        for one in topic.partitions
    }
    return TopicSizes(topic.name, getattr(topic, "topic_id", b""), partitions)


class _Clients:
    """Connections to brokers for one snapshot."""

    def __init__(self, cluster: Cluster, timeout_ms: int) -> None:
        self._cluster, self._timeout_ms = cluster, timeout_ms
        self._open: dict[int, BrokerClient] = {}

    def of(self, broker: Broker) -> BrokerClient:
        client = self._open.get(broker.node_id)
        if client is None:
            security = self._cluster.security
            client = BrokerClient(broker.host, broker.port, timeout_ms=self._timeout_ms, security=security)
            self._open[broker.node_id] = client
        return client

    async def close(self) -> None:
        for client in self._open.values():
            await client.close()
