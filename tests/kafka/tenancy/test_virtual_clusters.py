"""Virtual clusters from Kubernetes-style documents: clients without any security settings, and names with prefixes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.config.checks.port_clashes import MAX_LISTENER_SETS
from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ListTransactionsRequest, MetadataRequest
from kafka import KafkaConsumer, KafkaProducer
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.virtual_clusters import VirtualClusters
from support.physical_names import MARK, physical_name


@pytest.fixture(scope="module")
def clusters(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualClusters]:
    directory = tmp_path_factory.mktemp("virtual-clusters")
    prefixes = ("t1-", "t2-", "t3-", "t4-")
    with VirtualClusters(directory, kafka.bootstrap, prefixes, with_users=("t3-", "t4-")) as gateway:
        yield gateway


def topics_of(endpoint: Endpoint) -> set[str]:
    return set(AdminClient(endpoint.for_confluent).list_topics(timeout=20).topics)


def groups_of(endpoint: Endpoint) -> set[str]:
    admin = AdminClient(endpoint.for_confluent)  # the answer comes while it lives
    return {one.group_id for one in admin.list_consumer_groups().result(20).valid}


def transactional_ids_of(endpoint: Endpoint) -> set[str]:
    with RawClient(endpoint) as client:
        listed = client.request(ListTransactionsRequest(), 0)
    return {one.transactional_id for one in listed.transaction_states}


def create(endpoint: Endpoint, topic: str, partitions: int = 1) -> None:
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(20)


def exchange(endpoint: Endpoint, topic: str, value: str) -> list[str]:
    """Send a record in a transaction, read what is in the topic as a group, and commit."""
    create(endpoint, topic)
    producer = Producer(endpoint.for_confluent | {"transactional.id": f"{topic}-tx"})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, value)
    producer.commit_transaction(20)
    settings = {
        "group.id": f"{topic}-group",
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
    }
    consumer = Consumer(endpoint.for_confluent | settings)
    consumer.subscribe([topic])
    message = consumer.poll(20)
    assert message is not None
    assert message.error() is None
    consumer.commit(message, asynchronous=False)
    values = [message.value().decode()]
    while (message := consumer.poll(0.5)) is not None:
        values.append(message.value().decode())
    consumer.close()
    return values


def test_clients_need_no_security_settings_and_names_have_prefixes_on_the_broker(
    clusters: VirtualClusters, broker: Endpoint
) -> None:
    one, two = clusters.of("t1-"), clusters.of("t2-")
    assert (one.username, two.username) == (None, None)

    assert exchange(one, "orders", "of the first") == ["of the first"]
    assert exchange(two, "orders", "of the second") == ["of the second"]

    assert {"t1-orders", "t2-orders"} <= topics_of(broker)
    assert {"t1-orders-group", "t2-orders-group"} <= groups_of(broker)
    assert {"t1-orders-tx", "t2-orders-tx"} <= transactional_ids_of(broker)
    assert not any(
        name.endswith("orders") and name.startswith(f"{MARK}tenant-t") for name in topics_of(broker)
    )


def test_each_sees_its_own_names_alone(clusters: VirtualClusters) -> None:
    one, two = clusters.of("t1-"), clusters.of("t2-")
    exchange(one, "mine", "x")
    exchange(two, "yours", "y")

    for endpoint, own, foreign in ((one, "mine", "yours"), (two, "yours", "mine")):
        assert own in topics_of(endpoint)
        assert foreign not in topics_of(endpoint)
        assert f"{own}-group" in groups_of(endpoint)
        assert f"{foreign}-group" not in groups_of(endpoint)
        assert f"{own}-tx" in transactional_ids_of(endpoint)
        assert f"{foreign}-tx" not in transactional_ids_of(endpoint)
        seen = topics_of(endpoint) | groups_of(endpoint) | transactional_ids_of(endpoint)
        assert not any(name.startswith(("t1-", "t2-", "__")) for name in seen)


@pytest.mark.parametrize("name", ["t2-secret", "t1-secret", "secret"])
def test_a_topic_of_another_is_absent_by_every_name(
    clusters: VirtualClusters, broker: Endpoint, name: str
) -> None:
    if "secret" not in topics_of(clusters.of("t2-")):
        exchange(clusters.of("t2-"), "secret", "z")

    with RawClient(clusters.of("t1-")) as client:
        topics = [MetadataRequest.MetadataRequestTopic(name=name)]
        [found] = client.request(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 12).topics

    assert "t2-secret" in topics_of(broker)
    assert found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert found.topic_id == bytes(16)


def test_a_topic_that_was_there_before_is_the_tenant_s(clusters: VirtualClusters, broker: Endpoint) -> None:
    create(broker, "t1-legacy", partitions=2)
    old = Producer(broker.for_confluent)
    old.produce("t1-legacy", "from before", partition=1)
    assert old.flush(20) == 0

    consumer = Consumer(clusters.of("t1-").for_confluent | {"group.id": "legacy-group"})
    consumer.assign([TopicPartition("legacy", 1, 0)])
    message = consumer.poll(20)
    consumer.close()

    assert message is not None
    assert message.value() == b"from before"
    assert "legacy" not in topics_of(clusters.of("t2-"))


def test_kafka_python_needs_no_settings_either(clusters: VirtualClusters, broker: Endpoint) -> None:
    endpoint = clusters.of("t2-")
    create(endpoint, "python")
    with KafkaProducer(**endpoint.for_python) as producer:
        producer.send("python", b"hello").get(20)

    consumer = KafkaConsumer(
        "python",
        group_id="python-group",
        auto_offset_reset="earliest",
        consumer_timeout_ms=20_000,
        **endpoint.for_python,
    )
    record = next(consumer)
    consumer.commit()
    consumer.close()

    assert record.value == b"hello"
    assert "t2-python-group" in groups_of(broker)


def test_a_virtual_cluster_with_users_is_for_its_own_alone(clusters: VirtualClusters) -> None:
    own, other = clusters.of("t3-"), clusters.of("t4-")
    since = clusters.mark()

    assert exchange(own, "guarded", "of the third") == ["of the third"]
    assert exchange(other, "guarded", "of the fourth") == ["of the fourth"]
    strangers = [
        replace(own, username=other.username),
        replace(own, password="wrong"),
        replace(own, username=None),
    ]
    for stranger in strangers:
        with pytest.raises(KafkaException):
            AdminClient(stranger.for_confluent).list_topics(timeout=3)

    ends = [one for one in clusters.events(since) if one["event"] == "connection_ended"]
    assert {"authentication_failed", "not_authenticated"} <= {one["reason"] for one in ends}


def test_a_tenant_comes_and_goes_with_its_file(kafka: EmbeddedKafka, tmp_path: Path) -> None:
    with VirtualClusters(tmp_path, kafka.bootstrap, ["stays-"], later=["comes-"]) as gateway:
        stays, comes = gateway.of("stays-"), gateway.of("comes-")
        consumer = Consumer(stays.for_confluent | {"group.id": "g"})
        assert exchange(stays, "orders", "before") == ["before"]

        since = gateway.mark()
        file = gateway.write("comes-")
        gateway.await_event(since, event="reloaded", outcome="applied")
        assert exchange(comes, "orders", "of a new tenant") == ["of a new tenant"]

        since = gateway.mark()
        file.unlink()
        gateway.await_event(since, event="reloaded", outcome="applied")
        with pytest.raises(KafkaException):
            AdminClient(comes.for_confluent).list_topics(timeout=2)
        assert set(consumer.list_topics(timeout=20).topics) >= {"orders"}
        consumer.close()


def test_virtual_clusters_of_one_broker_have_ports_that_follow_each_other(
    kafka: EmbeddedKafka, tmp_path: Path
) -> None:
    prefixes = ("n1-", "n2-")
    with VirtualClusters(tmp_path, kafka.bootstrap, prefixes, side_by_side=True, later=["n3-"]) as gateway:
        one, two = gateway.of("n1-"), gateway.of("n2-")
        assert two.port == one.port + 1
        assert exchange(one, "orders", "of the first") == ["of the first"]
        assert exchange(two, "orders", "of the second") == ["of the second"]
        [broker] = AdminClient(one.for_confluent).list_topics(timeout=20).brokers.values()
        assert (broker.id, broker.port) == (1, one.port)
        consumer = Consumer(one.for_confluent | {"group.id": "g"})
        assert "orders" in consumer.list_topics(timeout=20).topics

        # The second one's broker is at the port after its own, which clients know: it is not given away meanwhile.
        since = gateway.mark()
        gateway.provoked.add("reload_refused")
        gateway.write("n3-")
        refused = gateway.await_event(since, event="reload_refused")

        assert f"port {two.port + 1} " in refused["error"]
        assert exchange(two, "later", "still") == ["still"]
        assert "orders" in consumer.list_topics(timeout=20).topics
        consumer.close()


def test_a_kind_without_a_prefix_has_names_as_without_any(
    kafka: EmbeddedKafka, broker: Endpoint, tmp_path: Path
) -> None:
    alone = {"a1-": "topicPrefix", "a2-": "groupPrefix", "a3-": "transactionIdPrefix"}

    def keep_one(prefix: str, spec: dict[str, Any]) -> None:
        spec["virtualization"] = {alone[prefix]: prefix}

    with VirtualClusters(tmp_path, kafka.bootstrap, list(alone), change=keep_one) as gateway:
        for prefix, key in alone.items():
            assert exchange(gateway.of(prefix), "orders", prefix) == [prefix]
            default = physical_name(f"tenant-{prefix}prod", "")
            begins = dict.fromkeys(alone.values(), default) | {key: prefix}
            assert f"{begins['topicPrefix']}orders" in topics_of(broker)
            assert f"{begins['groupPrefix']}orders-group" in groups_of(broker)
            assert f"{begins['transactionIdPrefix']}orders-tx" in transactional_ids_of(broker)
        for prefix in alone:
            own = gateway.of(prefix)
            assert topics_of(own) - {"__consumer_offsets"} == {"orders"}
            assert groups_of(own) == {"orders-group"}
            assert transactional_ids_of(own) == {"orders-tx"}


@pytest.mark.timeout(300)
def test_a_thousand_virtual_clusters_are_served_and_reloaded(kafka: EmbeddedKafka, tmp_path: Path) -> None:
    prefixes = [f"m{number:03}-" for number in range(MAX_LISTENER_SETS)]
    with VirtualClusters(tmp_path, kafka.bootstrap, prefixes, side_by_side=True) as gateway:
        first, last = gateway.of(prefixes[0]), gateway.of(prefixes[-1])
        assert exchange(first, "orders", "of the first") == ["of the first"]
        assert exchange(last, "orders", "of the last") == ["of the last"]
        consumer = Consumer(last.for_confluent | {"group.id": "g"})
        consumer.list_topics(timeout=20)
        assert psutil.Process(gateway.pid).memory_info().rss < 160 << 20

        since = gateway.mark()
        (gateway.folder / f"{prefixes[0]}prod.yaml").unlink()
        gateway.await_event(since, event="reloaded", outcome="applied", timeout_s=120)

        with pytest.raises(KafkaException):
            AdminClient(first.for_confluent).list_topics(timeout=2)
        assert "orders" in consumer.list_topics(timeout=20).topics
        assert exchange(last, "later", "of the last") == ["of the last"]
        consumer.close()
