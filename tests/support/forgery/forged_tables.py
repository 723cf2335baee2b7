"""What stands in a forged request beside what is forged, so that it gets as far into the broker as it can.

By field name, by path, and as variants: settings under which the same request means something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TOPIC, GROUP = 2, 32
"""Kafka's ConfigResource.Type codes."""

NUMBERS: Mapping[str, Any] = {
    "Acks": -1,
    "TimeoutMs": 3000,
    "timeoutMs": 3000,
    "ReplicaId": -1,
    "ReplicaEpoch": -1,
    "HighWatermark": (1 << 63) - 1,
    "MaxBytes": 1 << 20,
    "PartitionMaxBytes": 1 << 20,
    "SessionEpoch": -1,
    "CurrentLeaderEpoch": -1,
    "LastFetchedEpoch": -1,
    "LogStartOffset": -1,
    "Timestamp": -1,
    "GenerationId": 1,
    "GenerationIdOrMemberEpoch": -1,
    "CommittedLeaderEpoch": -1,
    "RetentionTimeMs": -1,
    "CommitTimestamp": -1,
    "SessionTimeoutMs": 6000,
    "RebalanceTimeoutMs": 6000,
    "NumPartitions": 1,
    "ReplicationFactor": 1,
    "Count": 2,
    "TransactionTimeoutMs": 10_000,
    "ResourceType": TOPIC,
    "ResourceTypes": TOPIC,
    "ResponsePartitionLimit": 100,
    "MaxRecords": 10,
    "BatchSize": 10,
    "DurationFilter": -1,
    "MemberEpoch": 5,
    "AcknowledgeTypes": 1,
    "LastOffset": 0,
    "ProducerId": -1,
    "ProducerEpoch": -1,
}
TEXTS: Mapping[str, Any] = {
    "ProtocolType": "consumer",
    "ProtocolName": "range",
    "MemberId": "",
    "GroupInstanceId": None,
    "InstanceId": None,
    "RackId": None,
    "ServerAssignor": None,
    "Reason": None,
    "CommittedMetadata": "metadata",
    "SubscribedTopicRegex": None,
    "TransactionalIdPattern": None,
}
BOOLS: Mapping[str, bool] = {"IncludeSynonyms": True, "Committed": True}

UNKNOWN_MEMBER = "bm9ib2R5LW5vYm9keS1ubw"
"""A UUID in Kafka's writing, where a member ID must be one."""

PATHS: Mapping[str, Mapping[str, Any]] = {
    # What otherwise contradicts itself, or would wait.
    "CreateTopicsRequest": {"Topics.Assignments": [], "Topics.Configs": []},
    "CreatePartitionsRequest": {"Topics.Assignments": None},
    "JoinGroupRequest": {"MemberId": "unknown", "Protocols.Name": "range"},
    "SyncGroupRequest": {"MemberId": "unknown"},
    "FetchRequest": {"ForgottenTopicsData": [], "ClusterId": None},
    "ShareFetchRequest": {
        "ForgottenTopicsData": [],
        "MemberId": UNKNOWN_MEMBER,
        "Topics.Partitions.AcknowledgementBatches": [],
    },
    "ShareAcknowledgeRequest": {"MemberId": UNKNOWN_MEMBER},
    "ListGroupsRequest": {"StatesFilter": [], "TypesFilter": []},
    "ListTransactionsRequest": {"StateFilters": [], "ProducerIdFilters": []},
    "IncrementalAlterConfigsRequest": {
        "Resources.Configs.Name": "retention.ms",
        "Resources.Configs.Value": "77777777",
    },
    "AlterConfigsRequest": {
        "Resources.Configs.Name": "retention.ms",
        "Resources.Configs.Value": "77777777",
    },
    "DescribeConfigsRequest": {"Resources.ConfigurationKeys": ["retention.ms", "share.session.timeout.ms"]},
    "ConsumerGroupHeartbeatRequest": {"MemberId": UNKNOWN_MEMBER},
    "ShareGroupHeartbeatRequest": {"MemberId": UNKNOWN_MEMBER},
    "StreamsGroupHeartbeatRequest": {
        "MemberId": UNKNOWN_MEMBER,
        "ProcessId": "a-process",
        "UserEndpoint": None,
        "TaskOffsets": [],
        "TaskEndOffsets": [],
        "WarmupTasks": [],
        "StandbyTasks": [],
        "ActiveTasks": [],
        "Topology.Subtopologies.SourceTopicRegex": [],
        "Topology.Subtopologies.CopartitionGroups": [],
        "Topology.Subtopologies.StateChangelogTopics": [],
        "Topology.Subtopologies.RepartitionSourceTopics": [],
        "Topology.Subtopologies.RepartitionSinkTopics": [],
    },
    "AlterShareGroupOffsetsRequest": {},
    "OffsetCommitRequest": {},
    "DescribeTopicPartitionsRequest": {"Cursor": None},
}

