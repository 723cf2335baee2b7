"""The ways to reach the gateway: the section `proxy.listener_sets`."""

from collections.abc import Collection
from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from bifrost.config.fields.server_tls import ClientAuth, ServerTls
from bifrost.config.fields.sni import Sni
from bifrost.config.fields.verifiers import SCRAM_HASHES, Mechanism
from bifrost.config.section import Section
from bifrost.config.security_protocol import SecurityProtocol
from bifrost.config.values import AdvertisedHost, Count, Flag, Host, Name, Port


class ProxyProtocol(StrEnum):
    """Whether a load balancer sends the client's address at the start of each connection."""

    OFF = "off"
    ALLOWED = "allowed"
    REQUIRED = "required"


def _read_proxy_protocol(value: object) -> object:
    """Accept `off` as it is written, which YAML reads as false."""
    return ProxyProtocol.OFF if value is False else value


ProxyProtocolSetting = Annotated[ProxyProtocol, BeforeValidator(_read_proxy_protocol)]


class BrokerPortRange(Section):
    """The ports that represent the physical cluster's brokers, both ends included."""

    start: Port = Field(examples=["9093"])
    """TCP port of the broker whose node ID is `broker_id_base`. Required."""

    end: Port = Field(examples=["9095"])
    """Last TCP port of the range, at least `start`. Clients cannot reach a broker whose port would lie beyond it, so
    leave room for future brokers: a port is only bound when its broker exists. Required."""


class PortRange(Section):
    """One port to bootstrap from and one for each broker, all on the same host.

    A Kafka client chooses a broker by connecting to its address, so each broker of the physical cluster
    needs an address at the gateway: broker `n` is `advertised_host` at port `broker_port_range.start + (n -
    broker_id_base)`.
    """

    bind_host: Host = "0.0.0.0"  # noqa: S104
    """Address on which the ports are bound. Default `0.0.0.0`, every IPv4 interface, as a Kafka broker does whose
    listener names no host; with `127.0.0.1` only this machine can reach the gateway."""

    advertised_host: AdvertisedHost = Field(examples=["proxy.example.com"])
    """Host that clients are told to connect to, as Kafka's `advertised.listeners`: it must resolve, for
    them, to this gateway. Without a port. Required, because the gateway cannot know its address outside."""

    bootstrap_port: Port = Field(examples=["9092"])
    """TCP port clients bootstrap from; any broker of the physical cluster may serve it. Required."""

    advertised_port: Port | None = None
    """TCP port that clients are told to connect to, with `single_address`: that of a load balancer or of a container's
    host, which leads to `bootstrap_port`. Default: the key is absent, and it is `bootstrap_port`."""

    broker_port_range: BrokerPortRange | None = Field(default=None, examples=["{ start: 9093, end: 9095 }"])
    """TCP ports of the brokers. Default: the key is absent, and the physical cluster has one broker only, with any
    node ID, which clients reach at `bootstrap_port` as well. If there are more, clients reach the one with the lowest
    node ID alone, and the log says so."""

    broker_id_base: Count = Field(default=0, ge=0, le=2**31 - 1)
    """Node ID of the broker that has the first port of `broker_port_range`. Default 0, the first ID that Strimzi and
    most automation give; set 1 for clusters counted from 1."""

    def broker_ports(self, node_ids: Collection[int]) -> dict[int, int]:
        """Return the port of each of these brokers that has one, by its node ID."""
        ports = self.broker_port_range
        if ports is None:
            return {min(node_ids): self.bootstrap_port} if node_ids else {}
        wanted = {node_id: ports.start + node_id - self.broker_id_base for node_id in node_ids}
        return {node_id: port for node_id, port in wanted.items() if ports.start <= port <= ports.end}

    @model_validator(mode="after")
    def _check_base(self) -> "PortRange":
        if self.broker_port_range is None and self.broker_id_base:
            raise ValueError(
                "broker_id_base is of no use without broker_port_range: add that, or remove this"
            )
        return self


