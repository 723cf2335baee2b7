"""The topics of a run: for each space one to write into, of which little is kept, and one to read again and again."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from bench import frames
from bench.client import RawClient
from bench.subjects import Subject, physical
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    CreateTopicsRequest,
    FindCoordinatorRequest,
    ListOffsetsRequest,
    MetadataRequest,
)

PRODUCED, CONSUMED, SINGLE = "produced", "consumed", "single"
GROUP = "group"
BATCH_BYTES, RECORD_BYTES = 64 * 1024, 1024
PARTITIONS = 8
FETCH_SIZE_BATCHES = 15
"""Whole batches of BATCH_BYTES within a partition's fetch size of 1 MiB."""
LEADERS_TIMEOUT_S = 30.0
_SMALL = {
    "retention.ms": -1,
    "retention.bytes": 64 << 20,
    "segment.bytes": 32 << 20,
    "file.delete.delay.ms": 1000,
}


class Topics:
    """Three topics for each tenant of a run, of which one has one partition; an ID is the same on every way."""

    def __init__(self, read_mib: int, batch: bytes | None = None, records: int = 0) -> None:
        """Make nothing yet.

        Args:
            read_mib: the size of what each tenant can read.
            batch: what it consists of, again and again; None: text in a batch that is not compressed.
            records: how many that batch has.
        """
        self.batch, self.records_per_batch = (
            frames.record_batch(BATCH_BYTES, RECORD_BYTES) if batch is None else (batch, records)
        )
        self.batches = read_mib * 1024 * 1024 // PARTITIONS // len(self.batch)
        self._ids: dict[tuple[str, str], bytes] = {}

    def topic_id(self, tenant: str, name: str) -> bytes:
        """Return the ID of a tenant's topic."""
        return self._ids[tenant, name]

    def make(self, subjects: Sequence[Subject]) -> None:
        """Create and fill what they use; the first is the direct way, by which this is done where it can be."""
        direct, *_ = subjects
        for subject in subjects:
            for space in subject.spaces:
                if (space.tenant, CONSUMED) in self._ids:
                    continue
                if subject.makes_own_topics:
                    self._make(subject.connect(), space.tenant, str)
                else:
                    self._make(direct.connect(), space.tenant, partial(physical, space.tenant))

    def _make(self, client: RawClient, tenant: str, called: Callable[[str], str]) -> None:
        _create(client, called(PRODUCED), _SMALL)
        _create(client, called(SINGLE), _SMALL, 1)
        _create(client, called(CONSUMED), {"retention.ms": -1})
        answer = client.request(FindCoordinatorRequest(key_type=0, coordinator_keys=[called(GROUP)]), 4)
        assert answer.coordinators[0].error_code in (0, ErrorCode.COORDINATOR_NOT_AVAILABLE), answer
        _await_leaders(client, called(SINGLE))
        for name, count in ((PRODUCED, 1), (CONSUMED, self.batches)):
            self._ids[tenant, name] = _await_leaders(client, called(name))
            for partition in range(PARTITIONS):
                self._fill(client, called(name), partition, count)
        client.close()

    def _fill(self, client: RawClient, name: str, partition: int, batches: int) -> None:
        request = frames.produce(name, b"", 9, partition, self.batch)
        deadline = time.monotonic() + LEADERS_TIMEOUT_S
        while batches:
            answer = client.request(request, 9)
            if is_produced(answer):
                batches -= 1
            else:
                # Metadata knows a leader a little before it knows itself.
                assert time.monotonic() < deadline, answer
                time.sleep(0.02)


def is_produced(response: Any) -> bool:
    """Return whether the one batch of a Produce request was written."""
    return bool(response.responses[0].partition_responses[0].error_code == 0)


def end_offset(client: RawClient, topic: str, partition: int) -> int:
    """Return the offset that the next record of a partition will have."""
    wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=partition, timestamp=-1)
    answer = client.request(
        ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[wanted])]
        ),
        7,
    )
    found = answer.topics[0].partitions[0]
    assert found.error_code == 0, answer
    return int(found.offset)


def _create(client: RawClient, name: str, configs: dict[str, int], partitions: int = PARTITIONS) -> None:
    topic = CreateTopicsRequest.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[
            CreateTopicsRequest.CreatableTopicConfig(name=key, value=str(value))
            for key, value in configs.items()
        ],
    )
    answer = client.request(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 6)
    assert answer.topics[0].error_code == 0, answer


def _await_leaders(client: RawClient, name: str) -> bytes:
    """Wait until every partition of a topic has a leader, and return the topic's ID."""
    deadline = time.monotonic() + LEADERS_TIMEOUT_S
    while time.monotonic() < deadline:
        request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=name)])
        topic = client.request(request, 12).topics[0]
        if topic.partitions and not any(one.error_code for one in (topic, *topic.partitions)):
            return bytes(topic.topic_id)
        time.sleep(0.05)
    raise TimeoutError(f"{name} has no leaders")
