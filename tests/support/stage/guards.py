"""Clients that ACLs apply to, on a stage."""

from __future__ import annotations

from bifrost.filters.filter import Exchange, Scope
from bifrost.state.state_table import StateLimits, StateTable
from bifrost.tenancy.acls.acl_binding import AclBinding, Operation, PatternType, Permission, ResourceType
from bifrost.tenancy.acls.authority import Authority
from bifrost.tenancy.acls.guard import Guard
from bifrost.tenancy.acls.stored_acls import StoredAcls
from support.stage.stage import PORTS, Stage

HOST = "192.0.2.1"


def allow(
    operation: str,
    name: str,
    resource_type: ResourceType = ResourceType.TOPIC,
    *,
    principal: str = "User:alice",
    pattern_type: PatternType = PatternType.LITERAL,
    permission: Permission = Permission.ALLOW,
    host: str = "*",
) -> AclBinding:
    """Return an ACL."""
    return AclBinding(resource_type, pattern_type, name, principal, host, Operation[operation], permission)


def authority_of(*bindings: AclBinding, super_users: tuple[str, ...] = (), max_stored: int = 10) -> Authority:
    """Return the ACLs of the tenant initech, all of the configuration."""
    authority = Authority("initech", StoredAcls())
    authority.change(bindings, super_users, allow_everyone_if_no_acl_found=False, max_stored=max_stored)
    return authority


def guard_of(stage: Stage, *bindings: AclBinding, user: str = "alice") -> Guard:
    """Return the rights of a user of initech, for its own namespace."""
    return authority_of(*bindings).guard(stage.namespaces["initech"], user, HOST)


def exchange_of(guard: Guard, api_key: int, api_version: int) -> Exchange:
    """Return what a filter is given with a message of the guard's client."""
    table = StateTable(StateLimits(100, 65_536, 1 << 20))
    scope = Scope(guard.namespace, PORTS, guard.principal.removeprefix("User:"), table, guard=guard)
    return Exchange(api_key, api_version, scope)
