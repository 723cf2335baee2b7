"""The tenants and their users: the section `tenants`."""

from typing import Literal

from pydantic import Field, model_validator

from bifrost.config.client_ids import ClientIds
from bifrost.config.fields.acls import AclResource, Acls
from bifrost.config.fields.compacted_topics import unfit_filter
from bifrost.config.fields.tenant_limits import TenantLimits
from bifrost.config.fields.upstream_sasl import UpstreamSasl
from bifrost.config.fields.verifiers import ScramVerifier
from bifrost.config.fields.virtual_partitions import MAX_RULES, VirtualPartitions
from bifrost.config.name_template import NamePrefixes, NameTemplate
from bifrost.config.policies.namespace_policy import MAX_POLICIES, PolicyOfNamespace
from bifrost.config.policies.policy import Policy
from bifrost.config.quotas.tenant_quotas import TenantQuotas
from bifrost.config.records.filter_order import misplaced
from bifrost.config.records.record_filter import MAX_FILTERS, RecordFilter, same_label
from bifrost.config.secrets import Secret
from bifrost.config.section import Section
from bifrost.config.tiers import MAX_NAMESPACES, SEPARATOR
from bifrost.config.values import Count, Flag, ListedTopic, Name, NamespacePath, Prefix, Text, Username


class Credential(Section):
    """One user that may authenticate: by SASL/PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.

    Exactly one of `password_file` and `scram_file` is given. With either the user may authenticate by PLAIN;
    with `scram_file` by each SCRAM mechanism for which it has a line, with `password_file` by both.
    """

    username: Username = Field(examples=["acme"])
    """Name the user authenticates with, 1 to 256 printable characters. No two credentials of the file share one,
    because the user name decides the tenant. Required."""

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
    """The part of its tenant that the user sees: tiers separated by `:`, such as `analytics:eu` (KIP-37). Users of the
    whole tenant then see its topic `orders` as `analytics:eu:orders`; the same applies to its groups and transactional
    IDs (see [namespaces.md](namespaces.md)). The namespace exists because it is named here. Default: the key is absent,
    and the user sees all of its tenant."""

    upstream_sasl: UpstreamSasl | None = None
    """The user's own account at the brokers, so that brokers can distinguish users; its keys are those of
    `upstream.sasl`. Only with a `security_protocol` with SASL. Default: the tenant's `upstream_sasl`, or else
    `upstream.sasl`."""

    password: Secret | None = Field(default=None, repr=False)
    """The password. Not a key of the file: the loader reads it from `password_file`."""

    verifiers: tuple[ScramVerifier, ...] = Field(default=(), repr=False)
    """The SCRAM verifiers. Not a key of the file: the loader reads them from `scram_file`, or derives them from
    the password."""

    @model_validator(mode="after")
    def _check_files(self) -> "Credential":
        is_given = self.password is not None or bool(self.verifiers)
        if self.password_file is None and self.scram_file is None and not is_given:
            raise ValueError("has no password: add password_file, or scram_file")
        if self.password_file is not None and self.scram_file is not None:
            raise ValueError("has both password_file and scram_file: remove one")
        return self


class StoredUsers(Section):
    """Users that the tenant makes itself, by Kafka's own tools; see [users.md](users.md). It needs `proxy.state`, where
    they are stored."""

    name_prefix: Username = Field(examples=["acme-"])
    """What the names of these users begin with. The user name decides the tenant: so no tenant's prefix is the
    beginning of another's, and no user or principal of another tenant begins with it. Required."""

    max_users: Count = Field(default=100, ge=1, le=10_000)
    """Most users that the tenant may have made. A request that would make more is refused. Default 100, some 100 KB in
    each process."""


class Auth(Section):
    """The users and principals of a tenant."""

    credentials: tuple[Credential, ...] = Field(default=(), examples=["[...]"])
    """The users of the tenant that authenticate with a password. Default: none."""

    principals: tuple[Username, ...] = Field(default=(), max_length=10_000)
    """The principals of the tenant that authenticate without a password of this gateway's (a client certificate, a
    token, a Kerberos ticket), by name and without Kafka's `User:`. Default: none. No two principals or user names of
    the file are the same, because the name decides the tenant."""

    stored_users: StoredUsers | None = None
    """Lets the tenant make users of its own (AlterUserScramCredentials). Default: the key is absent, and only the
    operator makes users: the request is then answered CLUSTER_AUTHORIZATION_FAILED."""


NO_USERS = Auth.model_construct()
"""The default of a tenant without users: its clients are known by their listener set."""


NO_QUOTAS = TenantQuotas()
"""The default of a tenant without quotas: one object for all of them."""


