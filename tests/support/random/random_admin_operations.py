"""The state machine's operations on topics, configs and the cluster; see random_operations.py."""

from __future__ import annotations

from typing import Any

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.messages import (
    AlterConfigsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeLogDirsRequest,
    DescribeTopicPartitionsRequest,
    FindCoordinatorRequest,
    IncrementalAlterConfigsRequest,
    MetadataRequest,
)
from support.clients.raw_operations import (
    await_config,
    await_no_topic,
    await_topic,
)
from support.random.random_operations import ABSENT_ID
from support.random.state_machine import MAX_TOPICS, Machine, Operation, Play, Player, Topic

_TOPIC = 2


# -- topics


def create_topic(machine: Machine) -> Play:
    """Create a topic, unless there are many; then one that is there already."""
    rng, topics = machine.rng, machine.model.topics
    exists = len(topics) >= MAX_TOPICS
    topic = machine.topic() if exists else Topic(machine.name("topic"), rng.randint(1, 3))
    config = CreateTopicsRequest.CreatableTopicConfig(name="retention.ms", value="604800001")
    configs, partitions = [config] if rng.random() < 0.5 else [], topic.partitions
    version = machine.version(ApiKey.CREATE_TOPICS)
    topics[topic.name] = topic

    def play(player: Player) -> None:
        named = player.placed(topic.name, partitions)
        named.configs = configs
        player.ask(CreateTopicsRequest(topics=[named]), version)
        await_topic(player.admin, topic.name, topic.partitions)
        player.id_of(topic.name)

    return play


def delete_topic(machine: Machine) -> Play:
    topic = machine.topic()
    is_absent = machine.rng.random() < 0.3 or len(machine.model.topics) < 3
    name = machine.name("absent") if is_absent else topic.name
    version = machine.version(ApiKey.DELETE_TOPICS)
    by_id = version >= 6 and machine.rng.random() < 0.5
    if not is_absent:
        del machine.model.topics[name]

    def play(player: Player) -> None:
        if version < 6:
            player.ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000), version)
        elif by_id:
            topic_id = ABSENT_ID if is_absent else player.id_of(name)
            state = DeleteTopicsRequest.DeleteTopicState(topic_id=topic_id)
            player.ask(DeleteTopicsRequest(topics=[state], timeout_ms=10_000), version)
        else:
            state = DeleteTopicsRequest.DeleteTopicState(name=name)
            player.ask(DeleteTopicsRequest(topics=[state], timeout_ms=10_000), version)
        await_no_topic(player.admin, name)

    return play


def create_partitions(machine: Machine) -> Play:
    topic, rng = machine.topic(), machine.rng
    count = topic.partitions + rng.choice((-1, 0, 1, 1))
    version = machine.version(ApiKey.CREATE_PARTITIONS)
    before, topic.partitions = topic.partitions, max(topic.partitions, count)

    def play(player: Player) -> None:
        wanted = player.grown(topic.name, before, count)
        player.ask(CreatePartitionsRequest(topics=[wanted], timeout_ms=10_000), version)
        await_topic(player.admin, topic.name, topic.partitions)

    return play


def metadata(machine: Machine) -> Play:
    rng = machine.rng
    kind = rng.choice(("all", "names", "names", "ids"))
    version = machine.version(ApiKey.METADATA, low=12 if kind == "ids" else 0)
    names = [machine.topic().name for _ in range(2)]
    names = list(dict.fromkeys(names))
    if version >= 4:
        names.append(machine.prefix + "absent")
    operations = rng.random() < 0.5

    def play(player: Player) -> None:
        asked = MetadataRequest.MetadataRequestTopic
        if kind == "all":
            topics = [] if version == 0 else None
        elif kind == "names":
            topics = [asked(name=name) for name in names]
        else:
            ids = [player.id_of(name) for name in names if "absent" not in name]
            topics = [asked(topic_id=one, name=None) for one in (*ids, ABSENT_ID)]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=version < 4)
        request.include_topic_authorized_operations = operations and version >= 8
        response = player.ask(request, version)
        for topic in response.topics:
            # What the tenant may do is not all that any client may (authorized_operations.py).
            topic.topic_authorized_operations &= 0b100111111111
        response.cluster_authorized_operations = 0

    return play


