"""A name outside a tenant's list gets, byte for byte, the answer that an allowed name gets which has no topic.

The name is another's outside: another tenant, or a topic of the operator's that lies under the tenant's own prefix.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import SERVED, entities_of
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AlterShareGroupOffsetsRequest,
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    CreatePartitionsRequest,
    DeleteShareGroupOffsetsRequest,
    DescribeLogDirsRequest,
    DescribeShareGroupOffsetsRequest,
    InitProducerIdRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetForLeaderEpochRequest,
    ShareGroupHeartbeatRequest,
    StreamsGroupHeartbeatRequest,
    TxnOffsetCommitRequest,
)
from bifrost.wire.schema import request_schema
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import (
    create_topic,
    delete_topic,
    fetch_request,
    metadata_of,
    produce,
    produce_request,
)
from support.clients.record_batches import build_batch
from support.gateways.gateway_fixtures import Connect, FreshTopic, UniqueName
from support.stage.requests_by_name import (
    alter_configs,
    describe_configs,
    describe_producers,
    describe_topic_partitions,
    incremental_alter_configs,
    list_offsets,
)

ALLOWED, HIDDEN = "audit.log", "audit.dog"
"""As long as each other: then only the name itself may differ in an answer."""
assert len(ALLOWED) == len(HIDDEN)
GROUP = "hidden-names"

Build = Callable[[str], Message]


def produce_to(name: str) -> Message:
    return produce_request(name, build_batch([b"intruder"]))


def metadata(name: str) -> Message:
    topic = MetadataRequest.MetadataRequestTopic(name=name)
    return MetadataRequest(topics=[topic], allow_auto_topic_creation=False)


def offset_for_leader_epoch(name: str) -> Message:
    partition = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition=0, leader_epoch=0)
    named = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=name, partitions=[partition])
    return OffsetForLeaderEpochRequest(replica_id=-1, topics=[named])


def commit(name: str) -> Message:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    named = OffsetCommitRequest.OffsetCommitRequestTopic(name=name, partitions=[partition])
    return OffsetCommitRequest(group_id=GROUP, topics=[named])


def committed(name: str) -> Message:
    named = OffsetFetchRequest.OffsetFetchRequestTopic(name=name, partition_indexes=[0])
    return OffsetFetchRequest(group_id=GROUP, topics=[named])


def committed_of_groups(name: str) -> Message:
    named = OffsetFetchRequest.OffsetFetchRequestTopics(name=name, partition_indexes=[0])
    group = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=GROUP, topics=[named])
    return OffsetFetchRequest(groups=[group])


def delete_offsets(name: str) -> Message:
    partition = OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=0)
    named = OffsetDeleteRequest.OffsetDeleteRequestTopic(name=name, partitions=[partition])
    return OffsetDeleteRequest(group_id=GROUP, topics=[named])


def create_partitions(name: str) -> Message:
    topic = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=5, assignments=None)
    return CreatePartitionsRequest(topics=[topic], timeout_ms=5000)


def describe_log_dirs(name: str) -> Message:
    topic = DescribeLogDirsRequest.DescribableLogDirTopic(topic=name, partitions=[0])
    return DescribeLogDirsRequest(topics=[topic])


def describe_share_offsets(name: str) -> Message:
    offered = DescribeShareGroupOffsetsRequest
    topic = offered.DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=[0])
    group = offered.DescribeShareGroupOffsetsRequestGroup(group_id=GROUP, topics=[topic])
    return DescribeShareGroupOffsetsRequest(groups=[group])


def alter_share_offsets(name: str) -> Message:
    offered = AlterShareGroupOffsetsRequest
    partition = offered.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)
    topic = offered.AlterShareGroupOffsetsRequestTopic(topic_name=name, partitions=[partition])
    return AlterShareGroupOffsetsRequest(group_id="hidden-names-shared", topics=[topic])


def delete_share_offsets(name: str) -> Message:
    topic = DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic(topic_name=name)
    return DeleteShareGroupOffsetsRequest(group_id="hidden-names-shared", topics=[topic])


VERSIONS_BY_NAME: dict[Build, range] = {
    produce_to: range(3, 13),
    fetch_request: range(4, 13),
    list_offsets: range(1, 12),
    # Older versions create the topics they ask for.
    metadata: range(4, 14),
    commit: range(2, 10),
    committed: range(1, 8),
    committed_of_groups: range(8, 10),
    delete_offsets: range(1),
    offset_for_leader_epoch: range(2, 5),
    create_partitions: range(4),
    describe_configs: range(1, 5),
    alter_configs: range(3),
    incremental_alter_configs: range(2),
    describe_topic_partitions: range(1),
    describe_producers: range(1),
    describe_log_dirs: range(1, 6),
    describe_share_offsets: range(2),
    alter_share_offsets: range(1),
    delete_share_offsets: range(1),
}
CASES = [(build, version) for build, versions in VERSIONS_BY_NAME.items() for version in versions]


@pytest.fixture(scope="module", autouse=True)
def _topics(broker: Endpoint, globex: Endpoint, fresh_topic: FreshTopic) -> Iterator[None]:
    """`audit.dog` exists for globex, and under acme's prefix; `audit.log` exists for no tenant."""
    fresh_topic("globex", HIDDEN)
    fresh_topic("acme", HIDDEN)
    fresh_topic("acme", "orders")
    with RawClient.authenticated(globex) as client:
        produce(client, HIDDEN, [b"of globex"])
    with RawClient(broker) as client:
        delete_topic(client, f"__vt_acme_{ALLOWED}")
        yield
        delete_topic(client, f"__vt_acme_{HIDDEN}")


