"""A tenant at work, whom nothing that others do may disturb, and whose things others try to name.

It has a topic with records, a fetch session, a static member of a classic group, members of a KIP-848, a share and a
streams group, committed offsets and an open transaction, and keeps all of them going (`beat`). At the end (`finish`) it
commits, and reads back what it wrote.
"""

from __future__ import annotations

import base64
import os
import threading
from dataclasses import dataclass, field
from typing import Any, Self

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import encode_body
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    AddPartitionsToTxnRequest,
    ConsumerGroupHeartbeatRequest,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    EndTxnRequest,
    FetchRequest,
    HeartbeatRequest,
    InitProducerIdRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    ShareFetchRequest,
    ShareGroupHeartbeatRequest,
    StreamsGroupHeartbeatRequest,
    SyncGroupRequest,
)
from bifrost.wire.programs import compile_layout
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import await_offset, create_topic, fetch_request, produce, produce_request
from support.clients.record_batches import build_batch
from support.clients.routed_client import RoutedClient

BEAT_S = 0.3
SESSION_TIMEOUT_MS = 300_000
TRANSACTION_TIMEOUT_MS = 600_000
COMMITTED = 2
WRITTEN = [b"written by the victim", b"and this", b"and that"]
OPEN = b"written in the victim's transaction"


def uuid_text() -> str:
    """A member ID as clients of the newer groups choose theirs: a UUID in Kafka's writing."""
    return "m" + base64.urlsafe_b64encode(os.urandom(16)).decode()[:21]


def consumer_payload(message: Any, version: int = 1) -> bytes:
    """What members of a classic group say to each other."""
    return version.to_bytes(2, "big") + encode_body(compile_layout(message.SCHEMA.name, version), message)


def subscription(*topics: str) -> bytes:
    return consumer_payload(ConsumerProtocolSubscription(topics=list(topics)))


def assignment(*topics: str) -> bytes:
    partitions = [ConsumerProtocolAssignment.TopicPartition(topic=topic, partitions=[0]) for topic in topics]
    return consumer_payload(ConsumerProtocolAssignment(assigned_partitions=partitions))


def join_classic(client: RawClient | RoutedClient, group_id: str, topic: str, instance_id: str | None) -> Any:
    """Become the only member of a classic group, and give oneself the topic."""
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=subscription(topic))
    request = JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=SESSION_TIMEOUT_MS,
        rebalance_timeout_ms=SESSION_TIMEOUT_MS,
        group_instance_id=instance_id,
        protocol_type="consumer",
        protocols=[protocol],
    )
    joined = client.request(request, 9)
    if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        request.member_id = joined.member_id
        joined = client.request(request, 9)
    assert joined.error_code == ErrorCode.NONE, joined
    own = SyncGroupRequest.SyncGroupRequestAssignment(
        member_id=joined.member_id, assignment=assignment(topic)
    )
    synced = client.request(
        SyncGroupRequest(
            group_id=group_id,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id=instance_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[own],
        ),
        5,
    )
    assert synced.error_code == ErrorCode.NONE, synced
    return joined


@dataclass
class Group:
    """A group of one of the newer kinds, with its one member."""

    group_id: str
    member_id: str = field(default_factory=uuid_text)
    epoch: int = 0


