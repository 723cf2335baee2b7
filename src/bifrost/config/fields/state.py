"""The dynamic state that gateways share: the section `proxy.state`."""

from pydantic import Field

from bifrost.config.section import Section
from bifrost.config.values import Count, Name, SizeBytes, TopicName

STATE_TOPIC = "__bifrost_state"
"""The default topic of the state: it belongs to no tenant, whatever the prefixes of the tenants are."""


class State(Section):
    """The dynamic state that gateways share, in a compacted topic on a physical cluster.

    Every key has a default: `state: {}` turns it on. Without the section no topic is created or read. See
    [state.md](state.md). A change needs a restart. All gateways of a platform need the same section.
    """

    upstream: Name | None = None
    """Name of the physical cluster that has the topic. Default: the only cluster; required where there are several."""

    topic: TopicName = STATE_TOPIC
    """Name of the topic; it is also the transactional ID by which one writer fences the others. No tenant's prefix may
    be the start of it. Default `__bifrost_state`."""

    partitions: Count = Field(default=1, ge=1, le=10_000)
    """Partitions of the topic: 1, the default, and nothing else, because the order of one partition decides which of
    two changes was first."""

    replication_factor: Count = Field(default=-1, ge=-1, le=32767)
    """Replicas of the partition, if the gateway creates the topic. Default -1, the cluster's own
    `default.replication.factor`; give 3 where that is less, because the state has no other copy."""

    max_records: Count = Field(default=500_000, ge=1, le=10_000_000)
    """Most records of the state, with those that were deleted in the last day. Default 500,000, some 200 MB in each
    process if all are in use. A change that needs more is refused, and a gateway does not serve with more."""

    max_record_bytes: SizeBytes = Field(default=65_536, ge=1_024, le=900_000)
    """Most bytes of one record, with its key. Default 64 KiB, more than any list in one record needs; the largest
    value leaves room in a broker's `message.max.bytes`."""

    max_waiting_changes: Count = Field(default=100, ge=1, le=100_000)
    """Most changes of one tenant that its clients wait for, in each process. A connection waits for one at a time, and
    tenants have turns, so that the changes of one do not hold up those of another. A further change is answered
    REQUEST_TIMED_OUT. Default 100, some two seconds of writing."""

    max_bytes: SizeBytes = Field(default=268_435_456, ge=1_024, le=2**31 - 1)
    """Most bytes of all records together, with their keys. Default 256 MiB."""
