"""Lists which filter decides by ACLs about each API, and which messages it has to see decoded."""

from collections.abc import Iterable

from bifrost.filters.acls.acl_administration import CreateAclsFilter, DeleteAclsFilter, DescribeAclsFilter
from bifrost.filters.acls.cluster_access import (
    LISTS_BY_CLUSTER,
    NEEDS_CLUSTER,
    ClusterAccessFilter,
    ClusterListingAccessFilter,
    ConfigsAccessFilter,
    RightsFilter,
)
from bifrost.filters.acls.fetch_access import FetchAccessFilter
from bifrost.filters.acls.group_access import (
    DescribeGroupsAccessFilter,
    FindCoordinatorAccessFilter,
    GroupHeartbeatAccessFilter,
    ListGroupsAccessFilter,
    OffsetFetchAccessFilter,
)
from bifrost.filters.acls.metadata_access import MetadataAccessFilter
from bifrost.filters.acls.named_access import NAMED, NamedAccessFilter, UndecidedFilter
from bifrost.filters.acls.share_access import ShareFetchAccessFilter, ShareOffsetsAccessFilter
from bifrost.filters.acls.streams_access import StreamsHeartbeatAccessFilter
from bifrost.filters.acls.topic_access import (
    CreateTopicsAccessFilter,
    DeleteTopicsAccessFilter,
    TopicPartitionsAccessFilter,
)
from bifrost.filters.acls.transaction_access import (
    AddPartitionsAccessFilter,
    DescribeTransactionsAccessFilter,
    InitProducerIdAccessFilter,
    ListTransactionsAccessFilter,
    ProduceAccessFilter,
)
from bifrost.filters.filter import AnyFilter
from bifrost.tenancy.acls.access import ACCESS
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.fields.entities import SERVED
from bifrost.wire.schema import request_schema

_OWN = frozenset({ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})
"""Answered before any right is asked for."""

_FILTERS: dict[ApiKey, tuple[AnyFilter, ...]] = {
    ApiKey.PRODUCE: (ProduceAccessFilter(),),
    ApiKey.FETCH: (FetchAccessFilter(),),
    ApiKey.METADATA: (MetadataAccessFilter(), RightsFilter()),
    ApiKey.OFFSET_FETCH: (OffsetFetchAccessFilter(),),
    ApiKey.FIND_COORDINATOR: (FindCoordinatorAccessFilter(),),
    ApiKey.DESCRIBE_GROUPS: (DescribeGroupsAccessFilter("groups"), RightsFilter()),
    ApiKey.LIST_GROUPS: (ListGroupsAccessFilter(),),
    ApiKey.CREATE_TOPICS: (CreateTopicsAccessFilter(),),
    ApiKey.DELETE_TOPICS: (DeleteTopicsAccessFilter(),),
    ApiKey.INIT_PRODUCER_ID: (InitProducerIdAccessFilter(),),
    ApiKey.ADD_PARTITIONS_TO_TXN: (AddPartitionsAccessFilter(),),
    ApiKey.DESCRIBE_CONFIGS: (ConfigsAccessFilter(),),
    ApiKey.ALTER_CONFIGS: (ConfigsAccessFilter(),),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (ConfigsAccessFilter(),),
    ApiKey.DESCRIBE_CLUSTER: (RightsFilter(),),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (TopicPartitionsAccessFilter(), RightsFilter()),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (GroupHeartbeatAccessFilter(),),
    ApiKey.SHARE_GROUP_HEARTBEAT: (GroupHeartbeatAccessFilter(),),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (DescribeGroupsAccessFilter("group_ids"), RightsFilter()),
    ApiKey.SHARE_GROUP_DESCRIBE: (DescribeGroupsAccessFilter("group_ids"), RightsFilter()),
    ApiKey.SHARE_FETCH: (ShareFetchAccessFilter(),),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (ShareOffsetsAccessFilter(),),
    ApiKey.STREAMS_GROUP_HEARTBEAT: (StreamsHeartbeatAccessFilter(),),
    ApiKey.STREAMS_GROUP_DESCRIBE: (DescribeGroupsAccessFilter("group_ids"), RightsFilter()),
    ApiKey.LIST_TRANSACTIONS: (ListTransactionsAccessFilter(),),
    ApiKey.DESCRIBE_TRANSACTIONS: (DescribeTransactionsAccessFilter(),),
    **{api_key: (NamedAccessFilter(named),) for api_key, named in NAMED.items()},
    **{api_key: (ClusterAccessFilter(),) for api_key in NEEDS_CLUSTER},
    **{api_key: (ClusterListingAccessFilter(),) for api_key in LISTS_BY_CLUSTER},
}


ADMINISTRATION: dict[int, tuple[AnyFilter, ...]] = {
    ApiKey.DESCRIBE_ACLS: (DescribeAclsFilter(),),
    ApiKey.CREATE_ACLS: (CreateAclsFilter(),),
    ApiKey.DELETE_ACLS: (DeleteAclsFilter(),),
}
"""The APIs by which clients see and change ACLs."""


def access_filters(api_key: ApiKey) -> tuple[AnyFilter, ...]:
    """Return the filters that stand before those of an API for clients that ACLs apply to."""
    if api_key in _OWN:
        return ()
    return _FILTERS[api_key] if api_key in ACCESS else (UndecidedFilter(),)


def always_decoded() -> Iterable[str]:
    """Yield the requests that the engine does not decide about for these clients."""
    for api_key in SERVED:
        access = ACCESS.get(api_key)
        if api_key not in _OWN and (access is None or not access.is_in_place):
            yield request_schema(api_key).name
