"""What every string, bytes and uuid field of every served message means.

This is the one table that isolation rests on. Kafka's own definitions mark some fields with an `entityType`
(topicName, groupId, transactionalId); most they do not mark (FindCoordinator keys, resource names, hosts, error texts,
consumer-protocol payloads), and those stand here. A field that is in neither is *unclassified*, and an API with an
unclassified field is not served: it is not offered in ApiVersions and a request for it is refused. So a new Kafka
release can only ever add things that do not work yet, never things that leak.

Source: Kafka's message definitions (`common/message/*.json`), read field by field for 3.9.1 and 4.3.1.
"""

from collections.abc import Iterator
from enum import IntEnum
from functools import cache

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.engine import SLOT_DECODE
from bifrost.wire.schema import (
    Field,
    FieldType,
    MessageSchema,
    VersionRange,
    message_schema,
    request_schema,
    response_schema,
)


class Entity(IntEnum):
    """The meaning of a field. Values up to ERROR_TEXT are the engine's slots: it replaces them in place."""

    NEUTRAL = 0
    """Means the same on both sides: client text, states, mechanisms, the tenant's own data."""
    TOPIC_NAME = 1
    GROUP_ID = 2
    TRANSACTIONAL_ID = 3
    TOPIC_ID = 4
    ERROR_TEXT = 5
    """Free text made by the broker; it may quote physical names."""
    BROKER_HOST = 16
    """A broker's address; its node ID and port are fields beside it."""
    CLUSTER_ID = 17
    COORDINATOR_KEY = 18
    """FindCoordinator: a group or a transactional ID, as `key_type` says."""
    SUBSCRIPTION = 19
    """JoinGroup metadata: ConsumerProtocolSubscription when the protocol type is `consumer`."""
    ASSIGNMENT = 20
    """SyncGroup assignment: ConsumerProtocolAssignment when the protocol type is `consumer`."""
    RESOURCE_NAME = 21
    """Configs: a topic, a group or a broker, as `resource_type` says."""
    CLIENT_HOST = 22
    """The address the broker saw a group member at: the gateway's, not the client's."""
    FOLLOWER = 23
    """Marks a request as another broker's; only brokers may replicate."""

    @property
    def is_in_place(self) -> bool:
        """Whether the engine can replace it without decoding the message."""
        return self <= Entity.ERROR_TEXT


_KAFKA_ENTITY_TYPES = {
    "topicName": Entity.TOPIC_NAME,
    "groupId": Entity.GROUP_ID,
    "transactionalId": Entity.TRANSACTIONAL_ID,
}
_CLASSIFIED_TYPES = frozenset({FieldType.STRING, FieldType.BYTES, FieldType.UUID, FieldType.RECORDS})

SERVED: dict[ApiKey, int | None] = {
    ApiKey.PRODUCE: None,
    ApiKey.FETCH: None,
    ApiKey.LIST_OFFSETS: None,
    ApiKey.METADATA: None,
    ApiKey.OFFSET_COMMIT: None,
    ApiKey.OFFSET_FETCH: None,
    ApiKey.FIND_COORDINATOR: None,
    ApiKey.JOIN_GROUP: None,
    ApiKey.HEARTBEAT: None,
    ApiKey.LEAVE_GROUP: None,
    ApiKey.SYNC_GROUP: None,
    ApiKey.DESCRIBE_GROUPS: None,
    ApiKey.LIST_GROUPS: None,
    ApiKey.SASL_HANDSHAKE: None,
    ApiKey.API_VERSIONS: None,
    ApiKey.CREATE_TOPICS: None,
    ApiKey.DELETE_TOPICS: None,
    ApiKey.DELETE_RECORDS: None,
    ApiKey.INIT_PRODUCER_ID: None,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: None,
    # From v4 on only brokers send it (KIP-890: batched verification, needs CLUSTER_ACTION); clients stop at v3.
    ApiKey.ADD_PARTITIONS_TO_TXN: 3,
    ApiKey.ADD_OFFSETS_TO_TXN: None,
    ApiKey.END_TXN: None,
    ApiKey.TXN_OFFSET_COMMIT: None,
    ApiKey.DESCRIBE_CONFIGS: None,
    ApiKey.SASL_AUTHENTICATE: None,
    ApiKey.CREATE_PARTITIONS: None,
    ApiKey.DELETE_GROUPS: None,
    ApiKey.OFFSET_DELETE: None,
    ApiKey.DESCRIBE_CLUSTER: None,
}
"""The APIs offered to clients, each with the newest version offered, or None for the newest the table knows."""

