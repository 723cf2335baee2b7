"""A topic ID that belongs to another tenant gets, byte for byte, the answer that an ID gets which no topic has."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message, Struct
from bifrost.wire.messages import (
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
from support.clients.raw_client import RawClient
from support.clients.raw_operations import (
    create_topic,
    fetch_request,
    produce,
    produce_request,
    records_of,
    topic_id_of,
)
from support.clients.record_batches import build_batch
from support.gateways.gateway_fixtures import Connect, FreshTopic
from support.physical_names import physical_name

Build = Callable[[list[bytes]], Message]
GROUP = "by-id"


def produce_by_id(ids: list[bytes]) -> Message:
    request: ProduceRequest = produce_request("", None)
    request.topic_data = [
        produce_request("", build_batch([b"intruder"]), topic_id=topic_id).topic_data[0] for topic_id in ids
    ]
    return request


def fetch_by_id(ids: list[bytes]) -> Message:
    request: FetchRequest = fetch_request("")
    request.topics = [fetch_request("", topic_id=topic_id).topics[0] for topic_id in ids]
    return request


def forget_by_id(ids: list[bytes]) -> Message:
    forgotten = [FetchRequest.ForgottenTopic(topic_id=topic_id, partitions=[0]) for topic_id in ids]
    return FetchRequest(min_bytes=0, session_epoch=-1, forgotten_topics_data=forgotten)


def metadata_by_id(ids: list[bytes]) -> Message:
    topics = [MetadataRequest.MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in ids]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)


def delete_by_id(ids: list[bytes]) -> Message:
    states = [DeleteTopicsRequest.DeleteTopicState(topic_id=topic_id) for topic_id in ids]
    return DeleteTopicsRequest(topics=states, timeout_ms=5000)


def commit_by_id(ids: list[bytes]) -> Message:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topics = [
        OffsetCommitRequest.OffsetCommitRequestTopic(topic_id=topic_id, partitions=[partition])
        for topic_id in ids
    ]
    return OffsetCommitRequest(group_id=GROUP, topics=topics)


def committed_by_id(ids: list[bytes]) -> Message:
    topics = [
        OffsetFetchRequest.OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0])
        for topic_id in ids
    ]
    group = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=GROUP, topics=topics)
    return OffsetFetchRequest(groups=[group])


def share_fetch_by_id(ids: list[bytes]) -> Message:
    partitions = [ShareFetchRequest.FetchPartition(partition_index=0)]
    topics = [ShareFetchRequest.FetchTopic(topic_id=topic_id, partitions=partitions) for topic_id in ids]
    return ShareFetchRequest(
        group_id=GROUP, member_id="Zm9yZWlnbi10b3BpYy1pZA", max_records=10, batch_size=10, topics=topics
    )


def share_acknowledge_by_id(ids: list[bytes]) -> Message:
    batch = ShareAcknowledgeRequest.AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=[1])
    partition = ShareAcknowledgeRequest.AcknowledgePartition(
        partition_index=0, acknowledgement_batches=[batch]
    )
    topics = [
        ShareAcknowledgeRequest.AcknowledgeTopic(topic_id=topic_id, partitions=[partition])
        for topic_id in ids
    ]
    return ShareAcknowledgeRequest(
        group_id=GROUP, member_id="Zm9yZWlnbi10b3BpYy1pZA", share_session_epoch=1, topics=topics
    )


FIRST_VERSION_BY_ID: dict[Build, int] = {
    produce_by_id: 13,
    fetch_by_id: 13,
    forget_by_id: 13,
    metadata_by_id: 12,
    delete_by_id: 6,
    commit_by_id: 10,
    committed_by_id: 10,
    share_fetch_by_id: 1,
    share_acknowledge_by_id: 1,
}
CASES = [
    (build, version)
    for build, first in FIRST_VERSION_BY_ID.items()
    for version in range(first, build([]).SCHEMA.versions.high + 1)
]


@pytest.fixture(scope="module")
def foreign_ids(broker: Endpoint, globex: Endpoint, fresh_topic: FreshTopic) -> list[bytes]:
    """IDs of a topic of globex and of the broker's own internal topic."""
    for tenant in ("acme", "initech", "globex"):
        fresh_topic(tenant, "orders")
    with RawClient.authenticated(globex) as client:
        produce(client, "orders", [b"of globex"])
        mine = topic_id_of(client, "orders")
    with RawClient(broker) as client:
        return [mine, topic_id_of(client, "__consumer_offsets")]


@pytest.mark.parametrize("tenant", ["acme", "initech"])
@pytest.mark.parametrize(
    ("build", "version"), CASES, ids=[f"{build.__name__}-v{version}" for build, version in CASES]
)
def test_foreign_and_unknown_ids_get_the_same_bytes(
    build: Build, version: int, tenant: str, connect: Connect, foreign_ids: list[bytes]
) -> None:
    intruder = connect(tenant)
    unknown = os.urandom(16)

    first = intruder.exchange(build([unknown]), version)
    # Once more, when the gateway knows that it is unknown, and foreign ones before and after it knows whose.
    answers = [intruder.exchange(build([unknown]), version)]
    for foreign in foreign_ids * 2:
        answers.append(intruder.exchange(build([foreign]), version).replace(foreign, unknown))

    assert set(answers) == {first}
    assert records_of(connect("globex"), "orders").count(b"of globex") == 1
    assert b"intruder" not in records_of(connect("globex"), "orders")