class Victim:
    """One tenant's client, with everything it has."""

    def __init__(self, endpoint: Endpoint, physical_prefix: str, *, partitions: int = 1) -> None:
        """Connect, make all of it, and keep none of it going yet; only the topic's first partition is used.

        Args:
            endpoint: of a broker's port.
            physical_prefix: of its names.
            partitions: of its topic.
        """
        self.prefix = physical_prefix
        self.client = RoutedClient(endpoint, client_id="victim")
        tag = os.urandom(6).hex()
        self.topic = f"zebra-{tag}"
        self.topic_id = create_topic(self.client, self.topic, partitions)
        self.classic = f"zebra-classic-{tag}"
        self.instance_id = f"zebra-instance-{tag}"
        self.consumer = Group(f"zebra-consumer-{tag}")
        self.share = Group(f"zebra-share-{tag}")
        self.streams = Group(f"zebra-streams-{tag}")
        self.transactional_id = f"zebra-transaction-{tag}"
        self.tag = tag
        produce(self.client, self.topic, WRITTEN)
        self._open_fetch_session()
        self._joined = join_classic(self.client, self.classic, self.topic, self.instance_id)
        self._commit_offset()
        self._begin_transaction()
        self._share_epoch = 0
        self.beats = 0
        self.beat()

    @property
    def member_id(self) -> str:
        """The member of the classic group."""
        return str(self._joined.member_id)

    def close(self) -> None:
        """Close the connection."""
        self.client.close()

    # -- beginnings

    def _open_fetch_session(self) -> None:
        opened = self.client.request(fetch_request(self.topic, session_epoch=0, offset=len(WRITTEN)), 12)
        assert opened.error_code == ErrorCode.NONE
        assert opened.session_id != 0
        self.session_id, self.session_epoch = opened.session_id, 1

    def _commit_offset(self) -> None:
        partition = OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=COMMITTED, committed_metadata=f"zebra-metadata-{self.tag}"
        )
        named = OffsetCommitRequest.OffsetCommitRequestTopic(name=self.topic, partitions=[partition])
        request = OffsetCommitRequest(
            group_id=self.classic,
            generation_id_or_member_epoch=self._joined.generation_id,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            topics=[named],
        )
        answer = self.client.request(request, 8)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE, answer

    def _begin_transaction(self) -> None:
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS
        )
        producer = self.client.request(request, 4)
        assert producer.error_code == ErrorCode.NONE, producer
        self.producer_id, self.producer_epoch = producer.producer_id, producer.producer_epoch
        named = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=self.topic, partitions=[0])
        added = self.client.request(
            AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self.transactional_id,
                v3_and_below_producer_id=self.producer_id,
                v3_and_below_producer_epoch=self.producer_epoch,
                v3_and_below_topics=[named],
            ),
            3,
        )
        partition = added.results_by_topic_v3_and_below[0].results_by_partition[0]
        assert partition.partition_error_code == ErrorCode.NONE, added
        self._sequence = 0
        self._produce_in_transaction()

    def _produce_in_transaction(self) -> None:
        batch = build_batch(
            [OPEN],
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self._sequence,
            is_transactional=True,
        )
        request = produce_request(self.topic, batch)
        request.transactional_id = self.transactional_id
        produced = self.client.request(request, 11)
        assert produced.responses[0].partition_responses[0].error_code == ErrorCode.NONE, produced
        self._sequence += 1

    # -- life

    def beat(self) -> None:
        """Go on with everything; each answer must be without error."""
        client = self.client
        fetched = client.request(
            FetchRequest(min_bytes=0, session_id=self.session_id, session_epoch=self.session_epoch), 12
        )
        assert (fetched.error_code, fetched.session_id) == (ErrorCode.NONE, self.session_id), fetched
        self.session_epoch += 1
        heartbeat = HeartbeatRequest(
            group_id=self.classic,
            generation_id=self._joined.generation_id,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        assert client.request(heartbeat, 4).error_code == ErrorCode.NONE
        self._beat_consumer()
        self._beat_share()
        self._beat_streams()
        if self.beats % 20 == 10:
            self._produce_in_transaction()
        self.beats += 1

    def _beat_consumer(self) -> None:
        group = self.consumer
        request = ConsumerGroupHeartbeatRequest(
            group_id=group.group_id, member_id=group.member_id, member_epoch=group.epoch
        )
        if not group.epoch:
            request.subscribed_topic_names = [self.topic]
            request.rebalance_timeout_ms = 30_000
            request.topic_partitions = []
        answer = self.client.request(request, 1)
        assert answer.error_code == ErrorCode.NONE, answer
        for topic in [] if answer.assignment is None else answer.assignment.topic_partitions:
            assert topic.topic_id == self.topic_id
        group.epoch = answer.member_epoch

    def _beat_share(self) -> None:
        group = self.share
        topics = [self.topic] if not group.epoch else None
        request = ShareGroupHeartbeatRequest(
            group_id=group.group_id,
            member_id=group.member_id,
            member_epoch=group.epoch,
            subscribed_topic_names=topics,
        )
        answer = self.client.request(request, 1)
        assert answer.error_code == ErrorCode.NONE, answer
        group.epoch = answer.member_epoch
        partitions = [ShareFetchRequest.FetchPartition(partition_index=0)]
        wanted = ShareFetchRequest.FetchTopic(topic_id=self.topic_id, partitions=partitions)
        fetched = self.client.request(
            ShareFetchRequest(
                group_id=group.group_id,
                member_id=group.member_id,
                share_session_epoch=self._share_epoch,
                max_records=10,
                batch_size=10,
                topics=[] if self._share_epoch else [wanted],
            ),
            1,
        )
        assert fetched.error_code == ErrorCode.NONE, fetched
        self._share_epoch += 1

    def _beat_streams(self) -> None:
        group = self.streams
        request = StreamsGroupHeartbeatRequest(
            group_id=group.group_id, member_id=group.member_id, member_epoch=group.epoch
        )
        if not group.epoch:
            struct = StreamsGroupHeartbeatRequest
            subtopology = struct.Subtopology(subtopology_id="0", source_topics=[self.topic])
            request.topology = struct.Topology(epoch=0, subtopologies=[subtopology])
            request.rebalance_timeout_ms = 30_000
            request.process_id = f"zebra-process-{self.tag}"
            request.active_tasks, request.standby_tasks, request.warmup_tasks = [], [], []
            request.client_tags = []
        answer = self.client.request(request, 0)
        assert answer.error_code == ErrorCode.NONE, answer
        group.epoch = answer.member_epoch

    def finish(self) -> None:
        """Commit the transaction and read everything back: it is as it was left."""
        client = self.client
        end = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            committed=True,
        )
        assert client.request(end, 3).error_code == ErrorCode.NONE
        await_offset(client, self.topic, len(WRITTEN) + self._sequence + 1, isolation_level=1)
        request = fetch_request(self.topic, topic_id=self.topic_id)
        request.isolation_level = 1
        (partition,) = client.request(request, 13).responses[0].partitions
        assert partition.aborted_transactions in (None, [])
        records = bytes(partition.records)
        assert [records.count(value) for value in (*WRITTEN, OPEN)] == [1, 1, 1, self._sequence]
        group = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=self.classic, topics=None)
        (fetched,) = client.request(OffsetFetchRequest(groups=[group]), 8).groups
        committed = [
            (topic.name, one.committed_offset, one.metadata)
            for topic in fetched.topics
            for one in topic.partitions
        ]
        assert committed == [(self.topic, COMMITTED, f"zebra-metadata-{self.tag}")]
        assert client.newest(ApiKey.FETCH) >= 13


class BusyVictim:
    """A victim that beats in a thread, as long as the context lasts; then it must be as if it had been alone."""

    def __init__(self, victim: Victim) -> None:
        """Take over a victim: no other may use its connection now."""
        self.victim = victim
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="victim")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(30)
        assert not self._thread.is_alive()

    def check(self) -> None:
        """Fail if the victim was disturbed so far."""
        if self._failure is not None:
            raise AssertionError(f"the victim was disturbed: {self._failure!r}") from self._failure

    def _run(self) -> None:
        try:
            while not self._stop.wait(BEAT_S):
                self.victim.beat()
        except BaseException as failure:
            self._failure = failure