_N = Entity.NEUTRAL
_GROUP_MEMBER = {"MemberId": _N, "GroupInstanceId": _N}

CLASSIFICATION: dict[str, dict[str, Entity]] = {
    "RequestHeader": {"ClientId": _N},
    "ConsumerProtocolSubscription": {
        "Topics": Entity.TOPIC_NAME,
        # The assignor's own: it is written and read by members of the same group, in virtual names.
        "UserData": _N,
        "RackId": _N,
    },
    "ConsumerProtocolAssignment": {"UserData": _N},
    "ProduceRequest": {"TopicData.PartitionData.Records": _N, "TopicData.TopicId": Entity.TOPIC_ID},
    "ProduceResponse": {
        "Responses.TopicId": Entity.TOPIC_ID,
        "Responses.PartitionResponses.RecordErrors.BatchIndexErrorMessage": Entity.ERROR_TEXT,
        "Responses.PartitionResponses.ErrorMessage": Entity.ERROR_TEXT,
        "NodeEndpoints.Host": Entity.BROKER_HOST,
        "NodeEndpoints.Rack": _N,
    },
    "FetchRequest": {
        "ClusterId": Entity.CLUSTER_ID,
        "ReplicaState": Entity.FOLLOWER,
        "Topics.TopicId": Entity.TOPIC_ID,
        "Topics.Partitions.ReplicaDirectoryId": Entity.FOLLOWER,
        "ForgottenTopicsData.TopicId": Entity.TOPIC_ID,
        "RackId": _N,
    },
    "FetchResponse": {
        "Responses.TopicId": Entity.TOPIC_ID,
        "Responses.Partitions.Records": _N,
        "NodeEndpoints.Host": Entity.BROKER_HOST,
        "NodeEndpoints.Rack": _N,
    },
    "ListOffsetsRequest": {},
    "ListOffsetsResponse": {},
    "MetadataRequest": {"Topics.TopicId": Entity.TOPIC_ID},
    "MetadataResponse": {
        "Brokers.Host": Entity.BROKER_HOST,
        "Brokers.Rack": _N,
        "ClusterId": Entity.CLUSTER_ID,
        "Topics.TopicId": Entity.TOPIC_ID,
    },
    "OffsetCommitRequest": {
        **_GROUP_MEMBER,
        "Topics.TopicId": Entity.TOPIC_ID,
        "Topics.Partitions.CommittedMetadata": _N,
    },
    "OffsetCommitResponse": {"Topics.TopicId": Entity.TOPIC_ID},
    "OffsetFetchRequest": {"Groups.MemberId": _N, "Groups.Topics.TopicId": Entity.TOPIC_ID},
    "OffsetFetchResponse": {
        "Topics.Partitions.Metadata": _N,
        "Groups.Topics.TopicId": Entity.TOPIC_ID,
        "Groups.Topics.Partitions.Metadata": _N,
    },
    "FindCoordinatorRequest": {"Key": Entity.COORDINATOR_KEY, "CoordinatorKeys": Entity.COORDINATOR_KEY},
    "FindCoordinatorResponse": {
        "ErrorMessage": Entity.ERROR_TEXT,
        "Host": Entity.BROKER_HOST,
        "Coordinators.Key": Entity.COORDINATOR_KEY,
        "Coordinators.Host": Entity.BROKER_HOST,
        "Coordinators.ErrorMessage": Entity.ERROR_TEXT,
    },
    "JoinGroupRequest": {
        **_GROUP_MEMBER,
        "ProtocolType": _N,
        "Protocols.Name": _N,
        "Protocols.Metadata": Entity.SUBSCRIPTION,
        "Reason": _N,
    },
    "JoinGroupResponse": {
        "ProtocolType": _N,
        "ProtocolName": _N,
        "Leader": _N,
        "MemberId": _N,
        "Members.MemberId": _N,
        "Members.GroupInstanceId": _N,
        "Members.Metadata": Entity.SUBSCRIPTION,
    },
    "HeartbeatRequest": _GROUP_MEMBER,
    "HeartbeatResponse": {},
    "LeaveGroupRequest": {
        "MemberId": _N,
        "Members.MemberId": _N,
        "Members.GroupInstanceId": _N,
        "Members.Reason": _N,
    },
    "LeaveGroupResponse": {"Members.MemberId": _N, "Members.GroupInstanceId": _N},
    "SyncGroupRequest": {
        **_GROUP_MEMBER,
        "ProtocolType": _N,
        "ProtocolName": _N,
        "Assignments.MemberId": _N,
        "Assignments.Assignment": Entity.ASSIGNMENT,
    },
    "SyncGroupResponse": {"ProtocolType": _N, "ProtocolName": _N, "Assignment": Entity.ASSIGNMENT},
    "DescribeGroupsRequest": {},
    "DescribeGroupsResponse": {
        "Groups.GroupState": _N,
        "Groups.ProtocolType": _N,
        "Groups.ProtocolData": _N,
        "Groups.Members.MemberId": _N,
        "Groups.Members.GroupInstanceId": _N,
        "Groups.Members.ClientId": _N,
        "Groups.Members.ClientHost": Entity.CLIENT_HOST,
        "Groups.Members.MemberMetadata": Entity.SUBSCRIPTION,
        "Groups.Members.MemberAssignment": Entity.ASSIGNMENT,
        "Groups.ErrorMessage": Entity.ERROR_TEXT,
    },
    "ListGroupsRequest": {"StatesFilter": _N, "TypesFilter": _N},
    "ListGroupsResponse": {"Groups.ProtocolType": _N, "Groups.GroupState": _N, "Groups.GroupType": _N},
    "SaslHandshakeRequest": {"Mechanism": _N},
    "SaslHandshakeResponse": {"Mechanisms": _N},
    "ApiVersionsRequest": {"ClientSoftwareName": _N, "ClientSoftwareVersion": _N},
    "ApiVersionsResponse": {"SupportedFeatures.Name": _N, "FinalizedFeatures.Name": _N},
    "CreateTopicsRequest": {"Topics.Configs.Name": _N, "Topics.Configs.Value": _N},
    "CreateTopicsResponse": {
        "Topics.TopicId": Entity.TOPIC_ID,
        "Topics.ErrorMessage": Entity.ERROR_TEXT,
        "Topics.Configs.Name": _N,
        "Topics.Configs.Value": _N,
    },
    "DeleteTopicsRequest": {"Topics.TopicId": Entity.TOPIC_ID},
    "DeleteTopicsResponse": {
        "Responses.TopicId": Entity.TOPIC_ID,
        "Responses.ErrorMessage": Entity.ERROR_TEXT,
    },
    "DeleteRecordsRequest": {},
    "DeleteRecordsResponse": {},
    "InitProducerIdRequest": {},
    "InitProducerIdResponse": {},
    "OffsetForLeaderEpochRequest": {},
    "OffsetForLeaderEpochResponse": {},
    "AddPartitionsToTxnRequest": {},
    "AddPartitionsToTxnResponse": {},
    "AddOffsetsToTxnRequest": {},
    "AddOffsetsToTxnResponse": {},
    "EndTxnRequest": {},
    "EndTxnResponse": {},
    "TxnOffsetCommitRequest": {**_GROUP_MEMBER, "Topics.Partitions.CommittedMetadata": _N},
    "TxnOffsetCommitResponse": {},
    "DescribeConfigsRequest": {
        "Resources.ResourceName": Entity.RESOURCE_NAME,
        "Resources.ConfigurationKeys": _N,
    },
    "DescribeConfigsResponse": {
        "Results.ErrorMessage": Entity.ERROR_TEXT,
        "Results.ResourceName": Entity.RESOURCE_NAME,
        # Neutral for topics and groups; the configs of brokers are never asked for on a tenant's behalf.
        "Results.Configs.Name": _N,
        "Results.Configs.Value": _N,
        "Results.Configs.Synonyms.Name": _N,
        "Results.Configs.Synonyms.Value": _N,
        "Results.Configs.Documentation": _N,
    },
    "SaslAuthenticateRequest": {"AuthBytes": _N},
    "SaslAuthenticateResponse": {"ErrorMessage": _N, "AuthBytes": _N},
    "CreatePartitionsRequest": {},
    "CreatePartitionsResponse": {"Results.ErrorMessage": Entity.ERROR_TEXT},
    "DeleteGroupsRequest": {},
    "DeleteGroupsResponse": {},
    "OffsetDeleteRequest": {},
    "OffsetDeleteResponse": {},
    "DescribeClusterRequest": {},
    "DescribeClusterResponse": {
        "ErrorMessage": Entity.ERROR_TEXT,
        "ClusterId": Entity.CLUSTER_ID,
        "Brokers.Host": Entity.BROKER_HOST,
        "Brokers.Rack": _N,
    },
}
"""Message name -> dotted field path -> meaning, for the fields whose meaning Kafka's definitions do not give."""


