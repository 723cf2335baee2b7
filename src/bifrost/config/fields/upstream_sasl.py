"""The gateway's accounts at the brokers: `upstream.sasl`, and `upstream_sasl` of a tenant or a credential.

Kafka's counterparts are `sasl.mechanism` and the options of its login modules in `sasl.jaas.config`.
`upstream_security.py`, which knows the lines, checks which keys belong to which mechanism.
"""

from enum import StrEnum

from pydantic import Field

from bifrost.config.kept_secret import KeptSecret
from bifrost.config.section import Section
from bifrost.config.values import Flag, HttpUrl, Text, Username


class UpstreamMechanism(StrEnum):
    """How the gateway may authenticate at a broker."""

    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"
    OAUTHBEARER = "OAUTHBEARER"
    GSSAPI = "GSSAPI"


PASSWORD_MECHANISMS = (
    UpstreamMechanism.SCRAM_SHA_512,
    UpstreamMechanism.SCRAM_SHA_256,
    UpstreamMechanism.PLAIN,
)
"""Those that prove a password, the strongest first."""

KEYS_OF_ONE = {
    UpstreamMechanism.OAUTHBEARER: frozenset(
        {
            "token_endpoint_url",
            "client_id",
            "client_secret_file",
            "scope",
            "token_endpoint_ca_file",
            "header_urlencode",
            "token_file",
        }
    ),
    UpstreamMechanism.GSSAPI: frozenset({"service_name", "principal", "keytab_file"}),
}
"""The keys that only one mechanism has: without `mechanism` they name it."""


class UpstreamSasl(Section):
    """An account at the brokers. Which keys it has depends on the mechanism; any other is refused."""

    mechanism: UpstreamMechanism | None = Field(default=None, examples=["SCRAM-SHA-512"])
    """`PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`, `OAUTHBEARER` or `GSSAPI`. Default: the key is absent, and the other
    keys say it: those of a token OAUTHBEARER, those of Kerberos GSSAPI; with a password it is the strongest one that
    the broker offers of SCRAM-SHA-512, SCRAM-SHA-256 and, only where TLS proves who the broker is, PLAIN."""

    username: Username | None = Field(default=None, examples=["gateway"])
    """PLAIN and SCRAM: name of the account, 1 to 256 printable characters. Required there. Default: none."""

    password_file: Text | None = Field(default=None, examples=["secrets/gateway.password"])
    """PLAIN and SCRAM: file that holds the password, at most 4 KiB, without its final line break; a relative path
    starts at the folder of the configuration file, as those below do. Required there. Default: none."""

    token_endpoint_url: HttpUrl | None = Field(
        default=None, examples=["https://login.example.com/oauth2/token"]
    )
    """OAUTHBEARER: URL from which the gateway requests a token by the client credentials grant (KIP-768; Kafka's
    `sasl.oauthbearer.token.endpoint.url`). Default: the token is read from `token_file`."""

    token_endpoint_ca_file: Text | None = None
    """OAUTHBEARER: file with the certificates, PEM, that are trusted to sign the token endpoint's certificate. Default:
    those that the system trusts."""

    client_id: Text | None = Field(default=None, examples=["gateway"])
    """OAUTHBEARER: the client's name at the token endpoint. Goes with `token_endpoint_url`. Default: none."""

    client_secret_file: Text | None = Field(default=None, examples=["secrets/gateway.client-secret"])
    """OAUTHBEARER: file that holds the client's secret, at most 4 KiB, without its final line break. Goes with
    `token_endpoint_url`. Default: none."""

    scope: Text | None = None
    """OAUTHBEARER: the scope that the gateway requests. Default: none, which lets the endpoint choose."""

    header_urlencode: Flag = False
    """OAUTHBEARER: whether name and secret are form-encoded before they are sent, as RFC 6749 wants (Kafka's
    `sasl.oauthbearer.header.urlencode`). Default false, as Kafka's clients; it matters only for secrets with characters
    other than letters, digits, `-`, `.` and `_`."""

    token_file: Text | None = Field(default=None, examples=["/var/run/secrets/tokens/kafka"])
    """OAUTHBEARER: file that holds a token, at most 64 KiB; read again for each login, so that the program that writes
    it may replace it at any time. Default: the gateway requests the token at `token_endpoint_url`."""

    service_name: Text | None = None
    """GSSAPI: first part of the brokers' principals, `kafka` in `kafka/kafka-1.internal@EXAMPLE.COM` (Kafka's
    `sasl.kerberos.service.name`). Default: `kafka`."""

    principal: Text | None = Field(default=None, examples=["gateway@EXAMPLE.COM"])
    """GSSAPI: the principal with which the gateway authenticates. Default: that of the ticket it finds."""

    keytab_file: Text | None = Field(default=None, examples=["secrets/gateway.keytab"])
    """GSSAPI: file with the keys of `principal`, which goes with it. Default: Kerberos uses the ticket or keytab at its
    own places (KRB5CCNAME, KRB5_CLIENT_KTNAME)."""

    password: KeptSecret | None = Field(default=None, repr=False)
    """The password. Not a key of the file: the loader reads it from `password_file`."""

    client_secret: KeptSecret | None = Field(default=None, repr=False)
    """The client's secret. Not a key of the file: the loader reads it from `client_secret_file`."""

    @property
    def mechanisms(self) -> tuple[UpstreamMechanism, ...]:
        """The mechanisms that the account can use, the strongest first: the one that is named, or those of its keys."""
        if self.mechanism is not None:
            return (self.mechanism,)
        for mechanism, keys in KEYS_OF_ONE.items():
            if any(getattr(self, key) for key in keys):
                return (mechanism,)
        return PASSWORD_MECHANISMS

    @property
    def account(self) -> str:
        """The name from which a broker makes the principal: by default, different names give different ones.

        For a Kerberos principal that is the first part, as in Kafka's default rule; when it is not known, the file that
        determines it.
        """
        if self.principal is not None:
            return self.principal.partition("@")[0].partition("/")[0]
        return self.username or self.client_id or self.token_file or self.keytab_file or ""
