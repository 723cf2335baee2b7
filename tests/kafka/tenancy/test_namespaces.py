"""Namespaces below a tenant (KIP-37), and tenants whose physical names have a prefix of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    DescribeGroupsRequest,
    DescribeTopicPartitionsRequest,
    ListTransactionsRequest,
    MetadataRequest,
)
from support.brokers import kafka_cluster as tools
from support.brokers.kafka_cluster import KafkaTools, write_client_properties
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import fetch_request, metadata_of, produce_request, recreate_topic
from support.clients.raw_operations import produce as send
from support.gateways.gateway_process import GatewayProcess, TenantSpec
from support.physical_names import physical_name

LITERAL = {"topic": "lit1-", "group": "lit1g-", "transactional_id": "lit1x-"}
TENANTS = (
    TenantSpec("whole"),
    TenantSpec("listed", allowed_topics=("orders", "eu:orders")),
    TenantSpec("old"),
    TenantSpec("sep"),
)


def adjust(configuration: dict[str, Any]) -> None:
    """Give each tenant users that are bound to its namespaces `eu` and `us`, and two of them prefixes."""
    for tenant in configuration["tenants"]:
        own = tenant["auth"]["credentials"][0]
        for tier in ("eu", "us"):
            bound = {"username": f"{tenant['name']}-{tier}", "namespace": tier}
            tenant["auth"]["credentials"].append(own | bound)
        if tenant["name"] == "old":
            tenant |= {"prefixes": LITERAL, "namespace_encoding": "dotted"}
        if tenant["name"] == "sep":
            tenant |= {"prefixes": {"topic": "s1-"}, "namespace_separator": "__"}


@pytest.fixture(scope="module")
def namespaces(
    kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Endpoint]]:
    """Give the endpoint of a user: a tenant's name, or that with `-eu` or `-us` behind it."""
    directory = tmp_path_factory.mktemp("namespaces")
    with GatewayProcess(directory, kafka.bootstrap, tenants=TENANTS, adjust=adjust) as process:
        yield lambda user: replace(process.broker_endpoint(user.partition("-")[0]), username=user)


def topics_of(endpoint: Endpoint) -> set[str]:
    return set(AdminClient(endpoint.for_confluent).list_topics(timeout=20).topics)


def groups_of(endpoint: Endpoint) -> set[str]:
    admin = AdminClient(endpoint.for_confluent)
    return {one.group_id for one in admin.list_consumer_groups().result(20).valid}


def create(endpoint: Endpoint, topic: str) -> None:
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(20)


def produce(endpoint: Endpoint, topic: str, value: str) -> None:
    producer = Producer(endpoint.for_confluent)
    producer.produce(topic, value)
    assert producer.flush(20) == 0


