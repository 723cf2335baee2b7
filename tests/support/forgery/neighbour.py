"""A tenant that does as much as it can, of which another tenant must notice nothing.

Beside the scenarios of the equivalence tests, under the same names as the other, it makes what can be counted: topics
with peculiar numbers of partitions, which are grown, deleted and made anew, groups whose epochs rise, producer IDs,
transactions, fetch sessions and records.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from bifrost.wire.messages import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeConfigsRequest,
    FetchRequest,
    IncrementalAlterConfigsRequest,
    InitProducerIdRequest,
    ListGroupsRequest,
    MetadataRequest,
    OffsetCommitRequest,
)
from support.clients.endpoint import Endpoint
from support.clients.raw_operations import await_topic, produce
from support.clients.routed_client import RoutedClient
from support.forgery.victim import Victim, join_classic

PARTITIONS, MORE_PARTITIONS = 37, 53
"""Numbers that nothing else has."""
SHAPES = ("eq-data", "eq-metadata", "orders", "billing", "counted", "zebra-matched")
"""Topics; the other has some of the same names."""
SET, TOPIC = 0, 2


class Neighbour:
    """The busy tenant; `act` does the next thing."""

    def __init__(self, endpoint: Endpoint, physical_prefix: str) -> None:
        """Connect, and make what the other will try to name."""
        self.client = RoutedClient(endpoint, client_id="neighbour")
        self.victim = Victim(endpoint, physical_prefix)
        for name in SHAPES:
            self._create(name, PARTITIONS)
        self._steps = self._things_to_do()

    def close(self) -> None:
        """Close the connections."""
        self.victim.close()
        self.client.close()

    def act(self) -> None:
        """Do the next thing; whatever a broker answers, the other must not notice."""
        next(self._steps)

    def _things_to_do(self) -> Iterator[None]:
        for turn in itertools.count():
            name = SHAPES[turn % len(SHAPES)]
            self._grow(name, MORE_PARTITIONS)
            yield
            self._identify(turn)
            yield
            self._write_and_read(name, turn)
            yield
            self._join(turn)
            yield
            self._configure(name, turn)
            yield
            self.victim.beat()
            yield
            self._delete(name)
            yield
            self._create(name, PARTITIONS)
            yield

    def _create(self, name: str, partitions: int) -> None:
        topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        self.client.request(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7)
        await_topic(self.client, name, partitions)

    def _grow(self, name: str, partitions: int) -> None:
        topic = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=partitions, assignments=None)
        self.client.request(CreatePartitionsRequest(topics=[topic], timeout_ms=10_000), 3)

    def _delete(self, name: str) -> None:
        state = DeleteTopicsRequest.DeleteTopicState(name=name)
        self.client.request(DeleteTopicsRequest(topics=[state], timeout_ms=10_000), 6)

    def _identify(self, turn: int) -> None:
        """Take producer IDs, with and without a transactional ID."""
        for name in (None, f"eq-transaction-{turn}", "own-transaction"):
            request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
            self.client.request(request, 4)

    def _write_and_read(self, name: str, turn: int) -> None:
        produce(self.client, name, [b"the neighbour's"] * (turn % 7 + 1), partition=turn % 5)
        self.client.request(MetadataRequest(topics=None), 12)
        self.client.request(FetchRequest(min_bytes=0, session_epoch=0), 12)
        self.client.request(ListGroupsRequest(), 4)

    def _join(self, turn: int) -> None:
        group_id = f"eq-neighbour-{turn}"
        joined = join_classic(self.client, group_id, "counted", None)
        partition = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=turn)
        topic = OffsetCommitRequest.OffsetCommitRequestTopic(name="counted", partitions=[partition])
        request = OffsetCommitRequest(
            group_id=group_id,
            generation_id_or_member_epoch=joined.generation_id,
            member_id=joined.member_id,
            topics=[topic],
        )
        self.client.request(request, 8)

    def _configure(self, name: str, turn: int) -> None:
        config = IncrementalAlterConfigsRequest.AlterableConfig(
            name="retention.ms", config_operation=SET, value=str(3_600_000 + turn)
        )
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
            resource_type=TOPIC, resource_name=name, configs=[config]
        )
        self.client.request(IncrementalAlterConfigsRequest(resources=[resource]), 1)
        wanted = DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=TOPIC, resource_name=name, configuration_keys=None
        )
        self.client.request(DescribeConfigsRequest(resources=[wanted]), 4)
