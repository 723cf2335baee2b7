"""The configuration of a gateway as one typed model.

The classes are the sections of the file and the fields its keys; the text under a field is its
documentation, from which `tools/configuration_page.py` writes docs/configuration.md. A `Config` that exists
is valid as a whole: what concerns more than one field is checked by `clashes.py`, here for a Config built in
Python and in `load.py`, with lines, for a file. Nothing changes after it is built. No I/O: the loader reads
the password files.
"""

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bifrost.config.clashes import find_clashes
from bifrost.config.secrets import Secret
from bifrost.config.values import (
    AdvertisedHost,
    BrokerAddress,
    Count,
    DurationMs,
    Flag,
    Host,
    Name,
    Port,
    SizeBytes,
    Text,
    TopicName,
    Username,
)
from bifrost.config.verifiers import Mechanism, ScramVerifier


class Section(BaseModel):
    """What every section of the file has in common: no unknown keys, no change, no value in an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class BrokerPortRange(Section):
    """The ports that stand for the physical cluster's brokers, both ends included."""

    start: Port = Field(examples=["9093"])
    """TCP port of the broker whose node ID is `broker_id_base`. Required."""

    end: Port = Field(examples=["9095"])
    """Last TCP port of the range, at least `start`. A broker whose port would lie beyond it cannot be
    reached, so leave room for brokers to come: a port is only bound when its broker exists. Required."""


class PortRange(Section):
    """One port to bootstrap from and one for each broker, all on the same host.

    A Kafka client chooses a broker by connecting to its address, so each broker of the physical cluster
    needs an address at the gateway: broker `n` is `advertised_host` at port `broker_port_range.start + (n -
    broker_id_base)`.
    """

    bind_host: Host = "0.0.0.0"  # noqa: S104
    """Address on which the ports are bound. Default `0.0.0.0`, every IPv4 interface, as a Kafka broker does
    whose listener names no host; `127.0.0.1` keeps the gateway to the machine itself."""

    advertised_host: AdvertisedHost = Field(examples=["proxy.example.com"])
    """Host that clients are told to connect to, as Kafka's `advertised.listeners`: it must resolve, for
    them, to this gateway. Without a port. Required, because no gateway can know how it is seen from
    outside."""

    bootstrap_port: Port = Field(examples=["9092"])
    """TCP port clients bootstrap from; any broker of the physical cluster may serve it. Required."""

    broker_port_range: BrokerPortRange = Field(examples=["{ start: 9093, end: 9095 }"])
    """TCP ports of the brokers. Required."""

    broker_id_base: Count = Field(default=0, ge=0, le=2**31 - 1)
    """Node ID of the broker that has the first port of the range. Default 0, the first ID that Strimzi and
    most automation give; set 1 for clusters counted from 1."""

    def broker_port(self, broker_id: int) -> int | None:
        """Return the port of the broker with this node ID, None when the range has none for it."""
        port = self.broker_port_range.start + broker_id - self.broker_id_base
        return port if self.broker_port_range.start <= port <= self.broker_port_range.end else None

    def broker_ids(self) -> range:
        """Return the node IDs that have a port."""
        size = self.broker_port_range.end - self.broker_port_range.start + 1
        return range(self.broker_id_base, self.broker_id_base + size)


class ListenerSet(Section):
    """One way to reach the gateway: addresses that belong together."""

    name: Name = Field(examples=["plaintext"])
    """What logs call it. Letters, digits, `.`, `_` and `-`, at most 64; no two sets share one. Required."""

    port_range: PortRange = Field(examples=["{ ... }"])
    """The addresses. Required."""

    sasl_mechanisms: tuple[Mechanism, ...] | None = Field(default=None, min_length=1, max_length=3)
    """How clients may authenticate here: `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`. Default: the key is
    absent and each is offered that some credential allows. Where no listener set offers SCRAM, no verifiers
    are derived from password files, which takes some 4 ms for each at the start."""


class Limits(Section):
    """Bounds of what clients may ask of one gateway process. Every one has a default that suits most."""

    max_request_bytes: SizeBytes = Field(default=104_857_600, ge=1024, le=2**31 - 1)
    """Largest request of an authenticated client, in bytes; a larger one closes the connection. Default 100
    MiB, a broker's own `socket.request.max.bytes`: what the broker would take, the gateway takes."""

    max_unauthenticated_frame_bytes: SizeBytes = Field(default=524_288, ge=1024, le=2**31 - 1)
    """Largest frame before authentication, in bytes; a larger one closes the connection. Default 512 KiB, a
    broker's `sasl.server.max.receive.size`: handshakes are small, and whoever has no password yet must not
    make the gateway reserve memory."""

    authentication_timeout_ms: DurationMs = Field(default=10_000, ge=100, le=3_600_000)
    """Time from accepting a connection to its authentication, in milliseconds; then it is closed. Default
    10 s, the time that Kafka's own clients first allow for setting up a connection
    (`socket.connection.setup.timeout.ms`): whoever needs longer has given up already."""

    max_authentication_delay_ms: DurationMs = Field(default=1_000, ge=0, le=60_000)
    """Longest time that a new connection is left unread because authentications from its address failed, in
    milliseconds: 100 ms after the first failure, twice as long after each further one, up to this and to half
    of `authentication_timeout_ms`; a minute without failures forgets them. Default 1 s, which makes guessing
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

    max_in_flight_requests: Count = Field(default=100, ge=1, le=100_000)
    """Most requests of one connection that wait for their responses; above it the gateway stops reading
    until one is answered. Default 100: a broker answers a connection's requests one after the other, so that
    more hides no more latency, while librdkafka would send a million (`max.in.flight`)."""

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


class Admin(Section):
    """The operator's HTTP port: `/metrics` for Prometheus, `/healthz` and `/readyz` for probes."""

    bind_host: Host = "127.0.0.1"
    """Address on which the port is bound. Default `127.0.0.1`, because it tells of all tenants and asks nobody
    who he is: give an address that only operators reach."""

    port: Port = Field(examples=["9404"])
    """TCP port of the three pages. Required."""


