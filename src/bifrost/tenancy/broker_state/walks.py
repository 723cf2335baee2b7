"""Where requests name what brokers keep, by API and version.

    groups               JoinGroup, the heartbeats of the newer groups, commits
    members of groups    ShareGroupHeartbeat; others tell that they live by Heartbeat and commits. JoinGroup, SyncGroup
                         and the heartbeats of consumer and streams groups are always decoded (filters/left_out)
    committed offsets    OffsetCommit, TxnOffsetCommit
    transactional IDs    InitProducerId: the coordinator answers others about those that it knows only
    producers            Produce, by the producer ID of each batch

Source: the group and transaction coordinators of Kafka 4.3 (GroupMetadataManager, OffsetMetadataManager,
TransactionCoordinator.handleInitProducerId) and ProducerStateManager.
"""

from collections.abc import Mapping
from functools import cache

from bifrost.tenancy.broker_state.kept_entries import EntryWalk
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.program import SLOT_PARTITION, SLOT_WAY
from bifrost.wire.programs import ProgramWriter
from bifrost.wire.schema import request_schema

_GROUP, _TOPIC, _TOPIC_ID = int(Entity.GROUP_ID), int(Entity.TOPIC_NAME), int(Entity.TOPIC_ID)
_METADATA = 5
_OWN_GROUP, _MEMBER = 6, 7
"""As in kept_entries.pyx."""
_OF_GROUPS = {"GroupId": _GROUP}
_OF_COMMITS = {
    "GroupId": _GROUP,
    "MemberId": _MEMBER,
    "GroupInstanceId": _MEMBER,
    "Topics.Name": _TOPIC,
    "Topics.TopicId": _TOPIC_ID,
    "Topics.Partitions.PartitionIndex": SLOT_PARTITION,
    "Topics.Partitions.CommittedMetadata": _METADATA,
}

_SLOTS: Mapping[int, Mapping[str, int]] = {
    ApiKey.JOIN_GROUP: _OF_GROUPS,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _OF_GROUPS,
    ApiKey.SHARE_GROUP_HEARTBEAT: {"GroupId": _GROUP, "MemberId": _MEMBER, "MemberEpoch": SLOT_PARTITION},
    ApiKey.STREAMS_GROUP_HEARTBEAT: _OF_GROUPS,
    ApiKey.HEARTBEAT: {"GroupId": _OWN_GROUP, "MemberId": _MEMBER, "GroupInstanceId": _MEMBER},
    ApiKey.OFFSET_COMMIT: _OF_COMMITS,
    ApiKey.TXN_OFFSET_COMMIT: _OF_COMMITS,
    ApiKey.INIT_PRODUCER_ID: {"TransactionalId": int(Entity.TRANSACTIONAL_ID)},
    ApiKey.PRODUCE: {
        "TopicData.Name": _TOPIC,
        "TopicData.TopicId": _TOPIC_ID,
        "TopicData.PartitionData.Index": SLOT_PARTITION,
        "TopicData.PartitionData.Records": SLOT_WAY,
    },
}

KEEPING_APIS = frozenset(_SLOTS)
"""APIs whose requests make brokers keep something, or keep it longer."""


@cache
def entry_walk(api_key: int, version: int) -> EntryWalk | None:
    """Return how to find what a request makes brokers keep, at a version that the schema has; None: nothing."""
    slots = _SLOTS.get(api_key)
    if slots is None:
        return None
    schema = request_schema(api_key)
    writer = ProgramWriter(version, schema.is_flexible(version), slots)
    writer.struct(schema.fields, "")
    return EntryWalk(*writer.finished())
