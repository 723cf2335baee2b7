"""Which operations on which resources each API needs: the table that all decisions go by.

`needs` are those on entities that a request names, checked for each of them; the engine checks them where it replaces
the names. What else an API asks (the cluster, lists of all topics, what to answer) is in filters/acls. An API that is
not in the table is refused to every client that ACLs apply to.

Source: the authorization checks in KafkaApis and ControllerApis, 4.3.1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bifrost.tenancy.acls.acl_binding import Operation, ResourceType
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode

DENIED_CODES: Mapping[ResourceType, ErrorCode] = {
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
"""The error code of a denied operation, by the kind of resource."""

TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
TRANSACTIONAL_ID = ResourceType.TRANSACTIONAL_ID


@dataclass(frozen=True, slots=True)
class Access:
    """What one API needs."""

    needs: Mapping[ResourceType, Operation] = field(default_factory=dict)
    """The operation on each entity of a kind that a request names."""

    is_in_place: bool = False
    """Whether the engine decides about requests in which nothing is denied. All others are decoded."""

    answers: Operation | None = None
    """The operation on topics that an answer may show: of a topic for which it is denied, the answer is decoded."""


ACCESS: Mapping[ApiKey, Access] = {
    ApiKey.PRODUCE: Access({TOPIC: Operation.WRITE, TRANSACTIONAL_ID: Operation.WRITE}, is_in_place=True),
    ApiKey.FETCH: Access({TOPIC: Operation.READ}, is_in_place=True, answers=Operation.READ),
    ApiKey.LIST_OFFSETS: Access({TOPIC: Operation.DESCRIBE}, is_in_place=True),
    ApiKey.METADATA: Access({TOPIC: Operation.DESCRIBE}, is_in_place=True, answers=Operation.DESCRIBE),
    ApiKey.OFFSET_COMMIT: Access({GROUP: Operation.READ, TOPIC: Operation.READ}, is_in_place=True),
    ApiKey.OFFSET_FETCH: Access({GROUP: Operation.DESCRIBE, TOPIC: Operation.DESCRIBE}),
    ApiKey.FIND_COORDINATOR: Access({GROUP: Operation.DESCRIBE, TRANSACTIONAL_ID: Operation.DESCRIBE}),
    ApiKey.JOIN_GROUP: Access({GROUP: Operation.READ}),
    ApiKey.HEARTBEAT: Access({GROUP: Operation.READ}, is_in_place=True),
    ApiKey.LEAVE_GROUP: Access({GROUP: Operation.READ}),
    ApiKey.SYNC_GROUP: Access({GROUP: Operation.READ}),
    ApiKey.DESCRIBE_GROUPS: Access({GROUP: Operation.DESCRIBE}),
    ApiKey.LIST_GROUPS: Access({GROUP: Operation.DESCRIBE}),
    ApiKey.CREATE_TOPICS: Access({TOPIC: Operation.CREATE}),
    ApiKey.DELETE_TOPICS: Access({TOPIC: Operation.DELETE}),
    ApiKey.DELETE_RECORDS: Access({TOPIC: Operation.DELETE}),
    ApiKey.INIT_PRODUCER_ID: Access({TRANSACTIONAL_ID: Operation.WRITE}),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Access({TOPIC: Operation.DESCRIBE}, is_in_place=True),
    ApiKey.ADD_PARTITIONS_TO_TXN: Access(
        {TRANSACTIONAL_ID: Operation.WRITE, TOPIC: Operation.WRITE}, is_in_place=True
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: Access(
        {TRANSACTIONAL_ID: Operation.WRITE, GROUP: Operation.READ}, is_in_place=True
    ),
    ApiKey.END_TXN: Access({TRANSACTIONAL_ID: Operation.WRITE}, is_in_place=True),
    ApiKey.TXN_OFFSET_COMMIT: Access(
        {TRANSACTIONAL_ID: Operation.WRITE, GROUP: Operation.READ, TOPIC: Operation.READ}, is_in_place=True
    ),
    ApiKey.DESCRIBE_CONFIGS: Access(
        {
            TOPIC: Operation.DESCRIBE_CONFIGS,
            GROUP: Operation.DESCRIBE_CONFIGS,
            CLUSTER: Operation.DESCRIBE_CONFIGS,
        }
    ),
    ApiKey.ALTER_CONFIGS: Access(
        {TOPIC: Operation.ALTER_CONFIGS, GROUP: Operation.ALTER_CONFIGS, CLUSTER: Operation.ALTER_CONFIGS}
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Access(
        {TOPIC: Operation.ALTER_CONFIGS, GROUP: Operation.ALTER_CONFIGS, CLUSTER: Operation.ALTER_CONFIGS}
    ),
    ApiKey.LIST_CONFIG_RESOURCES: Access({CLUSTER: Operation.DESCRIBE_CONFIGS}),
    ApiKey.CREATE_PARTITIONS: Access({TOPIC: Operation.ALTER}),
    ApiKey.DELETE_GROUPS: Access({GROUP: Operation.DELETE}),
    ApiKey.OFFSET_DELETE: Access({GROUP: Operation.DELETE, TOPIC: Operation.READ}),
    ApiKey.DESCRIBE_CLUSTER: Access(),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Access({TOPIC: Operation.DESCRIBE}),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: Access(
        {GROUP: Operation.READ, TOPIC: Operation.DESCRIBE}, is_in_place=True
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: Access({GROUP: Operation.DESCRIBE, TOPIC: Operation.DESCRIBE}),
    ApiKey.SHARE_GROUP_HEARTBEAT: Access(
        {GROUP: Operation.READ, TOPIC: Operation.DESCRIBE}, is_in_place=True
    ),
    ApiKey.SHARE_GROUP_DESCRIBE: Access({GROUP: Operation.DESCRIBE, TOPIC: Operation.DESCRIBE}),
    ApiKey.SHARE_FETCH: Access(
        {GROUP: Operation.READ, TOPIC: Operation.READ}, is_in_place=True, answers=Operation.READ
    ),
    ApiKey.SHARE_ACKNOWLEDGE: Access({GROUP: Operation.READ, TOPIC: Operation.READ}, is_in_place=True),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: Access({GROUP: Operation.DESCRIBE, TOPIC: Operation.DESCRIBE}),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: Access({GROUP: Operation.READ, TOPIC: Operation.READ}),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: Access({GROUP: Operation.DELETE, TOPIC: Operation.READ}),
    ApiKey.STREAMS_GROUP_HEARTBEAT: Access({GROUP: Operation.READ, TOPIC: Operation.DESCRIBE}),
    ApiKey.STREAMS_GROUP_DESCRIBE: Access({GROUP: Operation.DESCRIBE, TOPIC: Operation.DESCRIBE}),
    ApiKey.LIST_TRANSACTIONS: Access({TRANSACTIONAL_ID: Operation.DESCRIBE}),
    ApiKey.DESCRIBE_TRANSACTIONS: Access({TRANSACTIONAL_ID: Operation.DESCRIBE, TOPIC: Operation.DESCRIBE}),
    ApiKey.DESCRIBE_PRODUCERS: Access({TOPIC: Operation.READ}),
    ApiKey.DESCRIBE_LOG_DIRS: Access({CLUSTER: Operation.DESCRIBE}),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: Access({CLUSTER: Operation.DESCRIBE_CONFIGS}),
    ApiKey.ALTER_CLIENT_QUOTAS: Access({CLUSTER: Operation.ALTER_CONFIGS}),
}
"""By API."""
