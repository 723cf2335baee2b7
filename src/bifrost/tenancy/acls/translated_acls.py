"""ACLs of a tenant as the brokers keep them, and back: principals are accounts, names are physical. Pure.

    tenant                                  broker
    User:shop      TOPIC LITERAL orders     User:acme-shop   TOPIC LITERAL  __vt_acme_orders
    User:shop      GROUP PREFIXED reports-  User:acme-shop   GROUP PREFIXED __vt_acme_reports-
    User:shop      TOPIC LITERAL *          User:acme-shop   TOPIC PREFIXED __vt_acme_
    User:shop      TOPIC PREFIXED eu:       User:acme-shop   TOPIC PREFIXED __vt_acme_--eu.

An ACL at the brokers that has no counterpart here (of another principal, about names that are not all the tenant's,
about the cluster) is none of the tenant's: it is not shown, and no request of the tenant changes it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from bifrost.tenancy.acls.acl_binding import (
    WILDCARD,
    AclBinding,
    AclBindingFilter,
    PatternType,
    ResourceType,
)
from bifrost.tenancy.names import PhysicalGroup, PhysicalTopic, TenantNames, VirtualGroup, VirtualTopic
from bifrost.wire.entity import Entity

_ENTITIES = {
    ResourceType.TOPIC: Entity.TOPIC_NAME,
    ResourceType.GROUP: Entity.GROUP_ID,
    ResourceType.TRANSACTIONAL_ID: Entity.TRANSACTIONAL_ID,
}
_USER = "User:"
_ANY_END = "x"
"""Stands behind a prefix while it is translated, so that it is a whole name."""

_ACLS_OF_CLUSTER = (
    "ACLs of the cluster are the operator's, for at the brokers they are about all tenants; CREATE on the topic * lets "
    "a user create topics of the tenant"
)
_EVERYONE = "User:* is everyone who reaches the brokers, of other tenants too: name each user"
_HOSTS = f"the brokers see the gateway's address and no client's: host has to be {WILDCARD}"
_PREFIX = "a prefix - would be that of namespaces below too"
_NAMESPACE = "there are no ACLs of namespaces where the brokers keep the ACLs: use the path as a prefix"
_ELSEWHERE = "the topic was moved or is shared: at the brokers its ACLs are the operator's"


class CannotTranslate(ValueError):
    """There can be no such ACL of the tenant at the brokers; the text says why."""


class TranslatedAcls:
    """The ACLs of one tenant."""

    def __init__(self, names: TenantNames, accounts: Mapping[str, str]) -> None:
        """Translate by the names of the whole tenant, and the account of each of its users at the brokers."""
        assert not names.tiers, "ACLs have the names of the whole tenant"
        self._names, self._accounts = names, accounts
        self._users = {account: user for user, account in accounts.items()}

    def physical(self, binding: AclBinding) -> AclBinding:
        """Return what the brokers are to keep.

        Raises:
            CannotTranslate: see there.
        """
        if binding.resource_type not in _ENTITIES:
            raise CannotTranslate(_ACLS_OF_CLUSTER)
        if binding.host != WILDCARD:
            raise CannotTranslate(_HOSTS)
        if binding.principal == _USER + WILDCARD:
            raise CannotTranslate(_EVERYONE)
        account = self._account(binding.principal)
        if account is None:
            raise CannotTranslate(
                f"{binding.principal} is no user of the tenant with an account at the brokers"
            )
        if binding.is_of_namespace:
            raise CannotTranslate(_NAMESPACE)
        pattern, name = self._physical_name(binding.resource_type, binding.pattern_type, binding.name)
        return binding._replace(principal=_USER + account, pattern_type=pattern, name=name)

    def virtual(self, binding: AclBinding) -> AclBinding | None:
        """Return what the tenant calls an ACL of the brokers; None: it is none of the tenant's."""
        user = self._users.get(binding.principal.removeprefix(_USER))
        entity = _ENTITIES.get(binding.resource_type)
        if user is None or entity is None or not binding.principal.startswith(_USER):
            return None
        tail = self._names.own_names(entity).virtual(binding.name.encode())
        if tail is None:
            return None
        pattern, name = binding.pattern_type, None
        if pattern == PatternType.PREFIXED and not tail:
            pattern, name = PatternType.LITERAL, WILDCARD
        elif pattern == PatternType.PREFIXED:
            name = self._name(tail + _ANY_END.encode())
            name = None if name is None else name[: -len(_ANY_END)]
        elif tail != WILDCARD.encode():
            name = self._name(tail)
        if not name or (binding.resource_type == ResourceType.TOPIC and not self._is_at_home(pattern, name)):
            return None
        return binding._replace(principal=_USER + user, pattern_type=pattern, name=name)

    def to_describe(self, wanted: AclBindingFilter) -> Iterator[AclBindingFilter]:
        """Yield filters that find at the brokers all that `wanted` may mean, and only ACLs of the tenant's accounts."""
        if wanted.resource_type in (ResourceType.ANY, *_ENTITIES):
            for account in self._accounts_of(wanted.principal):
                yield replace(wanted, pattern_type=PatternType.ANY, name=None, principal=_USER + account)

    def to_delete(self, wanted: AclBindingFilter) -> Iterator[AclBindingFilter]:
        """Yield filters that mean at the brokers what `wanted` means, each of one resource and one account.

        Raises:
            CannotTranslate: it names no single resource.
        """
        if wanted.name is None or wanted.pattern_type == PatternType.MATCH:
            raise CannotTranslate(
                "name one resource, as a literal name or as a prefix, to delete ACLs of the brokers"
            )
        kinds = list(_ENTITIES) if wanted.resource_type == ResourceType.ANY else [wanted.resource_type]
        patterns = [wanted.pattern_type]
        if wanted.pattern_type == PatternType.ANY:
            patterns = [PatternType.LITERAL, PatternType.PREFIXED]
        for kind, pattern in product(kinds, patterns):
            if kind not in _ENTITIES or not wanted.name:
                continue
            try:
                found, name = self._physical_name(kind, pattern, wanted.name)
            except CannotTranslate:
                continue  # There is no such ACL of the tenant.
            for account in self._accounts_of(wanted.principal):
                yield replace(
                    wanted, resource_type=kind, pattern_type=found, name=name, principal=_USER + account
                )

    def _account(self, principal: str) -> str | None:
        return self._accounts.get(principal.removeprefix(_USER)) if principal.startswith(_USER) else None

    def _accounts_of(self, principal: str | None) -> list[str]:
        """Return the accounts that a filter means."""
        if principal is None:
            return sorted(self._users)
        account = self._account(principal)
        return [] if account is None else [account]

    def _physical_name(self, kind: ResourceType, pattern: PatternType, name: str) -> tuple[PatternType, str]:
        own = self._names.own_names(_ENTITIES[kind])
        if pattern == PatternType.LITERAL and name == WILDCARD:
            return PatternType.PREFIXED, own.physical(b"").decode()
        if kind == ResourceType.TOPIC and not self._is_at_home(pattern, name):
            raise CannotTranslate(_ELSEWHERE)
        if pattern == PatternType.LITERAL:
            return pattern, own.physical(self._tail(name)).decode()
        if self._names.place_of((name + _ANY_END).encode())[1] == b"-" + _ANY_END.encode():
            raise CannotTranslate(_PREFIX)
        return pattern, own.physical(self._tail(name + _ANY_END)[: -len(_ANY_END)]).decode()

    def _tail(self, name: str) -> bytes:
        """Return what stands behind the tenant's prefix for a name; it is the same for every kind."""
        tail = self._names.groups.virtual(self._names.physical_group(VirtualGroup(name.encode())))
        assert tail is not None, "every group ID is the tenant's own"
        return tail

    def _name(self, tail: bytes) -> str | None:
        """Return the name for what stands behind the tenant's prefix; None: it has none."""
        found = self._names.virtual_group(PhysicalGroup(self._names.groups.physical(VirtualGroup(tail))))
        try:
            return None if found is None else found.decode()
        except UnicodeDecodeError:
            return None

    def _is_at_home(self, pattern: PatternType, name: str) -> bool:
        """Whether a topic's literal name means the tenant's own topic, and not one that was moved or is shared."""
        if pattern != PatternType.LITERAL or name == WILDCARD:
            return True
        topic = VirtualTopic(name.encode())
        own = PhysicalTopic(self._names.topics.physical(VirtualTopic(self._tail(name))))
        part = self._names.aliases.get(self._names.tenant)
        owner = None if part is None else part.owners.get(own)
        if part is not None and owner is not None and part.home_of(owner) != owner:
            return False
        return self._names.physical_topic(topic) in (own, self._names.denied(topic))
