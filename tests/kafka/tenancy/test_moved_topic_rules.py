"""Moved and shared topics under filters, policies and configs, in pages of partitions, and on two gateways at once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, ResourceType

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.tenancy.namespaces.alias_table import Access
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import CreateTopicsRequest, DescribeTopicPartitionsRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import recreate_topic
from support.clients.routed_client import RoutedClient
from support.control.control_process import ControlProcess
from support.gateways.gateway_process import GatewayProcess, TenantSpec
from support.moved_topics import WITHIN_S, MovedTopics, bound_users
from support.physical_names import physical_name

pytestmark = pytest.mark.timeout(400)

OWNER, GUEST, LISTED, BOUND = "keeper", "taker", "clerk", "keeper.billing"
BUDGET = TenantSpec("budget", limits={"max_topics": 2})
FILTER = {
    "name": "RecordHeaders",
    "config": {"add": [{"key": "desk", "value": "billing"}]},
    "rules": [{"namespace": "billing", "topics": ["*"], "direction": "produce"}],
}
POLICY = {"namespace": "billing", "compression": ["none", "zstd"]}


def gateway(kafka: EmbeddedKafka, directory: Path, state: str) -> GatewayProcess:
    """Return a gateway of two workers, with the state of others."""
    users = bound_users(directory, billing="billing")

    def adjust(configuration: dict[str, Any]) -> None:
        users(configuration)
        configuration["tenants"][0] |= {"filters": [FILTER], "namespace_policies": [POLICY]}

    tenants = (TenantSpec(OWNER), TenantSpec(GUEST), TenantSpec(LISTED, allowed_topics=("a", "q")), BUDGET)
    proxy = {"state": {"topic": state}, "workers": 2}
    return GatewayProcess(directory, kafka.bootstrap, tenants=tenants, adjust=adjust, proxy=proxy)


@pytest.fixture(scope="module")
def worlds(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[MovedTopics]]:
    """Two gateways of the same state."""
    state = f"__state-{time.time_ns()}"
    folders = [tmp_path_factory.mktemp("gateway") for _ in range(2)]
    with gateway(kafka, folders[0], state) as one, gateway(kafka, folders[1], state) as other:
        yield [MovedTopics(kafka.bootstrap, state, each) for each in (one, other)]


@pytest.fixture
def control(kafka: EmbeddedKafka, tmp_path: Path, worlds: list[MovedTopics]) -> Iterator[ControlProcess]:
    tenants = [{"name": OWNER, "namespaces": ["billing"]}, {"name": GUEST}, {"name": LISTED}]
    with ControlProcess(tmp_path, kafka.bootstrap, worlds[0].state_topic, tenants=tenants) as process:
        yield process


def create(broker: Endpoint, tenant: str, *topics: str) -> None:
    with RoutedClient(broker) as client:
        for topic in topics:
            recreate_topic(client, physical_name(tenant, topic))


def written(endpoint: Endpoint, topic: str, *values: str, **settings: str) -> list[str]:
    """Write records; return the names of the errors."""
    errors: list[str] = []
    producer = Producer(
        endpoint.for_confluent | {key.replace("_", "."): one for key, one in settings.items()}
    )
    for value in values:
        producer.produce(
            topic, value * 100, on_delivery=lambda error, _: errors.append(error and error.name())
        )
    assert producer.flush(90) == 0
    return [one for one in errors if one]


def read(endpoint: Endpoint, topic: str, count: int) -> list[Message]:
    """Return so many records of a topic's only partition, and no more."""
    consumer = Consumer(endpoint.for_confluent | {"group.id": "unused", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[Message] = []
    ends = time.monotonic() + WITHIN_S
    while len(found) < count:
        assert time.monotonic() < ends, len(found)
        found += [one for one in consumer.consume(count, timeout=1) if one.error() is None]
    consumer.close()
    return found


def created(endpoint: Endpoint, name: str) -> tuple[int, str | None]:
    """Create a topic over a connection of its own; return the error and its text."""
    topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=10_000)
    with RawClient.authenticated(endpoint) as client:
        (answer,) = client.request(request, client.newest(ApiKey.CREATE_TOPICS)).topics
    return answer.error_code, answer.error_message


def test_a_moved_topic_counts_for_its_owner_alone(broker: Endpoint, worlds: list[MovedTopics]) -> None:
    world, tenant = worlds[0], BUDGET.name
    endpoint = world.gateway.broker_endpoint(tenant)
    create(broker, OWNER, "foreign")
    create(broker, tenant, "kept")
    world.move(f"{OWNER}/foreign", f"{tenant}/foreign")
    world.await_topics(tenant, has="foreign")

    code, text = created(endpoint, "more")
    assert code == ErrorCode.POLICY_VIOLATION
    assert "there are 2, and this cluster allows 2 (max_topics)" in str(text)

    world.move(f"{tenant}/kept", f"{OWNER}/kept", keeps_name=True)
    world.await_topics(OWNER, has="kept")
    ends = time.monotonic() + WITHIN_S
    while True:
        try:
            found = created(endpoint, "more")
            if found[0] == ErrorCode.NONE:
                break
        except (
            EOFError,
            ConnectionError,
        ) as error:  # Its connections end once, for a topic is shared with it.
            found = 0, repr(error)
        assert time.monotonic() < ends, found
        time.sleep(0.1)
    code, text = created(endpoint, "another")
    assert (code, "there are 2" in str(text)) == (ErrorCode.POLICY_VIOLATION, True)
    assert {"kept", "foreign", "more"} <= world.topics_of(tenant)


def test_a_moved_topic_is_under_the_rules_of_its_owner(
    broker: Endpoint, worlds: list[MovedTopics], control: ControlProcess, tmp_path: Path
) -> None:
    world, source = worlds[0], f"{OWNER}/rules"
    whole, bound = world.endpoint(OWNER), world.endpoint(BOUND)
    create(broker, OWNER, "rules")
    assert written(whole, "rules", "before", compression_type="gzip") == []

    move = ("topics", "move", source, "--to", f"{OWNER}:billing", "--as", "ruled")
    assert control.command(*move)[0] == 0
    world.await_topics(BOUND, has="ruled")
    world.await_topics(OWNER, has="billing:ruled", lacks="rules")

    for endpoint, name in ((bound, "ruled"), (whole, "billing:ruled")):
        assert written(endpoint, name, "x", compression_type="gzip") == ["POLICY_VIOLATION"]
        assert written(endpoint, name, "after", compression_type="zstd") == []
    found = read(bound, "ruled", 3)
    assert [one.headers() for one in found] == [None, *[[("desk", b"billing")]] * 2]

    alter = ("namespaces", "configs", "alter", f"{OWNER}:billing", "--add", "retention.ms=7200000")
    status, output, errors = control.command(*alter)
    assert (status, errors) == (0, "")
    assert f"{OWNER}:billing/ruled" in output
    resource = ConfigResource(ResourceType.TOPIC, "ruled")
    admin, ends = AdminClient(bound.for_confluent), time.monotonic() + WITHIN_S
    while (config := admin.describe_configs([resource])[resource].result(30)["retention.ms"]).source != (
        ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG.value
    ):
        assert time.monotonic() < ends, config
        time.sleep(0.1)
    assert config.value == "7200000"

    file = tmp_path / "policy.json"
    file.write_text(json.dumps({"topic_names": ["x*"]}))
    status, output, _ = control.command(
        "namespaces", "policy", "set", f"{OWNER}:billing", "--file", str(file), "--dry-run"
    )
    told = [line.split("\t")[:2] for line in output.splitlines()[:-1]]
    assert [f"{OWNER}:billing/ruled", "topic_names"] in told


def pages(endpoint: Endpoint) -> list[str]:
    """Return all topics as pages of one partition have them."""
    found: list[str] = []
    cursor = None
    with RawClient.authenticated(endpoint) as client:
        while True:
            request = DescribeTopicPartitionsRequest(topics=[], response_partition_limit=1, cursor=cursor)
            page = client.request(request, 0)
            found += [one.name for one in page.topics if one.partitions]
            if page.next_cursor is None:
                return found
            cursor = DescribeTopicPartitionsRequest.Cursor(
                topic_name=page.next_cursor.topic_name, partition_index=page.next_cursor.partition_index
            )


def test_pages_of_partitions_hold_moved_and_shared_topics(
    broker: Endpoint, worlds: list[MovedTopics]
) -> None:
    world = worlds[0]
    create(broker, OWNER, "a1", "b1", "c1", "to-clerk")
    create(broker, GUEST, "to-keeper")
    create(broker, LISTED, "a", "q")
    world.move(f"{OWNER}/b1", f"{OWNER}:billing/b2")
    world.move(f"{GUEST}/to-keeper", f"{OWNER}/from-taker")
    world.share(f"{OWNER}/to-clerk", f"{LISTED}/c", Access.READ)
    world.await_topics(LISTED, has="c")
    world.await_topics(OWNER, has="from-taker", lacks="b1")

    for user in (OWNER, BOUND, GUEST, LISTED):
        endpoint = world.endpoint(user)
        port = world.gateway.broker_port(1)
        found = pages(Endpoint(endpoint.host, port, endpoint.username, endpoint.password))
        assert len(found) == len(set(found)), user
        assert set(found) == world.topics_of(user), user
    assert {"from-taker", "billing:b2"} < world.topics_of(OWNER)
    assert world.topics_of(LISTED) == {"a", "c", "q"}


def test_an_inventory_has_the_owners_of_topics_that_were_moved_to_other_tenants(
    broker: Endpoint, worlds: list[MovedTopics]
) -> None:
    world, given, inside = worlds[0], physical_name(GUEST, "given"), physical_name(OWNER, "inside")
    create(broker, GUEST, "given")
    create(broker, OWNER, "inside")
    world.move(f"{GUEST}/given", f"{OWNER}:billing/given")
    world.move(f"{OWNER}/inside", f"{OWNER}:billing/inside")
    config = world.gateway.directory / "proxy.yaml"
    command = [sys.executable, "-m", "bifrost.cli.main", "inventory", "--config", str(config)]

    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    (cluster,) = json.loads(done.stdout)["clusters"]
    assert {given, inside} <= set(cluster["topics"])
    assert cluster["moved_topics"][given] == OWNER
    assert inside not in cluster["moved_topics"]


def test_two_gateways_agree_about_a_move_and_a_share(broker: Endpoint, worlds: list[MovedTopics]) -> None:
    here, there = worlds
    create(broker, OWNER, "common")
    here.move(f"{OWNER}/common", f"{OWNER}:billing/joint", keeps_name=True)
    here.share(f"{OWNER}:billing/joint", f"{GUEST}/seen", Access.READ)
    for world in worlds:
        world.await_topics(BOUND, has="joint")
        world.await_topics(GUEST, has="seen")
    expected = []
    for number, (world, user, name) in enumerate(
        ((here, OWNER, "common"), (there, OWNER, "common"), (here, BOUND, "joint"), (there, BOUND, "joint"))
    ):
        values = [f"{number}-{one}" for one in range(10)]
        assert written(world.endpoint(user), name, *values, enable_idempotence="true") == []
        expected += [(value * 100).encode() for value in values]

    for world in worlds:
        for user, name in ((OWNER, "common"), (BOUND, "joint"), (GUEST, "seen")):
            assert [one.value() for one in read(world.endpoint(user), name, len(expected))] == expected

    there.unshare(f"{OWNER}:billing/joint", f"{GUEST}/seen")
    here.unshare(f"{OWNER}:billing/joint", f"{OWNER}/common")
    for world in worlds:
        for user, name in ((GUEST, "seen"), (OWNER, "common")):
            ends, without = time.monotonic() + WITHIN_S, 0
            while without < 6:  # Connections are spread over both workers.
                assert time.monotonic() < ends, user
                without = without + 1 if name not in world.topics_of(user) else 0
