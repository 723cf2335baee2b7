"""Large requests of one tenant through a real broker: no turn of the event loop is long, and no other client waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeConfigsRequest,
    FindCoordinatorRequest,
    MetadataRequest,
    OffsetFetchRequest,
    ProduceRequest,
)
from support.clients.pinging import pinging
from support.clients.raw_client import RawClient, decode_response, request_frame
from support.gateways.admin_port import value
from support.gateways.gateway_fixtures import StartGateway, UniqueName
from support.gateways.gateway_process import GatewayProcess

MAX_STALL_S = 0.03
"""CPU time of the longest turn. The goal is 10 ms; this leaves room for a machine that runs other tests as well."""
MIB = 1 << 20


def keys(count: int) -> list[str]:
    """Names that no client has used, short ones."""
    return [f"{number:x}" for number in range(count)]


def find_coordinators(count: int) -> Message:
    return FindCoordinatorRequest(key_type=0, coordinator_keys=keys(count))


def metadata(count: int) -> Message:
    topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in keys(count)]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)


def produce(count: int) -> Message:
    data = ProduceRequest.TopicProduceData
    return ProduceRequest(acks=1, timeout_ms=1000, topic_data=[data(name=name) for name in keys(count)])


def produce_partitions(count: int) -> Message:
    data, partition = ProduceRequest.TopicProduceData, ProduceRequest.PartitionProduceData
    topics = [data(name=name, partition_data=[partition(records=bytes(150))]) for name in keys(count)]
    return ProduceRequest(acks=1, timeout_ms=1000, topic_data=topics)


def produce_long_names(count: int) -> Message:
    data = ProduceRequest.TopicProduceData
    topics = [data(name=f"{number:0123x}") for number in range(count)]
    return ProduceRequest(acks=1, timeout_ms=1000, topic_data=topics)


def create(count: int) -> Message:
    topic = CreateTopicsRequest.CreatableTopic
    # Too many partitions: the broker refuses every one, at no further cost.
    topics = [topic(name=name, num_partitions=0, replication_factor=1) for name in keys(count)]
    return CreateTopicsRequest(topics=topics, timeout_ms=1000)


def delete(count: int) -> Message:
    return DeleteTopicsRequest(topic_names=keys(count), timeout_ms=1000)


def describe_configs(count: int) -> Message:
    resource = DescribeConfigsRequest.DescribeConfigsResource
    return DescribeConfigsRequest(
        resources=[resource(resource_type=2, resource_name=key) for key in keys(count)]
    )


def offset_fetch(count: int) -> Message:
    group, topic = OffsetFetchRequest.OffsetFetchRequestGroup, OffsetFetchRequest.OffsetFetchRequestTopics
    topics = [topic(name=name, partition_indexes=[0]) for name in keys(count)]
    return OffsetFetchRequest(groups=[group(group_id="g", topics=topics)])


def start_crowded(start_gateway: StartGateway) -> GatewayProcess:
    """Start a gateway with a journal, whose requests may have as many items as there may be for any tenant."""
    journal = {"gateway_id": "crowd", "interval_ms": 300}
    return start_gateway(has_admin=True, proxy={"journal": journal}, limits={"max_partitions": 50_000})


@contextmanager
def no_other_waits(gateway: GatewayProcess) -> Iterator[None]:
    """Check that no turn of the event loop is long meanwhile, and that another tenant is answered."""

    def longest_turn_s() -> float:
        labels = {"worker": "", "clock": "cpu", "since": "scrape"}
        return value(gateway, "bifrost_event_loop_stall_largest_seconds", **labels)

    with pinging(gateway, "globex") as taken:
        time.sleep(0.3)
        longest_turn_s()  # What the start took is not meant.
        yield
        time.sleep(0.1)
    assert longest_turn_s() < MAX_STALL_S
    assert len(taken) > 10


@pytest.mark.parametrize(
    ("build", "version", "items"),
    [
        pytest.param(find_coordinators, 4, 10_000, id="FindCoordinator"),
        pytest.param(find_coordinators, 4, 150_000, id="FindCoordinator beyond the limit"),
        pytest.param(metadata, 9, 20_000, id="Metadata"),
        pytest.param(produce, 9, 100_000, id="Produce"),
        pytest.param(produce_long_names, 9, 99_900, id="Produce with 12 MiB of names"),
        pytest.param(create, 5, 10_000, id="CreateTopics"),
        pytest.param(describe_configs, 4, 2_000, id="DescribeConfigs"),
        pytest.param(offset_fetch, 8, 30_000, id="OffsetFetch"),
    ],
)
def test_a_large_request_keeps_no_other_client_waiting(
    start_gateway: StartGateway, build: Callable[[int], Message], version: int, items: int
) -> None:
    gateway = start_crowded(start_gateway)
    with RawClient.authenticated(gateway.broker_endpoint("acme"), timeout_s=60) as attacker:
        attacker.request(MetadataRequest(topics=[]), 9)
        frame = request_frame(build(items), version, 77)
        with no_other_waits(gateway):
            attacker.send_bytes(frame)
            assert attacker.receive_frame()[:4] == (77).to_bytes(4, "big")


@pytest.mark.parametrize(
    ("build", "version", "items", "mib", "list_of", "key", "answered"),
    [
        pytest.param(find_coordinators, 4, 300_000, 1, "coordinators", "key", 100_000, id="FindCoordinator"),
        pytest.param(delete, 5, 200_000, 1, "responses", "name", 100_000, id="DeleteTopics"),
        # A topic and its partition are two items.
        pytest.param(produce_partitions, 9, 60_000, 9, "responses", "name", 50_000, id="Produce"),
    ],
)
def test_a_request_too_large_to_be_decoded_is_answered_for_its_first_items(
    start_gateway: StartGateway,
    build: Callable[[int], Message],
    version: int,
    items: int,
    mib: int,
    list_of: str,
    key: str,
    answered: int,
) -> None:
    """Kafka's answer has no place for an error of the whole."""
    gateway = start_crowded(start_gateway)
    request = build(items)
    frame = request_frame(request, version, 77)
    assert mib * MIB < len(frame) < (mib + 1) * MIB

    with RawClient.authenticated(gateway.broker_endpoint("acme"), timeout_s=60) as attacker:
        since = gateway.mark()
        with no_other_waits(gateway):
            attacker.send_bytes(frame)
            answer = attacker.receive_frame()
        answers = getattr(decode_response(request.SCHEMA.api_key or 0, version, answer), list_of)
        named = attacker.request(MetadataRequest(topics=[]), 9)

    assert answer[:4] == (77).to_bytes(4, "big")
    assert [getattr(one, key) for one in answers] == keys(answered)
    assert named.cluster_id
    assert not [one for one in gateway.events(since) if one.get("reason") == "frame_too_large"]


