"""Lists the filters of virtual partitions by API; most are the last on the way to the broker, and the first back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bifrost.filters.virtual.committed_partitions import (
    CommittedPartitionsFilter,
    DeletedOffsetsFilter,
    TransactionOffsetsFilter,
)
from bifrost.filters.virtual.created_partitions import (
    AddedPartitionsFilter,
    CompactionFilter,
    CreatedPartitionsFilter,
)
from bifrost.filters.virtual.fetched_offsets import FetchedOffsetsFilter
from bifrost.filters.virtual.fetched_partitions import FetchedPartitionsFilter
from bifrost.filters.virtual.groups.assigned_partitions import AssignedPartitionsFilter
from bifrost.filters.virtual.groups.described_members import DescribedMembersFilter, DescribedSharersFilter
from bifrost.filters.virtual.groups.joined_members import JoinedMembersFilter
from bifrost.filters.virtual.groups.told_members import TOLD_CONSUMERS, TOLD_SHARERS
from bifrost.filters.virtual.hidden_groups import DeletedGroupsFilter, ListedGroupsFilter
from bifrost.filters.virtual.listed_offsets import ListedOffsetsFilter
from bifrost.filters.virtual.log_sizes import LogDirsOfPartitionsFilter
from bifrost.filters.virtual.logs.deleted_records import DeletedRecordsFilter
from bifrost.filters.virtual.looked_up_partitions import LEADER_EPOCHS, PRODUCERS
from bifrost.filters.virtual.produced_partitions import ProducedPartitionsFilter
from bifrost.filters.virtual.shares.acknowledged_partitions import AcknowledgedPartitionsFilter
from bifrost.filters.virtual.shares.assigned_shares import AssignedSharesFilter
from bifrost.filters.virtual.shares.share_offsets import (
    AlteredShareOffsetsFilter,
    DescribedShareOffsetsFilter,
)
from bifrost.filters.virtual.shares.shared_partitions import SharedPartitionsFilter
from bifrost.filters.virtual.sharing.forgotten_records import ForgottenRecordsFilter
from bifrost.filters.virtual.shown_partitions import DescribedPartitionsFilter, MetadataPartitionsFilter
from bifrost.filters.virtual.streams.assigned_tasks import AssignedTasksFilter
from bifrost.filters.virtual.streams.described_tasks import DescribedTasksFilter
from bifrost.filters.virtual.transactions.transaction_partitions import (
    AddedToTransactionFilter,
    DescribedTransactionsFilter,
)
from bifrost.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from bifrost.filters.filter import AnyFilter


_FORGOTTEN = ForgottenRecordsFilter()

FILTERS: dict[int, tuple[AnyFilter, ...]] = {
    ApiKey.PRODUCE: (ProducedPartitionsFilter(),),
    ApiKey.FETCH: (FetchedPartitionsFilter(),),
    ApiKey.LIST_OFFSETS: (ListedOffsetsFilter(),),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (LEADER_EPOCHS,),
    ApiKey.DESCRIBE_PRODUCERS: (PRODUCERS,),
    ApiKey.METADATA: (MetadataPartitionsFilter(),),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (DescribedPartitionsFilter(),),
    ApiKey.CREATE_TOPICS: (CreatedPartitionsFilter(), _FORGOTTEN),
    ApiKey.DELETE_TOPICS: (_FORGOTTEN,),
    ApiKey.CREATE_PARTITIONS: (AddedPartitionsFilter(),),
    ApiKey.ALTER_CONFIGS: (CompactionFilter(),),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (CompactionFilter(),),
    ApiKey.DELETE_RECORDS: (DeletedRecordsFilter(), _FORGOTTEN),
    ApiKey.DESCRIBE_LOG_DIRS: (LogDirsOfPartitionsFilter(),),
    ApiKey.ADD_PARTITIONS_TO_TXN: (AddedToTransactionFilter(),),
    ApiKey.DESCRIBE_TRANSACTIONS: (DescribedTransactionsFilter(),),
    ApiKey.OFFSET_COMMIT: (CommittedPartitionsFilter(),),
    ApiKey.TXN_OFFSET_COMMIT: (TransactionOffsetsFilter(),),
    ApiKey.OFFSET_FETCH: (FetchedOffsetsFilter(),),
    ApiKey.OFFSET_DELETE: (DeletedOffsetsFilter(),),
    ApiKey.LIST_GROUPS: (ListedGroupsFilter(),),
    ApiKey.DELETE_GROUPS: (DeletedGroupsFilter(),),
    ApiKey.JOIN_GROUP: (JoinedMembersFilter(),),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (AssignedPartitionsFilter(), TOLD_CONSUMERS),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (DescribedMembersFilter(),),
    ApiKey.STREAMS_GROUP_HEARTBEAT: (AssignedTasksFilter(),),
    ApiKey.STREAMS_GROUP_DESCRIBE: (DescribedTasksFilter(),),
    ApiKey.SHARE_GROUP_HEARTBEAT: (AssignedSharesFilter(), TOLD_SHARERS),
    ApiKey.SHARE_GROUP_DESCRIBE: (DescribedSharersFilter(),),
    ApiKey.SHARE_FETCH: (SharedPartitionsFilter(),),
    ApiKey.SHARE_ACKNOWLEDGE: (AcknowledgedPartitionsFilter(),),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (DescribedShareOffsetsFilter(),),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: (AlteredShareOffsetsFilter(),),
}

BEFORE_ALL = frozenset({ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS})
"""APIs whose other filters give the broker's names to what they pass on; there these filters come first."""

ALWAYS_DECODED_REQUESTS = frozenset(
    {
        ApiKey.OFFSET_FETCH,
        ApiKey.DELETE_GROUPS,
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.JOIN_GROUP,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.STREAMS_GROUP_HEARTBEAT,
        ApiKey.SHARE_GROUP_HEARTBEAT,
        ApiKey.SHARE_FETCH,
        ApiKey.SHARE_ACKNOWLEDGE,
    }
)
"""Requests that name no topic, or need not, and which a filter must see all the same."""
ALWAYS_DECODED_ANSWERS = frozenset(
    {
        ApiKey.LIST_GROUPS,
        ApiKey.OFFSET_FETCH,
        ApiKey.JOIN_GROUP,
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        ApiKey.STREAMS_GROUP_DESCRIBE,
        ApiKey.SHARE_GROUP_DESCRIBE,
    }
)
