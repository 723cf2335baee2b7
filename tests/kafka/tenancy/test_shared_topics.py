"""Topics that are moved and shared while clients are connected, by raw requests: what each of them sees."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.tenancy.namespaces.alias_table import Access
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
    DescribeAclsRequest,
    FindCoordinatorRequest,
    IncrementalAlterConfigsRequest,
    MetadataRequest,
    OffsetCommitRequest,
)
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import (
    fetch_request,
    metadata_of,
    produce,
    produce_request,
    records_of,
    recreate_topic,
    topic_id_of,
)
from support.clients.record_batches import build_batch
from support.clients.routed_client import RoutedClient
from support.gateways.gateway_process import GatewayProcess, TenantSpec
from support.moved_topics import WITHIN_S, MovedTopics, bound_users
from support.physical_names import physical_name

pytestmark = pytest.mark.timeout(300)

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
OWNER, GUEST, BOUND = "lender", "guest", "lender.billing"


@pytest.fixture(scope="module")
def world(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MovedTopics]:
    topic, directory = f"__state-{time.time_ns()}", tmp_path_factory.mktemp("gateway")
    with GatewayProcess(
        directory,
        kafka.bootstrap,
        tenants=(
            TenantSpec(OWNER, allow_topic_deletion=True),
            TenantSpec(GUEST, allowed_topics=("own",), allow_topic_deletion=True),
        ),
        adjust=bound_users(directory, billing="billing:eu"),
        proxy={"state": {"topic": topic}},
    ) as gateway:
        yield MovedTopics(kafka.bootstrap, topic, gateway)


@pytest.fixture
def orders(broker: Endpoint, request: pytest.FixtureRequest) -> str:
    """A topic of the owner with one record, called after the test."""
    name = f"orders-{request.node.name.partition('[')[0][-40:]}".replace("_", "-")
    with RoutedClient(broker) as client:
        recreate_topic(client, physical_name(OWNER, name))
        produce(client, physical_name(OWNER, name), [b"first"])
    return name


def user(world: MovedTopics, name: str) -> RawClient:
    """Open a connection of a user to the broker's port."""
    endpoint = world.endpoint(name)
    port = world.gateway.broker_port(1)
    return RawClient.authenticated(Endpoint(endpoint.host, port, endpoint.username, endpoint.password))


def error_of(client: RawClient, topic: str) -> ErrorCode | None:
    """Return what Metadata says of a topic; None: it was asked before a change, and the answer leaves it out."""
    found = metadata_of(client, topic)
    return ErrorCode(found[0].error_code) if found else None


def await_error(client: RawClient, topic: str, expected: ErrorCode) -> None:
    """Wait until Metadata says so of a topic: then the change is in force on this connection."""
    ends = time.monotonic() + WITHIN_S
    while (found := error_of(client, topic)) != expected:
        assert time.monotonic() < ends, found
        time.sleep(0.05)


def listed(client: RawClient) -> set[str]:
    version = client.newest(ApiKey.METADATA)
    answer = client.request(MetadataRequest(topics=None, allow_auto_topic_creation=False), version)
    return {topic.name for topic in answer.topics}


def produced(client: RawClient, topic: str, *, topic_id: bytes = bytes(16)) -> ErrorCode:
    version = 13 if any(topic_id) else client.at_most(ApiKey.PRODUCE, 12)
    request = produce_request("" if any(topic_id) else topic, build_batch([b"x"]), topic_id=topic_id)
    return ErrorCode(client.request(request, version).responses[0].partition_responses[0].error_code)


def changes_of(topic: str) -> list[tuple[Message, int, str]]:
    """Return requests that change a topic, their versions, and the lists of results in their answers."""
    config = IncrementalAlterConfigsRequest.AlterableConfig(
        name="retention.ms", config_operation=0, value="1000"
    )
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=2, resource_name=topic, configs=[config]
    )
    partition = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=0, offset=1)
    cut = DeleteRecordsRequest.DeleteRecordsTopic(name=topic, partitions=[partition])
    more = CreatePartitionsRequest.CreatePartitionsTopic(name=topic, count=2, assignments=None)
    created = CreateTopicsRequest.CreatableTopic(name=topic, num_partitions=1, replication_factor=1)
    return [
        (IncrementalAlterConfigsRequest(resources=[resource]), 1, "responses"),
        (DeleteRecordsRequest(topics=[cut], timeout_ms=10_000), 2, "topics"),
        (CreatePartitionsRequest(topics=[more], timeout_ms=10_000), 3, "results"),
        (DeleteTopicsRequest(topic_names=[topic], timeout_ms=10_000), 5, "responses"),
        (CreateTopicsRequest(topics=[created], timeout_ms=10_000), 6, "topics"),
    ]


