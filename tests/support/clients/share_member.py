"""A member of a share group (KIP-932) that sends exactly the requests that a test says."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    IncrementalAlterConfigsRequest,
    ShareAcknowledgeRequest,
    ShareFetchRequest,
    ShareGroupHeartbeatRequest,
)
from support.clients.raw_client import RawClient
from support.clients.raw_operations import await_config
from support.clients.routed_client import RoutedClient

MEMBER_ID = "c2hhcmUtbWVtYmVyLTAwMQ"
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
GROUP, SET = 32, 0
WAIT_S = 30.0
Acknowledged = tuple[int, int, int, int]
"""Partition, first and last offset, type."""
AnyClient = RawClient | RoutedClient


def set_group_config(client: AnyClient, group: str, name: str, value: str) -> None:
    """Set a config of a group, and wait until the broker has it."""
    config = IncrementalAlterConfigsRequest.AlterableConfig(name=name, config_operation=SET, value=value)
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=GROUP, resource_name=group, configs=[config]
    )
    client.request(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    await_config(client, GROUP, group, name, value)


def _member_id(number: int) -> str:
    return f"{MEMBER_ID[:-3]}{number:03}"


@dataclass
class ShareMember:
    """A member of a share group that reads one topic."""

    client: AnyClient
    group: str
    topic: str
    topic_id: bytes
    version: int
    number: int = 1
    epoch: int = 0

    def join(self) -> None:
        """Set where the group begins, and join it; the group's state is made then."""
        set_group_config(self.client, self.group, "share.auto.offset.reset", "earliest")
        request = ShareGroupHeartbeatRequest(
            group_id=self.group,
            member_id=_member_id(self.number),
            member_epoch=0,
            subscribed_topic_names=[self.topic],
        )
        deadline = time.monotonic() + WAIT_S
        while True:
            answer = self.client.request(request, 1)
            if answer.assignment is not None and answer.assignment.topic_partitions:
                return
            assert time.monotonic() < deadline, answer
            time.sleep(0.05)

    def fetch(
        self,
        epoch: int,
        asked: Sequence[int] = (),
        forgotten: Sequence[int] = (),
        acknowledged: Sequence[Acknowledged] = (),
        *,
        wait_ms: int = 200,
        **fields: Any,
    ) -> Any:
        """Fetch, with the given epoch."""
        made = ShareFetchRequest
        partitions = [made.FetchPartition(partition_index=one) for one in asked]
        partitions += [
            made.FetchPartition(
                partition_index=one,
                acknowledgement_batches=[
                    made.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=[kind])
                ],
            )
            for one, first, last, kind in acknowledged
        ]
        limits = {
            "max_wait_ms": wait_ms,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": 100,
            "batch_size": 100,
        }
        request = made(
            group_id=self.group,
            member_id=_member_id(self.number),
            share_session_epoch=epoch,
            topics=[made.FetchTopic(topic_id=self.topic_id, partitions=partitions)] if partitions else [],
            **(limits | fields),
        )
        if forgotten:
            request.forgotten_topics_data = [
                made.ForgottenTopic(topic_id=self.topic_id, partitions=list(forgotten))
            ]
        return self.client.request(request, self.version)

    def fetch_records(
        self, asked: Sequence[int] = (), wanted: Sequence[int] = ()
    ) -> dict[int, tuple[int, int]]:
        """Fetch until each of the wanted partitions has given records; return their offsets."""
        found: dict[int, tuple[int, int]] = {}
        wanted = wanted or asked
        deadline = time.monotonic() + WAIT_S
        while not found.keys() >= set(wanted):
            answer = self.fetch(self.take_epoch(), asked)
            assert answer.error_code == ErrorCode.NONE, answer
            for topic in answer.responses:
                for one in topic.partitions:
                    for batch in one.acquired_records:
                        first, last = found.get(one.partition_index, (batch.first_offset, 0))
                        found[one.partition_index] = (
                            min(first, batch.first_offset),
                            max(last, batch.last_offset),
                        )
            assert time.monotonic() < deadline, (found, answer)
            asked = ()
        return found

    def take_epoch(self) -> int:
        self.epoch += 1
        return self.epoch - 1

    def acknowledge(self, epoch: int, acknowledged: Sequence[Acknowledged] = (), **fields: Any) -> Any:
        made = ShareAcknowledgeRequest
        batches: dict[int, list[Any]] = {}
        for partition, first, last, kind in acknowledged:
            batches.setdefault(partition, []).append(
                made.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=[kind])
            )
        partitions = [
            made.AcknowledgePartition(partition_index=one, acknowledgement_batches=some)
            for one, some in batches.items()
        ]
        request = made(
            group_id=self.group,
            member_id=_member_id(self.number),
            share_session_epoch=epoch,
            topics=[made.AcknowledgeTopic(topic_id=self.topic_id, partitions=partitions)]
            if partitions
            else [],
            **fields,
        )
        return self.client.request(request, self.version)
