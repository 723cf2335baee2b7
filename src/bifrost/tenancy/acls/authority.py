"""What the ACLs of one tenant permit, for all its connections.

    configuration ──▶ bindings, super users ─┐
    shared state  ──▶ bindings ──────────────┴──▶ Authority ──▶ Guard of a principal at a host ──▶ tables of names

A change takes hold at once: the guards forget what they have remembered, and are asked anew for the next message.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar
from weakref import WeakValueDictionary

from bifrost.tenancy.acls.acl_binding import AclBinding, AclBindingFilter, Operation, ResourceType
from bifrost.tenancy.acls.acl_index import EVERY_OPERATION, AclIndex
from bifrost.tenancy.acls.guard import Guard
from bifrost.tenancy.acls.stored_acls import StoredAcls
from bifrost.tenancy.namespace import Namespace

_ANY_RESOURCE = "hardcode"
"""The name by which `Authorizer.authorizeByResourceType` finds out whether a principal is a super user."""


class Authority:
    """The ACLs of one tenant."""

    is_open = False
    """Whether the gateway permits everything; see `OpenAuthority`."""
    mode: ClassVar[str | None] = "gateway"
    """Who keeps the tenant's ACLs, as the configuration has it; None: it has none."""

    def __init__(self, tenant: str, stored: StoredAcls) -> None:
        """Take the ACLs of the shared state; `change` takes what the configuration says.

        Args:
            tenant: the tenant's name.
            stored: the ACLs in the shared state, which tell the authority of changes.
        """
        self.tenant = tenant
        self.max_stored = 0
        """Most ACLs of the tenant in the shared state."""
        self._denials = stored.denials
        self._configured: frozenset[AclBinding] = frozenset()
        self._super_users: frozenset[str] = frozenset()
        self._by_default = 0
        self._guards: WeakValueDictionary[tuple[str, str, int], Guard] = WeakValueDictionary()
        self._is_asked = False
        """Whether a guard may have remembered a decision since all of them forgot theirs."""
        self._acls = stored
        self._index = AclIndex(stored.follow(tenant, self).values())

    def __len__(self) -> int:
        """Return the number of ACLs."""
        return len(self._index)

    # -- changes

    def change(
        self,
        bindings: Iterable[AclBinding],
        super_users: Iterable[str],
        *,
        allow_everyone_if_no_acl_found: bool,
        max_stored: int = 0,
    ) -> None:
        """Take what the configuration says now; the ACLs of the shared state stay.

        Args:
            bindings: the tenant's ACLs in the configuration.
            super_users: principals that may do everything, as `User:alice`.
            allow_everyone_if_no_acl_found: whether a resource that no ACL is about is open to all.
            max_stored: most ACLs in the shared state.
        """
        self.max_stored = max_stored
        configured, known = dict.fromkeys(bindings), self._configured
        super_users = frozenset(super_users)
        by_default = EVERY_OPERATION if allow_everyone_if_no_acl_found else 0
        if (super_users, by_default) == (self._super_users, self._by_default) and configured.keys() == known:
            return
        stored = self._acls.of(self.tenant)
        for one in known - configured.keys():
            if one.binding_id not in stored:
                self._index.remove(one)
        for one in configured:
            self._index.add(one)
        self._configured, self._super_users, self._by_default = (
            frozenset(configured),
            super_users,
            by_default,
        )
        self._renew()

    def take(self, before: AclBinding | None, binding: AclBinding | None) -> None:
        """Take what the shared state has under an ID now, and had before; None: no ACL."""
        if binding is not None:
            self._index.add(binding)
        elif before is not None and before not in self._configured:
            self._index.remove(before)
        if before != binding:
            self._renew()

    def _renew(self) -> None:
        if self._is_asked:
            self._is_asked = False
            for guard in list(self._guards.values()):
                guard.renew()

    # -- decisions

    def permitted(self, resource_type: ResourceType, name: str, principal: str, host: str) -> int:
        """Return the operations that a principal may do with a resource, a bit for each."""
        self._is_asked = True
        if principal in self._super_users:
            return EVERY_OPERATION
        return self._index.verdict(resource_type, name, principal, host).permitted(self._by_default)

    @property
    def has_namespaces(self) -> bool:
        """Whether any ACL is about a namespace."""
        return self._index.has_namespaces

    def in_namespace(self, tiers: Sequence[str], principal: str, host: str) -> int:
        """Return the operations that ACLs of namespaces leave to a principal in one of them, a bit for each."""
        self._is_asked = True
        if principal in self._super_users:
            return EVERY_OPERATION
        return self._index.in_namespace(tiers, principal, host)

    def permits(
        self, operation: Operation, resource_type: ResourceType, name: str, principal: str, host: str
    ) -> bool:
        """Whether a principal may do something with a resource."""
        return bool(self.permitted(resource_type, name, principal, host) & operation.bit)

    def permits_some(
        self, operation: Operation, resource_type: ResourceType, principal: str, host: str
    ) -> bool:
        """Whether a principal may do something with any resource of a kind (KIP-679)."""
        if self.permits(operation, resource_type, _ANY_RESOURCE, principal, host):
            return True
        return self._index.allows_some(operation, resource_type, principal, host)

    def permits_all(
        self, operation: Operation, resource_type: ResourceType, principal: str, host: str
    ) -> bool:
        """Whether a principal may do something with every resource of a kind, whatever it is called."""
        if principal in self._super_users:
            return True
        return self._index.allows_all(operation, resource_type, principal, host)

    def is_super_user(self, principal: str) -> bool:
        """Whether a principal may do everything."""
        return principal in self._super_users

    def deny(self, operation: Operation, times: int) -> None:
        """Count that an operation was denied."""
        if times:
            self._denials[self.tenant, operation.name] += times

    # -- administration

    def find(self, wanted: AclBindingFilter) -> Iterator[AclBinding]:
        """Yield the ACLs that a filter means."""
        return self._index.find(wanted)

    def compared(self, wanted: AclBindingFilter) -> int:
        """Return with how many ACLs `find` compares a filter."""
        return self._index.compared(wanted)

    def has(self, binding: AclBinding) -> bool:
        """Whether an ACL is there, in the configuration or in the shared state."""
        return binding in self._index

    def is_configured(self, binding: AclBinding) -> bool:
        """Whether an ACL stands in the configuration, and so cannot be deleted by a client."""
        return binding in self._configured

    @property
    def stored(self) -> int:
        """How many ACLs of the tenant stand in the shared state."""
        return len(self._acls.of(self.tenant))

    # -- connections

    def guard(self, namespace: Namespace, username: str, host: str) -> Guard:
        """Return the rights of the clients that are this user at this host, for names of this namespace."""
        key = (username, host, id(namespace))
        guard = self._guards.get(key)
        if guard is None or guard.namespace is not namespace:
            guard = self._guards[key] = Guard(self, namespace, f"User:{username}", host)
        return guard
