"""Requests with thousands of unknown topic IDs: answered soon, and a foreign one among them is one of them."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    ConsumerGroupHeartbeatRequest,
    DeleteTopicsRequest,
    FetchRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    ProduceRequest,
    ShareAcknowledgeRequest,
    ShareFetchRequest,
)
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient, decode_response
from support.clients.raw_operations import metadata_of
from support.clients.record_batches import build_batch
from support.forgery.attackers import Attack
from support.forgery.forged_requests import Loot
from support.forgery.probe import Outcome, Prober
from support.forgery.victim import BusyVictim
from support.gateways.gateway_fixtures import FreshTopic
from support.gateways.gateway_process import IS_SINGLE_ADDRESS, GatewayProcess

ATTACKER = "initech"
IDS = 2_000
"""Unknown IDs in one request. A broker asked for so many at once takes 6 s."""
SOON_S = 5.0
MAX_TRIES = 12
"""For an answer that another tenant waits for meanwhile; the machine may be busy."""

FEWER_IDS = 200
"""For a request that the broker is asked itself."""
MEMBER = "bWFueS11bmtub3duLWlkcw"
"""A UUID in Kafka's writing, as the newer groups have their members' IDs."""

Asked = tuple[Message, int]
Ask = Callable[[list[bytes]], Asked]


def metadata(ids: list[bytes]) -> Asked:
    topics = [MetadataRequest.MetadataRequestTopic(topic_id=one, name=None) for one in ids]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False), 12


def fetch(ids: list[bytes]) -> Asked:
    partition = FetchRequest.FetchPartition(partition=0, partition_max_bytes=1000)
    topics = [FetchRequest.FetchTopic(topic_id=one, partitions=[partition]) for one in ids]
    return FetchRequest(max_bytes=1000, topics=topics), 13


def delete(ids: list[bytes]) -> Asked:
    states = [DeleteTopicsRequest.DeleteTopicState(topic_id=one, name=None) for one in ids]
    return DeleteTopicsRequest(topics=states, timeout_ms=1000), 6


def committed(ids: list[bytes]) -> Asked:
    topics = [OffsetFetchRequest.OffsetFetchRequestTopics(topic_id=one, partition_indexes=[0]) for one in ids]
    group = OffsetFetchRequest.OffsetFetchRequestGroup(group_id="own-live-initech", topics=topics)
    return OffsetFetchRequest(groups=[group]), 10


def produce(ids: list[bytes]) -> Asked:
    data = ProduceRequest.PartitionProduceData(index=0, records=build_batch([b"to nowhere"]))
    topics = [ProduceRequest.TopicProduceData(topic_id=one, partition_data=[data]) for one in ids]
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics), 13


def commit(ids: list[bytes]) -> Asked:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topics = [
        OffsetCommitRequest.OffsetCommitRequestTopic(topic_id=one, partitions=[partition]) for one in ids
    ]
    return OffsetCommitRequest(group_id="own-unknown-commits", topics=topics), 10


def forget(ids: list[bytes]) -> Asked:
    forgotten = [FetchRequest.ForgottenTopic(topic_id=one, partitions=[0]) for one in ids]
    return FetchRequest(min_bytes=0, session_epoch=-1, forgotten_topics_data=forgotten), 13


def share_fetch(ids: list[bytes]) -> Asked:
    partitions = [ShareFetchRequest.FetchPartition(partition_index=0)]
    topics = [ShareFetchRequest.FetchTopic(topic_id=one, partitions=partitions) for one in ids]
    request = ShareFetchRequest(group_id="own-unknown-fetches", member_id=MEMBER, topics=topics)
    request.max_records, request.batch_size = 10, 10
    return request, 1


def acknowledge(ids: list[bytes]) -> Asked:
    made = ShareAcknowledgeRequest
    batch = made.AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=[1])
    partition = made.AcknowledgePartition(partition_index=0, acknowledgement_batches=[batch])
    topics = [made.AcknowledgeTopic(topic_id=one, partitions=[partition]) for one in ids]
    return made(group_id="own-unknown-shares", member_id=MEMBER, share_session_epoch=1, topics=topics), 1


def heartbeat(ids: list[bytes]) -> Asked:
    made = ConsumerGroupHeartbeatRequest
    owned = [made.TopicPartitions(topic_id=one, partitions=[0]) for one in ids]
    return made(group_id="own-unknown-heartbeats", member_id=MEMBER, topic_partitions=owned), 1


def open_share_session(prober: Prober, request: Any) -> None:
    """Begin a share session anew: a client acknowledges in one only."""
    opening, version = share_fetch([])
    assert isinstance(opening, ShareFetchRequest)
    opening.group_id = request.group_id
    answer = prober.connections.request(opening, version)
    assert answer.error_code == ErrorCode.NONE, answer


def join(prober: Prober, request: Any) -> None:
    """Become the member that the heartbeat is of, which may own partitions then."""
    joining, version = heartbeat([])
    assert isinstance(joining, ConsumerGroupHeartbeatRequest)
    joining.rebalance_timeout_ms, joining.subscribed_topic_names = 30_000, ["orders"]
    answer = prober.connections.request(joining, version)
    assert answer.error_code == ErrorCode.NONE, answer
    request.member_epoch = answer.member_epoch


BEFORE: dict[Ask, Callable[[Prober, Any], None]] = {acknowledge: open_share_session, heartbeat: join}
"""What must precede a request, each time."""


def send(prober: Prober, ask: Ask, ids: list[bytes]) -> Outcome:
    """Ask about topic IDs."""
    request, version = ask(ids)
    if ask in BEFORE:
        BEFORE[ask](prober, request)
    return prober.ask(request, version)


def decoded(ask: Ask, outcome: Outcome) -> Any:
    request, version = ask([])
    assert request.SCHEMA.api_key is not None
    assert outcome.answer is not None
    return decode_response(request.SCHEMA.api_key, version, bytes(4) + outcome.answer)


def content(ask: Ask, outcome: Outcome) -> tuple[Counter[int], list[str]]:
    """Return what an answer says of each topic, in no order, and all its error codes."""
    answer = decoded(ask, outcome)
    found: list[str] = []
    for one in (answer, *getattr(answer, "groups", ())):
        for name in ("responses", "topics"):
            found += map(repr, getattr(one, name, ()))
    return codes(answer), sorted(found)


def comparable(ask: Ask, outcome: Outcome) -> object:
    """Return what must be the same for foreign and for unknown IDs: the bytes, where the broker keeps an order."""
    return content(ask, outcome) if ask in UNORDERED else outcome


def codes(struct: Any) -> Counter[int]:
    """Count the error codes in an answer."""
    counted: Counter[int] = Counter()
    for field in struct.FIELDS:
        value = getattr(struct, field.name)
        if field.name == "error_code":
            counted[value] += 1
        for one in value if isinstance(value, list) else [value]:
            if hasattr(one, "FIELDS"):
                counted += codes(one)
    return counted


UNORDERED = (produce, acknowledge)
"""The broker keeps the topics of these answers in a hash map."""
ANSWERED_BY_ID = (metadata, fetch, delete, committed, produce, commit, acknowledge)
"""The other answers have no place for an ID's error. A ShareFetch has, but Kafka 4.3.1 answers UNKNOWN_SERVER_ERROR for
all of it as soon as one ID is unknown."""
OF_SHARE_SESSIONS = (share_fetch, acknowledge)
"""At a single address the gateway answers these itself for topics that are in no broker's session."""
ASKS = [metadata, fetch, delete, committed, produce, commit, forget, share_fetch, acknowledge, heartbeat]