def _is_same_but_for_the_name(answer: bytes, reference: bytes) -> bool:
    return answer.replace(HIDDEN.encode(), ALLOWED.encode()) == reference


@pytest.mark.parametrize(
    ("build", "version"), CASES, ids=[f"{build.__name__}-v{version}" for build, version in CASES]
)
def test_hidden_and_absent_names_get_the_same_bytes(build: Build, version: int, connect: Connect) -> None:
    acme = connect("acme")
    # The group is there, so that its offsets are looked for.
    acme.request(commit("orders"), 8)

    reference = acme.exchange(build(ALLOWED), version)
    answers = [acme.exchange(build(HIDDEN), version) for _ in range(2)]

    assert all(_is_same_but_for_the_name(answer, reference) for answer in answers), (answers, reference)
    # Something was said, and it was no.
    assert len(reference) > len(ALLOWED) or build in (describe_log_dirs,)


def _begin(client: RawClient, transactional_id: str) -> tuple[int, int]:
    begun = client.request(
        InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=10_000), 4
    )
    assert begun.error_code == ErrorCode.NONE
    return begun.producer_id, begun.producer_epoch


@pytest.mark.parametrize("version", range(4))
def test_hidden_topic_cannot_join_a_transaction(version: int, connect: Connect, unique: UniqueName) -> None:
    acme, transactional_id = connect("acme"), unique("transaction")
    producer_id, epoch = _begin(acme, transactional_id)

    def add(name: str) -> bytes:
        topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=name, partitions=[0])
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=[topic],
        )
        return acme.exchange(request, version)

    reference = add(ALLOWED)

    assert int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION).to_bytes(2, "big") in reference
    assert _is_same_but_for_the_name(add(HIDDEN), reference)


