"""The ACLs of a tenant: the section `acls`."""

import ipaddress
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StrictStr, model_validator

from bifrost.config.section import Section
from bifrost.config.tiers import SEPARATOR, misfit
from bifrost.config.values import Count, Flag, Principal


class AclResource(StrEnum):
    """Kinds of resource that an ACL may be about."""

    TOPIC = "TOPIC"
    GROUP = "GROUP"
    CLUSTER = "CLUSTER"
    TRANSACTIONAL_ID = "TRANSACTIONAL_ID"
    NAMESPACE = "NAMESPACE"


class AclPattern(StrEnum):
    """How the name in an ACL is meant."""

    LITERAL = "LITERAL"
    PREFIXED = "PREFIXED"


class AclOperation(StrEnum):
    """What an ACL allows or denies."""

    ALL = "ALL"
    READ = "READ"
    WRITE = "WRITE"
    CREATE = "CREATE"
    DELETE = "DELETE"
    ALTER = "ALTER"
    DESCRIBE = "DESCRIBE"
    CLUSTER_ACTION = "CLUSTER_ACTION"
    DESCRIBE_CONFIGS = "DESCRIBE_CONFIGS"
    ALTER_CONFIGS = "ALTER_CONFIGS"
    IDEMPOTENT_WRITE = "IDEMPOTENT_WRITE"
    TWO_PHASE_COMMIT = "TWO_PHASE_COMMIT"


class AclPermission(StrEnum):
    """Whether an ACL allows or denies."""

    ALLOW = "ALLOW"
    DENY = "DENY"


def java_address(host: str) -> str | None:
    """Return an IP address as Java's InetAddress.getHostAddress writes it; None: it is none.

    IPv6 addresses have all their groups, without leading zeros; an IPv4 address in IPv6 form is one of IPv4.
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return ":".join(f"{int(group, 16):x}" for group in address.exploded.split(":"))


def _check_acl_host(host: str) -> str:
    found = host if host == "*" else java_address(host)
    if found is None:
        raise ValueError(f"{host!r} is no IP address: write one, or *")
    return found


AclMode = Literal["gateway", "broker"]
AclPrincipal = Principal
AclHost = Annotated[StrictStr, Field(min_length=1, max_length=64), AfterValidator(_check_acl_host)]
AclName = Annotated[StrictStr, Field(min_length=1, max_length=249)]


class AclRule(Section):
    """One ACL. `kafka-acls.sh --list` shows it; only a change of the configuration removes it."""

    principal: AclPrincipal = Field(examples=["User:alice"])
    """Whom it is about: `User:` and the name by which the user authenticates, or `User:*` for everyone. Required."""

    operation: AclOperation = Field(examples=["READ"])
    """What it allows or denies: `ALL` or one of Kafka's operations. READ, WRITE, DELETE and ALTER allow DESCRIBE as
    well, ALTER_CONFIGS allows DESCRIBE_CONFIGS. Required."""

    resource_type: AclResource = Field(examples=["TOPIC"])
    """What kind of resource it is about. `CLUSTER` is the tenant's own virtual cluster, `NAMESPACE` a namespace below
    the tenant with all that is in it ([acls.md](acls.md#namespaces)). Required."""

    name: AclName = Field(examples=["orders"])
    """The name of the resource, as the tenant knows it, or `*` for all of the kind; `kafka-cluster` where it is about
    `CLUSTER`, tiers such as `analytics:eu` where it is about `NAMESPACE`. Required."""

    pattern_type: AclPattern = AclPattern.LITERAL
    """Whether `name` is a whole name (`LITERAL`), or the beginning of names (`PREFIXED`). Default `LITERAL`."""

    host: AclHost = "*"
    """IP address of the clients that it is about, or `*` for all. Default `*`."""

    permission: AclPermission = AclPermission.ALLOW
    """`ALLOW` or `DENY`; a denial wins over every permission. Default `ALLOW`."""

    @model_validator(mode="after")
    def _check_name(self) -> "AclRule":
        if self.resource_type == AclResource.CLUSTER and self.name != "kafka-cluster":
            raise ValueError("name has to be kafka-cluster where resource_type is CLUSTER")
        if self.resource_type == AclResource.NAMESPACE:
            wrong = misfit(self.name.split(SEPARATOR))
            if wrong is not None:
                raise ValueError(wrong)
            if self.pattern_type != AclPattern.LITERAL:
                raise ValueError("pattern_type has to be LITERAL where resource_type is NAMESPACE")
        return self


class Acls(Section):
    """What each principal of the tenant may do: Kafka's ACLs, decided by the gateway. See [acls.md](acls.md).

    With the section, also an empty one, a client may do only what an ACL allows. Without it, every user of the tenant
    may do everything that the tenant may. To add or remove the section closes the tenant's connections, and its clients
    connect again; any other change of it takes hold on open connections.
    """

    mode: AclMode = "gateway"
    """Who keeps and decides the tenant's ACLs: the gateway, or with `broker` the brokers, for the accounts of the
    tenant's users there. Each user then has an `upstream_sasl` of its own with a `username`, and the other keys of this
    section but `max_stored` are absent ([acls.md](acls.md#acls-at-the-brokers)). Default `gateway`."""

    super_users: tuple[AclPrincipal, ...] = Field(default=(), max_length=1_000)
    """Principals that may do everything in the tenant, and whom no ACL denies anything. Default: none; then no client
    can create the first ACL by Kafka's tools."""

    allow_everyone_if_no_acl_found: Flag = False
    """Whether everyone may use a resource that no ACL is about, as the broker's setting of this name. Default false."""

    rules: tuple[AclRule, ...] = Field(default=(), max_length=100_000)
    """The ACLs that the configuration has; those that clients create are in the state (`proxy.state`) and not here.
    Default: none."""

    max_stored: Count = Field(default=10_000, ge=0, le=1_000_000)
    """Most ACLs of the tenant in the state, or with `mode: broker` at the brokers. A request that would create more is
    refused. Default 10,000, some 10 MB in each process."""

    @model_validator(mode="after")
    def _check_broker(self) -> "Acls":
        given = sorted(self.model_fields_set - {"mode", "max_stored"})
        if self.mode == "broker" and given:
            raise ValueError(f"the brokers keep the ACLs with mode: broker: remove {', '.join(given)}")
        return self
