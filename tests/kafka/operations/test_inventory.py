"""What `bifrost inventory` lists of real brokers: topics, groups, transactional IDs, with their states."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka import Consumer, Producer, TopicPartition

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.messages import ShareGroupHeartbeatRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.routed_client import RoutedClient
from support.gateways.gateway_fixtures import FreshTopic, UniqueName
from support.gateways.gateway_process import HOST, GatewayProcess, free_ports
from support.physical_names import physical_name


def listed(config: Path) -> dict[str, Any]:
    """Run the command; return the only cluster that it lists."""
    command = [sys.executable, "-m", "bifrost.cli.main", "inventory", "--config", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    whole = json.loads(done.stdout)
    assert whole["version"] == 1
    assert 0 < whole["begun_ms"] <= whole["ended_ms"]
    (cluster,) = whole["clusters"]
    found: dict[str, Any] = cluster
    return found


def states(cluster: dict[str, Any], kind: str) -> dict[str, str]:
    return {one["name"]: one["state"] for one in cluster[kind]}


def test_all_that_exists_is_listed_by_its_physical_name(
    kafka: EmbeddedKafka,
    gateway: GatewayProcess,
    acme: Endpoint,
    broker: Endpoint,
    fresh_topic: FreshTopic,
    unique: UniqueName,
) -> None:
    del kafka
    fresh_topic("acme", "orders")
    group, left, shared, pay, own = (unique(one) for one in ("group", "left", "shared", "pay", "own"))
    producer = Producer(acme.for_confluent | {"transactional.id": pay})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("orders", b"value")
    producer.flush(30)
    consumer = Consumer(acme.for_confluent | {"group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    committing = Consumer(acme.for_confluent | {"group.id": left})
    committing.commit(offsets=[TopicPartition("orders", 0, 0)], asynchronous=False)
    direct = Consumer(broker.for_confluent | {"group.id": own})
    direct.commit(offsets=[TopicPartition(physical_name("acme", "orders"), 0, 0)], asynchronous=False)
    has_share = joins_share_group(broker, physical_name("acme", shared))
    try:
        while not consumer.assignment():
            consumer.poll(0.2)
        cluster = listed(gateway.directory / "proxy.yaml")
    finally:
        consumer.close()
        producer.abort_transaction(30)

    assert physical_name("acme", "orders") in cluster["topics"]
    assert "__consumer_offsets" in cluster["topics"]
    groups = states(cluster, "groups")
    assert groups[physical_name("acme", group)] == "Stable"
    assert groups[physical_name("acme", left)] == groups[own] == "Empty"
    assert (physical_name("acme", shared) in groups) == has_share
    assert states(cluster, "transactional_ids")[physical_name("acme", pay)] == "Ongoing"
    assert cluster["groups"] == sorted(cluster["groups"], key=lambda one: one["name"])


def test_a_cluster_that_does_not_answer_leaves_no_file(gateway: GatewayProcess, tmp_path: Path) -> None:
    data = yaml.safe_load((gateway.directory / "proxy.yaml").read_text())
    data["upstream"] = {"bootstrap": [f"{HOST}:{free_ports(1)}"]}
    config = gateway.directory / "no-broker.yaml"
    config.write_text(yaml.safe_dump(data))
    out = tmp_path / "inventory.json"
    command = [sys.executable, "-m", "bifrost.cli.main", "inventory", "--config", str(config)]

    done = subprocess.run(
        [*command, "--out", str(out)], capture_output=True, text=True, timeout=100, check=False
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert not out.exists()


def joins_share_group(broker: Endpoint, group: str) -> bool:
    """Join a share group, if the broker has such groups."""
    with RawClient(broker) as client:
        if int(ApiKey.SHARE_GROUP_HEARTBEAT) not in client.versions():
            return False
        version = client.newest(ApiKey.SHARE_GROUP_HEARTBEAT)
    with RoutedClient(broker) as routed:
        member = "c2hhcmUtbWVtYmVyLTAwMQ"
        request = ShareGroupHeartbeatRequest(
            group_id=group, member_id=member, subscribed_topic_names=["none"]
        )
        return bool(routed.request(request, version).error_code == 0)