def describe_topic_partitions(machine: Machine) -> Play:
    names = sorted({machine.topic().name for _ in range(3)} | {machine.prefix + "absent"})
    limit = machine.rng.randint(1, 4)
    version = machine.version(ApiKey.DESCRIBE_TOPIC_PARTITIONS)
    offered = DescribeTopicPartitionsRequest

    def play(player: Player) -> None:
        cursor = None
        while True:
            request = offered(
                topics=[offered.TopicRequest(name=name) for name in names],
                response_partition_limit=limit,
                cursor=cursor,
            )
            page = player.ask(request, version)
            if page.next_cursor is None:
                return
            cursor = offered.Cursor(
                topic_name=page.next_cursor.topic_name, partition_index=page.next_cursor.partition_index
            )

    return play


# -- configs and the cluster


def describe_configs(machine: Machine) -> Play:
    name = machine.rng.choice((machine.topic().name, machine.prefix + "absent"))
    version = machine.version(ApiKey.DESCRIBE_CONFIGS)
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=_TOPIC, resource_name=name, configuration_keys=None
    )

    def play(player: Player) -> None:
        player.ask(DescribeConfigsRequest(resources=[resource], include_synonyms=version >= 1), version)

    return play


def alter_configs(machine: Machine) -> Play:
    rng = machine.rng
    name = machine.topic().name
    value = str(10_000_000 + rng.randrange(10**6))
    is_bad = rng.random() < 0.2
    is_incremental = rng.random() < 0.5
    key = ApiKey.INCREMENTAL_ALTER_CONFIGS if is_incremental else ApiKey.ALTER_CONFIGS
    version = machine.version(key)
    offered: Any = IncrementalAlterConfigsRequest if is_incremental else AlterConfigsRequest
    change = offered.AlterableConfig(name="retention.ms", value="a while" if is_bad else value)
    resource = offered.AlterConfigsResource(resource_type=_TOPIC, resource_name=name, configs=[change])

    def play(player: Player) -> None:
        player.ask(offered(resources=[resource]), version)
        if not is_bad:
            await_config(player.admin, _TOPIC, name, "retention.ms", value)

    return play


def describe_log_dirs(machine: Machine) -> Play:
    topic = machine.topic()
    version = machine.version(ApiKey.DESCRIBE_LOG_DIRS)
    named = DescribeLogDirsRequest.DescribableLogDirTopic(
        topic=topic.name, partitions=list(range(topic.partitions))
    )

    def play(player: Player) -> None:
        answer = player.ask(DescribeLogDirsRequest(topics=[named]), version)
        for result in answer.results:
            result.log_dir, result.total_bytes, result.usable_bytes = "/", -1, -1

    return play


def find_coordinator(machine: Machine) -> Play:
    rng = machine.rng
    version = machine.version(ApiKey.FIND_COORDINATOR)
    key_type = rng.randrange(2) if version >= 1 else 0
    names = [machine.name("key") for _ in range(rng.randint(1, 3))]

    def play(player: Player) -> None:
        batch = {"coordinator_keys": names} if version >= 4 else {"key": names[0]}
        player.ask(FindCoordinatorRequest(key_type=key_type, **batch), version)

    return play


def describe_cluster(machine: Machine) -> Play:
    version = machine.version(ApiKey.DESCRIBE_CLUSTER)

    def play(player: Player) -> None:
        player.ask(DescribeClusterRequest(), version)

    return play


ADMIN_OPERATIONS: tuple[tuple[int, Operation], ...] = (
    (4, create_topic),
    (2, delete_topic),
    (2, create_partitions),
    (8, metadata),
    (3, describe_topic_partitions),
    (4, describe_configs),
    (3, alter_configs),
    (3, describe_log_dirs),
    (3, find_coordinator),
    (2, describe_cluster),
)