def consume(endpoint: Endpoint, topic: str, group: str) -> str:
    consumer = Consumer(endpoint.for_confluent | {"group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    message = consumer.poll(20)
    assert message is not None
    assert message.error() is None
    consumer.commit(message, asynchronous=False)
    consumer.close()
    value: bytes = message.value()
    return value.decode()


def test_a_namespace_is_a_part_of_its_tenant_s(
    namespaces: Callable[[str], Endpoint], broker: Endpoint
) -> None:
    whole, below = namespaces("whole"), namespaces("whole-eu")
    create(whole, "orders")
    create(below, "orders")
    produce(whole, "orders", "of the whole")
    produce(below, "orders", "of eu")

    create(whole, "eu.orders")
    assert (consume(below, "orders", "g"), consume(whole, "eu:orders", "g2")) == ("of eu", "of eu")
    assert consume(whole, "orders", "g") == "of the whole"
    produce(whole, "eu:orders", "from above")
    assert consume(below, "orders", "g") == "from above"
    assert topics_of(below) == {"orders"}
    assert topics_of(whole) == {"orders", "eu:orders", "eu.orders"}
    names = ("orders", "--eu.orders", "eu.orders")
    assert {physical_name("whole", one) for one in names} <= topics_of(broker)
    assert {physical_name("whole", one) for one in ("g", "g2", "--eu.g")} <= groups_of(broker)
    assert groups_of(below) == {"g"}
    assert {"g", "g2", "eu:g"} <= groups_of(whole)


def test_a_group_of_a_namespace_can_be_used_from_above(namespaces: Callable[[str], Endpoint]) -> None:
    whole, below = namespaces("whole"), namespaces("whole-eu")
    create(below, "shared")
    for value in ("1", "2"):
        produce(below, "shared", value)

    assert consume(below, "shared", "readers") == "1"
    assert consume(whole, "eu:shared", "eu:readers") == "2"


def test_a_transactional_id_of_a_namespace_is_its_own(namespaces: Callable[[str], Endpoint]) -> None:
    whole, below = namespaces("whole"), namespaces("whole-eu")
    create(below, "ledger")
    for endpoint, topic, transactional_id in (
        (whole, "eu:ledger", "t"),
        (below, "ledger", "t"),
        (whole, "eu:ledger", "eu:t"),
    ):
        producer = Producer(endpoint.for_confluent | {"transactional.id": transactional_id})
        producer.init_transactions(20)
        producer.begin_transaction()
        producer.produce(topic, transactional_id)
        producer.commit_transaction(20)

    with RawClient.authenticated(whole) as above, RawClient.authenticated(below) as client:
        listed = [
            {one.transactional_id for one in asked.request(ListTransactionsRequest(), 0).transaction_states}
            for asked in (above, client)
        ]
    assert listed == [{"t", "eu:t"}, {"t"}]


def test_nothing_of_a_namespace_is_reached_from_beside_it(
    namespaces: Callable[[str], Endpoint], direct: RawClient
) -> None:
    eu, us = namespaces("whole-eu"), namespaces("whole-us")
    create(eu, "secrets")
    produce(eu, "secrets", "of eu")
    assert consume(eu, "secrets", "spies") == "of eu"
    physical = physical_name("whole", "--eu.secrets")
    topic_id = metadata_of(direct, physical)[0].topic_id
    names = (
        "secrets",
        "eu:secrets",
        "--eu.secrets",
        ":eu:secrets",
        "eu.secrets",
        physical,
        "../--eu.secrets",
    )
    with RawClient.authenticated(us) as client:
        found = {one.name: one.error_code for one in metadata_of(client, *names)}
        by_id = client.request(
            MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(topic_id=topic_id, name=None)]), 12
        ).topics[0]
        groups = client.request(DescribeGroupsRequest(groups=["spies", "eu:spies", "--eu.spies"]), 4).groups

        spied = fetch_request("", topic_id=topic_id, session_epoch=-1)
        fetched = client.request(spied, min(client.newest(ApiKey.FETCH), 16))
        sent = client.request(produce_request("", None, topic_id=topic_id), client.newest(ApiKey.PRODUCE))

    assert not any(one.records for topic in fetched.responses for one in topic.partitions)
    assert {part.error_code for one in sent.responses for part in one.partition_responses} <= {
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    }
    assert set(found.values()) <= {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION}
    assert (by_id.error_code, by_id.name) == (ErrorCode.UNKNOWN_TOPIC_ID, None)
    assert {(one.error_code, one.group_state) for one in groups} == {(ErrorCode.NONE, "Dead")}
    assert topics_of(us) == set()
    assert groups_of(us) == set()


def test_the_separator_can_be_one_that_topics_may_have(
    namespaces: Callable[[str], Endpoint], broker: Endpoint
) -> None:
    whole, below = namespaces("sep"), namespaces("sep-eu")
    create(whole, "eu__orders")
    produce(whole, "eu__orders", "by another separator")
    create(whole, "other__orders")

    assert consume(below, "orders", "g") == "by another separator"
    assert topics_of(below) == {"orders"}
    assert topics_of(whole) == {"eu__orders", "other__orders"}
    assert {"s1---eu.orders", "s1-other__orders"} <= topics_of(broker)


def test_too_long_a_name_is_told_in_the_client_s_own_lengths(namespaces: Callable[[str], Endpoint]) -> None:
    longest = 249 - len(physical_name("whole", "--eu."))
    for user, room in (("whole", longest + len("eu:")), ("whole-eu", longest)):
        name = "eu:" * (user == "whole") + "x" * (longest + 1)
        admin = AdminClient(namespaces(user).for_confluent)
        text = str(admin.create_topics([NewTopic(name, 1, 1)])[name].exception(20))

        assert "INVALID_TOPIC_EXCEPTION" in text or "TOPIC_EXCEPTION" in text
        assert f"it has {room + 1} characters, and here it may have at most {room}" in text