@pytest.mark.parametrize("version", range(6))
def test_offsets_of_a_hidden_topic_cannot_be_committed_in_a_transaction(
    version: int, connect: Connect, unique: UniqueName
) -> None:
    acme, transactional_id, group = connect("acme"), unique("transaction"), unique("group")
    producer_id, epoch = _begin(acme, transactional_id)
    producer = {"transactional_id": transactional_id, "producer_id": producer_id, "producer_epoch": epoch}
    acme.request(AddOffsetsToTxnRequest(group_id=group, **producer), 3)

    def commit_offset(name: str) -> bytes:
        offered = TxnOffsetCommitRequest
        partition = offered.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        topic = offered.TxnOffsetCommitRequestTopic(name=name, partitions=[partition])
        return acme.exchange(offered(group_id=group, topics=[topic], **producer), version)

    reference = commit_offset(ALLOWED)

    assert int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION).to_bytes(2, "big") in reference
    assert _is_same_but_for_the_name(commit_offset(HIDDEN), reference)


def test_hidden_topic_was_not_touched(connect: Connect, direct: RawClient) -> None:
    (globexes,) = metadata_of(connect("globex"), HIDDEN)
    (operators,) = metadata_of(direct, f"__vt_acme_{HIDDEN}")

    assert [len(topic.partitions) for topic in (globexes, operators)] == [1, 1]
    answer = connect("globex").request(fetch_request(HIDDEN), 12)
    assert b"of globex" in bytes(answer.responses[0].partitions[0].records)
    assert metadata_of(connect("acme"), HIDDEN)[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("tenant", "name"), [("acme", "__vt_globex_audit.dog"), ("globex", "__vt_acme_audit.dog")]
)
def test_physical_name_of_another_is_a_name_like_any_other(
    tenant: str, name: str, gateway_endpoints: dict[str, Endpoint]
) -> None:
    # As if there were a tenant of another name.
    absent = name.replace("acme", "ecma").replace("globex", "glober")
    with RawClient.authenticated(gateway_endpoints[tenant]) as client:
        for build, version in CASES:
            answer = client.exchange(build(name), version)

            assert answer.replace(name.encode(), absent.encode()) == client.exchange(build(absent), version)


def test_tenant_with_any_name_keeps_a_physical_one_apart(
    gateway_endpoints: dict[str, Endpoint], direct: RawClient
) -> None:
    """globex may call its own topic what acme's is called on the broker; it is another topic."""
    name = "__vt_acme_orders"
    with RawClient.authenticated(gateway_endpoints["globex"]) as client:
        create_topic(client, name)
        produce(client, name, [b"of globex under an odd name"])
        (topic,) = metadata_of(client, name)
    with RawClient.authenticated(gateway_endpoints["acme"]) as client:
        fetched = client.request(fetch_request("orders"), 12)
    (physical,) = metadata_of(direct, f"__vt_globex_{name}")
    delete_topic(direct, f"__vt_globex_{name}")

    assert (topic.name, topic.error_code) == (name, ErrorCode.NONE)
    assert physical.topic_id == topic.topic_id
    assert b"odd name" not in bytes(fetched.responses[0].partitions[0].records or b"")


@pytest.fixture
def gateway_endpoints(acme: Endpoint, globex: Endpoint) -> dict[str, Endpoint]:
    return {"acme": acme, "globex": globex}


@pytest.mark.parametrize("kind", ["consumer", "share", "streams"])
def test_hidden_topic_cannot_be_subscribed_to(kind: str, connect: Connect, unique: UniqueName) -> None:
    """Of the groups whose assignments the broker makes: no partition comes, and nothing tells why."""
    acme = connect("acme")
    groups = {name: unique(f"{kind}-{name}") for name in (ALLOWED, HIDDEN)}

    def heartbeats(name: str) -> list[Any]:
        joined = acme.request(*_heartbeat(kind, groups[name], name))
        assert joined.error_code == ErrorCode.NONE, joined
        again = acme.request(*_heartbeat(kind, groups[name], name, joined.member_epoch))
        return [joined, again]

    hidden = heartbeats(HIDDEN)

    assert repr(hidden).replace(HIDDEN, ALLOWED) == repr(heartbeats(ALLOWED))
    for answer in hidden:
        assert not getattr(answer, "active_tasks", None)
        assert not getattr(getattr(answer, "assignment", None), "topic_partitions", None)


