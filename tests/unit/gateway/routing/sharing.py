"""A router with two brokers, played by tests of share sessions: a request to a broker lies there until it answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

from bifrost.gateway.brokers.cluster_routes import ClusterRoutes
from bifrost.gateway.routing.request import Request, read_request
from bifrost.gateway.routing.share_requests import ShareRequests
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    MetadataResponse,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from support.stage.playbook import request_frame

TOPIC = bytes(15) + b"t"
NODES = (1, 2)
PARTITIONS = 6
VERSION = 2
LOCK_MS = 30_000
FINAL = -1
WAIT_MS = 500


class Clock:
    """The time of the loop, which the test moves on."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.planned: list[tuple[float, Callable[..., object], tuple[Any, ...]]] = []

    def time(self) -> float:
        return self.now_s

    def call_at(self, when_s: float, call: Callable[..., object], *arguments: Any) -> Any:
        entry = when_s, call, arguments
        self.planned.append(entry)
        return SimpleNamespace(cancel=lambda: self.planned.remove(entry))

    def go_on(self, seconds: float) -> None:
        self.now_s += seconds
        for when_s, call, arguments in list(self.planned):
            if when_s <= self.now_s:
                call(*arguments)


class Router:
    """Two brokers: partition *n* is led by broker 1 if *n* is even."""

    tenant, home = "acme", NODES[0]

    def __init__(self) -> None:
        self.loop = Clock()
        routes = ClusterRoutes(self._no_connection, lambda: int(self.loop.now_s * 1000))
        self.cluster = SimpleNamespace(routes=routes)
        self.sent: dict[int, deque[tuple[Request, Any]]] = {node_id: deque() for node_id in NODES}
        self.answers: list[Any] = []
        self.hits: list[str] = []
        self.looked_up: list[Awaitable[None]] = []
        self._asked: list[Request] = []
        self.learn()

    @staticmethod
    async def _no_connection() -> Any:
        raise AssertionError

    def learn(self, count: int = PARTITIONS) -> None:
        partition = MetadataResponse.MetadataResponsePartition
        partitions = [partition(partition_index=one, leader_id=NODES[one % 2]) for one in range(count)]
        topic = MetadataResponse.MetadataResponseTopic(topic_id=TOPIC, partitions=partitions)
        self.cluster.routes.learn(MetadataResponse(topics=[topic]))

    # -- what the router calls

    def turn(self) -> int:
        return len(self._asked) - 1

    def link(self, node_id: int, *, polls: bool) -> Any:
        assert polls

        def send(segments: list[bytes], answered: Any, _timeout_s: float) -> None:
            self.sent[node_id].append((read_request(list(segments)), answered))

        return SimpleNamespace(send=send)

    def answer(self, turn: int, frame: bytes) -> None:
        self.answers.append(self._asked[turn].read(frame))

    def note_hit(self, limit: str) -> None:
        self.hits.append(limit)

    def start(self, awaitable: Awaitable[None]) -> None:
        self.looked_up.append(awaitable)

    # -- what the test does

    def read(self, shares: ShareRequests, message: Message) -> None:
        """Let the client send a request."""
        frame = request_frame(message, VERSION, len(self._asked))
        self._asked.append(read_request([len(frame).to_bytes(4, "big") + frame]))
        shares.begin(self._asked[-1])

    def asked(self, node_id: int) -> Any:
        """What a broker was asked first that it has not answered."""
        return self.sent[node_id][0][0].decoded()

    def reply(self, node_id: int, message: Message | None) -> None:
        """Answer it; None: the connection is lost."""
        request, answered = self.sent[node_id].popleft()
        answered(None if message is None else request.answered_by(message), True)

    def take_answer(self) -> Any:
        (answer,), self.answers = self.answers, []
        return answer


def fetch(
    epoch: int,
    *partitions: int,
    acknowledged: tuple[int, ...] = (),
    forgotten: tuple[int, ...] = (),
    **fields: Any,
) -> ShareFetchRequest:
    made = ShareFetchRequest
    batch = made.AcknowledgementBatch(first_offset=0, last_offset=1, acknowledge_types=[1])
    named = [made.FetchPartition(partition_index=one) for one in partitions]
    named += [
        made.FetchPartition(partition_index=one, acknowledgement_batches=[batch]) for one in acknowledged
    ]
    values = {
        "member_id": "member",
        "max_wait_ms": WAIT_MS,
        "min_bytes": 1,
        "max_bytes": 901,
        "max_records": 10,
    }
    return made(
        group_id="group",
        share_session_epoch=epoch,
        topics=[made.FetchTopic(topic_id=TOPIC, partitions=named)] if named else [],
        forgotten_topics_data=[made.ForgottenTopic(topic_id=TOPIC, partitions=list(forgotten))]
        if forgotten
        else [],
        **(values | fields),
    )


def acknowledge(epoch: int, *partitions: int) -> ShareAcknowledgeRequest:
    made = ShareAcknowledgeRequest
    batch = made.AcknowledgementBatch(first_offset=0, last_offset=1, acknowledge_types=[1])
    named = [
        made.AcknowledgePartition(partition_index=one, acknowledgement_batches=[batch]) for one in partitions
    ]
    topics = [made.AcknowledgeTopic(topic_id=TOPIC, partitions=named)] if named else []
    return made(group_id="group", member_id="member", share_session_epoch=epoch, topics=topics)


def found(*partitions: int, code: int = 0) -> ShareFetchResponse:
    """A broker's answer with records, or an error."""
    made = ShareFetchResponse
    acquired = [made.AcquiredRecords(first_offset=0, last_offset=1, delivery_count=1)]
    parts = [
        made.PartitionData(
            partition_index=one, error_code=code, records=b"", acquired_records=[] if code else acquired
        )
        for one in partitions
    ]
    topics = [made.ShareFetchableTopicResponse(topic_id=TOPIC, partitions=parts)] if parts else []
    return made(acquisition_lock_timeout_ms=LOCK_MS, responses=topics)


def done(*partitions: int, code: int = 0) -> ShareAcknowledgeResponse:
    made = ShareAcknowledgeResponse
    parts = [made.PartitionData(partition_index=one, error_code=code) for one in partitions]
    topics = [made.ShareAcknowledgeTopicResponse(topic_id=TOPIC, partitions=parts)] if parts else []
    return made(responses=topics)


def indexes(message: Any) -> list[int]:
    """The partitions that a message names."""
    topics = message.responses if hasattr(message, "responses") else message.topics
    return [one.partition_index for topic in topics for one in topic.partitions]


def codes(answer: Any) -> dict[int, tuple[int, int]]:
    """Error and result of each partition of an answer."""
    return {
        one.partition_index: (one.error_code, getattr(one, "acknowledge_error_code", 0))
        for topic in answer.responses
        for one in topic.partitions
    }
