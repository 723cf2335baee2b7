"""What a tenant may set of its topics and groups: judged by the gateway, on a broker that would take it."""

from __future__ import annotations

from typing import Any

import pytest

from bifrost.config.policies.config_table import GROUP_CONFIGS, TOPIC_CONFIGS
from bifrost.tenancy.policy import DEFAULT_POLICY
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    AlterConfigsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import await_config, create_topic
from support.gateways.gateway_fixtures import Connect, FreshTopic, StartGateway, UniqueName
from support.gateways.gateway_process import TenantSpec
from support.physical_names import physical_name

TOPIC, GROUP = 2, 32
SET, DELETE, APPEND = 0, 1, 2
NONE, VIOLATION = ErrorCode.NONE, ErrorCode.POLICY_VIOLATION

HARMFUL = {
    "internal.segment.bytes": "100",
    "segment.bytes": "1048576",
    "segment.ms": "1",
    "segment.index.bytes": "4",
    "index.interval.bytes": "0",
    "flush.messages": "1",
    "flush.ms": "0",
    "preallocate": "true",
    "min.insync.replicas": "5",
    "max.compaction.lag.ms": "1",
    "max.message.bytes": "2147483647",
    "compression.type": "gzip",
    "file.delete.delay.ms": "9223372036854775807",
    "unclean.leader.election.enable": "true",
    "leader.replication.throttled.replicas": "*",
    "follower.replication.throttled.replicas": "*",
}

INTERNAL_TOPICS_OF_CLIENTS = [
    # RepartitionTopicConfig, WindowedChangelogTopicConfig, VersionedChangelogTopicConfig of Kafka Streams.
    {
        "cleanup.policy": "delete",
        "segment.bytes": "52428800",
        "retention.ms": "-1",
        "message.timestamp.type": "CreateTime",
    },
    {"cleanup.policy": "compact,delete", "retention.ms": "86400000", "message.timestamp.type": "CreateTime"},
    {"cleanup.policy": "compact", "min.compaction.lag.ms": "172800000"},
    # KafkaTopicBasedBackingStore of Kafka Connect.
    {"cleanup.policy": "compact"},
]


def described(client: RawClient, kind: int, name: str) -> dict[str, str | None]:
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=None
    )
    version = client.newest(ApiKey.DESCRIBE_CONFIGS)
    (result,) = client.request(DescribeConfigsRequest(resources=[resource]), version).results
    return {config.name: config.value for config in result.configs}


def create(client: RawClient, name: str, configs: dict[str, str], **more: Any) -> tuple[int, str | None]:
    fields = {"num_partitions": 1, "replication_factor": 1} | {
        key: more.pop(key) for key in ("num_partitions", "replication_factor", "assignments") if key in more
    }
    offered = CreateTopicsRequest
    given = [offered.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()]
    topic = offered.CreatableTopic(name=name, configs=given, **fields)
    (result,) = client.request(offered(topics=[topic], timeout_ms=10_000, **more), 5).topics
    return result.error_code, result.error_message


def alter(
    client: RawClient, name: str, *changes: tuple[str, int, str | None], kind: int = TOPIC, **more: Any
) -> tuple[int, str | None]:
    offered = IncrementalAlterConfigsRequest
    configs = [
        offered.AlterableConfig(name=config, config_operation=operation, value=value)
        for config, operation, value in changes
    ]
    resource = offered.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    (result,) = client.request(offered(resources=[resource], **more), 1).responses
    return result.error_code, result.error_message


def test_every_config_that_the_broker_has_is_decided(direct: RawClient, fresh_topic: FreshTopic) -> None:
    fresh_topic("globex", "decided")

    topics, groups = (
        described(direct, TOPIC, physical_name("globex", "decided")),
        described(direct, GROUP, physical_name("globex", "decided")),
    )

    assert "segment.ms" in topics
    assert set(topics) - set(TOPIC_CONFIGS) == set()
    assert set(groups) - set(GROUP_CONFIGS) == set()


@pytest.mark.parametrize("config", HARMFUL)
def test_what_harms_the_brokers_cannot_be_set(config: str, connect: Connect, fresh_topic: FreshTopic) -> None:
    fresh_topic("globex", "policed")
    globex, value = connect("globex"), HARMFUL[config]
    before = described(globex, TOPIC, "policed")
    refusal = DEFAULT_POLICY.refuse_topic_config(config, value)
    assert refusal is not None
    refused = (VIOLATION, refusal.message)

    for validate_only in (True, False):
        assert create(globex, "policed-too", {config: value}, validate_only=validate_only) == refused
        assert alter(globex, "policed", (config, SET, value), validate_only=validate_only) == refused
    assert config in refusal.message
    assert described(globex, TOPIC, "policed") == before


def test_alter_configs_is_judged_as_well(connect: Connect, fresh_topic: FreshTopic) -> None:
    fresh_topic("globex", "policed")
    globex, offered = connect("globex"), AlterConfigsRequest

    def ask(config: str, value: str) -> int:
        wanted = [offered.AlterableConfig(name=config, value=value)]
        resource = offered.AlterConfigsResource(resource_type=TOPIC, resource_name="policed", configs=wanted)
        (result,) = globex.request(offered(resources=[resource]), 2).responses
        return int(result.error_code)

    assert ask("flush.messages", "1") == VIOLATION
    assert ask("retention.ms", "123456") == NONE
    await_config(globex, TOPIC, "policed", "retention.ms", "123456")