def test_a_namespace_does_not_continue_its_tenant_s_fetch_session(
    namespaces: Callable[[str], Endpoint],
) -> None:
    whole, below = namespaces("whole"), namespaces("whole-eu")
    with RawClient.authenticated(whole) as one, RawClient.authenticated(below) as other:
        create(whole, "sessions")
        send(one, "sessions", [b"secret"])
        version = min(12, one.newest(ApiKey.FETCH))
        begun = one.request(fetch_request("sessions", session_epoch=0), version)
        assert begun.session_id != 0
        stolen = fetch_request("sessions", session_id=begun.session_id, session_epoch=1)
        stolen.topics = []

        assert other.request(stolen, version).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        assert one.request(stolen, version).error_code == ErrorCode.NONE


def test_a_list_holds_below_as_well(namespaces: Callable[[str], Endpoint]) -> None:
    below = namespaces("listed-eu")
    create(below, "orders")
    with RawClient.authenticated(below) as client:
        own, foreign = metadata_of(client, "orders", "users")

    assert own.error_code == ErrorCode.NONE
    assert foreign.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert topics_of(namespaces("listed")) == {"eu:orders"}


def test_topics_that_were_there_become_a_tenant_s(
    namespaces: Callable[[str], Endpoint], broker: Endpoint, direct: RawClient
) -> None:
    for topic in ("lit1-orders", "lit1-eu.orders", "lit1g-orders", "orders"):
        recreate_topic(direct, topic)
    produce(broker, "lit1-orders", "from before")
    produce(broker, "lit1-eu.orders", "from before, in eu")
    old, below = namespaces("old"), namespaces("old-eu")

    assert topics_of(old) == {"orders", "eu.orders"}
    assert topics_of(below) == {"orders"}
    assert consume(old, "orders", "readers") == "from before"
    assert consume(below, "orders", "readers") == "from before, in eu"
    assert {"lit1g-readers", "lit1g-eu.readers"} <= groups_of(broker)
    assert groups_of(old) == {"readers", "eu.readers"}


def test_an_error_text_names_what_the_tenant_knows(namespaces: Callable[[str], Endpoint]) -> None:
    old = namespaces("old")
    create(old, "twice")
    admin = AdminClient(old.for_confluent)
    future = admin.create_topics([NewTopic("twice", 1, 1)])["twice"]

    text = str(future.exception(20))
    assert "Topic 'twice' already exists" in text
    assert "lit1-" not in text


def test_each_namespace_is_a_cluster_of_its_own(namespaces: Callable[[str], Endpoint]) -> None:
    ids = set()
    for user in ("whole", "whole-eu", "old", "old-eu", "listed"):
        with RawClient.authenticated(namespaces(user)) as client:
            ids.add(client.request(MetadataRequest(topics=[]), 5).cluster_id)

    assert len(ids) == 5


def test_kafka_s_tools_name_what_is_below(
    namespaces: Callable[[str], Endpoint], kafka_tool: KafkaTools, tmp_path: Path
) -> None:
    whole, below = namespaces("whole"), namespaces("whole-eu")
    config = str(write_client_properties(tmp_path / "whole.properties", whole.for_java))

    def run(tool: str, *arguments: str, stdin: str = "") -> list[str]:
        server = ("--bootstrap-server", whole.bootstrap, "--command-config", config)
        return kafka_tool(tool, *server, *arguments, stdin=stdin).stdout.splitlines()

    assert "Created topic eu:tools." in run(tools.TOPICS, "--create", "--topic", "eu:tools")
    run(tools.CONSOLE_PRODUCER, "--topic", "eu:tools", stdin="by Java\n")

    options = ("--topic", "eu:tools", "--group", "eu:of-tools", "--from-beginning", "--max-messages", "1")
    assert run(tools.CONSOLE_CONSUMER, *options) == ["by Java"]
    assert "eu:tools" in run(tools.TOPICS, "--list")
    assert consume(below, "tools", "others") == "by Java"
    assert "of-tools" in groups_of(below)


def test_pages_of_topics_hold_those_below(namespaces: Callable[[str], Endpoint]) -> None:
    whole = namespaces("whole")
    for topic in ("eu:page", "us:page", "page"):
        create(whole, topic)
    found, cursor = [], None
    with RawClient.authenticated(whole) as client:
        while True:
            request = DescribeTopicPartitionsRequest(topics=[], response_partition_limit=1, cursor=cursor)
            page = client.request(request, 0)
            found += [one.name for one in page.topics if one.partitions]
            if page.next_cursor is None:
                break
            cursor = DescribeTopicPartitionsRequest.Cursor(
                topic_name=page.next_cursor.topic_name, partition_index=page.next_cursor.partition_index
            )

    assert len(found) == len(set(found))
    assert set(found) == topics_of(whole)
