"""What one user at one address may do: its rights by name, and the tables of names that its messages use.

The tables hold the names for which the API's operation is permitted, and what they are on the other side. A name that
is not there is decided about; for one that is denied the engine gets None, so the message leaves the hot path, and
filters/acls answers for it. So a permission costs no more than the name itself.

When ACLs change, the tables are emptied (`renew`), and the sessions are told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

from bifrost.tenancy.acls.access import ACCESS, Access
from bifrost.tenancy.acls.acl_binding import CLUSTER_NAME, Operation, ResourceType
from bifrost.tenancy.acls.acl_index import EVERY_OPERATION
from bifrost.tenancy.topic_ids import ZERO_TOPIC_ID
from bifrost.wire.entity import Entity
from bifrost.wire.fields import entities
from bifrost.wire.rewriting import Names

if TYPE_CHECKING:
    from collections.abc import Callable

    from bifrost.tenancy.acls.authority import Authority
    from bifrost.tenancy.namespace import Namespace

MAX_REMEMBERED = 4096
"""Names remembered for each kind and API of a guard, and its decisions: more than a client uses at a time. Beyond it
that memory is emptied."""

MAX_REMEMBERED_BYTES = 512
"""Longer names are decided about each time: no topic has one."""

_MISS_STEPS = 160
"""Rounds of a loop that a name stands for about which is decided: 5 to 10 us."""

_READ = Operation.READ.bit | Operation.DESCRIBE.bit | Operation.DESCRIBE_CONFIGS.bit
_SHARED: Mapping[str, int] = {"read": _READ, "read-write": _READ | Operation.WRITE.bit}
"""What may be done at most with a topic that another owner shares, by `Access`, a bit for each operation. Its configs
and partitions only its owner can change, and only the owner can delete it or records of it."""

_RESOURCES = {
    Entity.TOPIC_NAME: ResourceType.TOPIC,
    Entity.TOPIC_ID: ResourceType.TOPIC,
    entities.SLOT_NEW_TOPIC: ResourceType.TOPIC,
    entities.SLOT_FETCHED_TOPIC: ResourceType.TOPIC,
    Entity.GROUP_ID: ResourceType.GROUP,
    Entity.TRANSACTIONAL_ID: ResourceType.TRANSACTIONAL_ID,
}
"""What the engine's slots in requests name."""

_REMEMBERED = (
    Entity.TOPIC_NAME,
    Entity.TOPIC_ID,
    Entity.GROUP_ID,
    Entity.TRANSACTIONAL_ID,
    entities.SLOT_FETCHED_TOPIC,
)


class RightsWatcher(Protocol):
    """Is told when rights may have changed: a session."""

    def rights_changed(self) -> None:
        """Ask anew from now on."""