BUSY = frozenset(
    {
        "ProduceRequest",
        "AddPartitionsToTxnRequest",
        "TxnOffsetCommitRequest",
        "DeleteRecordsRequest",
        "CreatePartitionsRequest",
        "AlterConfigsRequest",
        "IncrementalAlterConfigsRequest",
    }
)
"""Requests that change the topic they name."""
LIVE_GROUP = frozenset(
    {
        "HeartbeatRequest",
        "LeaveGroupRequest",
        "SyncGroupRequest",
        "JoinGroupRequest",
        "OffsetCommitRequest",
        "TxnOffsetCommitRequest",
        "OffsetFetchRequest",
        "DescribeGroupsRequest",
    }
)
"""Requests that are told apart deeper when their group is there: it is the sender's own."""

Variant = Mapping[str, Any]
PLAIN: tuple[Variant, ...] = ({},)
VARIANTS: Mapping[str, tuple[Variant, ...]] = {
    "ProduceRequest": ({"TransactionalId": None}, {"TransactionalId": None, "Acks": 0}, {}),
    "FetchRequest": (
        {},
        {"SessionEpoch": 0},
        {"SessionEpoch": 1, "Topics": []},
        {"SessionEpoch": 7, "Topics": []},
        {"SessionEpoch": -1, "Topics": []},
        {"Topics": [], "ForgottenTopicsData": ...},
    ),
    "MetadataRequest": ({"Topics.TopicId": bytes(16)}, {"Topics.Name": None}),
    "DeleteTopicsRequest": ({"Topics.TopicId": bytes(16)}, {"Topics.Name": None}),
    "CreateTopicsRequest": ({"validateOnly": True}, {}),
    "FindCoordinatorRequest": ({}, {"KeyType": 1}, {"KeyType": 2}),
    "DescribeConfigsRequest": ({}, {"Resources.ResourceType": GROUP}),
    "AlterConfigsRequest": ({}, {"Resources.ResourceType": GROUP}),
    "IncrementalAlterConfigsRequest": (
        {},
        {
            "Resources.ResourceType": GROUP,
            "Resources.Configs.Name": "share.session.timeout.ms",
            "Resources.Configs.Value": "45001",
        },
    ),
    "ConsumerGroupHeartbeatRequest": ({"MemberEpoch": 0, "TopicPartitions": []}, {}, {"MemberEpoch": -1}),
    "ShareGroupHeartbeatRequest": ({"MemberEpoch": 0}, {}, {"MemberEpoch": -1}),
    "ShareFetchRequest": (
        {},
        {"ShareSessionEpoch": 1},
        {"ShareSessionEpoch": 2, "Topics.Partitions.AcknowledgementBatches": ...},
        {"ShareSessionEpoch": 1, "ForgottenTopicsData": ...},
        {"ShareSessionEpoch": -1, "Topics": []},
    ),
    "ShareAcknowledgeRequest": ({}, {"ShareSessionEpoch": 1}, {"ShareSessionEpoch": -1}),
    "StreamsGroupHeartbeatRequest": (
        {"MemberEpoch": 0},
        {"Topology": None},
        {"Topology": None, "MemberEpoch": -1},
        {
            "MemberEpoch": 0,
            "Topology.Subtopologies.SourceTopicRegex": ...,
            "Topology.Subtopologies.StateChangelogTopics": ...,
            "Topology.Subtopologies.RepartitionSourceTopics": ...,
            "Topology.Subtopologies.RepartitionSinkTopics": ...,
        },
    ),
    "InitProducerIdRequest": ({"TransactionalId": "own-transaction"}, {"TransactionalId": None}),
    "DescribeTopicPartitionsRequest": (
        {},
        {"Topics": [], "Cursor": ..., "Cursor.TopicName": "b"},
        {"Cursor": ..., "Cursor.TopicName": "b"},
    ),
    "ListTransactionsRequest": ({}, {"ProducerIdFilters": ...}),
    "OffsetCommitRequest": ({}, {"GenerationIdOrMemberEpoch": 1}),
}
"""Settings under which a request means something else; `...` takes back what PATHS has."""