def result_of(answer: Any, attribute: str) -> ErrorCode:
    (found,) = getattr(answer, attribute)
    return ErrorCode(found.partitions[0].error_code if hasattr(found, "partitions") else found.error_code)


@pytest.mark.parametrize("access", list(Access))
def test_a_guest_may_do_what_the_share_says_and_nothing_else(
    world: MovedTopics, orders: str, access: Access
) -> None:
    world.share(f"{OWNER}/{orders}", f"{GUEST}/partner.view", access)
    world.await_topics(GUEST, has="partner.view")
    try:
        with user(world, GUEST) as guest, user(world, OWNER) as owner:
            assert listed(guest) == {"partner.view"}
            assert orders in listed(owner)
            assert b"first" in records_of(guest, "partner.view")
            assert topic_id_of(guest, "partner.view") == topic_id_of(owner, orders)
            may_write = ErrorCode.NONE if access is Access.READ_WRITE else DENIED
            assert produced(guest, "partner.view") == may_write
            for request, version, attribute in changes_of("partner.view"):
                assert result_of(guest.request(request, version), attribute) == DENIED, request
            if guest.newest(ApiKey.PRODUCE) >= 13:
                assert produced(guest, "", topic_id=topic_id_of(guest, "partner.view")) == may_write
            assert produced(owner, orders) == ErrorCode.NONE
            assert commit(guest, "partner.view") == ErrorCode.NONE
            assert error_of(guest, orders) == UNKNOWN, "the owner's name means nothing to the guest"
            acls = guest.request(
                DescribeAclsRequest(resource_type_filter=1, operation=1, permission_type=1), 1
            )
            assert acls.error_code == ErrorCode.SECURITY_DISABLED
    finally:
        world.unshare(f"{OWNER}/{orders}", f"{GUEST}/partner.view")
        world.await_topics(GUEST, lacks="partner.view")


def commit(client: RawClient, topic: str) -> ErrorCode:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(
        partition_index=0, committed_offset=1, committed_leader_epoch=-1, committed_metadata=""
    )
    named = OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=[partition])
    request = OffsetCommitRequest(
        group_id="guests", generation_id_or_member_epoch=-1, member_id="", topics=[named]
    )
    ends = time.monotonic() + WITHIN_S
    while True:
        client.request(FindCoordinatorRequest(key="guests", key_type=0), 2)
        found = ErrorCode(client.request(request, 8).topics[0].partitions[0].error_code)
        if found not in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
            return found
        assert time.monotonic() < ends, found
        time.sleep(0.1)


@pytest.mark.parametrize("is_by_id", [False, True])
def test_nothing_is_read_after_a_revocation_on_an_open_connection(
    world: MovedTopics, orders: str, direct: RawClient, is_by_id: bool
) -> None:
    place = f"{GUEST}/fading-{is_by_id}".lower()
    name = place.partition("/")[2]
    world.share(f"{OWNER}/{orders}", place)
    world.await_topics(GUEST, has=name)
    with user(world, GUEST) as guest:
        version = min(guest.newest(ApiKey.FETCH), 16) if is_by_id else 12
        is_by_id = version > 12
        topic_id = topic_id_of(guest, name) if is_by_id else bytes(16)
        asked = "" if is_by_id else name
        begun = guest.request(fetch_request(asked, topic_id=topic_id, session_epoch=0), version)
        assert b"first" in bytes(begun.responses[0].partitions[0].records)

        # This one waits at the broker, which answers it when the owner writes after the revocation.
        waiting = fetch_request("", session_id=begun.session_id, session_epoch=1, max_wait_ms=500)
        waiting.topics, waiting.min_bytes = [], 1 << 19
        correlation_id = guest.send(waiting, version)
        world.unshare(f"{OWNER}/{orders}", place)
        with user(world, GUEST) as other:
            await_error(other, name, UNKNOWN)
        produce(direct, physical_name(OWNER, orders), [b"secret"])
        late = guest.receive(ApiKey.FETCH, version, correlation_id)
        assert not [one.records for topic in late.responses for one in topic.partitions if one.records]

        await_error(guest, name, UNKNOWN)
        go_on = fetch_request("", session_id=begun.session_id, session_epoch=2)
        go_on.topics = []
        answer = guest.request(go_on, version)
        assert not [one.records for topic in answer.responses for one in topic.partitions if one.records]
        again = guest.request(fetch_request(asked, topic_id=topic_id), version)
        assert not any(one.records for topic in again.responses for one in topic.partitions)
        assert produced(guest, name) in (UNKNOWN, ErrorCode.INVALID_TOPIC_EXCEPTION)