class Guard:
    """The rights of one user at one address, in one namespace of a tenant."""

    def __init__(self, authority: Authority, namespace: Namespace, principal: str, host: str) -> None:
        """Ask `authority` about `principal` (as `User:alice`) at `host` (as Java writes its IP address)."""
        self.authority, self.namespace = authority, namespace
        self.principal, self.host = principal, host
        self._permitted: dict[tuple[ResourceType, str], int] = {}
        self._requests: dict[int, Names] = {}
        self._answers: dict[tuple[Operation, Names], Names] = {}
        self.sessions: WeakSet[RightsWatcher] = WeakSet()
        """The open sessions that go by these rights."""
        namespace.users.guards.add(self)

    def __repr__(self) -> str:
        return f"Guard({self.principal!r}, {self.host!r}, tenant={self.namespace.tenant!r})"

    def renew(self) -> None:
        """Forget all decisions: the ACLs or the names have changed."""
        self._permitted.clear()
        for names in (*self._requests.values(), *self._answers.values()):
            for slot in _REMEMBERED:
                table = names.tables[slot]
                if table is not None:
                    table.clear()
        for session in list(self.sessions):
            session.rights_changed()

    # -- decisions

    def permitted(self, resource_type: ResourceType, name: str) -> int:
        """Return the permitted operations on a resource by its virtual name, a bit for each."""
        key = (resource_type, name)
        found = self._permitted.get(key)
        if found is None:
            is_cluster = resource_type == ResourceType.CLUSTER
            full = name if is_cluster else self.namespace.names.full_name(name)
            found = self.authority.permitted(resource_type, full, self.principal, self.host)
            if not is_cluster:
                found &= self._in_namespace(name)
            if resource_type == ResourceType.TOPIC:
                access = self.namespace.names.access(name)
                found = found if access is None else found & _SHARED[access]
            if len(self._permitted) >= MAX_REMEMBERED:
                self._permitted.clear()
            if len(name) <= MAX_REMEMBERED_BYTES:
                self._permitted[key] = found
        return found

    def may(self, operation: Operation, resource_type: ResourceType, name: str) -> bool:
        """Whether an operation is permitted on a resource."""
        return bool(self.permitted(resource_type, name) & operation.bit)

    def may_cluster(self, operation: Operation) -> bool:
        """Whether an operation is permitted on the tenant's own cluster."""
        return self.may(operation, ResourceType.CLUSTER, CLUSTER_NAME)

    def may_by_cluster(self, operation: Operation, name: str) -> bool:
        """Whether an operation is permitted on a topic or group because it is on the cluster.

        Nothing is permitted in a namespace that the client may not enter for it.
        """
        access = self.namespace.names.access(name)
        if access is not None and not _SHARED[access] & operation.bit:
            return False
        return self.may_cluster(operation) and bool(self._in_namespace(name) & operation.bit)

    def _in_namespace(self, name: str) -> int:
        """Return the operations that ACLs of the namespaces leave that a name is in."""
        if not self.authority.has_namespaces:
            return EVERY_OPERATION
        tiers = self.namespace.names.tiers_of(name)
        return self.authority.in_namespace(tiers, self.principal, self.host)

    def may_some(self, operation: Operation, resource_type: ResourceType) -> bool:
        """Whether an operation is permitted on any resource of a kind, existing or not."""
        return self.authority.permits_some(operation, resource_type, self.principal, self.host)

    def may_all(self, operation: Operation, resource_type: ResourceType) -> bool:
        """Whether an operation is permitted on every resource of a kind."""
        return self.authority.permits_all(operation, resource_type, self.principal, self.host)

    def deny(self, operation: Operation, times: int = 1) -> None:
        """Count that an operation was denied."""
        self.authority.deny(operation, times)

    # -- tables for the engine

    def to_physical(self, api_key: int) -> Names:
        """Return the names in requests of an API, as the broker calls them, as far as they are permitted."""
        names = self._requests.get(api_key)
        if names is None:
            access = ACCESS.get(api_key, Access())  # type: ignore[call-overload]
            base = self.namespace.to_physical
            names = self._requests[api_key] = _guarded(base, lambda *of: self._request_name(access, *of))
            names.tables[entities.SLOT_NEW_TOPIC] = None  # The namespace knows which topics exist.
            names.tables[Entity.TOPIC_REGEX] = None
        return names

    def to_virtual(self, api_key: int, base: Names) -> Names:
        """Return the names in answers of an API; `base` has those that do not depend on rights."""
        operation = ACCESS.get(api_key, Access()).answers  # type: ignore[call-overload]
        if operation is None:
            return base
        names = self._answers.get((operation, base))
        if names is None:
            names = _guarded(base, lambda *of: self._answer_name(operation, base, *of))
            self._answers[operation, base] = names
        return names

    def _request_name(self, access: Access, names: Names, slot: int, value: bytes) -> bytes | None:
        resource_type = _RESOURCES.get(slot)
        if resource_type is None:
            # The pattern of a subscription has to be decided about by a filter.
            return None if slot == Entity.TOPIC_REGEX and value else self._namespace_name(slot, value)
        found = self._namespace_name(slot, value)
        operation = access.needs.get(resource_type)
        if found is None or operation is None:
            return None
        if slot == Entity.TOPIC_ID:
            name = self.namespace.topic_of(value)
            is_permitted = value == ZERO_TOPIC_ID or found != value
        else:
            name, is_permitted = _text(value), False
        if not is_permitted and (name is None or not self.may(operation, resource_type, name)):
            return None
        return _remember(names, slot, value, found)

    def _namespace_name(self, slot: int, value: bytes) -> bytes | None:
        base = self.namespace.to_physical
        table = base.tables[slot]
        found = None if table is None else table.get(value)
        return base.missing(slot, value) if found is None else found

    def _answer_name(
        self, operation: Operation, base: Names, names: Names, slot: int, value: bytes
    ) -> bytes | None:
        table = base.tables[slot]
        found = None if table is None else table.get(value)
        found = base.missing(slot, value) if found is None else found
        if found is None or slot not in (Entity.TOPIC_NAME, Entity.TOPIC_ID):
            return found
        name = self.namespace.topic_of(found) if slot == Entity.TOPIC_ID else _text(found)
        if name and not self.may(operation, ResourceType.TOPIC, name):
            return None
        return _remember(names, slot, value, found)


def _guarded(base: Names, missing: Callable[[Names, int, bytes], bytes | None]) -> Names:
    """Return names with tables of their own for what rights are about, and those of `base` for the rest."""
    names = Names(lambda slot, value: missing(names, slot, value), base, _MISS_STEPS)
    for slot in _REMEMBERED:
        names.tables[slot] = {}
    return names


def _remember(names: Names, slot: int, value: bytes, found: bytes) -> bytes:
    # An ID that was masked because it is absent may exist later.
    is_certain = slot != Entity.TOPIC_ID or found == value
    table = names.tables[slot]
    if is_certain and table is not None and len(found) <= MAX_REMEMBERED_BYTES:
        if len(table) >= MAX_REMEMBERED:
            table.clear()
        table[value] = found
    return found


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None
