"""What a request costs a broker, about, by its API: the unit of the brokers' time in `broker_budgets.py`.

A gateway cannot measure a broker's threads; Kafka's own request quota (KIP-124) can. These are the CPU times of small
requests that a warm broker took on one core of 2024 (`python -m bench.broker_costs`), rounded up. What else a request
names is charged by the engine, by the item (`BROKER_ITEM_NS` in load.pxd), and the session charges the partitions that
are created. Bytes of records are not charged: they are bandwidth, which the brokers' own quotas limit.
"""

from collections.abc import Mapping
from types import MappingProxyType

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode

NEW_PARTITION_NS = 2_000_000
"""What a partition costs the brokers that a request creates: most of it at once, for its directory, files and place in
the metadata, and the rest when it is deleted (`python -m bench.broker_costs partitions`). Kafka's own quota counts
partitions as well (KIP-599)."""

READ_BATCH_NS = 50_000
"""What a batch costs the broker that the gateway reads for an answer: as much as any small request."""

GROUP_NS = 10_000
"""What a group costs that a request names beside the first one: to find it, and its offsets, or that it has none
(`python -m bench.broker_costs groups`)."""

LOGGED_ERROR_NS = 350_000
"""What records cost in addition that a broker refuses and logs with a stack trace: those that do not decompress, and
those that break a rule (`python -m bench.broker_costs records`)."""

_CORRUPT_NS = 150_000
"""The same of records whose checksum or header is wrong, which a broker does not log."""

_NOTHING: Mapping[int, int] = MappingProxyType({})
_ERRORS_OF_PRODUCE_NS: Mapping[int, int] = MappingProxyType(
    {
        ErrorCode.CORRUPT_MESSAGE: _CORRUPT_NS,
        ErrorCode.INVALID_RECORD: LOGGED_ERROR_NS,
        ErrorCode.INVALID_TIMESTAMP: LOGGED_ERROR_NS,
        ErrorCode.UNKNOWN_SERVER_ERROR: LOGGED_ERROR_NS,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE: LOGGED_ERROR_NS,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT: LOGGED_ERROR_NS,
    }
)
"""Only errors of the records themselves: a tenant does not pay for a partition that has moved, or has no replicas."""

_USUAL_NS = 50_000
_COSTS_NS = {
    # These read all groups or transactions of the broker.
    ApiKey.LIST_GROUPS: 300_000,
    ApiKey.LIST_TRANSACTIONS: 200_000,
    ApiKey.METADATA: 150_000,
    ApiKey.DESCRIBE_LOG_DIRS: 200_000,
    # The coordinator keeps the member for seconds, so it costs as much again to collect garbage around it.
    ApiKey.JOIN_GROUP: 500_000,
    # These make the coordinator write a record, or keep a member.
    ApiKey.SYNC_GROUP: 150_000,
    ApiKey.LEAVE_GROUP: 100_000,
    ApiKey.DELETE_GROUPS: 200_000,
    ApiKey.OFFSET_COMMIT: 100_000,
    ApiKey.OFFSET_DELETE: 150_000,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: 150_000,
    ApiKey.SHARE_GROUP_HEARTBEAT: 150_000,
    ApiKey.STREAMS_GROUP_HEARTBEAT: 150_000,
    ApiKey.INIT_PRODUCER_ID: 100_000,
    ApiKey.ADD_PARTITIONS_TO_TXN: 150_000,
    ApiKey.ADD_OFFSETS_TO_TXN: 150_000,
    ApiKey.TXN_OFFSET_COMMIT: 120_000,
    ApiKey.END_TXN: 150_000,
    # These go to the controller, which writes them to all brokers.
    ApiKey.CREATE_TOPICS: 2_000_000,
    ApiKey.CREATE_PARTITIONS: 2_000_000,
    ApiKey.DELETE_TOPICS: 2_000_000,
    ApiKey.ALTER_CONFIGS: 500_000,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: 500_000,
}


def broker_cost_ns(api_key: int) -> int:
    """Return what a small request of an API costs a broker, in nanoseconds of CPU time, about."""
    return _COSTS_NS.get(ApiKey(api_key), _USUAL_NS)


def error_costs_ns(api_key: int) -> Mapping[int, int]:
    """Return what an error in an answer says that the request has cost in addition, in nanoseconds, by error code."""
    return _ERRORS_OF_PRODUCE_NS if api_key == ApiKey.PRODUCE else _NOTHING