class ListenerSet(Section):
    """One way to reach the gateway: addresses that belong together."""

    name: Name = Field(examples=["plaintext"])
    """Name of the set in logs. Letters, digits, `.`, `_` and `-`, at most 64; no two sets share one. Required."""

    port_range: PortRange | None = Field(default=None, examples=["{ ... }"])
    """The addresses: a port to bootstrap from and one for each broker. Default: the key is absent, `sni` is given."""

    sni: Sni | None = Field(default=None, examples=["{ ... }"])
    """The addresses: one port, and a host name for each broker, in place of `port_range`. Default: the key is absent,
    `port_range` is given."""

    single_address: Flag = False
    """Whether the bootstrap address is the only one: clients see a cluster of one broker there, and the gateway takes
    their requests to the brokers that lead or coordinate what they are about. It needs no port for each broker and no
    host names, so it works through any TCP load balancer, and with any number of gateways behind it. Needs `port_range`
    without `broker_port_range`. Default false: each broker has an address, and clients choose the broker themselves,
    which costs the gateway less."""

    sasl_mechanisms: tuple[Mechanism, ...] | None = Field(default=None, min_length=1, max_length=5)
    """How clients may authenticate here: `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`, `OAUTHBEARER`, `GSSAPI`.
    Default: the key is absent and each mechanism is offered that some user or principal can use: `OAUTHBEARER` where
    there is a section `oauth`, `GSSAPI` where there is `kerberos`. Where no listener set offers SCRAM, no verifiers are
    derived from password files, which takes some 4 ms for each at the start."""

    allow_repeated_scram_nonce: Flag = False
    """Whether SCRAM clients may repeat their own nonce in their final message, as librdkafka before 2.6.1 does (the
    `kcat` of Debian 12, confluent-kafka before 2.6.1). Default false, as RFC 5802 and brokers from 4.1 on want: such
    clients are refused as with a wrong password, and the log names the cause."""

    security_protocol: SecurityProtocol = SecurityProtocol.SASL_PLAINTEXT
    """How clients connect, in the terms of their own `security.protocol`: `PLAINTEXT` (unencrypted, without
    authentication: all clients belong to the `tenant`), `SSL` (TLS, and the client's certificate authenticates it),
    `SASL_PLAINTEXT` (SASL, unencrypted) or `SASL_SSL` (SASL within TLS). Default `SASL_PLAINTEXT`, which needs no
    certificate: outside a trusted network use `SASL_SSL` or `SSL`."""

    tenant: Name | None = Field(default=None, examples=["acme"])
    """The tenant that all clients of this listener set belong to. Required with `PLAINTEXT`: every connection is the
    tenant's at once. With `SSL` every client whose certificate is trusted is the tenant's, or every client when
    `client_auth` is `none`. With SASL only the tenant's users may authenticate here. Default: the key is absent, and
    the client's principal decides its tenant."""

    tls: ServerTls | None = Field(default=None, examples=["{ ... }"])
    """Certificates. Required with `SSL` and `SASL_SSL`. Default: none."""

    proxy_protocol: ProxyProtocolSetting = ProxyProtocol.OFF
    """Whether a load balancer sends HAProxy's PROXY protocol, version 2, in front of each connection: `required`,
    `allowed` or `off`. Logs and the limits on failed authentications then use the address in it. Any client that
    reaches the port can claim any address with it, so let only the balancer reach the port, above all with `allowed`.
    Default `off`: a connection that sends it is closed."""

    @model_validator(mode="after")
    def _check_addresses(self) -> "ListenerSet":
        if self.port_range is None and self.sni is None:
            raise ValueError("has no addresses: add port_range, or sni")
        if self.port_range is not None and self.sni is not None:
            raise ValueError("has both port_range and sni: make two listener sets of it")
        if self.single_address and (self.port_range is None or self.port_range.broker_port_range is not None):
            raise ValueError(
                "single_address is for a port_range without broker_port_range: remove that, or single_address"
            )
        if (
            self.port_range is not None
            and self.port_range.advertised_port is not None
            and not self.single_address
        ):
            raise ValueError("port_range.advertised_port is for single_address: add that, or remove this")
        if self.sni is not None and self.sni.tenants is not None and self.tenant is not None:
            raise ValueError("has both tenant and sni.tenants: remove one of them")
        if self.sni is not None and not self.security_protocol.has_tls:
            raise ValueError(
                "sni needs TLS, in which clients say the host: set security_protocol to SASL_SSL or SSL"
            )
        return self

    @model_validator(mode="after")
    def _check_security(self) -> "ListenerSet":
        protocol, tls = self.security_protocol, self.tls
        if protocol.has_tls and tls is None:
            raise ValueError(f"{protocol} needs certificates: add the section tls")
        if tls is not None and not protocol.has_tls:
            secure = SecurityProtocol.SASL_SSL if protocol.has_sasl else SecurityProtocol.SSL
            raise ValueError(
                f"{protocol} is not encrypted, so tls is of no use: set security_protocol to {secure}, or remove tls"
            )
        if self.sasl_mechanisms is not None and not protocol.has_sasl:
            raise ValueError(f"{protocol} has no SASL: remove sasl_mechanisms, or set security_protocol")
        if self.allow_repeated_scram_nonce and not self._may_offer_scram:
            raise ValueError(
                "allow_repeated_scram_nonce is for SCRAM, which is not offered here: remove it, or offer SCRAM"
            )
        if protocol is SecurityProtocol.PLAINTEXT and self.tenant is None:
            raise ValueError(
                "PLAINTEXT does not ask who a client is: name the tenant that all clients are (tenant)"
            )
        return self

    @property
    def _may_offer_scram(self) -> bool:
        offered = self.sasl_mechanisms
        return self.security_protocol.has_sasl and (
            offered is None or not SCRAM_HASHES.keys().isdisjoint(offered)
        )

    @model_validator(mode="after")
    def _check_certificates(self) -> "ListenerSet":
        protocol, tls = self.security_protocol, self.tls
        is_required = tls is not None and tls.client_auth is ClientAuth.REQUIRED
        if protocol is SecurityProtocol.SSL and self.tenant is None and not is_required:
            raise ValueError(
                "with SSL the certificate says who a client is: set tls.client_auth to required, or name "
                "the tenant that all clients are (tenant)"
            )
        if protocol is SecurityProtocol.SASL_SSL and tls is not None and tls.has_mapping:
            raise ValueError(
                "with SASL_SSL it is SASL that says who a client is: remove tls.principal_mapping_rules"
            )
        return self
