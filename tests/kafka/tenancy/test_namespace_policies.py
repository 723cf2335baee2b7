"""Policies of namespaces from the configuration, on a real broker, with Kafka's own tools and clients."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic, ResourceType

from bifrost.embedded.kafka import DEFAULT_VERSION, EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ConsumerGroupHeartbeatRequest, MetadataRequest
from support.brokers.kafka_cluster import CONFIGS, TOPICS, write_client_properties
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.admin_port import value
from support.gateways.gateway_process import GatewayProcess, TenantSpec
from support.java.tool_server import ToolServer
from support.physical_names import physical_name

pytestmark = pytest.mark.timeout(120)

POLICIES = [
    {
        "max_partitions_per_topic": 4,
        "max_replication_factor": 1,
        "forced_topic_configs": [{"name": "segment.bytes", "value": 33554432}],
    },
    {
        "namespace": "eu",
        "topic_names": ["orders*"],
        "group_names": ["team-*"],
        "max_topics": 3,
        "topic_configs": [{"name": "retention.ms", "max": "1h"}],
    },
]


def adjust(configuration: dict[str, Any]) -> None:
    """Give the tenant policies, and a user that is bound to its namespace `eu`."""
    (tenant,) = configuration["tenants"]
    tenant["namespace_policies"] = POLICIES
    credentials = tenant["auth"]["credentials"]
    credentials.append(credentials[0] | {"username": "ruled-eu", "namespace": "eu"})


@pytest.fixture(scope="module")
def process(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    directory, tenant = tmp_path_factory.mktemp("ruled"), TenantSpec("ruled", allow_topic_deletion=True)
    with GatewayProcess(
        directory, kafka.bootstrap, tenants=(tenant,), adjust=adjust, has_admin=True
    ) as process:
        yield process


@pytest.fixture
def above(process: GatewayProcess) -> Iterator[Endpoint]:
    """The endpoint of a user of the whole tenant; its topics are deleted afterwards."""
    endpoint = process.broker_endpoint("ruled")
    yield endpoint
    admin = AdminClient(endpoint.for_confluent)
    topics = list(admin.list_topics(timeout=20).topics)
    for future in admin.delete_topics(topics).values() if topics else ():
        future.result(20)


@pytest.fixture
def inside(above: Endpoint) -> Endpoint:
    """The endpoint of a user that is bound to `eu`."""
    return replace(above, username="ruled-eu")


def creation(endpoint: Endpoint, name: str, partitions: int = 1, **configs: str) -> str:
    """Create a topic, and return the text of the error; empty: there is none."""
    config = {key.replace("_", "."): one for key, one in configs.items()}
    admin = AdminClient(endpoint.for_confluent)
    error = admin.create_topics([NewTopic(name, partitions, 1, config=config)])[name].exception(20)
    return "" if error is None else str(error)


def configs_of(endpoint: Endpoint, topic: str) -> dict[str, str]:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    admin = AdminClient(endpoint.for_confluent)  # Without a name it would end before it is answered.
    found = admin.describe_configs([resource])[resource].result(20)
    return {name: one.value for name, one in found.items()}


def test_a_refusal_says_which_policy_of_which_namespace_and_what_it_allows(
    process: GatewayProcess, above: Endpoint, inside: Endpoint
) -> None:
    for endpoint, name in ((inside, "clicks"), (above, "eu:clicks")):
        text = creation(endpoint, name)
        assert "POLICY_VIOLATION" in text
        assert (
            "Policy topic_names of namespace ruled:eu allows topic names that match orders*, not clicks"
            in text
        )
    assert "namespace ruled allows at most 4 partitions, not 5" in creation(inside, "orders", 5)
    assert "namespace ruled:eu allows for retention.ms" in creation(inside, "orders", retention_ms="3600001")
    assert "allows for segment.bytes 33554432, not 20000000" in creation(
        above, "orders", segment_bytes="20000000"
    )
    assert creation(above, "clicks", 4, retention_ms="3600001") == ""
    assert creation(inside, "orders", 4, retention_ms="3600000") == ""
    hits = {
        key: value(process, "kafka_proxy_limits_hit_total", limit=key, tenant="ruled")
        for key in ("topic_names", "topic_configs")
    }
    assert hits == {"topic_names": 2, "topic_configs": 1}


def test_forced_configs_are_there_and_stay(broker: Endpoint, above: Endpoint, tmp_path: Path) -> None:
    properties = str(write_client_properties(tmp_path / "client.properties", above.for_java))
    server = ["--bootstrap-server", above.bootstrap, "--command-config", properties]
    alter = [*server, "--alter", "--topic", "orders"]
    with ToolServer(DEFAULT_VERSION, tmp_path / "tools.log") as run:
        run(TOPICS, *server, "--create", "--topic", "orders", "--partitions", "2")
        assert configs_of(broker, physical_name("ruled", "orders"))["segment.bytes"] == "33554432"
        assert "segment.bytes=33554432" in run(CONFIGS, *server, "--describe", "--topic", "orders").stdout

        refused = run(CONFIGS, *alter, "--add-config", "segment.bytes=20000000", check=False)
        assert "Policy forced_topic_configs of namespace ruled allows" in refused.stdout + refused.stderr
        refused = run(CONFIGS, *alter, "--delete-config", "segment.bytes", check=False)
        assert "not no value of its own" in refused.stdout + refused.stderr
        run(CONFIGS, *alter, "--add-config", "retention.ms=5")
    found = configs_of(above, "orders")
    assert (found["segment.bytes"], found["retention.ms"]) == ("33554432", "5")


def test_a_topic_grows_up_to_the_bound(above: Endpoint) -> None:
    assert creation(above, "orders", 2) == ""
    admin = AdminClient(above.for_confluent)

    error = admin.create_partitions([NewPartitions("orders", 5)])["orders"].exception(20)
    assert "Policy max_partitions_per_topic of namespace ruled allows at most 4 partitions, not 5" in str(
        error
    )
    admin.create_partitions([NewPartitions("orders", 4)])["orders"].result(20)


def test_topics_of_the_namespace_are_counted_from_above_and_from_inside(
    above: Endpoint, inside: Endpoint
) -> None:
    assert [creation(endpoint, name) for endpoint, name in ((inside, "orders1"), (above, "eu:orders2"))] == [
        "",
        "",
    ]
    assert creation(above, "other") == ""
    assert creation(inside, "orders3") == ""
    for endpoint, name in ((inside, "orders4"), (above, "eu:orders4")):
        assert "Policy max_topics of namespace ruled:eu allows at most 3 topics, not 4" in creation(
            endpoint, name
        )


def test_a_topic_that_a_client_only_names_is_under_the_same_policies(inside: Endpoint) -> None:
    with RawClient.authenticated(inside) as client:
        topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in ("clicks", "orders")]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=True)
        found = {one.name: one.error_code for one in client.request(request, 12).topics}
    assert found["clicks"] == ErrorCode.POLICY_VIOLATION
    assert found["orders"] != ErrorCode.POLICY_VIOLATION
    admin, ends = AdminClient(inside.for_confluent), time.monotonic() + 30
    while set(admin.list_topics(timeout=20).topics) != {"orders"}:
        assert time.monotonic() < ends
        time.sleep(0.1)


def test_groups_have_allowed_names(above: Endpoint, inside: Endpoint) -> None:
    assert creation(inside, "orders") == ""
    producer = Producer(inside.for_confluent)
    producer.produce("orders", "1")
    assert producer.flush(20) == 0
    consumer = Consumer(inside.for_confluent | {"group.id": "team-a", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    message = consumer.poll(30)
    assert message is not None
    assert message.value() == b"1"
    consumer.commit(message, asynchronous=False)
    consumer.close()

    other = Consumer(inside.for_confluent | {"group.id": "readers"})
    with pytest.raises(KafkaException, match="POLICY_VIOLATION"):
        other.commit(message, asynchronous=False)
    other.close()
    with RawClient.authenticated(above) as client:
        joining = ConsumerGroupHeartbeatRequest(
            group_id="eu:readers",
            member_id="member",
            member_epoch=0,
            rebalance_timeout_ms=1000,
            subscribed_topic_names=["eu:orders"],
            topic_partitions=[],
        )
        answer = client.request(joining, client.newest(ApiKey.CONSUMER_GROUP_HEARTBEAT))
    assert answer.error_code == ErrorCode.POLICY_VIOLATION
    assert answer.error_message == (
        "Policy group_names of namespace ruled:eu allows group names that match team-*, not readers"
    )