def walk_fields(fields: tuple[Field, ...], version: int, prefix: str = "") -> Iterator[tuple[str, Field]]:
    """Yield (dotted path, field) of every field that exists at `version`, outer before inner."""
    for field in fields:
        if version in field.versions:
            path = prefix + field.kafka_name
            yield path, field
            yield from walk_fields(field.fields, version, path + ".")


@cache
def entities_of(message: str, version: int) -> dict[str, Entity]:
    """Return the meaning of every entity field of one version of a message, by dotted path; neutral ones left out.

    Raises:
        UnclassifiedField: the message has a string, bytes or uuid field that nobody gave a meaning.
    """
    schema, declared = message_schema(message), CLASSIFICATION.get(message, {})
    found: dict[str, Entity] = {}
    for path, field in walk_fields(schema.fields, version):
        entity = declared.get(path)
        if entity is None and field.type in _CLASSIFIED_TYPES:
            entity = _KAFKA_ENTITY_TYPES.get(field.entity_type or "")
            if entity is None or message not in CLASSIFICATION:
                raise UnclassifiedField(f"{message} v{version}: {path} has no meaning in wire/entities.py")
        if entity:
            found[path] = entity
    return found


def engine_slots(message: str, version: int) -> dict[str, int]:
    """Return the engine slot of every entity field: its own for those replaced in place, else SLOT_DECODE."""
    entities = entities_of(message, version).items()
    return {path: int(entity) if entity.is_in_place else SLOT_DECODE for path, entity in entities}


@cache
def served_versions(api_key: int) -> VersionRange | None:
    """Return the versions of an API that are wholly classified and may be offered, or None when it is not served.

    The newest version the schema marks unstable is included: brokers offer it only when told to.
    """
    if api_key not in SERVED:
        return None
    request, response = request_schema(api_key), response_schema(api_key)
    newest = SERVED[ApiKey(api_key)]
    high = request.versions.high if newest is None else min(newest, request.versions.high)
    for version in range(request.versions.low, high + 1):
        for schema in (request, response):
            try:
                entities_of(schema.name, version)
            except UnclassifiedField:
                if version == request.versions.low:
                    return None
                return VersionRange(request.versions.low, version - 1)
    return VersionRange(request.versions.low, high)


def unclassified_fields(schema: MessageSchema) -> list[str]:
    """Return a line for every version of a message that has an unclassified field. For the tests."""
    lines = []
    for version in range(schema.versions.low, schema.versions.high + 1):
        try:
            entities_of(schema.name, version)
        except UnclassifiedField as error:
            lines.append(str(error))
    return lines


class UnclassifiedField(LookupError):
    """A field of a message was given no meaning; the message is not served."""
