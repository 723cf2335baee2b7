"""Bounds of what clients may ask: the section `proxy.limits`."""

from pydantic import Field

from bifrost.config.section import Section
from bifrost.config.values import Count, DurationMs, SizeBytes


class Limits(Section):
    """Bounds of what clients may ask of one gateway process. Every one has a default that suits most."""

    max_request_bytes: SizeBytes = Field(default=104_857_600, ge=1024, le=2**31 - 1)
    """Largest request of an authenticated client, in bytes; a larger one closes the connection. Default 100
    MiB, a broker's own `socket.request.max.bytes`: what the broker would take, the gateway takes."""

    max_unauthenticated_frame_bytes: SizeBytes = Field(default=524_288, ge=1024, le=2**31 - 1)
    """Largest frame before authentication, in bytes; a larger one closes the connection. Default 512 KiB, a
    broker's `sasl.server.max.receive.size`. Where less is enough, less is taken: 16 KiB, and beside that what a token
    of the client's mechanism may have (PLAIN 8 KiB, SCRAM 4 KiB, OAUTHBEARER `max_token_bytes` and 8 KiB, GSSAPI
    128 KiB)."""

    max_unauthenticated_requests: Count = Field(default=30, ge=5, le=100_000)
    """Most requests of a connection before it has authenticated; one more closes it. Default 30: Kafka's clients
    need fewer than ten, with a version that is not known and tried again."""

    max_unauthenticated_bytes: SizeBytes = Field(default=524_288, ge=1024, le=2**31 - 1)
    """Most bytes of a connection before it has authenticated, over all its requests; more close it. Default 512
    KiB, several times the largest Kerberos ticket."""

    max_unauthenticated_cpu_ms: DurationMs = Field(default=100, ge=1, le=60_000)
    """Most CPU time that a connection may cost before it has authenticated, in milliseconds; more closes it. Default
    100 ms: an authentication takes less than 1 ms, with PLAIN against a verifier of 16,384 iterations some 12 ms."""

    authentication_timeout_ms: DurationMs = Field(default=10_000, ge=100, le=3_600_000)
    """Time from accepting a connection to its authentication, in milliseconds; then it is closed. Default
    10 s, the time that Kafka's own clients first allow for setting up a connection
    (`socket.connection.setup.timeout.ms`): whoever needs longer has given up already."""

    max_authentication_delay_ms: DurationMs = Field(default=1_000, ge=0, le=60_000)
    """Longest time that a new connection is left unread because authentications from its address failed, in
    milliseconds: 100 ms after the first failure, twice as long after each further one, up to this and to half
    of `authentication_timeout_ms`; a minute without failures forgets them. It is also the longest time that a
    connection waits whose address has cost too much before authentication. Default 1 s, which makes guessing
    slow and is hardly felt by others behind the same address. 0 turns it off: where all clients come from
    one address (a load balancer), one of them with a wrong password would slow them all."""

    max_reauth_ms: DurationMs = Field(default=0, ge=0, le=2**31 - 1)
    """Time after which a client has to authenticate again on its connection (KIP-368), in milliseconds; its
    first request after that without having done so closes the connection. Default 0, never, as a broker's
    `connections.max.reauth.ms`."""

    max_connections: Count = Field(default=10_000, ge=1, le=1_000_000)
    """Most client connections at one time; a further one is closed at once. Default 10,000: with one
    connection to a broker behind each it needs 20,000 file descriptors, and at two 64 KiB receive buffers
    1.3 GB when all are busy."""

    max_connections_per_tenant: Count = Field(default=0, ge=0, le=1_000_000)
    """Most connections at one time of each tenant that has no `max_connections` of its own; a further one is
    closed once it has authenticated. Default 0: half of `max_connections`, so that no tenant takes all; all of
    them where there is one tenant, or `max_connections` is below 100."""

    reserved_connections_per_tenant: Count = Field(default=10, ge=0, le=10_000)
    """Connections that each tenant can have although others take all they may: this many for each tenant, but at
    most a quarter of `max_connections` in all, are only for tenants that have fewer than this. Default 10: one
    or two clients with a connection to each of a few brokers. Nothing is held back below 100 connections."""

    max_unauthenticated_connections: Count = Field(default=0, ge=0, le=500_000)
    """Most connections, among `max_connections`, whose clients have not authenticated yet. They have a part of
    their own (at most half counts as one), so that tenants with many connections keep nobody from
    authenticating. Above it the address with most of them loses its oldest to one with fewer, or else the new
    one is closed. Default 0: a tenth of `max_connections` (all below 100), as to authenticate takes milliseconds."""

    max_unauthenticated_connections_per_address: Count = Field(default=0, ge=0, le=500_000)
    """Most of them from one address, of IPv6 from one /64; a further one is closed at once. Behind a load balancer
    it is the client's own with the PROXY protocol, the balancer's without: then allow for all clients that come
    back at once. Default 0: half of `max_unauthenticated_connections`."""

    max_in_flight_requests: Count = Field(default=100, ge=1, le=100_000)
    """Most requests of one connection that wait for their responses; above it the gateway stops reading
    until one is answered. Default 100: a broker answers a connection's requests one after the other, so that
    more hides no more latency, while librdkafka would send a million (`max.in.flight`)."""

    max_in_flight_requests_total: Count = Field(default=100_000, ge=1, le=100_000_000)
    """Most requests of all connections together that wait for their responses; above it connections that send
    more are not read until there is room: tenants have turns, and of each its connections. Default 100,000, some
    30 MB of what is kept of each. Every consumer's long poll is one of them."""

    gateway_time_percent: Count = Field(default=50, ge=1, le=100)
    """Share of a process's time that one tenant may use while others want some and there is not enough for all, in
    percent, over a second; also what its requests stand for at the brokers counts, 1 us for each item. Above it the
    tenant's connections are not read until it is within its share again, and its answers tell clients to wait
    (`throttle_time_ms`), like a broker's request quota. Default 50, so that no tenant can use up the gateway, and one
    that is alone is not slowed down. 100 turns it off."""

    max_buffered_bytes_total: SizeBytes = Field(default=117_440_512, ge=1_048_576, le=2**40)
    """Most bytes of frames that one process (each worker) holds, in bytes: requests and responses that are too
    large to go on before they are whole, counted by their announced size, and unfinished small ones by the memory that
    they take. A connection that finds no room is not read until there is some; tenants have turns. A sixteenth is left
    to frames of up to 1 MiB. Default 112 MiB: one request of 100 MiB at a time, and the process stays below 200 MiB."""

    max_buffered_bytes: SizeBytes = Field(default=109_051_904, ge=65_536, le=2**40)
    """Most of these bytes that one tenant holds, in bytes, unless its own `limits` say otherwise; above it the tenant's
    connections wait. No request is larger than this. Default 104 MiB: one request of 100 MiB."""

    max_buffered_bytes_unauthenticated: SizeBytes = Field(default=16_777_216, ge=65_536, le=2**40)
    """Most of these bytes that all connections together hold which have not authenticated, in bytes; above it they
    wait. Default 16 MiB: some thousand unfinished frames of 16 KiB."""

    max_topics: Count = Field(default=1_000, ge=1, le=10_000_000)
    """Most topics of one tenant, unless its own `limits` say otherwise; a request that creates another is answered
    POLICY_VIOLATION. What is there already stays. Each gateway and each worker counts by itself, a moment apart.
    Default 1,000: as many in each of 200 tenants are what one Kafka cluster can bear."""

    max_partitions: Count = Field(default=10_000, ge=1, le=100_000_000)
    """Most partitions of all topics of one tenant together, unless its own `limits` say otherwise; a request that
    creates more is answered POLICY_VIOLATION. Each takes files and memory at every broker that has a replica, used or
    not. Default 10,000, ten for each topic."""

    frame_timeout_ms: DurationMs = Field(default=30_000, ge=100, le=3_600_000)
    """Time that a request may take to come to its end, in milliseconds, save for what it waits for room; then the
    connection is closed, for it may keep room from others. Requests that go on while they come are not held to it.
    It is also the time after which a connection is closed whose client (or broker) reads nothing, if others wait for
    room. Default 30 s: after that producers have given up by themselves (`request.timeout.ms`)."""

    drain_timeout_ms: DurationMs = Field(default=30_000, ge=0, le=3_600_000)
    """Time that requests in flight have to be answered once the gateway is told to stop, in milliseconds; then
    what is left is cut. Default 30 s: long polls and all but the longest joins of groups end by themselves. What
    stops the gateway must wait longer (Kubernetes' `terminationGracePeriodSeconds`). 0 waits for nothing."""

    max_idle_ms: DurationMs = Field(default=600_000, ge=1000, le=2**31 - 1)
    """Time after which a connection is closed on which nothing came from its client and nothing awaits an
    answer, in milliseconds. Default 10 min, a broker's own `connections.max.idle.ms`; clients' is 9 min, so
    that they usually close first."""

    upstream_connect_timeout_ms: DurationMs = Field(default=10_000, ge=100, le=3_600_000)
    """Time for a connection to a broker to be established, in milliseconds; then the client's connection is
    closed and it may try again. Default 10 s, as `socket.connection.setup.timeout.ms` of Kafka's own
    clients."""

    max_names_per_namespace: Count = Field(default=10_000, ge=100, le=10_000_000)
    """Most names of each kind (topics, groups, ...) that are kept translated for one tenant; above it the
    cache starts anew, so the bound costs time and never correctness. Default 10,000: with names of 50 bytes
    some 3 MB for each kind and direction."""

    metadata_refresh_ms: DurationMs = Field(default=5_000, ge=1000, le=3_600_000)
    """Time between two looks at the physical cluster's brokers, in milliseconds. Default 5 s: a new broker
    is reachable after that at the latest, and asking costs one request that names no topic."""

    broker_grace_ms: DurationMs = Field(default=60_000, ge=0, le=3_600_000)
    """Time for which the port of a broker stays open that is no longer in the cluster's metadata, in
    milliseconds. A broker whose heartbeats are late is fenced, and missing there until it is heard of again; a
    client whose connection is refused meanwhile uses up its retries. While its broker is away a client is let
    in, and its connection ends when it asks for something, unless the broker answers. Default 60 s: a fenced
    broker is back within seconds, one that restarts usually within a minute. 0 closes the port at once."""
