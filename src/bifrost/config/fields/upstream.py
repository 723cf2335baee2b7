"""The physical cluster behind the gateway: the section `upstream`."""

from pydantic import Field

from bifrost.config.fields.client_tls import ClientTls
from bifrost.config.fields.upstream_sasl import UpstreamSasl
from bifrost.config.section import Section
from bifrost.config.security_protocol import SecurityProtocol
from bifrost.config.values import BrokerAddress, Name

DEFAULT_UPSTREAM = "upstream"
"""Name of a physical cluster that the file does not name."""


class Upstream(Section):
    """The physical cluster behind the gateway."""

    name: Name = DEFAULT_UPSTREAM
    """Its name in tenants and logs: letters, digits, `.`, `_` and `-`, at most 64. Default `upstream`, which is enough
    for a single cluster; under `upstreams` each has a name of its own."""

    bootstrap: tuple[BrokerAddress, ...] = Field(
        min_length=1, max_length=64, examples=['["kafka-1.internal:9092"]']
    )
    """Brokers to ask first, each `host:port`, 1 to 64; all others are discovered. Name at least two, so that
    one may be down when the gateway starts. Required."""

    security_protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    """How the gateway connects to the brokers: `PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`, that of the
    listener behind the `bootstrap` addresses. Independent of how clients connect to the gateway. Default `PLAINTEXT`,
    as Kafka's clients."""

    tls: ClientTls | None = None
    """TLS towards the brokers; only with SSL and SASL_SSL. Default: the brokers' certificates must be signed by an
    authority that the system trusts, and the gateway shows none."""

    sasl: UpstreamSasl | None = None
    """The account with which the gateway authenticates at the brokers, for its own requests and for those of tenants
    that have no `upstream_sasl`. Required with SASL_PLAINTEXT and SASL_SSL, and only allowed there. Default: none."""