WITH_OWN = [
    case
    for case in CASES
    if case[0] in (produce_by_id, fetch_by_id, metadata_by_id, commit_by_id, committed_by_id)
]


@pytest.mark.parametrize(
    ("build", "version"), WITH_OWN, ids=[f"{build.__name__}-v{version}" for build, version in WITH_OWN]
)
def test_own_topic_beside_a_foreign_one_is_served_as_beside_an_unknown_one(
    build: Build, version: int, connect: Connect, foreign_ids: list[bytes]
) -> None:
    owner = connect("acme")
    own, unknown = topic_id_of(owner, "orders"), os.urandom(16)

    beside_unknown = owner.request(build([own, unknown]), version)
    beside_foreign = owner.request(build([own, foreign_ids[0]]), version)

    seen = _answers_by_id(beside_foreign, {foreign_ids[0]: unknown})
    assert seen == _answers_by_id(beside_unknown, {})
    assert seen.keys() == {own, unknown}
    assert seen[own] != seen[unknown]


def _answers_by_id(response: Any, names: dict[bytes, bytes]) -> dict[bytes, Struct]:
    """Return what is said of each topic: a broker gives them in the order of a hash table."""
    groups = getattr(response, "groups", None)
    topics = groups[0].topics if groups else getattr(response, "responses", None) or response.topics
    answers = {}
    for topic in topics:
        topic.topic_id = names.get(topic.topic_id, topic.topic_id)
        for partition in getattr(topic, "partition_responses", ()):
            # The second record of a test is not the first.
            partition.base_offset = min(partition.base_offset, 0)
        answers[topic.topic_id] = topic
    return answers


def test_foreign_topic_cannot_be_forgotten_from_a_session(connect: Connect, foreign_ids: list[bytes]) -> None:
    """Nor does it disturb the session: the own topic in it goes on."""
    acme = connect("acme")
    own = topic_id_of(acme, "orders")
    opened = acme.request(fetch_request("", topic_id=own, session_epoch=0), 13)
    forgotten = [FetchRequest.ForgottenTopic(topic_id=foreign_ids[0], partitions=[0])]
    produce(acme, "orders", [b"goes on"])

    answer = acme.request(
        FetchRequest(
            min_bytes=0, session_id=opened.session_id, session_epoch=1, forgotten_topics_data=forgotten
        ),
        13,
    )

    assert (answer.error_code, [topic.topic_id for topic in answer.responses]) == (ErrorCode.NONE, [own])
    assert b"goes on" in bytes(answer.responses[0].partitions[0].records)


def test_deleting_by_a_foreign_id_deletes_nothing(connect: Connect, foreign_ids: list[bytes]) -> None:
    initech = connect("initech")
    version = initech.newest(ApiKey.DELETE_TOPICS)

    answer = initech.request(delete_by_id(foreign_ids), version)

    assert {one.error_code for one in answer.responses} == {ErrorCode.UNKNOWN_TOPIC_ID}
    assert {one.name for one in answer.responses} == {None}
    assert topic_id_of(connect("globex"), "orders") == foreign_ids[0]


def test_topic_created_later_is_found_by_its_id(
    connect: Connect, foreign_ids: list[bytes], direct: RawClient
) -> None:
    """An ID that was asked for before it existed is not remembered as unknown for ever."""
    del foreign_ids
    globex = connect("globex")
    topic_id = create_topic(direct, physical_name("globex", "made-elsewhere"))

    (topic,) = globex.request(metadata_by_id([topic_id]), 12).topics

    assert (topic.error_code, topic.name) == (ErrorCode.NONE, "made-elsewhere")


@pytest.mark.parametrize("tenant", ["acme", "initech"])
@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("of", ["foreign", "internal", "absent", "own"])
@pytest.mark.parametrize("has_name", [True, False], ids=["with a name", "without"])
def test_an_id_in_metadata_before_they_are_allowed_is_refused_as_by_the_broker(
    tenant: str,
    version: int,
    of: str,
    has_name: bool,
    connect: Connect,
    foreign_ids: list[bytes],
    direct: RawClient,
) -> None:
    """Sent on, a foreign ID would come back beside the name of an own topic."""
    client, physical = connect(tenant), physical_name(tenant, "orders")
    ids = {"absent": os.urandom(16), "foreign": foreign_ids[0], "internal": foreign_ids[1]}
    topic_id = topic_id_of(client, "orders") if of == "own" else ids[of]

    def asking(name: str) -> Message:
        new = MetadataRequest.MetadataRequestTopic
        topics = [new(name=name), new(name=name if has_name else None, topic_id=topic_id)]
        return MetadataRequest(topics=topics, allow_auto_topic_creation=False)

    seen = client.request(asking("orders"), version)
    expected = direct.request(asking(physical), version)

    for topic in expected.topics:
        topic.name = "orders" if topic.name == physical else topic.name
    assert seen.topics == expected.topics
    assert {topic.error_code for topic in seen.topics} == {ErrorCode.INVALID_REQUEST}
    assert (seen.brokers, seen.cluster_id, seen.controller_id) == (
        expected.brokers,
        expected.cluster_id,
        expected.controller_id,
    )
    # Nothing was learned from it: the ID is not taken for that of the name beside it.
    (by_id,) = client.request(metadata_by_id([topic_id]), 12).topics
    assert (by_id.error_code, by_id.name) == (
        (ErrorCode.NONE, "orders") if of == "own" else (ErrorCode.UNKNOWN_TOPIC_ID, None)
    )
    assert topic_id_of(client, "orders") == topic_id_of(direct, physical)
