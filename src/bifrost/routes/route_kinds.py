"""Where requests go behind a single address: the one table of it. An API that is not in it is not served there.

Source: how Kafka's own clients choose a broker for each request: AdminApiLookupStrategy and Call's NodeProvider of
KafkaAdminClient, NetworkClient users of the consumer and the producer.
"""

from enum import Enum

from bifrost.wire.api_keys import ApiKey


class RouteKind(Enum):
    """Which brokers get a request."""

    ANY = "any broker"
    CONTROLLER = "the controller, or a broker that asks it"
    LEADERS = "the leader of each partition; the answers are merged"
    FETCH = "the leader of each partition; one long poll of all"
    SHARE = "the leader of each partition; a share session with each"
    GROUP = "the coordinator of its group"
    GROUPS = "the coordinator of each group; the answers are merged"
    TRANSACTION = "the coordinator of its transactional ID"
    TRANSACTIONS = "the coordinator of each transactional ID; the answers are merged"
    ALL = "every broker; the answers are merged"
    BROKER = "the broker that it names; any other broker for anything else"
    OWN = "no broker: the gateway answers"


ROUTE_KINDS: dict[ApiKey, RouteKind] = {
    ApiKey.PRODUCE: RouteKind.LEADERS,
    ApiKey.FETCH: RouteKind.FETCH,
    ApiKey.LIST_OFFSETS: RouteKind.LEADERS,
    ApiKey.METADATA: RouteKind.ANY,
    ApiKey.OFFSET_COMMIT: RouteKind.GROUP,
    ApiKey.OFFSET_FETCH: RouteKind.GROUPS,
    ApiKey.FIND_COORDINATOR: RouteKind.ANY,
    ApiKey.JOIN_GROUP: RouteKind.GROUP,
    ApiKey.HEARTBEAT: RouteKind.GROUP,
    ApiKey.LEAVE_GROUP: RouteKind.GROUP,
    ApiKey.SYNC_GROUP: RouteKind.GROUP,
    ApiKey.DESCRIBE_GROUPS: RouteKind.GROUPS,
    ApiKey.LIST_GROUPS: RouteKind.ALL,
    ApiKey.SASL_HANDSHAKE: RouteKind.OWN,
    ApiKey.API_VERSIONS: RouteKind.OWN,
    ApiKey.CREATE_TOPICS: RouteKind.CONTROLLER,
    ApiKey.DELETE_TOPICS: RouteKind.CONTROLLER,
    ApiKey.DELETE_RECORDS: RouteKind.LEADERS,
    ApiKey.INIT_PRODUCER_ID: RouteKind.TRANSACTION,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: RouteKind.LEADERS,
    ApiKey.ADD_PARTITIONS_TO_TXN: RouteKind.TRANSACTION,
    ApiKey.ADD_OFFSETS_TO_TXN: RouteKind.TRANSACTION,
    ApiKey.END_TXN: RouteKind.TRANSACTION,
    ApiKey.TXN_OFFSET_COMMIT: RouteKind.GROUP,
    ApiKey.DESCRIBE_CONFIGS: RouteKind.BROKER,
    ApiKey.SASL_AUTHENTICATE: RouteKind.OWN,
    ApiKey.CREATE_PARTITIONS: RouteKind.CONTROLLER,
    ApiKey.DELETE_GROUPS: RouteKind.GROUPS,
    ApiKey.OFFSET_DELETE: RouteKind.GROUP,
    ApiKey.DESCRIBE_CLUSTER: RouteKind.ANY,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: RouteKind.ANY,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: RouteKind.GROUP,
    ApiKey.CONSUMER_GROUP_DESCRIBE: RouteKind.GROUPS,
    ApiKey.SHARE_GROUP_HEARTBEAT: RouteKind.GROUP,
    ApiKey.SHARE_GROUP_DESCRIBE: RouteKind.GROUPS,
    ApiKey.SHARE_FETCH: RouteKind.SHARE,
    ApiKey.SHARE_ACKNOWLEDGE: RouteKind.SHARE,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: RouteKind.GROUPS,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: RouteKind.GROUP,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: RouteKind.GROUP,
    ApiKey.STREAMS_GROUP_HEARTBEAT: RouteKind.GROUP,
    ApiKey.STREAMS_GROUP_DESCRIBE: RouteKind.GROUPS,
    ApiKey.LIST_TRANSACTIONS: RouteKind.ALL,
    ApiKey.DESCRIBE_TRANSACTIONS: RouteKind.TRANSACTIONS,
    ApiKey.DESCRIBE_PRODUCERS: RouteKind.LEADERS,
    ApiKey.ALTER_CONFIGS: RouteKind.BROKER,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: RouteKind.BROKER,
    ApiKey.LIST_CONFIG_RESOURCES: RouteKind.ANY,
    ApiKey.DESCRIBE_LOG_DIRS: RouteKind.ALL,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: RouteKind.OWN,
    ApiKey.ALTER_CLIENT_QUOTAS: RouteKind.OWN,
    # Most of these are refused by the gateway itself; where a tenant's ACLs are the brokers', they are asked.
    ApiKey.ELECT_LEADERS: RouteKind.OWN,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: RouteKind.OWN,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: RouteKind.OWN,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: RouteKind.OWN,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: RouteKind.OWN,
    ApiKey.DESCRIBE_ACLS: RouteKind.ANY,
    ApiKey.CREATE_ACLS: RouteKind.CONTROLLER,
    ApiKey.DELETE_ACLS: RouteKind.CONTROLLER,
    ApiKey.CREATE_DELEGATION_TOKEN: RouteKind.OWN,
    ApiKey.RENEW_DELEGATION_TOKEN: RouteKind.OWN,
    ApiKey.EXPIRE_DELEGATION_TOKEN: RouteKind.OWN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: RouteKind.OWN,
}


def route_kind(api_key: int) -> RouteKind | None:
    """Return where the requests of an API go; None: it is not served behind a single address."""
    try:
        return ROUTE_KINDS.get(ApiKey(api_key))
    except ValueError:
        return None
