"""What the journal says of groups and transactional IDs, against what real clients did by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.messages import (
    DescribeConfigsRequest,
    HeartbeatRequest,
    ShareFetchRequest,
    ShareGroupDescribeRequest,
    ShareGroupHeartbeatRequest,
)
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.admin_port import value
from support.gateways.gateway_fixtures import FreshTopic, UniqueName
from support.gateways.gateway_process import GatewayProcess
from support.journal.journal_reader import Record, read_journal, total, usage
from support.physical_names import physical_name

FAST = {"interval_ms": 300, "snapshot_interval_ms": 0, "partitions": 3}


def journalling(kafka: EmbeddedKafka, directory: Path, gateway_id: str, **more: Any) -> GatewayProcess:
    """A gateway whose journal says `gateway_id`."""
    proxy = {"journal": FAST | {"gateway_id": gateway_id} | more}
    return GatewayProcess(directory, kafka.bootstrap, proxy=proxy, has_admin=True)


def calls(records: Iterable[Record], scope: str, name: str) -> Counter[str]:
    """Return how often each API named a group or transactional ID of acme; check the rows' other names."""
    found: Counter[str] = Counter()
    for row in usage(records, scope, resource_name=name):
        assert (row["principal"], row["physical_name"]) == ("User:acme", physical_name("acme", name))
        found[row["api"]] += row["requests"]
    return found


def consume(endpoint: Endpoint, topic: str, count: int, **settings: Any) -> Consumer:
    """Read so many records as a member of a group; the consumer is left open."""
    consumer = Consumer(endpoint.for_confluent | {"auto.offset.reset": "earliest"} | settings)
    consumer.subscribe([topic])
    for _ in range(count):
        message = consumer.poll(30)
        assert message is not None
        assert message.error() is None
    consumer.commit(asynchronous=False)
    return consumer


def test_groups_of_both_protocols_and_transactions_are_told_by_name(
    kafka: EmbeddedKafka, tmp_path: Path, fresh_topic: FreshTopic, broker: Endpoint, unique: UniqueName
) -> None:
    fresh_topic("acme", "orders")
    classic, new, sent, told = unique("classic"), unique("new"), unique("sent"), unique("told")
    with RawClient(broker) as direct:
        has_new = int(ApiKey.CONSUMER_GROUP_HEARTBEAT) in direct.versions()
    with journalling(kafka, tmp_path, "accesses") as gateway:
        endpoint = gateway.endpoint("acme")
        producer = Producer(endpoint.for_confluent | {"transactional.id": told})
        producer.init_transactions(30)
        producer.begin_transaction()
        for number in range(5):
            producer.produce("orders", f"value {number}")
        consumer = Consumer(endpoint.for_confluent | {"group.id": sent})
        offsets = [TopicPartition("orders", 0, 1)]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 30)
        producer.commit_transaction(30)
        consumer.close()
        consume(endpoint, "orders", 5, **{"group.id": classic}).close()
        if has_new:
            settings = {"group.id": new, "group.protocol": "consumer"}
            consume(endpoint, "orders", 5, **settings).close()
    records = read_journal(broker, "accesses")

    found = calls(records, "group", classic)
    assert set(found) >= {"FindCoordinator", "JoinGroup", "SyncGroup", "OffsetCommit", "LeaveGroup"}
    found = calls(records, "group", new)
    assert set(found) >= ({"ConsumerGroupHeartbeat", "OffsetCommit"} if has_new else set())
    found = calls(records, "group", sent)
    assert found["AddOffsetsToTxn"] == found["TxnOffsetCommit"] == 1
    found = calls(records, "transactional_id", told)
    assert set(found) >= {"FindCoordinator", "InitProducerId", "Produce", "TxnOffsetCommit", "EndTxn"}
    assert found["EndTxn"] == found["AddOffsetsToTxn"] == 1
    named = {row["resource_name"] for scope in ("group", "transactional_id") for row in usage(records, scope)}
    assert named <= {classic, new, sent, told}
    # The rows by request say the same of the APIs that name one group each.
    asked = total(usage(records, "request", api="OffsetCommit"), "requests")
    assert total(usage(records, "group", api="OffsetCommit"), "requests") == asked > 0
    # A consumer without a group, and Fetch, are in no such row.
    assert not list(usage(records, "group", api="Fetch"))


def test_share_groups_and_configs_of_groups_are_told_by_name(
    kafka: EmbeddedKafka, tmp_path: Path, broker: Endpoint, unique: UniqueName
) -> None:
    group = unique("shared")
    with (
        journalling(kafka, tmp_path, "shares") as gateway,
        RawClient.authenticated(gateway.broker_endpoint("acme")) as client,
    ):
        is_served = int(ApiKey.SHARE_GROUP_HEARTBEAT) in client.versions()
        if is_served:
            member = "c2hhcmUtbWVtYmVyLTAwMQ"
            client.request(
                ShareGroupHeartbeatRequest(
                    group_id=group, member_id=member, subscribed_topic_names=["orders"]
                ),
                client.newest(ApiKey.SHARE_GROUP_HEARTBEAT),
            )
            version = client.newest(ApiKey.SHARE_FETCH)
            fetch = ShareFetchRequest(group_id=group, member_id=member, max_records=1, batch_size=1)
            client.request(fetch, version)
            described = ShareGroupDescribeRequest(group_ids=[group, group + "-2"])
            client.request(described, client.newest(ApiKey.SHARE_GROUP_DESCRIBE))
        resource = DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=32, resource_name=group, configuration_keys=None
        )
        client.request(DescribeConfigsRequest(resources=[resource]), 4)
    records = read_journal(broker, "shares")

    share = {"ShareGroupHeartbeat": 1, "ShareFetch": 1, "ShareGroupDescribe": 1} if is_served else {}
    assert calls(records, "group", group) == share | {"DescribeConfigs": 1}
    assert calls(records, "group", group + "-2") == ({"ShareGroupDescribe": 1} if is_served else {})


@pytest.mark.parametrize("length", [10, 300])
def test_made_up_groups_take_a_bounded_number_of_rows(
    kafka: EmbeddedKafka, tmp_path: Path, broker: Endpoint, length: int
) -> None:
    gateway_id = f"groups-{length}"
    limits = {"max_usage_rows_per_tenant": 100, "interval_ms": 60_000}
    with (
        journalling(kafka, tmp_path, gateway_id, **limits) as gateway,
        RawClient.authenticated(gateway.broker_endpoint("globex")) as client,
    ):
        for number in range(400):
            group = f"{number:04}".ljust(length, "g")
            client.request(HeartbeatRequest(group_id=group, member_id="m"), 4)
        assert value(gateway, "kafka_proxy_journal_usage_rows") <= 101
        folded = value(gateway, "kafka_proxy_journal_folded_total", tenant="globex")
        assert folded > 300
    records = read_journal(broker, gateway_id)

    rows = list(usage(records, "group", api="Heartbeat"))
    assert total(rows, "requests") == 400
    (one,) = (row for row in rows if row.get("is_folded"))
    assert "resource_name" not in one
    assert "physical_name" not in one
    assert one["requests"] == folded
    assert len(rows) == 400 - folded + 1
