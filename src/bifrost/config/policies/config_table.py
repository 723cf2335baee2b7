"""Every topic config and group config of Kafka, and what a tenant may set it to unless the operator says otherwise.

A config that is not here does not exist for a tenant: tenants cannot set a config of a newer Kafka until it is added
here. The columns are facts about Kafka 3.9 to 4.3 (LogConfig, GroupConfig, QuotaConfig) and a decision with its reason.
`bifrost.tenancy.policy` decides by this table; `bifrost.config.policies.policy` has the operator's changes;
docs/config-policy.md is written from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

MIN_SEGMENT_BYTES = 16 * 1024 * 1024
"""A segment is three files, two of which are mapped into memory: with 16 MiB, a GiB needs 128 maps. Linux allows a
process 65,530 maps (vm.max_map_count) unless it is raised. Kafka Streams takes 50 MiB for its repartition topics."""

MIN_SEGMENT_MS = 4 * 3_600_000
"""A partition that has a record in each period gets a segment for each: with four hours and a week of retention, 42."""

MAX_LONG = 2**63 - 1
"""Java's Long.MAX_VALUE, which means "never" in Kafka."""


class Kind(StrEnum):
    """The type of a config's value."""

    NUMBER = "number"
    SIZE = "size"
    DURATION = "duration"
    RATIO = "ratio"
    CHOICE = "choice"
    LIST = "list"
    """Choices separated by commas."""
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Decision:
    """One config: Kafka's default, what a tenant may set it to, and why."""

    name: str
    kind: Kind
    default: str
    """Kafka's default, as a text; the broker's configuration may set another."""
    why: str
    allowed: bool = True
    """Whether a tenant may set it at all."""
    low: float | None = None
    high: float | None = None
    """The bounds, both included; None: Kafka's own."""
    values: tuple[str, ...] | None = None
    """The values of a choice or a list; None: all that Kafka knows. The empty text stands for the empty list."""
    unlimited: bool = False
    """Whether a number below zero means "no limit", hence more than any bound."""


def _table(*decisions: Decision) -> Mapping[str, Decision]:
    return {decision.name: decision for decision in decisions}


_K = Kind
_OPERATORS = "a matter of the operator's"

TOPIC_CONFIGS: Mapping[str, Decision] = _table(
    # Retention and compaction: what a topic is for.
    Decision(
        "cleanup.policy", _K.LIST, "delete", "decides what the topic is; Kafka Streams and Connect set it"
    ),
    Decision(
        "retention.ms",
        _K.DURATION,
        "604800000",
        "costs disk, which quotas and the operator's own bounds limit; Kafka Streams sets -1",
        unlimited=True,
    ),
    Decision("retention.bytes", _K.SIZE, "-1", "as retention.ms", unlimited=True),
    Decision("delete.retention.ms", _K.DURATION, "86400000", "concerns the topic's own tombstones only"),
    Decision(
        "min.compaction.lag.ms",
        _K.DURATION,
        "0",
        "puts work off; Kafka Streams sets it for versioned stores",
    ),
    Decision(
        "max.compaction.lag.ms",
        _K.DURATION,
        str(MAX_LONG),
        "a compacted topic rolls its segment after this time as well (LogConfig.maxSegmentMs), so as segment.ms; and "
        "the cleaner's threads are shared",
        low=MIN_SEGMENT_MS,
    ),
    Decision(
        "min.cleanable.dirty.ratio",
        _K.RATIO,
        "0.5",
        "near 0 the whole log is written anew for a few records, by cleaner threads that all tenants share",
        low=0.1,
        high=1,
    ),
    # Segments and their files.
    Decision(
        "segment.bytes",
        _K.SIZE,
        "1073741824",
        "every segment is three open files and two memory maps",
        low=MIN_SEGMENT_BYTES,
    ),
    Decision("segment.ms", _K.DURATION, "604800000", "as segment.bytes", low=MIN_SEGMENT_MS),
    Decision(
        "segment.jitter.ms",
        _K.DURATION,
        "0",
        "is taken from segment.ms at random, which with a large one rolls at once",
        low=0,
        high=3_600_000,
    ),
    Decision(
        "segment.index.bytes",
        _K.SIZE,
        "10485760",
        "a segment is rolled when its index is full, so a small one makes small segments; it is mapped at full size",
        low=1024 * 1024,
        high=10 * 1024 * 1024,
    ),
    Decision(
        "index.interval.bytes",
        _K.SIZE,
        "4096",
        "small ones fill the index; with large ones each fetch reads that much to find its record",
        low=4096,
        high=65_536,
    ),
    Decision(
        "file.delete.delay.ms",
        _K.DURATION,
        "60000",
        "what was deleted keeps its disk that long, counted for no tenant",
        low=0,
        high=60_000,
    ),
    Decision(
        "preallocate",
        _K.CHOICE,
        "false",
        "each segment would take its full size on disk before it has a record",
        values=("false",),
    ),
    Decision(
        "flush.messages",
        _K.NUMBER,
        str(MAX_LONG),
        "a synchronous write to disk for each few records holds up all who share the disk and the threads",
        low=MAX_LONG,
        high=MAX_LONG,
    ),
    Decision("flush.ms", _K.DURATION, str(MAX_LONG), "as flush.messages", low=MAX_LONG, high=MAX_LONG),
    # Records.
    Decision(
        "max.message.bytes",
        _K.SIZE,
        "1048588",
        "a batch is in the broker's memory as a whole; and the markers that end transactions must fit, or their "
        "coordinator fails on them",
        low=1024,
        high=8 * 1024 * 1024,
    ),
    Decision(
        "compression.type",
        _K.CHOICE,
        "producer",
        "with another the broker decompresses and compresses every batch, in memory that the batch's content decides",
        values=("producer",),
    ),
    Decision(
        "compression.gzip.level",
        _K.NUMBER,
        "-1",
        "matters where another compression.type is allowed: not above Kafka's default (-1 is 6)",
        low=-1,
        high=6,
    ),
    Decision("compression.lz4.level", _K.NUMBER, "9", "as compression.gzip.level", low=1, high=9),
    Decision("compression.zstd.level", _K.NUMBER, "3", "as compression.gzip.level", low=-131_072, high=3),
    Decision("message.timestamp.type", _K.CHOICE, "CreateTime", "costs nothing; Kafka Streams sets it"),
    Decision(
        "message.timestamp.before.max.ms",
        _K.DURATION,
        str(MAX_LONG),
        "refuses records of the topic's own producers",
        low=0,
    ),
    Decision(
        "message.timestamp.after.max.ms",
        _K.DURATION,
        "3600000",
        "records from the future are kept until then, and roll segments at will; Kafka before 4.0 has no bound",
        low=0,
        high=3_600_000,
    ),
    Decision(
        "message.timestamp.difference.max.ms",
        _K.DURATION,
        str(MAX_LONG),
        "the older name of the two above (Kafka before 4.0); it bounds the future too",
        low=0,
        high=7 * 24 * 3_600_000,
    ),
    Decision("message.downconversion.enable", _K.CHOICE, "true", "Kafka before 4.0; only false is a change"),
    Decision(
        "message.format.version",
        _K.TEXT,
        "3.0-IV1",
        "Kafka before 4.0; an older one makes the broker convert every batch",
        allowed=False,
    ),
    # Replication.
    Decision(
        "min.insync.replicas",
        _K.NUMBER,
        "1",
        "with as many as there are replicas, no broker can be restarted without stopping the topic, its transactions "
        "with it",
        low=1,
        high=2,
    ),
    Decision(
        "unclean.leader.election.enable",
        _K.CHOICE,
        "false",
        "loses acknowledged records, for which the operator answers",
        values=("false",),
    ),
    Decision(
        "leader.replication.throttled.replicas",
        _K.TEXT,
        "",
        f"{_OPERATORS}: takes replication out of, or puts it under, the brokers' throttle",
        allowed=False,
    ),
    Decision(
        "follower.replication.throttled.replicas",
        _K.TEXT,
        "",
        f"{_OPERATORS}: as leader.replication.throttled.replicas",
        allowed=False,
    ),
    # Tiered storage.
    Decision("remote.storage.enable", _K.CHOICE, "false", f"{_OPERATORS}: the storage is its", allowed=False),
    Decision(
        "remote.log.copy.disable",
        _K.CHOICE,
        "false",
        f"{_OPERATORS}: as remote.storage.enable",
        allowed=False,
    ),
    Decision(
        "remote.log.delete.on.disable",
        _K.CHOICE,
        "false",
        f"{_OPERATORS}: as remote.storage.enable",
        allowed=False,
    ),
    Decision(
        "local.retention.ms",
        _K.DURATION,
        "-2",
        f"{_OPERATORS}: what is local is the brokers' disk",
        allowed=False,
        unlimited=True,
    ),
    Decision(
        "local.retention.bytes",
        _K.SIZE,
        "-2",
        f"{_OPERATORS}: as local.retention.ms",
        allowed=False,
        unlimited=True,
    ),
    # Kafka's own tests.
    Decision(
        "internal.segment.bytes",
        _K.SIZE,
        "none",
        "not for users (Kafka 4.1 and later): segments below Kafka's own least size",
        allowed=False,
    ),
)
"""By name, in the order of the page."""

