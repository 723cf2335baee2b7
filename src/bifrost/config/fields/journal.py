"""What the gateway records of its tenants' usage and of events: the section `proxy.journal`."""

from pydantic import Field

from bifrost.config.section import Section
from bifrost.config.values import Count, DurationMs, Name, SizeBytes

JOURNAL_TOPIC = "__bifrost_journal"
"""The topic of the journal: it belongs to no tenant, whatever the prefixes of the tenants are."""


class Journal(Section):
    """What the gateway records of its tenants' usage and of events, in the topic `__bifrost_journal` on a cluster.

    Every key has a default: `journal: {}` turns it on. See [journal.md](journal.md). A change needs a restart. With
    several `workers` each has a buffer and rows of its own, and the bounds below apply to each.
    """

    upstream: Name | None = None
    """Name of the physical cluster that has the topic, for the tenants of all clusters. Default: the only cluster;
    required where there are several."""

    gateway_id: Name | None = None
    """Name of this gateway in the journal; no two gateways that write to the same topic may have the same. If there are
    several workers, `/0`, `/1` and so on is appended for each. Default: the host's name."""

    interval_ms: DurationMs = Field(default=10_000, ge=100, le=3_600_000)
    """Time that a row of usage covers, in milliseconds. Default 10 s: a gateway that is killed loses little, and a day
    has few rows."""

    snapshot_interval_ms: DurationMs = Field(default=60_000, ge=0, le=86_400_000)
    """Time between two looks at the sizes of tenants' topics, in milliseconds. Default 1 min; 0 turns them off."""

    partitions: Count = Field(default=12, ge=1, le=10_000)
    """Partitions of the topic, if the gateway creates it. Default 12: as many tasks of the pipeline read it at once."""

    replication_factor: Count = Field(default=-1, ge=-1, le=32767)
    """Replicas of each partition, if the gateway creates the topic. Default -1, the cluster's own
    `default.replication.factor`; give 3 where that is less, because bills are made from this topic."""

    retention_ms: DurationMs = Field(default=2_592_000_000, ge=-1, le=2**53)
    """Time for which the topic keeps records (`retention.ms`), if the gateway creates it, in milliseconds. Default 30
    days, so that a month can be billed again; -1 keeps them forever."""

    buffer_bytes: SizeBytes = Field(default=16_777_216, ge=65_536, le=2**31 - 1)
    """Memory for records that wait to be written, in bytes; a record that finds no room is dropped, counted and
    recorded as dropped, and no client waits. Default 16 MiB, some 20,000 records."""

    max_usage_rows: Count = Field(default=50_000, ge=100, le=10_000_000)
    """Most combinations of client, API version and topic, group or transactional ID that are counted one by one; above
    it new ones are counted together. Default 50,000, some 40 MB when all are in use."""

    max_usage_rows_per_tenant: Count = Field(default=10_000, ge=100, le=10_000_000)
    """The same for one tenant, so that a tenant that invents client IDs or groups takes no room from other tenants.
    Default 10,000."""

    max_events_per_tenant: Count = Field(default=1_000, ge=1, le=1_000_000)
    """Most events of one tenant that are recorded in one interval; further ones are only counted. The same bound
    applies to those of clients that have not authenticated. Default 1,000."""
