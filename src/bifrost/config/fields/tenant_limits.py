"""Bounds on what the clients of one tenant may request together: the section `limits` of a tenant."""

from pydantic import Field

from bifrost.config.section import Section
from bifrost.config.values import Count, SizeBytes


class TenantLimits(Section):
    """Bounds on what the clients of one tenant may request together, within those of the gateway (`proxy.limits`)."""

    max_connections: Count | None = Field(default=None, ge=1, le=1_000_000)
    """Most connections of the tenant at one time; a further one is closed once it has authenticated, because before
    that the gateway does not know its tenant. Default: the key is absent, and only the gateway's limit applies."""

    max_in_flight_requests: Count | None = Field(default=None, ge=1, le=10_000_000)
    """Most requests of the tenant that wait for their responses, over all its connections; above it connections that
    send more are not read until there is room, each in its turn. A consumer nearly always has one in flight with each
    broker (a long poll): allow for them. Default: the key is absent, and only the gateway's limits apply."""

    gateway_time_percent: Count | None = Field(default=None, ge=1, le=100)
    """The tenant's share of a process's time while others need time and there is not enough for all, in percent; see
    `proxy.limits.gateway_time_percent`. Default: the key is absent, and that limit applies."""

    broker_time_percent: Count | None = Field(default=None, ge=0, le=100_000)
    """What the tenant's requests may cost the brokers while other tenants are active, in percent of the time of one
    core, for each broker; see `proxy.limits.broker_time_percent`. 0: no limit. Default: the key is absent, and that
    limit applies."""

    max_buffered_bytes: SizeBytes | None = Field(default=None, ge=65_536, le=2**40)
    """Most bytes of the tenant's frames that one process (each worker) holds, in bytes; above it its connections are
    not read until there is room, each in its turn. No request of the tenant is larger. Default: the key is absent,
    and the gateway's `max_buffered_bytes` applies."""

    max_topics: Count | None = Field(default=None, ge=1, le=10_000_000)
    """Most topics of the tenant, those of its namespaces together; a request that creates another is answered
    POLICY_VIOLATION. Default: the key is absent, and the gateway's `max_topics` applies."""

    max_partitions: Count | None = Field(default=None, ge=1, le=100_000_000)
    """Most partitions of all topics of the tenant together; a request that creates more is answered POLICY_VIOLATION.
    Default: the key is absent, and the gateway's `max_partitions` applies."""

    max_groups: Count | None = Field(default=None, ge=1, le=1_000_000)
    """Most groups of the tenant in a day. Default: the key is absent, and the gateway's `max_groups` applies."""

    max_group_members: Count | None = Field(default=None, ge=1, le=1_000_000)
    """Most members of all groups of the tenant in an hour, each 2 KiB of what they tell as one more. Default: the key
    is absent, and the gateway's `max_group_members` applies."""

    max_committed_offsets: Count | None = Field(default=None, ge=1, le=1_000_000)
    """Most partitions of the tenant with committed offsets, counted for each group, in a day. Default: the key is
    absent, and the gateway's `max_committed_offsets` applies."""

    max_transactional_ids: Count | None = Field(default=None, ge=1, le=1_000_000)
    """Most transactional IDs of the tenant in a day. Default: the key is absent, and the gateway's
    `max_transactional_ids` applies."""

    max_producers: Count | None = Field(default=None, ge=1, le=1_000_000)
    """Most producer IDs of the tenant, counted for each partition that they write to, in a day. Default: the key is
    absent, and the gateway's `max_producers` applies."""

    max_client_ids: Count | None = Field(default=None, ge=1, le=1_000_000)
    """Most client IDs of the tenant that brokers see in a day. Default: the key is absent, and the gateway's
    `max_client_ids` applies."""

    max_request_bytes: SizeBytes | None = Field(default=None, ge=1024, le=2**31 - 1)
    """Largest request of the tenant, in bytes; a larger one closes the connection. A change applies to new connections.
    Default: the key is absent, and only the gateway's limit applies."""
