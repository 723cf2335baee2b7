"""Masses of topic IDs that a client made up cost the broker little, and no other tenant its time."""

from __future__ import annotations

import itertools
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.tenancy.topic_ids import FEW_IDS
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import DeleteTopicsRequest, FetchRequest, MetadataRequest, OffsetFetchRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient, request_frame
from support.clients.raw_operations import create_topic, delete_topic, fetch_request
from support.gateways.gateway_fixtures import Connect, StartGateway
from support.physical_names import physical_name

MANY = 9_900
"""With a partition for each, almost as many items as a request may have by default."""
CPU_S = 1.0
"""Of the broker, for one message of so many IDs. Where the work is linear it takes 0.1 s; without the gateway's care,
Metadata takes minutes."""
FIRST_USES, LONGER_S = 20, 0.25
"""How often another tenant uses a topic ID for the first time meanwhile, and how much longer that may take than its
next use, which needs no look-up, at the median. A look-up takes 2 ms; the rest is for what the attackers take of the
machine. Without turns it would wait for the broker's answers to them, which takes seconds."""

Build = Callable[[list[bytes]], Message]


def fetch(ids: list[bytes]) -> Message:
    request: FetchRequest = fetch_request("")
    request.topics = [fetch_request("", topic_id=one).topics[0] for one in ids]
    return request


def metadata(ids: list[bytes]) -> Message:
    topics = [MetadataRequest.MetadataRequestTopic(topic_id=one, name=None) for one in ids]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)


def metadata_of_nothing(ids: list[bytes]) -> Message:
    return metadata([bytes(16) for _ in ids])


def metadata_of_one_name(ids: list[bytes]) -> Message:
    topics = [MetadataRequest.MetadataRequestTopic(topic_id=one, name="x") for one in ids]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)


def offset_fetch(ids: list[bytes]) -> Message:
    topics = [OffsetFetchRequest.OffsetFetchRequestTopics(topic_id=one, partition_indexes=[0]) for one in ids]
    group = OffsetFetchRequest.OffsetFetchRequestGroup(group_id="many", topics=topics)
    return OffsetFetchRequest(groups=[group])


def delete(ids: list[bytes]) -> Message:
    states = [DeleteTopicsRequest.DeleteTopicState(topic_id=one) for one in ids]
    return DeleteTopicsRequest(topics=states, timeout_ms=5_000)


def delete_twice(ids: list[bytes]) -> Message:
    return delete(ids[: MANY // 2] * 2)


def delete_twice_and_mixed(ids: list[bytes]) -> Message:
    request = delete([*ids[:50], *ids[:30], *ids[:20], *[bytes(16)] * 20])
    state = DeleteTopicsRequest.DeleteTopicState
    request.topics += [state(name="x", topic_id=one) for one in ids[50:80]]
    return request


def delete_one_name(ids: list[bytes]) -> Message:
    states = [DeleteTopicsRequest.DeleteTopicState(name="x", topic_id=one) for one in ids]
    return DeleteTopicsRequest(topics=states, timeout_ms=5_000)


CASES: list[tuple[Build, int]] = [
    (fetch, 13),
    (metadata, 12),
    (metadata_of_nothing, 12),
    (metadata_of_one_name, 11),
    (offset_fetch, 10),
    (delete, 6),
    (delete_twice, 6),
    (delete_one_name, 6),
]


@pytest.fixture
def cpu_s(kafka: EmbeddedKafka) -> Callable[[], float]:
    """The CPU time that the broker has used, in seconds."""
    (pid,) = kafka.pids
    process = psutil.Process(pid)

    def used() -> float:
        times = process.cpu_times()
        return float(times.user + times.system)

    return used


@pytest.mark.parametrize(("build", "version"), CASES, ids=lambda case: getattr(case, "__name__", None))
def test_masses_of_made_up_ids_cost_the_broker_little(
    build: Build, version: int, connect: Connect, cpu_s: Callable[[], float]
) -> None:
    client = connect("initech")
    client.exchange(build([os.urandom(16)]), version)
    before_s = cpu_s()

    answer = client.exchange(build([os.urandom(16) for _ in range(MANY)]), version)

    assert cpu_s() - before_s < CPU_S
    assert len(answer) > 10 * MANY


def test_each_id_is_answered_as_by_the_broker(connect: Connect, direct: RawClient) -> None:
    ids = [os.urandom(16) for _ in range(200)]

    for build, version in ((metadata, 12), (fetch, 13), (delete, 6), (delete_twice_and_mixed, 6)):
        mine, theirs = connect("initech").request(build(ids), version), direct.request(build(ids), version)
        name = "topics" if build is metadata else "responses"
        found, expected = (sorted(map(repr, getattr(answer, name))) for answer in (mine, theirs))
        assert found == expected


@pytest.fixture
def own_topics(broker: Endpoint, unique: Callable[[str], str]) -> Iterator[list[bytes]]:
    """Topics of globex that no gateway has heard of yet."""
    names = [physical_name("globex", f"{unique('many-ids')}-{number}") for number in range(FIRST_USES)]
    with RawClient(broker) as client:
        yield [create_topic(client, name) for name in names]
        for name in names:
            delete_topic(client, name)


def test_another_tenants_first_use_of_an_id_is_answered_meanwhile(
    connect: Connect, own_topics: list[bytes]
) -> None:
    is_over = threading.Event()
    frames = [
        request_frame(build([os.urandom(16) for _ in range(count)]), version, 1)
        for _ in range(100)
        for build, version, count in ((metadata, 12, 1_000), (fetch, 13, FEW_IDS))
    ]

    def attack(client: RawClient) -> None:
        for frame in itertools.cycle(frames):
            client.send_bytes(frame)
            client.receive_frame()
            if is_over.is_set():
                return

    victim, longer_s = connect("globex"), []
    attackers = [threading.Thread(target=attack, args=(connect("initech"),)) for _ in range(3)]
    for one in attackers:
        one.start()
    try:
        for topic_id in own_topics:
            times_s = []
            for _ in range(2):
                began = time.perf_counter()
                answer = victim.request(fetch([topic_id]), 13)
                times_s.append(time.perf_counter() - began)
                assert answer.responses[0].partitions[0].error_code == ErrorCode.NONE
            longer_s.append(times_s[0] - times_s[1])
    finally:
        is_over.set()
        for one in attackers:
            one.join()

    assert statistics.median(longer_s) < LONGER_S, longer_s


def test_a_topic_made_through_one_gateway_is_used_by_its_id_through_another(
    connect: Connect, start_gateway: StartGateway, unique: Callable[[str], str]
) -> None:
    name, mine = unique("by-id"), connect("initech")
    other = start_gateway()
    with RawClient.authenticated(other.broker_endpoint("initech")) as elsewhere:
        many = [os.urandom(16) for _ in range(100)]
        elsewhere.exchange(fetch(many), 13)

        topic_id = create_topic(mine, name)

        answer = elsewhere.request(fetch([topic_id]), 13)
        assert [one.partitions[0].error_code for one in answer.responses] == [ErrorCode.NONE]
        answer = elsewhere.request(fetch([*many, topic_id]), 13)
        codes = [one.partitions[0].error_code for one in answer.responses]
        assert sorted(codes) == [ErrorCode.NONE, *[ErrorCode.UNKNOWN_TOPIC_ID] * 100]
    delete_topic(mine, name)