_BROKERS = "the broker has bounds of its own"
_GROUPS_OWN = "concerns the group's own members only"
_ASSIGNMENT = "below it the coordinator computes assignments as often as members come and go"

GROUP_CONFIGS: Mapping[str, Decision] = _table(
    Decision(
        "consumer.session.timeout.ms",
        _K.DURATION,
        "45000",
        f"{_BROKERS} (group.consumer.min.session.timeout.ms and so on)",
    ),
    Decision("consumer.heartbeat.interval.ms", _K.DURATION, "5000", _BROKERS),
    Decision("consumer.assignment.interval.ms", _K.DURATION, "1000", _ASSIGNMENT, low=1000, high=15_000),
    Decision("share.session.timeout.ms", _K.DURATION, "45000", _BROKERS),
    Decision("share.heartbeat.interval.ms", _K.DURATION, "5000", _BROKERS),
    Decision("share.assignment.interval.ms", _K.DURATION, "1000", _ASSIGNMENT, low=1000, high=15_000),
    Decision("share.record.lock.duration.ms", _K.DURATION, "30000", _BROKERS),
    Decision("share.delivery.count.limit", _K.NUMBER, "5", _BROKERS),
    Decision("share.partition.max.record.locks", _K.NUMBER, "2000", _BROKERS),
    Decision("share.auto.offset.reset", _K.TEXT, "latest", _GROUPS_OWN),
    Decision("share.isolation.level", _K.CHOICE, "read_uncommitted", _GROUPS_OWN),
    Decision("share.renew.acknowledge.enable", _K.CHOICE, "true", _GROUPS_OWN),
    Decision("streams.session.timeout.ms", _K.DURATION, "45000", _BROKERS),
    Decision("streams.heartbeat.interval.ms", _K.DURATION, "5000", _BROKERS),
    Decision("streams.assignment.interval.ms", _K.DURATION, "1000", _ASSIGNMENT, low=1000, high=15_000),
    Decision("streams.num.standby.replicas", _K.NUMBER, "0", _BROKERS),
    Decision("streams.initial.rebalance.delay.ms", _K.DURATION, "3000", _GROUPS_OWN, low=0, high=60_000),
)
"""By name, in the order of the page."""
