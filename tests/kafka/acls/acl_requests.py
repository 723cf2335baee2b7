"""Requests of every API that ACLs decide about, each about permitted, denied and missing things; for the tests.

They change nothing that a later one depends on, or are refused by the broker for another reason than rights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bifrost.wire import messages
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.message import Message
from support.clients.record_batches import build_batch

EXISTING = ("orders", "outbox", "seen", "own-a", "own-secret", "hidden")
TOPICS = (*EXISTING, "nothing", "own-nothing")
"""Those that exist, and two that do not."""
GROUPS = ("readers", "own-group", "others")
TRANSACTIONS = ("tx", "own-tx", "other-tx")

Ids = Mapping[str, bytes]
"""The ID of each existing topic at one side."""

Build = Callable[[int, Ids], Iterator[Message]]
"""Makes the requests of one API at a version."""

UNKNOWN_ID = bytes(15) + b"\x07"
NO_PRODUCER = 999_999_999
"""A producer ID that no transactional ID has."""


def _produce(version: int, ids: Ids) -> Iterator[Message]:
    made = messages.ProduceRequest
    records = build_batch([b"x"])

    def topic(name: str, topic_id: bytes) -> Any:
        return made.TopicProduceData(
            **({"topic_id": topic_id} if version >= 13 else {"name": name}),
            partition_data=[made.PartitionProduceData(index=0, records=records)],
        )

    if version < 3:
        return
    named = [topic(name, ids.get(name, UNKNOWN_ID)) for name in TOPICS if name in ids or version < 13]
    yield made(acks=1, timeout_ms=5000, topic_data=named)
    yield made(acks=1, timeout_ms=5000, topic_data=named[1:2])
    for transactional_id in TRANSACTIONS:
        yield made(transactional_id=transactional_id, acks=-1, timeout_ms=5000, topic_data=named)


def _fetch(version: int, ids: Ids) -> Iterator[Message]:
    made = messages.FetchRequest

    def topic(name: str) -> Any:
        return made.FetchTopic(
            **({"topic_id": ids.get(name, UNKNOWN_ID)} if version >= 13 else {"topic": name}),
            partitions=[made.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)],
        )

    sessions = {"session_epoch": -1} if version >= 7 else {}
    yield made(max_wait_ms=100, min_bytes=0, topics=[topic(name) for name in TOPICS], **sessions)
    yield made(max_wait_ms=100, min_bytes=0, topics=[topic("hidden")], **sessions)


def _list_offsets(version: int, _ids: Ids) -> Iterator[Message]:
    made = messages.ListOffsetsRequest
    yield made(
        replica_id=-1,
        topics=[
            made.ListOffsetsTopic(
                name=name, partitions=[made.ListOffsetsPartition(partition_index=0, timestamp=-2)]
            )
            for name in TOPICS
        ],
    )


def _metadata(version: int, ids: Ids) -> Iterator[Message]:
    made = messages.MetadataRequest
    options: dict[str, Any] = {"allow_auto_topic_creation": False} if version >= 4 else {}
    named = TOPICS if version >= 4 else EXISTING  # Before, a broker creates what is missing.
    yield made(topics=[made.MetadataRequestTopic(name=name) for name in named], **options)
    yield made(topics=None if version >= 1 else [], **options)
    yield made(topics=[made.MetadataRequestTopic(name="hidden")], **options)
    if version >= 12:
        wanted = [*ids.values(), UNKNOWN_ID]
        yield made(topics=[made.MetadataRequestTopic(name=None, topic_id=one) for one in wanted], **options)


def _offset_commit(version: int, ids: Ids) -> Iterator[Message]:
    made = messages.OffsetCommitRequest

    def topic(name: str) -> Any:
        return made.OffsetCommitRequestTopic(
            **({"topic_id": ids.get(name, UNKNOWN_ID)} if version >= 10 else {"name": name}),
            partitions=[made.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)],
        )

    for group in GROUPS:
        yield made(group_id=group, topics=[topic(name) for name in TOPICS])


def _offset_fetch(version: int, ids: Ids) -> Iterator[Message]:
    made = messages.OffsetFetchRequest
    if version < 8:
        topics = [made.OffsetFetchRequestTopic(name=name, partition_indexes=[0]) for name in TOPICS]
        for group in GROUPS:
            yield made(group_id=group, topics=topics)
            if version >= 2:
                yield made(group_id=group, topics=None)
        return

    def topic(name: str) -> Any:
        return made.OffsetFetchRequestTopics(
            **({"topic_id": ids.get(name, UNKNOWN_ID)} if version >= 10 else {"name": name}),
            partition_indexes=[0],
        )

    named = [topic(name) for name in TOPICS]
    for topics in (named, None):
        yield made(groups=[made.OffsetFetchRequestGroup(group_id=group, topics=topics) for group in GROUPS])


def _find_coordinator(version: int, _ids: Ids) -> Iterator[Message]:
    made = messages.FindCoordinatorRequest
    for kind, keys in ((0, GROUPS), (1, TRANSACTIONS)):
        if version >= 4:
            yield made(key_type=kind, coordinator_keys=list(keys))
        elif version >= 1 or kind == 0:
            for key in keys:
                yield made(key=key, **({"key_type": kind} if version else {}))


def _join_group(version: int, _ids: Ids) -> Iterator[Message]:
    made = messages.JoinGroupRequest
    for group in GROUPS:
        yield made(
            group_id=group,
            session_timeout_ms=1,
            **({"rebalance_timeout_ms": 1} if version else {}),
            protocol_type="consumer",
            protocols=[made.JoinGroupRequestProtocol(name="range", metadata=b"")],
        )


def _of_member(made: type[Message], **fields: Any) -> Build:
    def build(_version: int, _ids: Ids) -> Iterator[Message]:
        for group in GROUPS:
            yield made(group_id=group, **fields)

    return build


def _sync_group(version: int, _ids: Ids) -> Iterator[Message]:
    protocol = {"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {}
    for group in GROUPS:
        yield messages.SyncGroupRequest(group_id=group, generation_id=1, member_id="nobody", **protocol)


def _leave_group(version: int, _ids: Ids) -> Iterator[Message]:
    made = messages.LeaveGroupRequest
    for group in GROUPS:
        if version >= 3:
            yield made(group_id=group, members=[made.MemberIdentity(member_id="nobody")])
        else:
            yield made(group_id=group, member_id="nobody")


def _describe_groups(version: int, _ids: Ids) -> Iterator[Message]:
    yield messages.DescribeGroupsRequest(groups=list(GROUPS))


def _list_groups(version: int, _ids: Ids) -> Iterator[Message]:
    yield messages.ListGroupsRequest()


def _create_topics(version: int, _ids: Ids) -> Iterator[Message]:
    made = messages.CreateTopicsRequest
    if version == 0:
        return  # It cannot only validate.
    names = ["own-new", "orders", "hidden", "other-new"]
    topics = [made.CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
    yield made(topics=topics, timeout_ms=5000, validate_only=True)
    yield made(topics=[topics[3], topics[3]], timeout_ms=5000, validate_only=True)


def _delete_topics(version: int, ids: Ids) -> Iterator[Message]:
    made = messages.DeleteTopicsRequest
    names = ["orders", "hidden", "seen", "own-nothing", "nothing"]
    if version >= 6:
        yield made(topics=[made.DeleteTopicState(name=name) for name in names], timeout_ms=5000)
        wanted = [ids["orders"], ids["hidden"], UNKNOWN_ID]
        yield made(topics=[made.DeleteTopicState(name=None, topic_id=one) for one in wanted], timeout_ms=5000)
    else:
        yield made(topic_names=names, timeout_ms=5000)


def _delete_records(version: int, _ids: Ids) -> Iterator[Message]:
    made = messages.DeleteRecordsRequest
    partition = made.DeleteRecordsPartition(partition_index=0, offset=0)
    topics = [made.DeleteRecordsTopic(name=name, partitions=[partition]) for name in TOPICS]
    yield made(topics=topics, timeout_ms=5000)


def _init_producer_id(version: int, _ids: Ids) -> Iterator[Message]:
    for transactional_id in (*TRANSACTIONS, None):
        yield messages.InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)


def _offset_for_leader_epoch(version: int, _ids: Ids) -> Iterator[Message]:
    made = messages.OffsetForLeaderEpochRequest
    partition = made.OffsetForLeaderPartition(partition=0, leader_epoch=0)
    replica = {"replica_id": -1} if version >= 3 else {}
    yield made(
        topics=[made.OffsetForLeaderTopic(topic=name, partitions=[partition]) for name in TOPICS], **replica
    )


def _add_partitions_to_txn(version: int, _ids: Ids) -> Iterator[Message]:
    made = messages.AddPartitionsToTxnRequest
    for transactional_id in TRANSACTIONS:
        for names in (("orders", "outbox", "hidden"), ("outbox", "own-a"), ("outbox",)):
            topics = [made.AddPartitionsToTxnTopic(name=name, partitions=[0]) for name in names]
            yield made(
                v3_and_below_transactional_id=transactional_id,
                v3_and_below_producer_id=NO_PRODUCER,
                v3_and_below_producer_epoch=0,
                v3_and_below_topics=topics,
            )


def _add_offsets_to_txn(version: int, _ids: Ids) -> Iterator[Message]:
    for transactional_id in TRANSACTIONS:
        for group in GROUPS:
            yield messages.AddOffsetsToTxnRequest(
                transactional_id=transactional_id, producer_id=NO_PRODUCER, producer_epoch=0, group_id=group
            )


def _end_txn(version: int, _ids: Ids) -> Iterator[Message]:
    for transactional_id in TRANSACTIONS:
        yield messages.EndTxnRequest(
            transactional_id=transactional_id, producer_id=NO_PRODUCER, producer_epoch=0, committed=True
        )


def _txn_offset_commit(version: int, _ids: Ids) -> Iterator[Message]:
    made = messages.TxnOffsetCommitRequest
    partition = made.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topics = [made.TxnOffsetCommitRequestTopic(name=name, partitions=[partition]) for name in TOPICS]
    for transactional_id in TRANSACTIONS:
        for group in GROUPS:
            yield made(
                transactional_id=transactional_id,
                group_id=group,
                producer_id=NO_PRODUCER,
                producer_epoch=0,
                topics=topics,
            )


def _configs(made: Any, resource: Any, **fields: Any) -> Build:
    def build(_version: int, _ids: Ids) -> Iterator[Message]:
        named = [(2, name) for name in TOPICS]
        yield made(
            resources=[resource(resource_type=kind, resource_name=name, **fields) for kind, name in named]
        )
        if "configs" not in fields:
            yield made(resources=[resource(resource_type=4, resource_name="1", **fields)])

    return build


def _create_partitions(version: int, _ids: Ids) -> Iterator[Message]:
    made = messages.CreatePartitionsRequest
    topics = [made.CreatePartitionsTopic(name=name, count=2, assignments=None) for name in TOPICS]
    yield made(topics=topics, timeout_ms=5000, validate_only=True)


def _delete_groups(version: int, _ids: Ids) -> Iterator[Message]:
    yield messages.DeleteGroupsRequest(groups_names=[*GROUPS, "no-group"])


def _offset_delete(version: int, _ids: Ids) -> Iterator[Message]:
    made = messages.OffsetDeleteRequest
    partition = made.OffsetDeleteRequestPartition(partition_index=0)
    topics = [made.OffsetDeleteRequestTopic(name=name, partitions=[partition]) for name in EXISTING]
    for group in GROUPS:
        yield made(group_id=group, topics=topics)


def _describe_topic_partitions(version: int, _ids: Ids) -> Iterator[Message]:
    made = messages.DescribeTopicPartitionsRequest
    yield made(topics=[made.TopicRequest(name=name) for name in TOPICS])


def _consumer_heartbeat(version: int, _ids: Ids) -> Iterator[Message]:
    member = {"member_id": "" if version == 0 else "AAAAAAAAAAAAAAAAAAAAAA"}
    for group in ("new-readers", "others"):
        for names in (["hidden"], ["orders", "hidden"]):
            yield messages.ConsumerGroupHeartbeatRequest(
                group_id=group,
                **member,
                member_epoch=0,
                rebalance_timeout_ms=1000,
                subscribed_topic_names=names,
                topic_partitions=[],
            )


def _group_ids(made: type[Message]) -> Build:
    def build(_version: int, _ids: Ids) -> Iterator[Message]:
        yield made(group_ids=list(GROUPS))

    return build


def _list_transactions(version: int, _ids: Ids) -> Iterator[Message]:
    yield messages.ListTransactionsRequest()


def _describe_transactions(version: int, _ids: Ids) -> Iterator[Message]:
    yield messages.DescribeTransactionsRequest(transactional_ids=list(TRANSACTIONS))


def _describe_producers(version: int, _ids: Ids) -> Iterator[Message]:
    made = messages.DescribeProducersRequest
    yield made(topics=[made.TopicRequest(name=name, partition_indexes=[0]) for name in TOPICS])


def _describe_log_dirs(version: int, _ids: Ids) -> Iterator[Message]:
    made = messages.DescribeLogDirsRequest
    yield made(topics=[made.DescribableLogDirTopic(topic=name, partitions=[0]) for name in EXISTING])


_INCREMENTAL = messages.IncrementalAlterConfigsRequest
_ALTER = messages.AlterConfigsRequest
_DESCRIBE = messages.DescribeConfigsRequest

REQUESTS: Mapping[ApiKey, Build] = {
    ApiKey.PRODUCE: _produce,
    ApiKey.FETCH: _fetch,
    ApiKey.LIST_OFFSETS: _list_offsets,
    ApiKey.METADATA: _metadata,
    ApiKey.FIND_COORDINATOR: _find_coordinator,
    ApiKey.JOIN_GROUP: _join_group,
    ApiKey.HEARTBEAT: _of_member(messages.HeartbeatRequest, generation_id=1, member_id="nobody"),
    ApiKey.LEAVE_GROUP: _leave_group,
    ApiKey.SYNC_GROUP: _sync_group,
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.OFFSET_FETCH: _offset_fetch,
    ApiKey.DESCRIBE_GROUPS: _describe_groups,
    ApiKey.LIST_GROUPS: _list_groups,
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.DELETE_RECORDS: _delete_records,
    ApiKey.INIT_PRODUCER_ID: _init_producer_id,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _offset_for_leader_epoch,
    ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions_to_txn,
    ApiKey.ADD_OFFSETS_TO_TXN: _add_offsets_to_txn,
    ApiKey.END_TXN: _end_txn,
    ApiKey.TXN_OFFSET_COMMIT: _txn_offset_commit,
    ApiKey.DESCRIBE_CONFIGS: _configs(_DESCRIBE, _DESCRIBE.DescribeConfigsResource, configuration_keys=None),
    ApiKey.ALTER_CONFIGS: _configs(
        _ALTER,
        _ALTER.AlterConfigsResource,
        configs=[_ALTER.AlterableConfig(name="retention.ms", value="604800000")],
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _configs(
        _INCREMENTAL,
        _INCREMENTAL.AlterConfigsResource,
        configs=[_INCREMENTAL.AlterableConfig(name="retention.ms", value="604800000")],
    ),
    ApiKey.CREATE_PARTITIONS: _create_partitions,
    ApiKey.OFFSET_DELETE: _offset_delete,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: _describe_topic_partitions,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _consumer_heartbeat,
    ApiKey.CONSUMER_GROUP_DESCRIBE: _group_ids(messages.ConsumerGroupDescribeRequest),
    ApiKey.SHARE_GROUP_DESCRIBE: _group_ids(messages.ShareGroupDescribeRequest),
    ApiKey.LIST_TRANSACTIONS: _list_transactions,
    ApiKey.DESCRIBE_TRANSACTIONS: _describe_transactions,
    ApiKey.DESCRIBE_PRODUCERS: _describe_producers,
    ApiKey.DESCRIBE_LOG_DIRS: _describe_log_dirs,
    ApiKey.DELETE_GROUPS: _delete_groups,
    ApiKey.DELETE_TOPICS: _delete_topics,
}
"""In the order in which they are sent; what deletes comes last."""