class Prefixes(Section):
    """The prefixes of the tenant's physical names, in place of `__vt_` and its name: one, two or all three."""

    topic: Prefix | None = Field(default=None, examples=["t1-"])
    """The prefix of every topic. No tenant's prefix may be the start of another's on the same upstream. Default:
    `__vt_`, the tenant's name and `_`."""

    group: Prefix | None = Field(default=None, examples=["t1-"])
    """The prefix of every group ID. Default: as for `topic`."""

    transactional_id: Prefix | None = Field(default=None, examples=["t1-"])
    """The prefix of every transactional ID. Default: as for `topic`."""

    @model_validator(mode="after")
    def _check_any(self) -> "Prefixes":
        if self.topic is None and self.group is None and self.transactional_id is None:
            raise ValueError("has no prefix: add topic, group or transactional_id, or remove the section")
        return self


class Tenant(Section):
    """One tenant: the names that exist for it and the users that belong to it."""

    name: Name = Field(examples=["acme"])
    """Name of the tenant: letters, digits, `.`, `_` and `-`, at most 64 so that at least 179 characters
    remain for a topic's own name. It is part of every physical name (`__vt_acme_orders`), so renaming a tenant leaves
    its data behind; and no tenant's prefix may be the start of another's, with `.` and `_` as the same character: `a`
    and `a_b` overlap, `a` and `a-b` do not. Required."""

    upstream: Name | None = None
    """Name of the physical cluster that has the tenant's data. Default: the only cluster; required where there are
    several."""

    prefixes: Prefixes | None = None
    """The prefixes of its physical names. Default: the key is absent, and the prefix is `__vt_`, its name and `_`. With
    `prefixes` existing topics can become a tenant's without being copied."""

    allowed_topics: tuple[ListedTopic, ...] | None = Field(default=None, min_length=1)
    """The only topics that exist for the tenant, `eu:orders` for one in its namespace `eu`, which exists because it is
    named here. Default: the key is absent and the namespace is dynamic, any topic name is the tenant's own."""

    namespaces: tuple[NamespacePath, ...] = Field(default=(), max_length=MAX_NAMESPACES)
    """Namespaces below the tenant, each with those above it, such as `analytics:eu` (KIP-37). Others exist because a
    user's `namespace` or `allowed_topics` names them, or because they were created in the state
    ([namespaces.md](namespaces.md)). A token of `proxy.oauth.namespace_claim` may name only a namespace that exists.
    Default: none."""

    namespace_separator: Literal[":", "..", "__"] = ":"
    """What stands between a namespace and a name, as clients of a namespace above see it: `:` as in KIP-37, or `..` or
    `__` for clients that refuse names with `:`. A change closes the tenant's connections. Default `:`."""

    namespace_encoding: Literal["tiers", "dotted"] = "tiers"
    """How physical names show a namespace: `tiers`, so that the names of two namespaces are never the same; or
    `dotted`, where `orders` of the namespace `eu` is the tenant's `eu.orders`. `dotted` is only for a tenant whose
    namespaces have data from before there was a choice: it has no names with `:`, any namespace may be used, and a tier
    has no dot. A change gives all of the namespaces' topics and groups other names, and closes the tenant's
    connections. Default `tiers`."""

    allow_topic_deletion: Flag = False
    """Whether the tenant may delete its topics, and records in them (DeleteRecords; Kafka Streams does so with records
    that it has read from its repartition topics). Default false, because deletion cannot be undone: the request is then
    answered TOPIC_AUTHORIZATION_FAILED."""

    allow_quota_changes: Flag = False
    """Whether the tenant's users may set quotas for its users and client IDs, with Kafka's own tools, within what the
    operator has given the tenant; see [quotas.md](quotas.md). It needs `proxy.state`, where they are stored. Default
    false: AlterClientQuotas is then answered CLUSTER_AUTHORIZATION_FAILED."""

    upstream_sasl: UpstreamSasl | None = None
    """The tenant's own account at the brokers, so that they know the tenant of a connection and their ACLs and quotas
    apply to it; its keys are those of `upstream.sasl`. Only with a `security_protocol` with SASL. Default:
    `upstream.sasl`."""

    client_ids: ClientIds | None = None
    """How the brokers see the tenant's client IDs. `namespaced`: with the prefix of its groups before them
    (`__vt_acme_app` for `app`), so that no other tenant uses up the quota of a client ID; the tenant's own tools and
    the journal show `app`. `unchanged`: as the clients send them. Default: `namespaced`, unless the tenant has an
    `upstream_sasl` with an account that neither another tenant of its upstream nor the gateway itself has; then
    `unchanged`, because quotas that name a user separate the tenants. Quotas of client IDs alone do not: where the
    brokers have such quotas, set `namespaced` (see [upstream.md](upstream.md#client-ids-and-quotas)). A change closes
    the tenant's connections, and its clients connect again."""

    limits: TenantLimits = TenantLimits()
    """Bounds on what the tenant's clients may request together. Default: only the gateway's."""

    quotas: TenantQuotas = NO_QUOTAS
    """What the tenant's clients may use in a second; see [quotas.md](quotas.md). Default: no quota."""

    policy: Policy = Policy()
    """What the tenant may set for its topics and groups. Default: as `proxy.policy` says."""

    namespace_policies: tuple[PolicyOfNamespace, ...] = Field(
        default=(), max_length=MAX_POLICIES, examples=["[{ namespace: analytics, max_topics: 100 }]"]
    )
    """Policies of the tenant's namespaces, and one of the tenant as a whole. Default: none."""

    filters: tuple[RecordFilter, ...] = Field(
        default=(),
        max_length=MAX_FILTERS,
        examples=["[{ name: RecordHeaders, config: { remove: [debug] }, rules: [{ direction: fetch }] }]"],
    )
    """What the gateway does with the tenant's records, in this order on their way to the broker and in the reverse
    order on their way to consumers; see [filters.md](filters.md). A change closes the tenant's connections, and its
    clients connect again. Default: none, and records pass unread."""

    virtual_partitions: tuple[VirtualPartitions, ...] = Field(
        default=(), max_length=MAX_RULES, examples=["[{ topics: [orders], virtual: 12, physical: 4 }]"]
    )
    """Topics that show more partitions than the brokers have, so that fewer are paid for; the first rule that matches a
    topic is for it; see [virtual-partitions.md](virtual-partitions.md). A change closes the tenant's connections, and
    its clients connect again. Default: none."""

    acls: Acls | None = None
    """What each principal of the tenant may do. Default: the key is absent, and all of them may do everything that the
    tenant may."""

    auth: Auth = Field(default=NO_USERS, examples=["{ credentials: [...] }"])
    """The users that belong to the tenant. Default: none; then a listener set has to be the tenant's own (its key
    `tenant`, with `security_protocol` `PLAINTEXT` or `SSL`), or tokens have to name their tenant
    (`proxy.oauth.namespace_claim`)."""

    @model_validator(mode="after")
    def _check_dotted(self) -> "Tenant":
        if self.namespace_encoding != "dotted":
            return self
        if self.namespaces or self.namespace_separator != ":":
            raise ValueError("namespaces and namespace_separator are not for namespace_encoding: dotted")
        if any(SEPARATOR in topic for topic in self.allowed_topics or ()):
            raise ValueError("write topics of a namespace as eu.orders with namespace_encoding: dotted")
        rules = () if self.acls is None else self.acls.rules
        if any(rule.resource_type == AclResource.NAMESPACE for rule in rules):
            raise ValueError("acls have no resource_type NAMESPACE with namespace_encoding: dotted")
        if any("." in (one.namespace or "") for one in self.auth.credentials):
            raise ValueError("a namespace has no dot with namespace_encoding: dotted")
        if any(one.namespace is not None for one in self.namespace_policies):
            raise ValueError("namespace_policies has no namespace with namespace_encoding: dotted")
        return self

    @model_validator(mode="after")
    def _check_policies(self) -> "Tenant":
        names = [one.namespace for one in self.namespace_policies]
        twice = next((name for name in names if names.count(name) > 1), ...)
        if twice is not ...:
            shown = "the tenant as a whole" if twice is None else twice
            raise ValueError(f"namespace_policies has two policies for {shown}: make one of them")
        return self

    @model_validator(mode="after")
    def _check_filters(self) -> "Tenant":
        twice = same_label(self.filters)
        if twice is not None:
            raise ValueError(f"filters has {twice} twice: give one of them a label")
        separator = "." if self.namespace_encoding == "dotted" else SEPARATOR
        wrong = misplaced(self.filters, separator)
        wrong = wrong or unfit_filter(self.filters, self.virtual_partitions, separator)
        if wrong is not None:
            raise ValueError(wrong)
        # A namespace below has a topic of that name of its own.
        listed = {topic.rpartition(SEPARATOR)[2] for topic in self.allowed_topics or ()}
        for one in self.filters:
            quarantine = one.config.quarantine_topic
            if quarantine is not None and self.allowed_topics is not None and quarantine not in listed:
                raise ValueError(
                    f"filters: quarantine_topic {quarantine} of {one.shown_name} is not in allowed_topics"
                )
        return self

    @property
    def configured_namespaces(self) -> tuple[tuple[str, ...], ...]:
        """The tiers of the namespaces that the tenant's section names."""
        if self.namespace_encoding == "dotted":
            return ()
        users = (one.namespace for one in self.auth.credentials)
        topics = (topic.rpartition(SEPARATOR)[0] for topic in self.allowed_topics or ())
        policies = (one.namespace for one in self.namespace_policies)
        named = {*self.namespaces, *users, *topics, *policies} - {None, ""}
        return tuple(sorted(tuple(str(one).split(SEPARATOR)) for one in named))

    @property
    def name_prefixes(self) -> NamePrefixes:
        """The prefixes of its physical names: those of `prefixes`, and the default ones of the other kinds."""
        default = NamePrefixes.of_tenant(self.name, NameTemplate())
        own = self.prefixes
        if own is None:
            return default
        return NamePrefixes(
            own.topic or default.topic,
            own.group or default.group,
            own.transactional_id or default.transactional_id,
        )

    @property
    def upstream_accounts(self) -> tuple[str, ...]:
        """The accounts in the sections `upstream_sasl` of the tenant and its users."""
        found = [self.upstream_sasl, *(one.upstream_sasl for one in self.auth.credentials)]
        return tuple(one.account for one in found if one is not None)
