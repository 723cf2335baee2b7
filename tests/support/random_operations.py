"""The operations of the state machine: each draws its arguments once and returns what is played in every world."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.messages import (
    AlterConfigsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeLogDirsRequest,
    DescribeProducersRequest,
    DescribeTopicPartitionsRequest,
    FetchRequest,
    FindCoordinatorRequest,
    IncrementalAlterConfigsRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetForLeaderEpochRequest,
)
from support.raw_operations import (
    await_config,
    await_no_topic,
    await_topic,
    fetch_request,
    produce_request,
)
from support.record_batches import TIMESTAMP_MS, build_batch
from support.state_machine import MAX_TOPICS, Machine, Play, Player, Topic

Operation = Callable[[Machine], Play]
ABSENT_ID = bytes(range(1, 17))
_TOPIC = 2
_SETTLE_S = 20.0


def settled(ask: Callable[[], Any], is_settled: Callable[[Any], bool]) -> Any:
    """Ask until the broker has done what it does in the background."""
    deadline = time.monotonic() + _SETTLE_S
    while not is_settled(answer := ask()):
        assert time.monotonic() < deadline, answer
        time.sleep(0.01)
    return answer


# -- topics


def create_topic(machine: Machine) -> Play:
    """Create a topic, unless there are many; then one that is there already."""
    rng, topics = machine.rng, machine.model.topics
    exists = len(topics) >= MAX_TOPICS
    topic = machine.topic() if exists else Topic(machine.name("topic"), rng.randint(1, 3))
    config = CreateTopicsRequest.CreatableTopicConfig(name="retention.ms", value="604800001")
    named = CreateTopicsRequest.CreatableTopic(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=1,
        configs=[config] if rng.random() < 0.5 else [],
    )
    version = machine.version(ApiKey.CREATE_TOPICS)
    topics[topic.name] = topic

    def play(player: Player) -> None:
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
    topic.partitions = max(topic.partitions, count) if count > topic.partitions else topic.partitions
    wanted = CreatePartitionsRequest.CreatePartitionsTopic(name=topic.name, count=count, assignments=None)

    def play(player: Player) -> None:
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
            # What the tenant may do is not all that anybody may (authorized_operations.py).
            topic.topic_authorized_operations &= 0b100111111111
        response.cluster_authorized_operations = 0

    return play


def describe_topic_partitions(machine: Machine) -> Play:
    names = sorted({machine.topic().name for _ in range(3)} | {machine.prefix + "absent"})
    limit = machine.rng.randint(1, 4)
    offered = DescribeTopicPartitionsRequest

    def play(player: Player) -> None:
        cursor = None
        while True:
            request = offered(
                topics=[offered.TopicRequest(name=name) for name in names],
                response_partition_limit=limit,
                cursor=cursor,
            )
            page = player.ask(request, 0)
            if page.next_cursor is None:
                return
            cursor = offered.Cursor(
                topic_name=page.next_cursor.topic_name, partition_index=page.next_cursor.partition_index
            )

    return play


# -- records


def produce(machine: Machine) -> Play:
    rng = machine.rng
    topic = machine.topic()
    partition = rng.randrange(topic.partitions + (rng.random() < 0.05))
    acks = rng.choice((-1, -1, 1, 0))
    version = machine.version(ApiKey.PRODUCE, low=3)
    values = [rng.randbytes(rng.choice((0, 10, 200, 6000))).hex().encode() for _ in range(rng.randint(1, 4))]
    batch = build_batch(values)
    if acks == 0:
        partition = min(partition, topic.partitions - 1)

    def play(player: Player) -> None:
        topic_id = player.id_of(topic.name)
        request = produce_request(topic.name, batch, topic_id=topic_id, partition=partition, acks=acks)
        if acks == 0:
            player.tell(request, version)
        else:
            player.ask(request, version)
        # Behind an unanswered one another shows that it was stored, before anybody reads.
        player.ask(_list_offsets_request(topic.name, partition, -1, 0), 7)

    return play


def produce_idempotent(machine: Machine) -> Play:
    rng = machine.rng
    topic = machine.topic()
    partition = rng.randrange(topic.partitions)
    producer = f"producer-{rng.randint(1, 3)}"
    key = (producer, topic.name, partition)
    sequence = machine.model.sequences.get(key, 0)
    gap = rng.choice((0, 0, 0, 0, 5))
    if not gap:
        machine.model.sequences[key] = sequence + 2
    version = machine.version(ApiKey.PRODUCE, low=3)
    repeats = rng.choice((1, 1, 2))
    init_version = machine.version(ApiKey.INIT_PRODUCER_ID)

    def play(player: Player) -> None:
        if producer not in player.made:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
            player.made[producer] = player.ask(request, init_version)
        mine = player.made[producer]
        batch = build_batch(
            [b"idempotent", b"and so on"],
            producer_id=mine.producer_id,
            producer_epoch=mine.producer_epoch,
            base_sequence=sequence + gap,
        )
        topic_id = player.id_of(topic.name)
        for _ in range(repeats):
            player.ask(produce_request(topic.name, batch, topic_id=topic_id, partition=partition), version)

    return play


def fetch(machine: Machine) -> Play:
    rng = machine.rng
    topic = machine.topic()
    partition = rng.randrange(topic.partitions)
    offset = rng.choice((0, 0, rng.randint(0, 20), 999))
    version = machine.version(ApiKey.FETCH)
    isolation_level = rng.randrange(2) if version >= 4 else 0

    def play(player: Player) -> None:
        request = fetch_request(
            topic.name, topic_id=player.id_of(topic.name), partition=partition, offset=offset
        )
        request.isolation_level = isolation_level
        player.ask(request, version)

    return play


def fetch_session(machine: Machine) -> Play:
    """Open a session, go on with it, change it, forget from it, and close it or name an epoch that is wrong."""
    rng = machine.rng
    first, second = machine.topic(), machine.topic()
    version = machine.version(ApiKey.FETCH, low=7)
    steps = [rng.choice(("on", "add", "forget", "wrong")) for _ in range(rng.randint(1, 4))]

    def play(player: Player) -> None:
        ids = {topic.name: player.id_of(topic.name) for topic in (first, second)}
        opened = player.ask(fetch_request(first.name, topic_id=ids[first.name], session_epoch=0), version)
        epoch, session_id = 1, opened.session_id
        for step in steps:
            request = FetchRequest(min_bytes=0, session_id=session_id, session_epoch=epoch)
            if step == "add":
                request.topics = fetch_request(second.name, topic_id=ids[second.name]).topics
            elif step == "forget":
                request.forgotten_topics_data = [
                    FetchRequest.ForgottenTopic(topic=first.name, topic_id=ids[first.name], partitions=[0])
                ]
            elif step == "wrong":
                request.session_epoch += 5
                epoch -= 1
            player.ask(request, version)
            epoch += 1
        player.ask(FetchRequest(min_bytes=0, session_id=session_id, session_epoch=-1), version)

    return play


def _list_offsets_request(
    topic: str, partition: int, timestamp: int, isolation_level: int
) -> ListOffsetsRequest:
    wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
    named = ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[wanted])
    return ListOffsetsRequest(replica_id=-1, isolation_level=isolation_level, topics=[named])


def list_offsets(machine: Machine) -> Play:
    rng = machine.rng
    topic = machine.topic()
    version = machine.version(ApiKey.LIST_OFFSETS)
    special = [-1, -2] + [-3] * (version >= 7) + [-4] * (version >= 8) + [-5] * (version >= 9)
    timestamp = rng.choice([*special, TIMESTAMP_MS + 1, TIMESTAMP_MS + 10**9])
    name = rng.choice((topic.name, topic.name, machine.prefix + "absent"))
    isolation_level = rng.randrange(2) if version >= 2 else 0
    request = _list_offsets_request(name, rng.randint(0, topic.partitions), timestamp, isolation_level)

    def play(player: Player) -> None:
        for one in player.ask(request, version).topics[0].partitions:
            if one.timestamp > TIMESTAMP_MS + 1000:
                one.timestamp = 0  # A transaction's end, by the clock.

    return play


def delete_records(machine: Machine) -> Play:
    rng = machine.rng
    topic = machine.topic()
    version = machine.version(ApiKey.DELETE_RECORDS)
    wanted = DeleteRecordsRequest.DeleteRecordsPartition(
        partition_index=rng.randrange(topic.partitions), offset=rng.choice((-1, 0, 1, 3, 999))
    )
    named = DeleteRecordsRequest.DeleteRecordsTopic(name=topic.name, partitions=[wanted])

    def play(player: Player) -> None:
        player.ask(DeleteRecordsRequest(topics=[named], timeout_ms=10_000), version)

    return play


def offset_for_leader_epoch(machine: Machine) -> Play:
    rng = machine.rng
    topic = machine.topic()
    version = machine.version(ApiKey.OFFSET_FOR_LEADER_EPOCH)
    wanted = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
        partition=rng.randint(0, topic.partitions), leader_epoch=rng.randint(0, 2)
    )
    named = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=topic.name, partitions=[wanted])

    def play(player: Player) -> None:
        player.ask(OffsetForLeaderEpochRequest(replica_id=-1, topics=[named]), version)

    return play


def describe_producers(machine: Machine) -> Play:
    topic = machine.topic()
    named = DescribeProducersRequest.TopicRequest(
        name=topic.name, partition_indexes=list(range(topic.partitions))
    )

    def play(player: Player) -> None:
        response = player.ask(DescribeProducersRequest(topics=[named]), 0)
        for one in response.topics[0].partitions:
            # In the order of a hash table of IDs that differ, and touched by markers, by the clock.
            one.active_producers.sort(key=lambda state: state.producer_id)
            for state in one.active_producers:
                state.last_timestamp = 0

    return play


# -- configs and the cluster


def describe_configs(machine: Machine) -> Play:
    name = machine.rng.choice((machine.topic().name, machine.prefix + "absent"))
    version = machine.version(ApiKey.DESCRIBE_CONFIGS)
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=_TOPIC, resource_name=name, configuration_keys=None
    )

    def play(player: Player) -> None:
        player.ask(DescribeConfigsRequest(resources=[resource], include_synonyms=True), version)

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


TOPIC_OPERATIONS: tuple[tuple[int, Operation], ...] = (
    (4, create_topic),  # The first: with no topic there is nothing else to do.
    (2, delete_topic),
    (2, create_partitions),
    (8, metadata),
    (3, describe_topic_partitions),
    (16, produce),
    (8, produce_idempotent),
    (12, fetch),
    (5, fetch_session),
    (8, list_offsets),
    (3, delete_records),
    (3, offset_for_leader_epoch),
    (3, describe_producers),
    (4, describe_configs),
    (3, alter_configs),
    (3, describe_log_dirs),
    (3, find_coordinator),
    (2, describe_cluster),
)