def _heartbeat(kind: str, group_id: str, topic: str, epoch: int = 0) -> tuple[Message, int]:
    """Return a heartbeat and its version: the first one joins."""
    member = {"group_id": group_id, "member_id": "aGlkZGVuLW5hbWVzLW1lbQ", "member_epoch": epoch}
    first = epoch == 0
    match kind:
        case "consumer":
            names = {"subscribed_topic_names": [topic], "topic_partitions": []} if first else {}
            return ConsumerGroupHeartbeatRequest(**member, **names, rebalance_timeout_ms=10_000), 1
        case "share":
            return ShareGroupHeartbeatRequest(**member, subscribed_topic_names=[topic] if first else None), 1
    part = StreamsGroupHeartbeatRequest.Subtopology(subtopology_id="0", source_topics=[topic])
    topology = StreamsGroupHeartbeatRequest.Topology(epoch=0, subtopologies=[part])
    joining = (
        {"topology": topology, "active_tasks": [], "standby_tasks": [], "warmup_tasks": []} if first else {}
    )
    return StreamsGroupHeartbeatRequest(**member, **joining, rebalance_timeout_ms=10_000, process_id="p"), 0


@pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)
@pytest.mark.parametrize("regex", [".*", "orders|audit.*", r"\w+(\.dog)?"])
def test_pattern_does_not_find_a_hidden_topic(
    regex: str, connect: Connect, direct: RawClient, unique: UniqueName
) -> None:
    """Its partitions would be assigned to members that never see them, and so be counted."""
    acme, group = connect("acme"), unique("group")
    member = {"group_id": group, "member_id": "aGlkZGVuLW5hbWVzLW1lbQ", "rebalance_timeout_ms": 10_000}
    first = {"subscribed_topic_regex": regex, "subscribed_topic_names": [], "topic_partitions": []}
    answer = acme.request(ConsumerGroupHeartbeatRequest(**member, **first), 1)
    deadline = time.monotonic() + 15
    while not (topics := _assigned(direct, f"__vt_acme_{group}")):
        assert time.monotonic() < deadline, "nothing was assigned"
        time.sleep(0.1)
        heartbeat = ConsumerGroupHeartbeatRequest(
            **member, member_epoch=answer.member_epoch, topic_partitions=[]
        )
        answer = acme.request(heartbeat, 1)
        assert answer.error_code == ErrorCode.NONE, answer

    (described,) = acme.request(ConsumerGroupDescribeRequest(group_ids=[group]), 1).groups
    assert f"__vt_acme_{HIDDEN}" not in topics
    assert "__vt_acme_orders" in topics
    assert described.members[0].subscribed_topic_regex == regex


def _assigned(direct: RawClient, group: str) -> set[str]:
    """Return the topics of which the broker assigns partitions in a group."""
    (described,) = direct.request(ConsumerGroupDescribeRequest(group_ids=[group]), 1).groups
    return {topic.topic_name for one in described.members for topic in one.target_assignment.topic_partitions}


NOT_ECHOED = frozenset(
    {ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_HEARTBEAT}
)
IN_TRANSACTIONS = frozenset({ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.TXN_OFFSET_COMMIT})
REFUSED_BY_NAME = frozenset({ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.DELETE_RECORDS})
"""There a name outside the list is refused, not unknown: test_topic_administration.py."""


def test_every_api_that_names_topics_was_asked() -> None:
    """So that an API that is served one day is asked here too."""
    naming = {Entity.TOPIC_NAME, Entity.RESOURCE_NAME}

    def names_topics(api_key: ApiKey) -> bool:
        schema = request_schema(api_key)
        return any(naming & set(entities_of(schema.name, version).values()) for version in schema.versions)

    asked = {ApiKey(build("x").SCHEMA.api_key) for build in VERSIONS_BY_NAME}
    assert {api_key for api_key in SERVED if names_topics(api_key)} == (
        asked | NOT_ECHOED | IN_TRANSACTIONS | REFUSED_BY_NAME
    )