class Proxy(Section):
    """The gateway itself."""

    listener_sets: tuple[ListenerSet, ...] = Field(min_length=1, max_length=64, examples=["[...]"])
    """The ways to reach the gateway, 1 to 64. Required."""

    admin: Admin | None = None
    """The operator's HTTP port. Default: none."""

    limits: Limits = Limits()
    """Bounds of what clients may ask. Default: those of each limit."""


class Upstream(Section):
    """The physical cluster behind the gateway."""

    bootstrap: tuple[BrokerAddress, ...] = Field(
        min_length=1, max_length=64, examples=['["kafka-1.internal:9092"]']
    )
    """Brokers to ask first, each `host:port`, 1 to 64; all others are discovered. Name at least two, so that
    one may be down when the gateway starts. Required."""


class Credential(Section):
    """One user that may authenticate: by SASL/PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.

    Exactly one of `password_file` and `scram_file` is given. With either the user may authenticate by PLAIN;
    with `scram_file` by each SCRAM mechanism that it has a line for, with `password_file` by both.
    """

    username: Username = Field(examples=["acme"])
    """Name the user authenticates with, 1 to 256 printable characters. No two credentials of the file share
    one, for the user name decides the tenant. Required."""

    password_file: Text | None = Field(default=None, examples=["secrets/acme.password"])
    """File that holds the password, at most 4 KiB, without its final line break; a relative path starts at
    the folder of the configuration file. A file, so that the configuration itself holds no secret.
    Default: the key is absent, and `scram_file` is given."""

    scram_file: Text | None = Field(default=None, examples=["secrets/acme.scram"])
    """File that holds what `bifrost credentials` prints, at most 4 KiB: a salted verifier a line, for
    SCRAM-SHA-256, SCRAM-SHA-512 or both, in Kafka's form. The password is then nowhere on this machine. A
    relative path starts at the folder of the configuration file. Default: the key is absent, and
    `password_file` is given."""

    password: Secret | None = Field(default=None, repr=False)
    """The password. Not a key of the file: the loader reads it from `password_file`."""

    verifiers: tuple[ScramVerifier, ...] = Field(default=(), repr=False)
    """The SCRAM verifiers. Not a key of the file: the loader reads them from `scram_file`, or derives them from
    the password."""

    @model_validator(mode="after")
    def _check_files(self) -> "Credential":
        if self.password_file is None and self.scram_file is None:
            raise ValueError("has no password: add password_file, or scram_file")
        if self.password_file is not None and self.scram_file is not None:
            raise ValueError("has both password_file and scram_file: remove one")
        return self


class Auth(Section):
    """Who belongs to a tenant."""

    credentials: tuple[Credential, ...] = Field(min_length=1, examples=["[...]"])
    """The users of the tenant, at least one, for without any it could not be reached. Required."""


class Tenant(Section):
    """One tenant: the names that exist for it and the users that belong to it."""

    name: Name = Field(examples=["acme"])
    """Name of the tenant: letters, digits, `.`, `_` and `-`, at most 64 so that at least 179 characters
    remain for a topic's own name. It is part of every physical name (`__vt_acme_orders`), so renaming a
    tenant leaves its data behind; and no tenant's prefix may begin another's, `.` and `_` taken as the same:
    `a` and `a_b` overlap, `a` and `a-b` do not. Required."""

    allowed_topics: tuple[TopicName, ...] | None = Field(default=None, min_length=1)
    """The topics that exist for the tenant; any other name does not. Default: the key is absent and the
    namespace is dynamic, any topic name is the tenant's own."""

    allow_topic_deletion: Flag = False
    """Whether the tenant may delete its topics. Default false, because deletion cannot be undone: the answer
    is then TOPIC_AUTHORIZATION_FAILED."""

    auth: Auth = Field(examples=["{ credentials: [...] }"])
    """The users that belong to the tenant. Required."""


class Config(Section):
    """The whole file."""

    proxy: Proxy = Field(examples=["{ listener_sets: [...] }"])
    """The gateway itself. Required."""

    upstream: Upstream = Field(examples=["{ bootstrap: [...] }"])
    """The physical cluster behind the gateway. Required."""

    tenants: tuple[Tenant, ...] = Field(min_length=1, examples=["[...]"])
    """The tenants, at least one. Required."""

    @model_validator(mode="after")
    def _check_clashes(self) -> "Config":
        clashes = find_clashes(self.model_dump())
        if clashes:
            raise ValueError("; ".join(clash.text for clash in clashes))
        return self

    def credentials(self) -> Iterator[tuple[Tenant, Credential]]:
        """Yield every credential with the tenant it belongs to."""
        for tenant in self.tenants:
            for credential in tenant.auth.credentials:
                yield tenant, credential
