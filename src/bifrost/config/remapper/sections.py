"""The sections of a partition remapper's file, with the names and defaults that its users know.

They are only for reading: `remapper_file.py` makes the model's sections of them. Source of names and defaults: the
documentation of github.com/osodevops/kafka-partition-remapper.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from bifrost.config.fields.virtual_partitions import MAX_PHYSICAL, MAX_VIRTUAL
from bifrost.config.principals.principal_mapping import PrincipalMappingRules
from bifrost.config.section import Section
from bifrost.config.security_protocol import SecurityProtocol
from bifrost.config.values import Address, BrokerAddress, Count, Flag, Text, Username

PasswordMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]

MIN_OFFSET_RANGE = 1 << 20
"""The least `offset_range` that the remapper takes."""

DEFAULT_LISTEN = Address("0.0.0.0", 9092)  # noqa: S104 - the remapper's default
DEFAULT_METRICS = Address("0.0.0.0", 9090)  # noqa: S104 - the remapper's default


class ListenPrincipal(Section):
    """How the principal of a client's certificate is found."""

    mapping_rules: PrincipalMappingRules = "DEFAULT"
    """As `principal_mapping_rules` of a listener set. Default `DEFAULT`, the distinguished name as it is."""


class ListenTls(Section):
    """Which certificate clients are shown, and which of theirs are trusted."""

    cert_path: Text = Field(examples=["tls/gateway.pem"])
    """File of the certificate and the intermediate ones, in PEM. A relative path starts at the folder of this file,
    here and below. Required."""

    key_path: Text = Field(examples=["tls/gateway.key"])
    """File of the certificate's private key, in PEM. Required."""

    ca_cert_path: Text | None = None
    """File of the CA certificates that are trusted to sign client certificates, in PEM. Default: the key is absent, and
    clients are asked for none."""

    require_client_cert: Flag = False
    """Whether a client must show a certificate. Default false: one that is shown must be trusted."""

    principal: ListenPrincipal = ListenPrincipal()
    """How the principal of a client's certificate is found. Default: the distinguished name."""


def read_users(users: object) -> object:
    """Return users that are written as a mapping, of names to passwords or keys, as the list that they also can be."""
    if not isinstance(users, dict):
        return users
    return [
        {"username": name, **one} if isinstance(one, dict) else {"username": name, "password": one}
        for name, one in users.items()
    ]


