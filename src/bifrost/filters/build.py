"""Which filters see which API, and in which order: the one place that knows them all."""

from bifrost.filters.authorized_operations import AuthorizedOperationsFilter
from bifrost.filters.broker_address import BrokerAddressFilter
from bifrost.filters.cluster_id import RequestClusterIdFilter, ResponseClusterIdFilter
from bifrost.filters.consumer_protocol import DescribeGroupsFilter, JoinGroupFilter, SyncGroupFilter
from bifrost.filters.describe_configs import DescribeConfigsFilter
from bifrost.filters.fetch import FetchFilter
from bifrost.filters.filter import Filter
from bifrost.filters.find_coordinator import FindCoordinatorFilter
from bifrost.filters.metadata import MetadataFilter
from bifrost.filters.plan import Plans
from bifrost.filters.topic_creation import TopicCreationFilter
from bifrost.filters.topic_deletion import TopicDeletionFilter
from bifrost.wire.api_keys import ApiKey

_DECODED = frozenset({"CreateTopicsRequest", "CreateTopicsResponse", "DeleteTopicsRequest"})
"""Messages whose names the engine could replace, but which a filter must see every time."""


def build_plans() -> Plans:
    """Return the plans of a gateway that isolates namespaces."""
    broker_address = BrokerAddressFilter()
    cluster_id = ResponseClusterIdFilter()
    authorized_operations = AuthorizedOperationsFilter()
    filters: dict[int, tuple[Filter, ...]] = {
        ApiKey.PRODUCE: (broker_address,),
        ApiKey.FETCH: (FetchFilter(), RequestClusterIdFilter(), broker_address),
        ApiKey.METADATA: (MetadataFilter(), cluster_id, authorized_operations, broker_address),
        ApiKey.DESCRIBE_CLUSTER: (cluster_id, authorized_operations, broker_address),
        ApiKey.FIND_COORDINATOR: (FindCoordinatorFilter(), broker_address),
        ApiKey.JOIN_GROUP: (JoinGroupFilter(),),
        ApiKey.SYNC_GROUP: (SyncGroupFilter(),),
        ApiKey.DESCRIBE_GROUPS: (DescribeGroupsFilter(),),
        ApiKey.CREATE_TOPICS: (TopicCreationFilter(),),
        ApiKey.DELETE_TOPICS: (TopicDeletionFilter(),),
        ApiKey.DESCRIBE_CONFIGS: (DescribeConfigsFilter(),),
    }
    return Plans(filters, decoded=_DECODED)