def test_a_large_request_without_anything_to_answer_ends_its_connection_alone(
    start_gateway: StartGateway,
) -> None:
    """Topics of a Produce have no errors, their partitions have."""
    gateway = start_crowded(start_gateway)
    frame = request_frame(produce(1_550_000), 9, 77)
    assert len(frame) > 12 * MIB

    with RawClient.authenticated(gateway.broker_endpoint("acme"), timeout_s=60) as attacker:
        since = gateway.mark()
        with no_other_waits(gateway):
            attacker.send_bytes(frame)
            assert attacker.receives_end()

    gateway.await_event(since, event="connection_ended", reason="frame_too_large", tenant="acme")


def test_more_names_than_a_request_may_have_are_refused_and_the_connection_goes_on(
    start_gateway: StartGateway,
) -> None:
    gateway = start_gateway(has_admin=True)
    with RawClient.authenticated(gateway.broker_endpoint("acme"), timeout_s=60) as client:
        answer = client.request(find_coordinators(10_001), 4)
        assert {one.error_code for one in answer.coordinators} == {ErrorCode.INVALID_REQUEST}
        assert len(answer.coordinators) == 10_001

        answer = client.request(find_coordinators(1), 4)
        assert answer.coordinators[0].error_code != ErrorCode.INVALID_REQUEST

    labels = {"limit": "request_items", "tenant": "acme"}
    assert value(gateway, "kafka_proxy_limits_hit_total", **labels) == 1


@pytest.mark.parametrize(
    ("max_partitions", "code"), [(10_000, ErrorCode.INVALID_REQUEST), (15_000, ErrorCode.NONE)]
)
def test_a_request_may_name_all_partitions_that_its_tenant_may_have(
    start_gateway: StartGateway, max_partitions: int, code: ErrorCode
) -> None:
    gateway = start_gateway(limits={"max_partitions": max_partitions})
    with RawClient.authenticated(gateway.broker_endpoint("acme"), timeout_s=60) as client:
        answer = client.request(offset_fetch(12_000), 8)
        assert answer.groups[0].error_code == code


LONG_NAMES = [f"{number:0140}" for number in range(8_000)]
"""Fewer than a CreateTopics may have, in more than 1 MiB."""


def created(admin: AdminClient, names: list[str]) -> dict[Any, Any]:
    return admin.create_topics([NewTopic(name, 1, 1) for name in names], request_timeout=30)


def described(admin: AdminClient, names: list[str]) -> dict[Any, Any]:
    return admin.describe_configs([ConfigResource("topic", name) for name in names], request_timeout=30)


@pytest.mark.parametrize("ask", [created, described])
def test_an_admin_client_is_told_for_each_item_that_its_request_is_too_large(
    start_gateway: StartGateway,
    unique: UniqueName,
    ask: Callable[[AdminClient, list[str]], dict[Any, Any]],
) -> None:
    gateway = start_gateway()
    admin, name = AdminClient(gateway.endpoint("initech").for_confluent), unique("small")
    created(admin, [name])[name].result(30)
    next(iter(described(admin, [name]).values())).result(30)
    since = gateway.mark()

    answers = ask(admin, LONG_NAMES)

    assert len(answers) == len(LONG_NAMES)
    for future in answers.values():
        with pytest.raises(
            KafkaException, match=r"larger than this gateway takes: .* 1048576 bytes"
        ) as refused:
            future.result(30)
        assert refused.value.args[0].code() == KafkaError.INVALID_REQUEST
    assert next(iter(described(admin, [name]).values())).result(30)["retention.ms"]
    assert not [one for one in gateway.events(since) if one["event"] == "connection_ended"]
