"""One TLS port for all brokers and all tenants: the section `proxy.listener_sets[].sni`."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, StrictStr, model_validator

from bifrost.config.fields.server_names import NODE_ID, TENANT, ServerNames
from bifrost.config.section import Section
from bifrost.config.values import Host, Name, Port

_HOST = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*")


def _check_pattern(pattern: str) -> str:
    filled = pattern.replace(TENANT, "t").replace(NODE_ID, "0")
    if not _HOST.fullmatch(filled) or pattern.count(TENANT) > 1 or pattern.count(NODE_ID) > 1:
        raise ValueError(
            f"{pattern!r} is no host name, with {TENANT} and {NODE_ID} in it once at most and nothing else in braces"
        )
    return pattern


HostPattern = Annotated[StrictStr, Field(min_length=1, max_length=253), AfterValidator(_check_pattern)]


class Sni(Section):
    """One port for all brokers and tenants; the host name that a client connects to selects both.

    Clients send it in their TLS hello (SNI, RFC 6066), so the listener set needs `security_protocol` SSL or SASL_SSL,
    and a certificate that is valid for all these names, such as one for `*.kafka.example.com`: `*` covers one label.
    """

    bind_host: Host = "0.0.0.0"  # noqa: S104
    """Address on which the port is bound. Default `0.0.0.0`, every IPv4 interface."""

    port: Port = Field(examples=["9093"])
    """TCP port of the gateway. Required."""

    advertised_port: Port | None = None
    """TCP port that clients are told to connect to, where a load balancer has another. Default: `port`."""

    bootstrap_host: HostPattern = Field(examples=['"{tenant}.kafka.example.com"'])
    """Host that clients bootstrap from. With `{tenant}` in it, it selects the tenant: only that tenant's clients may
    authenticate under it, and every tenant's name has to be a valid label of a host name. Required."""

    broker_host: HostPattern = Field(examples=['"b{node_id}-{tenant}.kafka.example.com"'])
    """Host of each broker, with `{node_id}` in it, and with `{tenant}` if `bootstrap_host` has it. Required."""

    tenants: tuple[Name, ...] | None = Field(default=None, min_length=1, examples=["[acme]"])
    """The tenants that have names here; `bootstrap_host` and `broker_host` need `{tenant}` then. The gateway closes a
    connection under the name of any other tenant (`unknown_server_name`). Default: the key is absent, and all tenants
    have names here."""

    @model_validator(mode="after")
    def _check_patterns(self) -> "Sni":
        if NODE_ID not in self.broker_host:
            raise ValueError(f"broker_host has no {NODE_ID}: without it no broker can be told from another")
        if NODE_ID in self.bootstrap_host:
            raise ValueError(f"bootstrap_host has {NODE_ID}: clients that bootstrap know no broker")
        if (TENANT in self.broker_host) != (TENANT in self.bootstrap_host):
            raise ValueError(f"one of bootstrap_host and broker_host has {TENANT}: both need it, or neither")
        if self.tenants is not None and TENANT not in self.bootstrap_host:
            raise ValueError(f"tenants is of no use without {TENANT} in bootstrap_host and broker_host")
        if self.names.wanted(self.names.host_for("t")) != self.names.wanted(self.names.host_for("T")):
            raise ValueError("bootstrap_host and broker_host cannot be told apart")
        return self

    @property
    def names(self) -> ServerNames:
        """The host names."""
        return ServerNames(self.bootstrap_host, self.broker_host, self.advertised_port or self.port)
