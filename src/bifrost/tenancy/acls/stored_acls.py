"""The ACLs in the state that gateways share: records of the kind `acl`.

key    acl:TENANT:ID         the ID is made from all that the ACL says (`AclBinding.binding_id`)
body   the ACL's fields, with Kafka's names of types, operations and permissions

A follower gives each changed record to `StoredAcls.apply`, which tells the tenant's `Authority`.
"""

import hashlib
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakValueDictionary

from bifrost.state.state_change import Change
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import Body, StateRecord
from bifrost.tenancy.acls.acl_binding import AclBinding, Operation, PatternType, Permission, ResourceType
from bifrost.tenancy.acls.acl_fields import read_usual

if TYPE_CHECKING:
    from bifrost.tenancy.acls.authority import Authority

KIND = "acl"

_TEXT = {str}
_FIELDS = frozenset({"resource_type", "pattern_type", "name", "principal", "host", "operation", "permission"})


def key_of(tenant: str, binding: AclBinding) -> StateKey:
    """Return the key of a tenant's ACL."""
    return StateKey(KIND, f"{tenant}:{binding.binding_id}")


def body_of(binding: AclBinding) -> Body:
    """Return the body of an ACL's record."""
    return {
        "resource_type": binding.resource_type.name,
        "pattern_type": binding.pattern_type.name,
        "name": binding.name,
        "principal": binding.principal,
        "host": binding.host,
        "operation": binding.operation.name,
        "permission": binding.permission.name,
    }


def creation_of(tenant: str, binding: AclBinding) -> Change:
    """Return the change that creates an ACL that is not there."""
    return Change(key_of(tenant, binding), 0, body_of(binding))


def read_body(body: Body) -> AclBinding:
    """Return the ACL in a record's body.

    Raises:
        ValueError: it is none.
    """
    if body.keys() != _FIELDS or set(map(type, body.values())) != _TEXT:
        raise ValueError("its body has not the fields of an ACL")
    kind, pattern, operation, permission = _numbers(
        body["resource_type"], body["pattern_type"], body["operation"], body["permission"]
    )
    # Principal and host are the same in many ACLs, and a copy in each is memory.
    principal, host = sys.intern(body["principal"]), sys.intern(body["host"])
    binding = AclBinding(kind, pattern, body["name"], principal, host, operation, permission)
    problem = binding.problem()
    if problem is not None:
        raise ValueError(problem)
    return binding


def read_acl(body: Body) -> tuple[AclBinding, str]:
    """Return the ACL in a record's body, and its ID.

    Raises:
        ValueError: it is none.
    """
    found = read_usual(body, AclBinding, _usual_numbers, sys.intern, hashlib.sha256)
    if found is not None:
        return found
    binding = read_body(body)
    return binding, binding.binding_id


@lru_cache(maxsize=1_024)  # more combinations than there are
def _usual_numbers(kind: str, pattern: str, operation: str, permission: str) -> tuple[Any, ...]:
    """Return the numbers, and what stands around an ACL's names in the text of its ID; see `read_usual`."""
    numbers = _numbers(kind, pattern, operation, permission)
    around = AclBinding(*numbers[:2], "name", "User:name", "host", *numbers[2:])
    if around.problem() is not None:
        return (*numbers, None, None)
    before, _, behind = around.binding_text.partition("name\0User:name\0host")
    return (*numbers, before, behind)


@lru_cache(maxsize=1_024)  # more combinations than there are
def _numbers(
    kind: str, pattern: str, operation: str, permission: str
) -> tuple[ResourceType, PatternType, Operation, Permission]:
    try:
        return ResourceType[kind], PatternType[pattern], Operation[operation], Permission[permission]
    except KeyError as error:
        raise ValueError(f"an ACL has no {error}") from None


class Counters(Protocol):
    """Gives counters by name."""

    def counter(self, name: str) -> "Counter[Any]":
        """Return the counter of this name."""


class StoredAcls:
    """The ACLs of all tenants in the state; a model for a follower."""

    def __init__(self, peers: Counters | None = None) -> None:
        """Begin without ACLs. The workers of a gateway count denials together (`peers`)."""
        self.denials: Counter[tuple[str, str]] = Counter() if peers is None else peers.counter("acl_denials")
        """How often an operation was denied, by tenant and operation."""
        self._of_tenant: defaultdict[str, dict[str, AclBinding]] = defaultdict(dict)
        self._authorities: WeakValueDictionary[str, Authority] = WeakValueDictionary()

    def apply(self, key: StateKey, record: StateRecord | None) -> None:
        """Take an ACL as it is from now on.

        Raises:
            ValueError: the record is no ACL's.
        """
        tenant, colon, binding_id = key.name.rpartition(":")
        if not colon or not tenant:
            raise ValueError("the key of an ACL has a tenant and an ID")
        binding = None
        if record is not None and record.body is not None:
            binding, named = read_acl(record.body)
            if named != binding_id:
                raise ValueError("the ID in its key is not that of the ACL")
        stored = self._of_tenant[tenant]
        before = stored.get(binding_id)
        if binding is None:
            stored.pop(binding_id, None)
            if not stored:
                del self._of_tenant[tenant]
        else:
            stored[binding_id] = binding
        authority = self._authorities.get(tenant)
        if authority is not None:
            authority.take(before, binding)

    def of(self, tenant: str) -> Mapping[str, AclBinding]:
        """Return a tenant's ACLs by their IDs."""
        return self._of_tenant.get(tenant, {})

    def follow(self, tenant: str, authority: "Authority") -> Mapping[str, AclBinding]:
        """Return a tenant's ACLs by their IDs; tell `authority` of changes from now on."""
        self._authorities[tenant] = authority
        return self._of_tenant.get(tenant, {})