def needs(ask: Ask) -> pytest.MarkDecorator:
    request, version = ask([])
    return pytest.mark.needs_api(request.SCHEMA.api_key, version)


CASES = [pytest.param(ask, id=ask.__name__, marks=needs(ask)) for ask in ASKS]


@pytest.mark.parametrize("ask", CASES)
def test_masses_of_unknown_ids_keep_no_client_waiting_and_hide_no_foreign_one(
    ask: Ask,
    attack: Attack,
    loot: Loot,
    gateway: GatewayProcess,
    fresh_topic: FreshTopic,
    victim: BusyVictim,
) -> None:
    prober = attack(ATTACKER)
    (pair, *_) = loot.ids()
    unknown = [os.urandom(16) for _ in range(IDS)]
    fresh_topic("globex", "asked-meanwhile")
    if IS_SINGLE_ADDRESS:
        # Acknowledgements show there which IDs the same tenant has asked for lately: the foreign one, by other tests.
        send(prober, fetch, [pair.foreign, pair.control])

    with ThreadPoolExecutor(1) as pool, RawClient.authenticated(gateway.broker_endpoint("globex")) as other:
        start = time.monotonic()
        foreign = pool.submit(send, prober, ask, [*unknown, pair.foreign])
        time.sleep(0.05)
        asked = time.monotonic()
        (topic,) = metadata_of(other, "asked-meanwhile")
        (by_id,) = other.request(*metadata([topic.topic_id])).topics
        waited_s = time.monotonic() - asked
        outcome = foreign.result()
        took_s = time.monotonic() - start
    expected = comparable(ask, outcome.swapped(pair.swaps()))

    def answer(probe: bytes) -> object:
        outcome = send(prober, ask, [*unknown, probe])
        return comparable(ask, outcome.swapped(pair.swaps()) if probe == pair.foreign else outcome)

    # Brokers name any of themselves as the controller (KRaft), another one each time.
    is_alike = any(answer(pair.control) == expected for _ in range(MAX_TRIES))
    if IS_SINGLE_ADDRESS and not is_alike:
        # A request has a thousand of them looked up, so it takes a few until all are known to be absent.
        is_alike = any(answer(pair.foreign) == answer(pair.control) for _ in range(MAX_TRIES))

    assert by_id.error_code == ErrorCode.NONE
    assert is_alike
    assert outcome.is_alive
    if ask in ANSWERED_BY_ID and not (IS_SINGLE_ADDRESS and ask in OF_SHARE_SESSIONS):
        again = outcome if not IS_SINGLE_ADDRESS else send(prober, ask, [*unknown, pair.foreign])
        assert codes(decoded(ask, again))[ErrorCode.UNKNOWN_TOPIC_ID] == IDS + 1
    assert waited_s < SOON_S
    assert took_s < 2 * SOON_S
    victim.check()


@pytest.mark.parametrize("ask", CASES)
def test_each_unknown_id_is_answered_as_by_the_broker(ask: Ask, attack: Attack, broker: Endpoint) -> None:
    if IS_SINGLE_ADDRESS and ask in OF_SHARE_SESSIONS:
        pytest.skip("the gateway answers it otherwise at a single address")
    ids = [os.urandom(16) for _ in range(FEWER_IDS)]
    with closing(Prober(broker)) as direct:
        found, expected = (content(ask, send(one, ask, ids)) for one in (attack(ATTACKER), direct))

    assert found == expected
