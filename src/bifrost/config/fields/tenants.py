"""The tenants and who belongs to them: the section `tenants`."""

from pydantic import Field, model_validator

from bifrost.config.fields.client_ids import ClientIds
from bifrost.config.fields.policy import Policy
from bifrost.config.fields.tenant_limits import TenantLimits
from bifrost.config.fields.upstream_sasl import UpstreamSasl
from bifrost.config.fields.verifiers import ScramVerifier
from bifrost.config.secrets import Secret
from bifrost.config.section import Section
from bifrost.config.values import Flag, Name, NamespacePath, Prefix, Text, TopicName, Username


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

    namespace: NamespacePath | None = None
    """What the user sees of its tenant: tiers with `:` between, such as `analytics:eu` (KIP-37). Its topic `orders` is
    then what users of the whole tenant call `analytics.eu.orders`; so with its groups and transactional IDs. Default:
    the key is absent, and the user sees all of its tenant."""

    upstream_sasl: UpstreamSasl | None = None
    """The user's own account at the brokers, where the broker is to know one user from another; its keys are those of
    `upstream.sasl`. Only with a `security_protocol` with SASL. Default: the tenant's `upstream_sasl`, or else
    `upstream.sasl`."""

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

    credentials: tuple[Credential, ...] = Field(default=(), examples=["[...]"])
    """The users of the tenant that authenticate with a password. Default: none."""

    principals: tuple[Username, ...] = Field(default=(), max_length=10_000)
    """The principals of the tenant that prove who they are without a password of this gateway's (a client
    certificate, a token, a Kerberos ticket), by name and without Kafka's `User:`. Default: none. No two principals
    or user names of the file are the same, for the name decides the tenant."""


NOBODY = Auth.model_construct()
"""Of a tenant whose clients are known by where they connect."""


class Prefixes(Section):
    """What the tenant's physical names begin with, in place of `__vt_` and its name."""

    topic: Prefix = Field(examples=["t1-"])
    """What stands before every topic. No tenant's prefix of the same upstream may begin another's. Required."""

    group: Prefix = Field(examples=["t1-"])
    """What stands before every group ID. Required."""

    transactional_id: Prefix = Field(examples=["t1-"])
    """What stands before every transactional ID. Required."""


class Tenant(Section):
    """One tenant: the names that exist for it and the users that belong to it."""

    name: Name = Field(examples=["acme"])
    """Name of the tenant: letters, digits, `.`, `_` and `-`, at most 64 so that at least 179 characters
    remain for a topic's own name. It is part of every physical name (`__vt_acme_orders`), so renaming a
    tenant leaves its data behind; and no tenant's prefix may begin another's, `.` and `_` taken as the same:
    `a` and `a_b` overlap, `a` and `a-b` do not. Required."""

    upstream: Name | None = None
    """Name of the physical cluster that has the tenant's data. Default: the only one there is; required where there
    are several."""

    prefixes: Prefixes | None = None
    """What its physical names begin with. Default: the key is absent, and that is `__vt_`, its name and `_`. With
    `prefixes` topics that are there already can become a tenant's, without being copied."""

    allowed_topics: tuple[TopicName, ...] | None = Field(default=None, min_length=1)
    """The topics that exist for the tenant; any other name does not. Default: the key is absent and the
    namespace is dynamic, any topic name is the tenant's own."""

    allow_topic_deletion: Flag = False
    """Whether the tenant may delete its topics, and records in them (DeleteRecords; Kafka Streams does so with what it
    has read of its repartition topics). Default false, because deletion cannot be undone: the answer is then
    TOPIC_AUTHORIZATION_FAILED."""

    upstream_sasl: UpstreamSasl | None = None
    """The tenant's own account at the brokers, so that they see whose a connection is and their ACLs and quotas hold
    for it; its keys are those of `upstream.sasl`. Only with a `security_protocol` with SASL. Default:
    `upstream.sasl`."""

    client_ids: ClientIds | None = None
    """How the brokers see the tenant's client IDs. `namespaced`: with the prefix of its groups before them
    (`__vt_acme_app` for `app`), so that no other tenant uses up what a quota of a client ID allows; the tenant's own
    tools and the journal show `app`. `unchanged`: as the clients send them. Default: `namespaced`, unless the tenant
    has an `upstream_sasl` with an account that neither another tenant of its upstream nor the gateway itself has; then
    `unchanged`, because quotas with a user in them keep it apart. Quotas of client IDs alone do not: where the brokers
    have some, give `namespaced` (see [upstream.md](upstream.md#client-ids-and-quotas)). A change ends the tenant's
    connections, and its clients connect again."""

    limits: TenantLimits = TenantLimits()
    """Bounds of what the tenant's clients may ask together. Default: none but the gateway's."""

    policy: Policy = Policy()
    """What the tenant may set of its topics and groups. Default: as `proxy.policy` says."""

    auth: Auth = Field(default=NOBODY, examples=["{ credentials: [...] }"])
    """The users that belong to the tenant. Default: none; then a listener set has to be the tenant's own (its key
    `tenant`, with `security_protocol` `PLAINTEXT` or `SSL`), where nobody is asked who he is, or tokens say
    whom they are for (`proxy.oauth.namespace_claim`)."""

    @property
    def upstream_accounts(self) -> tuple[str, ...]:
        """The accounts at the brokers that the tenant and its users have of their own."""
        found = [self.upstream_sasl, *(one.upstream_sasl for one in self.auth.credentials)]
        return tuple(one.account for one in found if one is not None)
