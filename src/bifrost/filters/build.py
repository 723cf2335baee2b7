"""Lists which filters see which API, and in which order; the only module that knows all filters."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bifrost.filters.authorized_operations import AuthorizedOperationsFilter
from bifrost.filters.broker_address import BrokerAddressFilter
from bifrost.filters.cluster_id import RequestClusterIdFilter, ResponseClusterIdFilter
from bifrost.filters.configs.broker_configs import BrokerConfigsFilter
from bifrost.filters.configs.config_resources import (
    ListConfigResourcesFilter,
    alter_configs_filter,
    describe_configs_filter,
    incremental_alter_configs_filter,
)
from bifrost.filters.describe_producers import DescribeProducersFilter
from bifrost.filters.fetch import FetchFilter
from bifrost.filters.find_coordinator import FindCoordinatorFilter
from bifrost.filters.groups.consumer_protocol import DescribeGroupsFilter, JoinGroupFilter, SyncGroupFilter
from bifrost.filters.groups.group_description import GroupDescriptionFilter
from bifrost.filters.groups.group_heartbeat import (
    ConsumerRegexFilter,
    EmptyGroupFilter,
    StreamsTopologyFilter,
)
from bifrost.filters.groups.group_names import GroupNameFilter
from bifrost.filters.groups.moved_subscriptions import MovedSubscriptionsFilter
from bifrost.filters.left_out.broker_state import (
    AssignedMembersFilter,
    CommittedOffsetsFilter,
    JoinedGroupsFilter,
    LivingMembersFilter,
    ProducersFilter,
    TransactionalIdsFilter,
)
from bifrost.filters.list_order import DIRECTORIES_IN_ORDER, GROUPS_IN_ORDER, TRANSACTIONS_IN_ORDER
from bifrost.filters.list_transactions import ListTransactionsFilter
from bifrost.filters.loaded_later import LoadedLater
from bifrost.filters.log_dirs import LogDirsFilter
from bifrost.filters.plan import Plans
from bifrost.filters.refused import REFUSED, RefusedFilter
from bifrost.filters.topics.automatic_creation import AutomaticCreationFilter
from bifrost.filters.topics.fetched_names import FetchedNamesFilter
from bifrost.filters.topics.metadata import MetadataFilter
from bifrost.filters.topics.metadata_ids import MetadataIdsFilter
from bifrost.filters.topics.partition_creation import PartitionCreationFilter
from bifrost.filters.topics.record_deletion import RecordDeletionFilter
from bifrost.filters.topics.topic_creation import TopicCreationFilter
from bifrost.filters.topics.topic_deletion import TopicDeletionFilter
from bifrost.filters.topics.topic_partitions import TopicPartitionsFilter
from bifrost.filters.users.permitted_users import PermittedUsers
from bifrost.tenancy.acls.acl_binding import Operation
from bifrost.wire import messages
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import SERVED

if TYPE_CHECKING:
    from bifrost.filters.filter import AnyFilter

_DECODED = frozenset(
    {
        "ConsumerGroupHeartbeatRequest",
        "CreateTopicsRequest",
        "CreateTopicsResponse",
        "CreatePartitionsRequest",
        "CreatePartitionsResponse",
        "DeleteRecordsRequest",
        "DeleteTopicsRequest",
        "DeleteTopicsResponse",
        "DescribeProducersRequest",
        "ListGroupsResponse",
        "ListTransactionsResponse",
        "StreamsGroupHeartbeatRequest",
        "DescribeTopicPartitionsRequest",
        "DescribeTopicPartitionsResponse",
    }
)
"""Messages whose names the engine could replace, but which a filter must see every time."""

_OPERATIONS = "ClusterAuthorizedOperations"
_UNLESS_USUAL = {
    "MetadataRequest": ("Topics", "Topics.Name", "Topics.TopicId"),
    "MetadataResponse": ("Topics.ErrorCode", "Topics.TopicAuthorizedOperations", _OPERATIONS),
    "DescribeClusterResponse": (_OPERATIONS,),
}
"""Fields that make a filter necessary: a request for all topics, topics by ID, permitted operations, errors about a
name."""

_QUOTAS = {
    ApiKey.DESCRIBE_CLIENT_QUOTAS: LoadedLater(
        "bifrost.filters.quotas.quota_description", "QuotaDescriptionFilter"
    ),
    ApiKey.ALTER_CLIENT_QUOTAS: LoadedLater(
        "bifrost.filters.quotas.quota_alteration", "QuotaAlterationFilter"
    ),
}
_USERS = {
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: PermittedUsers(
        Operation.DESCRIBE, "user_description", "UserDescriptionFilter"
    ),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: PermittedUsers(
        Operation.ALTER, "user_alteration", "UserAlterationFilter"
    ),
}
"""What stands before the refusal of requests about users."""
_METADATA = (MetadataIdsFilter(), AutomaticCreationFilter(), MetadataFilter())


def build_plans() -> Plans:
    """Return the plans of a gateway that isolates namespaces, with those of clients that ACLs apply to."""
    filters = _filters()
    refused: dict[int, tuple[AnyFilter, ...]] = {
        api_key: (RefusedFilter(answer),) for api_key, answer in REFUSED.items()
    }
    for api_key, one in _USERS.items():
        refused[api_key] = (one, *refused[api_key])

    def guarded() -> Plans:
        acls = load_access_filters()
        of_clients = {
            api_key: (*acls.access_filters(api_key), *filters.get(api_key, ())) for api_key in SERVED
        }
        return Plans(
            of_clients | refused | acls.ADMINISTRATION,
            decoded=_DECODED.union(acls.always_decoded()),
            unless_usual=_UNLESS_USUAL,
        )

    return Plans(filters | refused, decoded=_DECODED, unless_usual=_UNLESS_USUAL, guarded=guarded)


def load_access_filters() -> ModuleType:
    """Load the filters of ACLs, and return the module that lists them.

    Most gateways have no ACLs, and the modules take memory. To load them takes some ten milliseconds, in which an
    event loop would serve no client: where a tenant has ACLs, its settings do it before (`TenantSettings.of`).
    """
    return import_module("bifrost.filters.acls.access_filters")


def load_record_filters() -> ModuleType:
    """Load the filters of records likewise, and return the module by which they begin."""
    return import_module("bifrost.filters.records.tenant_records")


def load_virtual_partitions() -> ModuleType:
    """Load the filters of virtual partitions likewise, and return the module by which they begin."""
    return import_module("bifrost.filters.virtual.virtual_topics")


def load_quota_filters() -> None:
    """Load the filters of requests about quotas likewise, where a tenant may set some."""
    for one in _QUOTAS.values():
        one.load()


def load_user_filters() -> None:
    """Load the filters of requests about users likewise, where a tenant may have some."""
    for one in _USERS.values():
        one.load()


def _filters() -> "dict[int, tuple[AnyFilter, ...]]":
    """Return the filters of each API that is served, without those about rights."""
    broker_address = BrokerAddressFilter()
    cluster_id = ResponseClusterIdFilter()
    group_names = GroupNameFilter()
    operations = AuthorizedOperationsFilter()
    no_group = ErrorCode.INVALID_GROUP_ID
    offsets = CommittedOffsetsFilter()
    return {
        ApiKey.PRODUCE: (ProducersFilter(), broker_address),
        ApiKey.FETCH: (FetchedNamesFilter(), FetchFilter(), RequestClusterIdFilter(), broker_address),
        ApiKey.METADATA: (*_METADATA, cluster_id, operations, broker_address),
        ApiKey.DESCRIBE_CLUSTER: (cluster_id, operations, broker_address),
        ApiKey.FIND_COORDINATOR: (FindCoordinatorFilter(), broker_address),
        ApiKey.JOIN_GROUP: (group_names, JoinedGroupsFilter(), JoinGroupFilter()),
        ApiKey.SYNC_GROUP: (
            EmptyGroupFilter(messages.SyncGroupResponse, error_code=no_group),
            AssignedMembersFilter(),
            SyncGroupFilter(),
        ),
        ApiKey.DESCRIBE_GROUPS: (DescribeGroupsFilter(), operations),
        ApiKey.CREATE_TOPICS: (TopicCreationFilter(),),
        ApiKey.CREATE_PARTITIONS: (PartitionCreationFilter(),),
        ApiKey.DELETE_TOPICS: (TopicDeletionFilter(),),
        ApiKey.DELETE_RECORDS: (RecordDeletionFilter(),),
        ApiKey.DESCRIBE_CONFIGS: (describe_configs_filter(), BrokerConfigsFilter()),
        ApiKey.DESCRIBE_PRODUCERS: (DescribeProducersFilter(),),
        ApiKey.ALTER_CONFIGS: (alter_configs_filter(),),
        ApiKey.INCREMENTAL_ALTER_CONFIGS: (incremental_alter_configs_filter(),),
        ApiKey.LIST_CONFIG_RESOURCES: (ListConfigResourcesFilter(),),
        ApiKey.DESCRIBE_LOG_DIRS: (LogDirsFilter(), DIRECTORIES_IN_ORDER),
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: (TopicPartitionsFilter(), operations),
        ApiKey.LIST_GROUPS: (GROUPS_IN_ORDER,),
        ApiKey.LIST_TRANSACTIONS: (ListTransactionsFilter(), TRANSACTIONS_IN_ORDER),
        ApiKey.HEARTBEAT: (
            EmptyGroupFilter(messages.HeartbeatResponse, error_code=no_group),
            LivingMembersFilter(),
        ),
        ApiKey.OFFSET_COMMIT: (group_names, offsets),
        ApiKey.TXN_OFFSET_COMMIT: (group_names, offsets),
        ApiKey.INIT_PRODUCER_ID: (TransactionalIdsFilter(),),
        ApiKey.OFFSET_DELETE: (EmptyGroupFilter(messages.OffsetDeleteResponse, error_code=no_group),),
        ApiKey.LEAVE_GROUP: (EmptyGroupFilter(messages.LeaveGroupResponse, error_code=no_group),),
        ApiKey.CONSUMER_GROUP_DESCRIBE: (GroupDescriptionFilter(), operations),
        ApiKey.SHARE_GROUP_DESCRIBE: (GroupDescriptionFilter(), operations),
        ApiKey.STREAMS_GROUP_DESCRIBE: (GroupDescriptionFilter(), operations),
        **_heartbeat_filters(),
        **{api_key: (one,) for api_key, one in _QUOTAS.items()},
        ApiKey.SHARE_FETCH: (broker_address,),
        ApiKey.SHARE_ACKNOWLEDGE: (broker_address,),
    }


def _heartbeat_filters() -> "dict[int, tuple[AnyFilter, ...]]":
    """Return the filters of the heartbeats by which members of the newer groups join."""
    group_names, joins = GroupNameFilter(), JoinedGroupsFilter()
    no_group_id: dict[str, Any] = {
        "error_code": ErrorCode.INVALID_REQUEST,
        "error_message": "GroupId can't be empty.",
    }
    return {
        ApiKey.CONSUMER_GROUP_HEARTBEAT: (
            EmptyGroupFilter(messages.ConsumerGroupHeartbeatResponse, **no_group_id),
            group_names,
            joins,
            ConsumerRegexFilter(),
            MovedSubscriptionsFilter(),
        ),
        ApiKey.SHARE_GROUP_HEARTBEAT: (
            EmptyGroupFilter(messages.ShareGroupHeartbeatResponse, **no_group_id),
            group_names,
            joins,
        ),
        ApiKey.STREAMS_GROUP_HEARTBEAT: (
            EmptyGroupFilter(messages.StreamsGroupHeartbeatResponse, **no_group_id),
            group_names,
            joins,
            StreamsTopologyFilter(),
        ),
    }
