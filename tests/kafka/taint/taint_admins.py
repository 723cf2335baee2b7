"""The administrators of one tenant: they ask for, and change, all that an admin client can, again and again."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicCollection, TopicPartition
from confluent_kafka import KafkaError as ConfluentError
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
    TopicDescription,
)
from kafka.admin import NewTopic as PythonTopic
from kafka.admin import OffsetSpec as PythonOffsetSpec
from kafka.errors import KafkaError
from taint_side import SHARED, Side

from kafka import KafkaAdminClient
from kafka import TopicPartition as PythonPartition

WAIT_S = 30.0
PAUSE_S = 0.05


def done(futures: dict[Any, Any]) -> dict[Any, Any]:
    """Return what each future of an admin call came to."""
    return {key: future.result(WAIT_S) for key, future in futures.items()}


def make_topics(side: Side) -> None:
    """Create the topics that the clients write to, and note the IDs of those that the other tenant lacks."""
    admin = AdminClient(side.endpoint.for_confluent | {"client.id": side.named("admin")})
    configs = {"retention.ms": side.config_value}
    names = [*SHARED, *side.own_topics]
    compact = configs | {"cleanup.policy": "compact"}
    topics = [
        NewTopic(
            name, side.partitions_of(name), -1, config=compact if name == side.compacted_topic else configs
        )
        for name in names
    ]
    done(admin.create_topics(topics))
    for name, described in _described(admin, names).items():
        most = described.topic_id.get_most_significant_bits()
        least = described.topic_id.get_least_significant_bits()
        mask = (1 << 64) - 1
        side.topic_ids[name] = (most & mask).to_bytes(8, "big") + (least & mask).to_bytes(8, "big")


def _described(admin: AdminClient, names: list[str]) -> dict[str, TopicDescription]:
    """Describe the topics as soon as the broker that is asked knows them all: brokers learn of new ones by and by."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            return done(admin.describe_topics(TopicCollection(names)))
        except KafkaException as error:
            if error.args[0].code() != ConfluentError.UNKNOWN_TOPIC_OR_PART or time.monotonic() > deadline:
                raise
        time.sleep(0.02)


def _await_topics(admin: AdminClient, names: set[str]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not names <= set(admin.list_topics(timeout=WAIT_S).topics):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def confluent_admin(side: Side, stop: threading.Event) -> int:
    """librdkafka's admin client."""
    admin = AdminClient(side.endpoint.for_confluent | {"client.id": side.named("admin")})
    names = {*SHARED, *side.own_topics}
    expected_groups = {"readers", side.named("group"), side.named("copiers"), side.named("aio-group")}
    for turn in itertools.count():
        if stop.is_set() and turn:
            return 0
        number = next(side.numbers)
        _change_topic(admin, side, side.named(f"brief-{number}"))
        _change_topic(admin, side, f"brief-{number}")
        listed = set(admin.list_topics(timeout=WAIT_S).topics)
        assert names <= listed
        partitions = [TopicPartition(name, 0) for name in names]
        for spec in (OffsetSpec.earliest(), OffsetSpec.latest(), OffsetSpec.max_timestamp()):
            done(admin.list_offsets(dict.fromkeys(partitions, spec)))
        groups = {one.group_id for one in admin.list_consumer_groups().result(WAIT_S).valid}
        for group in groups & expected_groups:
            done(admin.describe_consumer_groups([group], include_authorized_operations=True))
            done(admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]))
        described = admin.describe_cluster(include_authorized_operations=True).result(WAIT_S)
        resources = [ConfigResource("topic", name) for name in names]
        resources += [ConfigResource("broker", str(described.nodes[0].id))]
        done(admin.describe_configs(resources))
        everything = AclBindingFilter(
            ResourceType.ANY,
            None,
            ResourcePatternType.ANY,
            None,
            None,
            AclOperation.ANY,
            AclPermissionType.ANY,
        )
        try_to(lambda wanted=everything: admin.describe_acls(wanted).result(WAIT_S))
        done(admin.delete_records([TopicPartition(SHARED[1], 1, 0)]))
        stop.wait(PAUSE_S)
    return 0


def _change_topic(admin: AdminClient, side: Side, name: str) -> None:
    done(admin.create_topics([NewTopic(name, 1, -1, config={"retention.ms": side.config_value})]))
    _await_topics(admin, {name})
    # The brokers' metadata is a moment behind the controller's.
    try_to(lambda: done(admin.describe_topics(TopicCollection([name]))))
    _soon(lambda: done(admin.create_partitions([NewPartitions(name, 2)])))
    change = ConfigEntry("retention.ms", side.config_value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource("topic", name, incremental_configs=[change])
    _soon(lambda: done(admin.incremental_alter_configs([resource])))
    (configs,) = _soon(lambda: done(admin.describe_configs([ConfigResource("topic", name)]))).values()
    assert configs["retention.ms"].value == side.config_value
    _soon(lambda: done(admin.delete_topics([name])))


def _soon(call: Callable[[], Any]) -> Any:
    """Return the result; ask again while one of several brokers does not know the new topic yet."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            return call()
        except KafkaException as error:
            is_unknown = error.args[0].code() == ConfluentError.UNKNOWN_TOPIC_OR_PART
            if not is_unknown or time.monotonic() > deadline:
                raise
        time.sleep(0.02)


def try_to(call: Any) -> None:
    """Ask for what the gateway or the broker may refuse: what its error says is searched too."""
    with suppress(KafkaException, KafkaError):
        call()


def python_admin(side: Side, stop: threading.Event) -> int:
    """The admin client of kafka-python, which knows what librdkafka does not."""
    topic, partition = side.own_topics[0], PythonPartition(side.own_topics[0], 0)
    shared = PythonPartition(SHARED[0], 0)
    options = side.endpoint.for_python | {"client_id": side.named("python-admin")}
    with closing(KafkaAdminClient(**options)) as admin:
        for turn in itertools.count():
            if stop.is_set() and turn:
                return 0
            name = side.named(f"python-{next(side.numbers)}")
            admin.create_topics([PythonTopic(name, 1, -1, topic_configs={"retention.ms": side.config_value})])
            admin.describe_topics([topic, SHARED[0]])
            for call in (
                admin.list_transactions,
                lambda: admin.describe_transactions([side.named("transaction")]),
                lambda: admin.describe_producers([partition, shared, PythonPartition(SHARED[2], 0)]),
                admin.describe_log_dirs,
                admin.describe_features,
                admin.list_config_resources,
                admin.list_partition_reassignments,
                admin.describe_metadata_quorum,
                lambda: admin.describe_topic_partitions([topic, SHARED[0]]),
                admin.describe_user_scram_credentials,
                lambda: admin.describe_groups(["readers", side.named("unpackers")]),
                lambda: admin.list_group_offsets({side.named("unpackers"): None}),
                admin.find_hanging_transactions,
            ):
                try_to(call)
            admin.list_groups()
            admin.list_partition_offsets(
                {partition: PythonOffsetSpec.LATEST, shared: PythonOffsetSpec.LATEST}
            )
            try_to(lambda name=name: admin.delete_topics([name]))
            stop.wait(PAUSE_S)
    return 0