class RemapperUser(Section):
    """A user with a password, or with the keys of one SCRAM mechanism."""

    username: Username
    """Name the user authenticates with. Required; in a mapping it is the key."""

    password_: Text | None = Field(default=None, alias="password", repr=False)
    """The password; `${NAME}` is the value of the environment variable `NAME`. Default: the user has keys."""

    iterations: Count = Field(default=4096, ge=4096, le=16_384)
    """The iterations of the keys. Without effect beside a password. Default 4096."""

    salt: Text | None = None
    """The salt of the keys, in base64. Default: the user has a password."""

    stored_key: Text | None = Field(default=None, repr=False)
    """StoredKey (RFC 5802), in base64; its length says whether it is one of SCRAM-SHA-256 or SCRAM-SHA-512. Default:
    the user has a password."""

    server_key: Text | None = Field(default=None, repr=False)
    """ServerKey (RFC 5802), in base64. Default: the user has a password."""

    mechanism: Literal["SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    """The mechanism of the keys. Default: what their length says."""


class ListenCredentials(Section):
    """The users that may authenticate: `users` or `file`."""

    users: Annotated[tuple[RemapperUser, ...], BeforeValidator(read_users)] | None = Field(
        default=None, min_length=1
    )
    """A mapping of names to passwords, or to `password` or keys; or a list of these with `username`. Default: they are
    in `file`."""

    file: Text | None = None
    """File of users, read again when it changes: a line `name:password` for each, or YAML with `users`. A relative path
    starts at the folder of this file. Default: they are in `users`."""


class ListenSasl(Section):
    """How clients authenticate with SASL."""

    enabled_mechanisms: tuple[PasswordMechanism, ...] = Field(default=("PLAIN",), min_length=1)
    """`PLAIN`, `SCRAM-SHA-256` and `SCRAM-SHA-512`. OAUTHBEARER is refused: the gateway's own dialect has it. Default
    `PLAIN`."""

    credentials: ListenCredentials = Field(examples=["{ file: secrets/users }"])
    """The users. Required."""


class ListenSecurity(Section):
    """How clients connect."""

    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    """`PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`. Default `PLAINTEXT`."""

    tls: ListenTls | None = None
    """Certificates. Required with `SSL` and `SASL_SSL`, and only allowed there. Default: none."""

    sasl: ListenSasl | None = None
    """Users and mechanisms. Required with `SASL_PLAINTEXT` and `SASL_SSL`, and only allowed there. Default: none."""


class Listen(Section):
    """Where clients connect: one address for the whole cluster."""

    address: BrokerAddress = DEFAULT_LISTEN
    """Address and port that are bound, `host:port`. Default `0.0.0.0:9092`."""

    advertised_address: BrokerAddress | None = None
    """Host and port that clients are told to connect to, which lead to `address`. Default: `address`, with
    `localhost` in place of `0.0.0.0`, so that only clients of this machine can use it."""

    max_connections: Count = Field(default=1_000, ge=1, le=1_000_000)
    """Most connections of clients at one time. Default 1,000."""

    security: ListenSecurity = ListenSecurity()
    """How clients connect. Default: unencrypted and without authentication."""


class KafkaTls(Section):
    """TLS towards the brokers."""

    ca_cert_path: Text | None = None
    """File of the CA certificates that sign the brokers' ones, in PEM. Default: those that the system trusts."""

    cert_path: Text | None = None
    """File of the certificate that brokers are shown, in PEM. Default: none."""

    key_path: Text | None = None
    """File of its private key, in PEM. Default: none."""

    insecure_skip_verify: Literal[False] = False
    """Only false is possible: the gateway always checks the brokers' certificates. Default false."""


class KafkaSasl(Section):
    """The gateway's account at the brokers."""

    mechanism: PasswordMechanism = "PLAIN"
    """`PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`. Default `PLAIN`."""

    username: Text = Field(examples=["gateway"])
    """Name of the account; `${NAME}` is the value of the environment variable `NAME`. Required."""

    password_: Text = Field(alias="password", repr=False, examples=['"${KAFKA_PASSWORD}"'])
    """The password; `${NAME}` is the value of the environment variable `NAME`. Required."""


class RemappedCluster(Section):
    """The physical cluster."""

    bootstrap_servers: tuple[BrokerAddress, ...] = Field(
        min_length=1, max_length=64, examples=['["kafka-1.internal:9092"]']
    )
    """Brokers to ask first, each `host:port`, 1 to 64. Required."""

    connection_timeout_ms: Count = Field(default=10_000, ge=100, le=3_600_000)
    """Time for a connection to a broker to be established, in milliseconds. Default 10 s."""

    request_timeout_ms: Count = Field(default=30_000, ge=100, le=3_600_000)
    """Accepted, and without effect: a request waits for its broker as long as its client does. Default 30 s."""

    metadata_refresh_interval_secs: Count = Field(default=30, ge=0, le=3_600)
    """Time between two queries for the brokers, in seconds. Default 30 s. 0 is accepted, and is 30 s: the gateway does
    not wait for a client's request."""

    security_protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    """`PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`. Default `PLAINTEXT`."""

    tls: KafkaTls | None = None
    """TLS towards the brokers; only with `SSL` and `SASL_SSL`. Default: the CAs that the system trusts."""

    sasl: KafkaSasl | None = None
    """The gateway's account. Required with `SASL_PLAINTEXT` and `SASL_SSL`, and only allowed there. Default: none."""


class TopicMapping(Section):
    """The partitions of some topics; what is absent is as in `mapping`."""

    virtual_partitions: Count | None = Field(default=None, ge=1, le=MAX_VIRTUAL)
    """How many partitions clients see. Default: as in `mapping`."""

    physical_partitions: Count | None = Field(default=None, ge=1, le=MAX_PHYSICAL)
    """How many partitions the brokers have. Default: as in `mapping`."""

    offset_range: Count | None = Field(default=None, ge=MIN_OFFSET_RANGE, le=2**63 - 1)
    """Accepted, and without effect. Default: as in `mapping`."""


class Mapping(Section):
    """How many partitions clients see, and how many the brokers have."""

    virtual_partitions: Count = Field(ge=1, le=MAX_VIRTUAL, examples=["100"])
    """How many partitions of each topic clients see. Required."""

    physical_partitions: Count = Field(ge=1, le=MAX_PHYSICAL, examples=["10"])
    """How many partitions of each topic the brokers have, at most `virtual_partitions`; at most 512 virtual ones share
    one. The same number means that there are no virtual partitions. Required."""

    offset_range: Count = Field(default=1 << 40, ge=MIN_OFFSET_RANGE, le=2**63 - 1)
    """Accepted, and without effect: offsets are those of the physical partition. Default 2^40."""

    topics: dict[str, TopicMapping] = Field(default={})
    """Other numbers for some topics, by a name, or by an expression made of characters of names, `\\.`, `.*`, groups of
    alternatives `(a|b)`, sets `[ab]` and `?`; a name comes before expressions, and the first expression that matches is
    taken. Default: none."""


class RemapperMetrics(Section):
    """The operator's HTTP port."""

    enabled: Flag = True
    """Whether there is one. Default true."""

    address: BrokerAddress = DEFAULT_METRICS
    """Address and port that are bound, `host:port`. Default `0.0.0.0:9090`: it shows data without authentication, so
    name one that only operators can reach."""


class Logging(Section):
    """The log, unless the command line says otherwise."""

    level: Literal["trace", "debug", "info", "warn", "error"] = "info"
    """The least severe level that is logged: `trace` is `debug` here. Default `info`."""

    json_: Flag = Field(default=False, alias="json")
    """Whether each line is a JSON object. Default false."""

    format: Literal["json", "text"] | None = None
    """`json` or `text`, in place of `json`. Default: what `json` says."""

    @property
    def is_json(self) -> bool:
        """Whether each line is a JSON object."""
        return self.json_ if self.format is None else self.format == "json"


class PartitionRemapper(Section):
    """The flat file of a partition remapper."""

    listen: Listen = Field(examples=['{ address: "0.0.0.0:9092" }'])
    """Where clients connect. Required."""

    kafka: RemappedCluster = Field(examples=["{ bootstrap_servers: [...] }"])
    """The physical cluster. Required."""

    mapping: Mapping = Field(examples=["{ virtual_partitions: 100, physical_partitions: 10 }"])
    """How many partitions clients see. Required."""

    metrics: RemapperMetrics = RemapperMetrics()
    """The operator's HTTP port. Default: port 9090 of every interface."""

    logging: Logging = Logging()
    """The log. Default: level `info`, as plain text."""
