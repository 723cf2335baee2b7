"""Bounds on what clients may request: the section `proxy.limits`."""

from pydantic import Field

from bifrost.config.section import Section
from bifrost.config.values import Count, DurationMs, SizeBytes


class Limits(Section):
    """Bounds on what clients may request from one gateway process. Every one has a default that suits most."""

    max_request_bytes: SizeBytes = Field(default=104_857_600, ge=1024, le=2**31 - 1)
    """Largest request of an authenticated client, in bytes; a larger one closes the connection. Default 100
    MiB, a broker's own `socket.request.max.bytes`: the gateway accepts what the broker would accept."""

    max_unauthenticated_frame_bytes: SizeBytes = Field(default=524_288, ge=1024, le=2**31 - 1)
    """Largest frame before authentication, in bytes; a larger one closes the connection. Default 512 KiB, a
    broker's `sasl.server.max.receive.size`. Where less is enough, the bound is lower: 16 KiB, and for tokens what the
    client's mechanism needs (PLAIN 8 KiB, SCRAM 4 KiB, OAUTHBEARER `max_token_bytes` and 8 KiB, GSSAPI 128 KiB)."""

    max_unauthenticated_requests: Count = Field(default=30, ge=5, le=100_000)
    """Most requests of a connection before it has authenticated; one more closes it. Default 30: Kafka's clients need
    fewer than ten, even when they retry a version that is not known."""

    max_unauthenticated_bytes: SizeBytes = Field(default=524_288, ge=1024, le=2**31 - 1)
    """Most bytes of a connection before it has authenticated, over all its requests; more close it. Default 512
    KiB, several times the largest Kerberos ticket."""

    max_unauthenticated_cpu_ms: DurationMs = Field(default=100, ge=1, le=60_000)
    """Most CPU time that a connection may cost before it has authenticated, in milliseconds; more closes it. Default
    100 ms: an authentication takes less than 1 ms. The check of a PLAIN password against a verifier, some 12 ms with
    16,384 iterations, runs in a thread of its own and is charged to the client's address alone."""

    authentication_timeout_ms: DurationMs = Field(default=10_000, ge=100, le=3_600_000)
    """Time from accepting a connection to its authentication, in milliseconds; then it is closed. Default
    10 s, the time that Kafka's own clients first allow for setting up a connection
    (`socket.connection.setup.timeout.ms`): a client that needs longer has given up already."""

    max_authentication_delay_ms: DurationMs = Field(default=1_000, ge=0, le=60_000)
    """Longest time that a new connection is left unread because authentications from its address failed, in
    milliseconds: 100 ms after the first failure, twice as long after each further one, up to this value and to half
    of `authentication_timeout_ms`; a minute without failures resets it. It is also the longest delay of a connection
    whose address has used too much CPU time before authentication. Where clients used it that did not authenticate,
    the connections of the address then go on one at a time, within `authentication_timeout_ms`. Default 1 s, which
    makes guessing slow and hardly affects other clients behind the same address. 0 turns all of it off: where all
    clients come from one address (a load balancer), one with a wrong password would slow them all down."""

    max_reauth_ms: DurationMs = Field(default=0, ge=0, le=2**31 - 1)
    """Time after which a client has to authenticate again on its connection (KIP-368), in milliseconds; its
    first request after that without having done so closes the connection. Default 0, never, as a broker's
    `connections.max.reauth.ms`."""

    max_connections: Count = Field(default=10_000, ge=1, le=1_000_000)
    """Most client connections at one time; a further one is closed at once. Default 10,000: with one
    connection to a broker behind each it needs 20,000 file descriptors, and at two 64 KiB receive buffers
    1.3 GB when all are busy."""

    max_connections_per_tenant: Count = Field(default=0, ge=0, le=1_000_000)
    """Most connections at one time of each tenant that has no `max_connections` of its own; a further one is closed
    once it has authenticated. Default 0: half of `max_connections`, so that no tenant takes all; all of them where
    there is only one tenant, or `max_connections` is below 100."""

    reserved_connections_per_tenant: Count = Field(default=10, ge=0, le=10_000)
    """Connections that each tenant can have even when other tenants use all that they may: this many for each tenant,
    but at most a quarter of `max_connections` in total, are only for tenants that have fewer than this. Default 10: one
    or two clients with a connection to each of a few brokers. None are reserved when `max_connections` is below 100."""

    max_unauthenticated_connections: Count = Field(default=0, ge=0, le=500_000)
    """Most connections, among `max_connections`, whose clients have not authenticated yet. They have a share of their
    own (at most half of all), so that tenants with many connections keep no client from authenticating. Above it the
    address with the most of them loses its oldest to an address with fewer, or else the new connection is closed.
    Default 0: a tenth of `max_connections` (all below 100), because authentication takes milliseconds."""

    max_unauthenticated_connections_per_address: Count = Field(default=0, ge=0, le=500_000)
    """Most of them from one address (for IPv6, from one /64); a further one is closed at once. Behind a load balancer
    the address is the client's own with the PROXY protocol, and the balancer's without: then allow for all clients that
    reconnect at once. Default 0: half of `max_unauthenticated_connections`."""

    max_in_flight_requests: Count = Field(default=100, ge=1, le=100_000)
    """Most requests of one connection that wait for their responses; above it the gateway stops reading
    until one is answered. Default 100: a broker answers a connection's requests one after the other, so more requests
    hide no more latency, while librdkafka would send a million (`max.in.flight`)."""

    max_in_flight_requests_total: Count = Field(default=100_000, ge=1, le=100_000_000)
    """Most requests of all connections together that wait for their responses; above it connections that send more are
    not read until there is room: tenants take turns, and so do the connections of each. Default 100,000, some 30 MB for
    what the gateway keeps of each. Every consumer's long poll is one of them."""

    gateway_time_percent: Count = Field(default=50, ge=1, le=100)
    """Share of a process's time that one tenant may use while others need time and there is not enough for all, in
    percent, over a second. Above it the tenant's connections are not read until it is within its share again, and its
    responses tell clients to wait (`throttle_time_ms`), like a broker's request quota. Default 50, so that no tenant
    can use up the gateway, and a tenant that is alone is not slowed down. 100 turns it off."""

    broker_time_percent: Count = Field(default=50, ge=0, le=100_000)
    """What the requests of one tenant may cost the brokers while other tenants are active, in percent of the time of
    one core, for each broker of its cluster. The gateway estimates it: 50 us for most requests, more for some, 3 us
    for each item in them; bytes of records do not count. Above it the tenant's requests wait. Default 50, some 10,000
    small requests a second for each broker, so that no tenant keeps a broker from the others; with workers, each
    worker counts by itself. 0 turns it off."""

    max_buffered_bytes_total: SizeBytes = Field(default=117_440_512, ge=1_048_576, le=2**40)
    """Most bytes of frames that one process (each worker) holds, in bytes: requests and responses that it forwards only
    when they are complete, counted by their announced size, and incomplete small ones, counted by the memory that they
    take. A connection that finds no room is not read until there is some; tenants take turns. A sixteenth is reserved
    for frames of up to 1 MiB. Default 112 MiB: one request of 100 MiB at a time, and the process stays below 200
    MiB."""

    max_buffered_bytes: SizeBytes = Field(default=109_051_904, ge=65_536, le=2**40)
    """Most of these bytes that one tenant holds, in bytes, unless its own `limits` say otherwise; above it the tenant's
    connections wait. No request is larger than this. Default 104 MiB: one request of 100 MiB."""

    max_buffered_bytes_unauthenticated: SizeBytes = Field(default=16_777_216, ge=65_536, le=2**40)
    """Most of these bytes that all connections hold together that have not authenticated, in bytes; above it they wait.
    Default 16 MiB: some thousand incomplete frames of 16 KiB."""

    max_shared_fetch_bytes_total: SizeBytes = Field(default=25_165_824, ge=0, le=2**40)
    """Most bytes that one process (each worker) keeps of what it has fetched of physical partitions that several
    connections read for their virtual ones, in bytes, beside `max_buffered_bytes_total`. The oldest go first that no
    connection needs, and none is given after ten seconds. Default 24 MiB, and the process stays below 200 MiB. 0 turns
    it off: each connection fetches by itself."""

    max_shared_fetch_bytes: SizeBytes = Field(default=18_874_368, ge=0, le=2**40)
    """Most of these bytes for one tenant. Default 18 MiB, so that no tenant has all: three answers of 6 MiB, the
    most that one is asked for where connections share it. 0 turns it off likewise."""

    max_unpacked_bytes_total: SizeBytes = Field(default=268_435_456, ge=1_048_576, le=2**40)
    """Most bytes of unpacked records that one process (each worker) has at a time, in bytes, for filters of records
    (`filters` of a tenant); a request or response that finds no room for its next batch is tried again when its turn
    comes. Default 256 MiB: two requests at a time that use all they may."""

    max_unpacked_bytes: SizeBytes = Field(default=134_217_728, ge=1_048_576, le=2**31 - 1)
    """Most of these bytes for one request or response: the batch at hand, unpacked, and the new batches of those before
    it. Batches of a Produce beyond it are answered MESSAGE_TOO_LARGE; those of a Fetch come with the next one. Default
    128 MiB: a request of 100 MiB, and the batch at hand."""

    max_unpacked_batch_bytes: SizeBytes = Field(default=33_554_432, ge=65_536, le=2**31 - 1)
    """Most of these bytes for one batch: its unpacked records, some 32 bytes for each of them and 16 for each header,
    and what filters make of it. A larger one is answered MESSAGE_TOO_LARGE, before it is unpacked where its codec says
    how large it is. Default 32 MiB, some 30 times the largest batch that brokers take by default
    (`message.max.bytes`)."""

    max_record_wait_ms: DurationMs = Field(default=10_000, ge=100, le=600_000)
    """Longest time that one request or response waits for what filters of records need from outside, such as a key, in
    milliseconds. Then its partitions are answered with an error after which clients try again. Default 10 s, a third of
    the 30 s after which clients give a request up (`request.timeout.ms`)."""

    max_topics: Count = Field(default=1_000, ge=1, le=10_000_000)
    """Most topics of one tenant, unless its own `limits` say otherwise; a request that creates another is answered
    POLICY_VIOLATION. Existing topics stay. Each gateway and each worker counts by itself, so counts may briefly differ.
    Default 1,000: one Kafka cluster can bear that many in each of 200 tenants."""

    max_partitions: Count = Field(default=10_000, ge=1, le=100_000_000)
    """Most partitions of all topics of one tenant together, unless its own `limits` say otherwise; a request that
    creates more is answered POLICY_VIOLATION. Each partition takes files and memory at every broker that has a replica,
    used or not. Default 10,000, ten for each topic."""

    max_groups: Count = Field(default=10_000, ge=1, le=1_000_000)
    """Most groups of one tenant in a day, unless its own `limits` say otherwise; a member that would join another, or
    a commit of another, is answered POLICY_VIOLATION. A broker keeps some 2 KB of each group that has committed an
    offset. Each gateway and each worker counts by itself, and forgets what was not used for a day. Default 10,000."""

    max_group_members: Count = Field(default=50_000, ge=1, le=1_000_000)
    """Most members of all groups of one tenant in an hour, unless its own `limits` say otherwise; one that would join
    beyond it is answered GROUP_MAX_SIZE_REACHED. A broker keeps 4 to 5 KB of each, and what it tells when it joins,
    of which each 2 KiB count as one more. A client that joins with a new member ID is a new member. Default 50,000."""

    max_committed_offsets: Count = Field(default=500_000, ge=1, le=1_000_000)
    """Most partitions of one tenant with committed offsets, counted for each group, in a day, likewise; a commit of
    another is answered POLICY_VIOLATION. A broker keeps 0.12 KB of each and its metadata, of which each 512 bytes count
    as one more. Default 500,000: 50 groups that read 10,000 partitions each."""

    max_transactional_ids: Count = Field(default=10_000, ge=1, le=1_000_000)
    """Most transactional IDs of one tenant in a day, likewise; a producer with another one is answered
    POLICY_VIOLATION. A broker keeps some 0.5 KB of each for a week. Default 10,000."""

    max_producers: Count = Field(default=500_000, ge=1, le=1_000_000)
    """Most producer IDs of one tenant, counted for each partition that they write to, in a day, likewise; batches of
    another are answered POLICY_VIOLATION. A broker keeps some 0.5 KB of each for a day, and every start of an
    idempotent producer makes a new ID. Default 500,000: 5,000 starts of producers that write to 100 partitions."""

    max_client_ids: Count = Field(default=10_000, ge=1, le=1_000_000)
    """Most client IDs of one tenant that brokers see in a day, unless its own `limits` say otherwise; all further ones
    share one, `other-clients` behind the tenant's prefix. Where brokers have quotas by client ID they keep up to 15 KB
    of each for an hour. Default 10,000."""

    frame_timeout_ms: DurationMs = Field(default=30_000, ge=100, le=3_600_000)
    """Time that a request may take to arrive completely, in milliseconds, without the time it waits for room; then the
    connection is closed, because it may keep room from others. It does not apply to requests that are forwarded while
    they arrive. It is also the time after which a connection is closed whose client (or broker) reads nothing, if
    others wait for room. Default 30 s: after that producers have given up by themselves (`request.timeout.ms`)."""

    drain_timeout_ms: DurationMs = Field(default=30_000, ge=0, le=3_600_000)
    """Time that requests in flight have to be answered once the gateway is told to stop, in milliseconds; then the
    remaining connections are closed. Default 30 s: long polls and all but the longest joins of groups end by
    themselves. The supervisor that stops the gateway must wait longer (Kubernetes' `terminationGracePeriodSeconds`). 0
    does not wait."""

    max_idle_ms: DurationMs = Field(default=600_000, ge=1000, le=2**31 - 1)
    """Time after which a connection is closed whose client has sent nothing and waits for no response, in milliseconds.
    A client that has closed its side waits for none. Default 10 min, a broker's own `connections.max.idle.ms`; that of
    clients is 9 min, so they usually close first."""

    upstream_connect_timeout_ms: DurationMs = Field(default=10_000, ge=100, le=3_600_000)
    """Time for a connection to a broker to be established, in milliseconds; then the client's connection is
    closed and it may try again. Default 10 s, as `socket.connection.setup.timeout.ms` of Kafka's own
    clients."""

    max_names_per_namespace: Count = Field(default=10_000, ge=100, le=10_000_000)
    """Most names of each kind (topics, groups, ...) that are kept translated for one tenant; above it the cache is
    emptied, so the bound costs time and never correctness. Default 10,000: with names of 50 bytes some 3 MB for each
    kind and direction."""

    metadata_refresh_ms: DurationMs = Field(default=5_000, ge=1000, le=3_600_000)
    """Time between two queries for the physical cluster's brokers, in milliseconds. Default 5 s: a new broker is
    reachable after that at the latest, and a query costs one request that names no topic."""

    broker_grace_ms: DurationMs = Field(default=60_000, ge=0, le=3_600_000)
    """Time for which the port of a broker stays open that is no longer in the cluster's metadata, in milliseconds. A
    broker whose heartbeats are late is fenced, and missing in the metadata until its heartbeats return; a client whose
    connection is refused meanwhile uses up its retries. While the broker is missing the gateway accepts connections,
    and closes one when its client sends a request, unless the broker answers. Default 60 s: a fenced broker is back
    within seconds, one that restarts usually within a minute. 0 closes the port at once."""