@pytest.mark.parametrize("configs", INTERNAL_TOPICS_OF_CLIENTS, ids=str)
def test_topics_of_kafka_streams_and_connect_are_created(
    configs: dict[str, str], connect: Connect, unique: UniqueName
) -> None:
    name, globex = unique("internal"), connect("globex")

    assert create(globex, name, configs) == (NONE, None)


def test_lists_and_resets_are_judged(connect: Connect, fresh_topic: FreshTopic) -> None:
    fresh_topic("globex", "policed")
    globex = connect("globex")

    assert alter(globex, "policed", ("cleanup.policy", APPEND, "compact")) == (NONE, None)
    await_config(globex, TOPIC, "policed", "cleanup.policy", "delete,compact")
    assert alter(globex, "policed", ("cleanup.policy", DELETE, None)) == (NONE, None)
    await_config(globex, TOPIC, "policed", "cleanup.policy", "delete")
    throttled = "leader.replication.throttled.replicas"
    for operation, value in ((APPEND, "0:1"), (DELETE, None)):
        assert alter(globex, "policed", (throttled, operation, value))[0] == VIOLATION


def test_of_a_topic_all_is_changed_or_nothing(connect: Connect, fresh_topic: FreshTopic) -> None:
    fresh_topic("globex", "policed")
    globex = connect("globex")

    assert alter(globex, "policed", ("retention.ms", SET, "55555"), ("flush.ms", SET, "1"))[0] == VIOLATION
    assert described(globex, TOPIC, "policed")["retention.ms"] != "55555"


def test_an_absent_topic_is_refused_as_one_that_is_there(connect: Connect) -> None:
    acme = connect("acme")

    answers = {alter(acme, name, ("segment.ms", SET, "1")) for name in ("audit.log", "audit.dog", "nothing")}

    assert len(answers) == 1


@pytest.mark.needs_api(ApiKey.STREAMS_GROUP_HEARTBEAT, 0)  # Older brokers lack some of these configs.
def test_configs_of_groups_are_judged(connect: Connect, unique: UniqueName) -> None:
    group, globex = unique("group"), connect("globex")
    name = "consumer.assignment.interval.ms"

    assert alter(globex, group, ("consumer.session.timeout.ms", SET, "50000"), kind=GROUP) == (NONE, None)
    assert alter(globex, group, (name, SET, "0"), kind=GROUP) == (
        VIOLATION,
        f"Invalid value 0 for configuration {name}: this cluster allows 1000 to 15000",
    )
    assert alter(globex, group, ("segment.ms", SET, "1"), kind=GROUP)[0] == ErrorCode.INVALID_CONFIG


def test_replicas_are_bounded_and_placed_by_the_brokers(connect: Connect, fresh_topic: FreshTopic) -> None:
    fresh_topic("globex", "policed")
    globex = connect("globex")
    placed = CreateTopicsRequest.CreatableReplicaAssignment(partition_index=0, broker_ids=[1])
    fields = {"num_partitions": -1, "replication_factor": -1, "assignments": [placed]}
    more = CreatePartitionsRequest.CreatePartitionsAssignment(broker_ids=[1])
    wanted = CreatePartitionsRequest.CreatePartitionsTopic(name="policed", count=2, assignments=[more])

    (grown,) = globex.request(CreatePartitionsRequest(topics=[wanted], timeout_ms=5000), 1).results

    assert create(globex, "many", {}, replication_factor=4) == (
        VIOLATION,
        "Replication factor 4 is not allowed: this cluster allows at most 3",
    )
    assert create(globex, "placed", {}, **fields)[0] == VIOLATION
    assert grown.error_code == VIOLATION
    # initech may.
    assert create(connect("initech"), "placed", {}, validate_only=True, **fields) == (NONE, None)


@pytest.fixture
def lenient(start_gateway: StartGateway) -> Endpoint:
    """A tenant of a gateway that allows more, and less."""
    rules = [
        {"name": "segment.ms", "min": "1s"},
        {"name": "flush.messages", "allowed": True},
        {"name": "retention.ms", "max": "24h"},
    ]
    tenant = TenantSpec("lenient", policy={"topic_configs": [{"name": "segment.ms", "min": "500ms"}]})
    return start_gateway(tenants=[tenant], proxy={"policy": {"topic_configs": rules}}).broker_endpoint(
        "lenient"
    )


def test_the_operator_decides_otherwise(lenient: Endpoint, unique: UniqueName) -> None:
    name = unique("lenient")
    with RawClient.authenticated(lenient) as client:
        create_topic(client, name, configs={"segment.ms": "500", "flush.messages": "1"})

        assert described(client, TOPIC, name)["flush.messages"] == "1"
        assert alter(client, name, ("segment.ms", SET, "499"))[0] == VIOLATION
        assert alter(client, name, ("retention.ms", SET, "86400000")) == (NONE, None)
        assert alter(client, name, ("retention.ms", SET, "-1")) == (
            VIOLATION,
            "Invalid value -1 for configuration retention.ms: this cluster allows 86400000 or less, and not below 0 "
            "(unlimited)",
        )
