"""Share sessions of a client at a single address: what brokers are asked and when the client is answered.

The router is played: what was sent to a broker lies there until the test answers it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.gateway.brokers.cluster_routes import ClusterRoutes
from bifrost.gateway.routing.fetch_polls import GRACE_S
from bifrost.gateway.routing.request import Request, read_request
from bifrost.gateway.routing.share_requests import FULL, MAX_SESSIONS, ShareRequests
from bifrost.routes.shares.share_session import PARTITION_BYTES, SESSION_BYTES, ShareMemory
from bifrost.wire.error_codes import ErrorCode
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

    def learn(self) -> None:
        partition = MetadataResponse.MetadataResponsePartition
        partitions = [partition(partition_index=one, leader_id=NODES[one % 2]) for one in range(PARTITIONS)]
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


@pytest.fixture
def router() -> Router:
    return Router()


@pytest.fixture
def shares(router: Router) -> ShareRequests:
    return ShareRequests(router)  # type: ignore[arg-type]


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


def test_the_first_leader_with_records_makes_the_answer(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 1, 2))

    polls = {node_id: router.asked(node_id) for node_id in NODES}
    assert {node_id: indexes(one) for node_id, one in polls.items()} == {1: [0, 2], 2: [1]}
    shown = [
        (one.share_session_epoch, one.max_wait_ms, one.max_bytes, one.max_records) for one in polls.values()
    ]
    assert shown == [(0, WAIT_MS, 451, 10)] * 2
    router.reply(2, found(1))

    answer = router.take_answer()
    assert (indexes(answer), answer.acquisition_lock_timeout_ms) == ([1], LOCK_MS)


def test_what_another_one_brings_is_the_next_answer(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 1))
    router.reply(2, found(1))
    router.take_answer()

    router.reply(1, found(0))
    router.read(shares, fetch(1))

    assert indexes(router.take_answer()) == [0]
    assert not any(router.sent.values()), "no broker is asked for more before the client has it"
    router.read(shares, fetch(2))
    assert [router.asked(node_id).share_session_epoch for node_id in NODES] == [1, 1]


def test_a_poll_that_is_out_serves_the_next_fetch(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 1))
    router.reply(2, found(1))
    router.take_answer()

    router.read(shares, fetch(1))

    assert len(router.sent[1]) == 1
    router.reply(1, found(0))
    assert indexes(router.take_answer()) == [0]


def test_acknowledgements_go_to_the_broker_that_gave_the_records(
    router: Router, shares: ShareRequests
) -> None:
    router.read(shares, fetch(0, 0, 1))
    router.reply(2, found(1))
    router.take_answer()

    router.read(shares, fetch(1, acknowledged=(1,)))
    router.reply(1, found(0))

    assert router.answers == [], "the result of the acknowledgement is missing"
    request = router.asked(2)
    assert isinstance(request, ShareAcknowledgeRequest)
    assert (request.share_session_epoch, indexes(request)) == (1, [1])
    router.reply(2, done(1, code=ErrorCode.INVALID_RECORD_STATE))
    assert codes(router.take_answer()) == {0: (0, 0), 1: (0, ErrorCode.INVALID_RECORD_STATE)}
    assert (router.asked(2).share_session_epoch, type(router.asked(2))) == (2, ShareFetchRequest)


def test_acknowledgements_alone_are_put_together(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 1))
    for node_id in NODES:
        router.reply(node_id, found(node_id - 1))
    router.read(shares, fetch(1))
    router.answers.clear()

    router.read(shares, acknowledge(2, 0, 1))
    router.reply(1, done(0))
    assert router.answers == []
    router.reply(2, done(1))

    assert codes(router.take_answer()) == {0: (0, 0), 1: (0, 0)}


def test_a_session_that_a_broker_has_lost_is_begun_anew(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 2))
    router.reply(1, found(0))
    router.take_answer()

    router.read(shares, fetch(1))
    router.reply(1, ShareFetchResponse(error_code=ErrorCode.SHARE_SESSION_NOT_FOUND))

    assert (router.asked(1).share_session_epoch, indexes(router.asked(1))) == (0, [0, 2])
    router.reply(1, found(2))
    assert indexes(router.take_answer()) == [2]


def test_a_broker_that_keeps_no_session_is_no_endless_loop(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0))
    for _ in range(2):
        router.reply(1, ShareFetchResponse(error_code=ErrorCode.SHARE_SESSION_NOT_FOUND))

    assert router.take_answer().error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert not router.sent[1]


def test_acknowledgements_in_a_lost_session_are_refused(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0))
    router.reply(1, found(0))
    router.take_answer()

    router.read(shares, acknowledge(1, 0))
    router.reply(1, ShareAcknowledgeResponse(error_code=ErrorCode.SHARE_SESSION_NOT_FOUND))
    router.read(shares, acknowledge(2, 0))

    assert [codes(one) for one in router.answers] == [{0: (ErrorCode.INVALID_RECORD_STATE, 0)}] * 2


def test_other_errors_of_a_broker_are_the_answer(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0))
    router.reply(1, ShareFetchResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED))
    assert router.take_answer().error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    router.read(shares, fetch(1))
    router.reply(1, found(0))
    router.answers.clear()

    router.read(shares, acknowledge(2, 0))
    router.reply(1, ShareAcknowledgeResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED))

    assert router.take_answer().error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_partitions_of_a_lost_broker_have_an_error(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 1, 2))

    router.reply(1, None)

    stale = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert codes(router.take_answer()) == {0: (stale, 0), 2: (stale, 0)}
    router.read(shares, fetch(1))
    assert len(router.looked_up) == 1, "who leads them now is asked for first"
    assert not router.sent[1]
    for one in router.looked_up:
        one.close()  # type: ignore[attr-defined]


def test_acknowledgements_that_a_lost_broker_had_have_an_error(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0))
    router.reply(1, found(0))
    router.take_answer()

    router.read(shares, acknowledge(1, 0))
    router.reply(1, None)

    assert codes(router.take_answer()) == {0: (ErrorCode.NOT_LEADER_OR_FOLLOWER, 0)}


def test_errors_of_partitions_are_told_at_once(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 1))

    router.reply(1, found(0, code=ErrorCode.NOT_LEADER_OR_FOLLOWER))

    assert codes(router.take_answer()) == {0: (ErrorCode.NOT_LEADER_OR_FOLLOWER, 0)}
    assert router.cluster.routes.unknown_leaders([(TOPIC, 0)]) == [TOPIC]


def test_a_broker_that_does_not_answer_holds_the_client_no_longer(
    router: Router, shares: ShareRequests
) -> None:
    router.read(shares, fetch(0, 0, 1))

    router.loop.go_on(WAIT_MS / 1000)
    router.reply(1, found())
    assert router.answers == []
    router.loop.go_on(GRACE_S)

    assert codes(router.take_answer()) == {}
    assert router.loop.planned == []


def test_a_poll_that_ends_early_is_begun_again(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0))

    router.loop.go_on(0.2)
    router.reply(1, found())

    assert (router.asked(1).share_session_epoch, router.asked(1).max_wait_ms) == (1, WAIT_MS - 200)


def test_a_fetch_that_does_not_wait_asks_each_broker_once(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 1, max_wait_ms=0))

    router.reply(1, found())
    assert router.answers == []
    router.reply(2, found())

    assert codes(router.take_answer()) == {}


def test_brokers_are_asked_one_after_the_other_for_a_number_of_records(
    router: Router, shares: ShareRequests
) -> None:
    router.read(shares, fetch(0, 0, 1, share_acquire_mode=1))
    waits = []
    for node_id in (1, 2, 2, 1):
        (asked_node,) = [one for one in NODES if router.sent[one]]
        assert asked_node == node_id
        waits.append(router.asked(node_id).max_wait_ms)
        router.reply(node_id, found())

    assert waits == [0, 0, WAIT_MS // 2, WAIT_MS // 2]
    (node_id,) = [one for one in NODES if router.sent[one]]
    router.reply(node_id, found(node_id - 1))
    assert indexes(router.take_answer()) == [node_id - 1]
    assert not any(router.sent.values())


def test_a_session_ends_at_each_broker(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 1))
    router.reply(1, found(0))
    router.take_answer()

    router.read(shares, fetch(FINAL, acknowledged=(0,)))
    router.reply(2, found(1))  # The poll was out: what it has brought is released with the session.

    assert [(router.asked(one).share_session_epoch, indexes(router.asked(one))) for one in NODES] == [
        (FINAL, [0]),
        (FINAL, []),
    ]
    router.reply(1, done(0))
    router.reply(2, done())
    assert codes(router.take_answer()) == {0: (0, 0)}
    router.read(shares, fetch(1))
    assert router.take_answer().error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert router.cluster.routes.share_memory.used == 0


def test_records_of_a_partition_that_was_left_are_given_back(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 1))
    router.reply(2, found(1))
    router.take_answer()

    router.read(shares, fetch(1, forgotten=(0,)))
    router.reply(1, found(0))

    assert codes(router.take_answer()) == {}
    request = router.asked(1)
    assert isinstance(request, ShareAcknowledgeRequest)
    assert [one.acknowledge_types for one in request.topics[0].partitions[0].acknowledgement_batches] == [[2]]


def test_a_session_without_partitions_has_an_empty_answer(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0))

    assert codes(router.take_answer()) == {}
    assert not any(router.sent.values())


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (fetch(1), ErrorCode.SHARE_SESSION_NOT_FOUND),
        (fetch(FINAL), ErrorCode.SHARE_SESSION_NOT_FOUND),
        (acknowledge(1, 0), ErrorCode.SHARE_SESSION_NOT_FOUND),
        (acknowledge(0, 0), ErrorCode.INVALID_SHARE_SESSION_EPOCH),
        (fetch(0, acknowledged=(0,)), ErrorCode.INVALID_REQUEST),
        (fetch(1, acknowledged=(0,), is_renew_ack=True), ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_belongs_to_no_session_is_refused(
    router: Router, shares: ShareRequests, message: Message, code: ErrorCode
) -> None:
    router.read(shares, message)

    assert router.take_answer().error_code == code


def test_sessions_of_a_connection_have_a_bound(router: Router, shares: ShareRequests) -> None:
    for number in range(MAX_SESSIONS + 1):
        router.read(shares, fetch(0, member_id=f"member-{number}"))

    refused = [ErrorCode.NONE] * MAX_SESSIONS + [ErrorCode.SHARE_SESSION_LIMIT_REACHED]
    assert [one.error_code for one in router.answers] == refused
    assert router.hits == [FULL]


def test_partitions_of_sessions_have_a_bound(router: Router, shares: ShareRequests) -> None:
    routes = router.cluster.routes
    routes.share_memory = ShareMemory(most_of_one=SESSION_BYTES + 2 * PARTITION_BYTES)
    router.read(shares, fetch(0, 0, 2))
    router.reply(1, found(0))
    assert router.take_answer().error_code == ErrorCode.NONE

    router.read(shares, fetch(1, 4))

    assert router.take_answer().error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert router.hits == [FULL]
    assert router.asked(1).share_session_epoch == FINAL, "the broker releases what was acquired"
    assert routes.share_memory.used == 0


def test_the_end_of_a_connection_makes_room(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0))
    assert router.cluster.routes.share_memory.used == SESSION_BYTES + PARTITION_BYTES

    shares.close()

    assert router.cluster.routes.share_memory.used == 0
    assert router.loop.planned == []