def test_a_moved_topic_is_the_same_topic_under_another_name(
    world: MovedTopics, orders: str, direct: RawClient
) -> None:
    with user(world, OWNER) as whole, user(world, BOUND) as bound:
        topic_id = topic_id_of(whole, orders)
        assert orders not in listed(bound)
        world.move(f"{OWNER}/{orders}", f"{OWNER}:billing:eu/moved")
        await_error(whole, orders, UNKNOWN)
        await_error(bound, "moved", ErrorCode.NONE)

        assert topic_id_of(bound, "moved") == topic_id_of(whole, "billing:eu:moved") == topic_id
        assert "moved" in listed(bound)
        assert {"billing:eu:moved", orders} & listed(whole) == {"billing:eu:moved"}
        assert b"first" in records_of(bound, "moved")
        assert produced(whole, "billing:eu:moved") == ErrorCode.NONE
        request, version, attribute = changes_of(orders)[4]
        refused = result_of(whole.request(request, version), attribute)
        assert refused == DENIED, "its first name means no topic"
        request, version, attribute = changes_of("moved")[0]
        assert result_of(bound.request(request, version), attribute) == ErrorCode.NONE, "it is the owner's"

        world.move(f"{OWNER}:billing:eu/moved", f"{OWNER}/{orders}")
        await_error(bound, "moved", UNKNOWN)
        await_error(whole, orders, ErrorCode.NONE)
        assert topic_id_of(whole, orders) == topic_id


def test_a_topic_that_keeps_its_name_can_be_used_by_both(world: MovedTopics, orders: str) -> None:
    world.move(f"{OWNER}/{orders}", f"{OWNER}:billing:eu/kept", keeps_name=True)
    world.await_topics(BOUND, has="kept")
    try:
        with user(world, OWNER) as whole, user(world, BOUND) as bound:
            await_error(whole, orders, ErrorCode.NONE)
            assert "billing:eu:kept" not in listed(whole), "a client sees a topic once"
            assert produced(whole, orders) == produced(bound, "kept") == ErrorCode.NONE
            assert records_of(whole, orders) == records_of(bound, "kept")
    finally:
        world.unshare(f"{OWNER}:billing:eu/kept", f"{OWNER}/{orders}")
    world.await_topics(OWNER, has="billing:eu:kept", lacks=orders)


def test_two_topics_change_their_names_on_an_open_connection(
    world: MovedTopics, orders: str, broker: Endpoint
) -> None:
    """As after `bifrost pipeline rekey`: clients use the copy by the old name, and the original is kept by another."""
    copy = f"{orders}-2"
    with RoutedClient(broker) as client:
        recreate_topic(client, physical_name(OWNER, copy))
        produce(client, physical_name(OWNER, copy), [b"copied"])
    with user(world, OWNER) as client:
        original_id, copy_id = topic_id_of(client, orders), topic_id_of(client, copy)

        world.move(f"{OWNER}/{orders}", f"{OWNER}/{orders}-old")
        world.move(f"{OWNER}/{copy}", f"{OWNER}/{orders}")

        await_error(client, copy, UNKNOWN)
        assert [topic_id_of(client, one) for one in (orders, f"{orders}-old")] == [copy_id, original_id]
        assert b"copied" in records_of(client, orders)
        assert b"first" in records_of(client, f"{orders}-old")
        assert produced(client, orders) == ErrorCode.NONE
        assert len(records_of(client, orders)) > len(records_of(client, f"{orders}-old"))
