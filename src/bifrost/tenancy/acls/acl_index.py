"""The ACLs of one tenant, and the decision what a principal may do with a resource.

A decision looks at the ACLs for the literal name, for `*`, and for each prefix of the name that has the length of some
prefixed ACL: as many look-ups as there are different lengths, at most 1,024 and usually a handful, however many ACLs
there are. Among the ACLs for one name it looks up the principal and the host. So its time does not grow with the number
of ACLs.

Source: org.apache.kafka.metadata.authorizer.StandardAuthorizerData (4.3.1), and Authorizer.authorizeByResourceType.
tests/golden compares the verdicts with those of Kafka's own class.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from bifrost.config.tiers import SEPARATOR
from bifrost.tenancy.acls.acl_binding import (
    EVERYONE,
    WILDCARD,
    AclBinding,
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    namespace_name,
)
from bifrost.wire.steps import in_steps

EVERY_OPERATION = sum(one.bit for one in Operation if one not in (Operation.ANY, Operation.ALL))
"""The set of all operations that can be asked for."""

_IMPLIED = {
    Operation.READ: Operation.DESCRIBE.bit,
    Operation.WRITE: Operation.DESCRIBE.bit,
    Operation.DELETE: Operation.DESCRIBE.bit,
    Operation.ALTER: Operation.DESCRIBE.bit,
    Operation.ALTER_CONFIGS: Operation.DESCRIBE_CONFIGS.bit,
}
"""What a permission for an operation permits besides; a denial implies nothing."""


_NAME_ROUNDS = 8
"""For so many rounds of a loop a name stands whose prefixes are looked up, a thousand at the most."""

_ALL = Operation.ALL.bit
_BITS = {one: one.bit for one in Operation}
_PREFIXED, _ALLOW = PatternType.PREFIXED, Permission.ALLOW
"""To find a member in its class is a call of Python's in 3.11, and ACLs come by the hundred thousand."""


@lru_cache(maxsize=1_024)  # ACLs of a principal for a name have few combinations of operations
def _with_implied(operations: int) -> int:
    """Return all that these operations of ACLs permit."""
    if operations & _ALL:
        return EVERY_OPERATION
    for operation, implied in _IMPLIED.items():
        if operations & operation.bit:
            operations |= implied
    return operations


class Verdict(NamedTuple):
    """What all ACLs for a resource say about a principal."""

    allowed: int
    """Operations that an ACL allows."""
    denied: int
    """Operations that an ACL denies, which wins."""
    is_named: bool
    """Whether any ACL, for any principal, is about the resource."""

    def permitted(self, by_default: int) -> int:
        """Return the operations that are permitted; `by_default` those on a resource that no ACL is about."""
        return self.allowed & ~self.denied if self.is_named else by_default


class _Masks:
    """What the ACLs for one pattern say to one principal at one host."""

    __slots__ = ("_allowing", "_denying", "allowed", "denied", "host", "principal")

    def __init__(self, principal: str, host: str) -> None:
        self.principal, self.host = principal, host
        self._allowing = self._denying = 0
        """The operations of the ACLs themselves, a bit for each and for ALL."""
        self.allowed = self.denied = 0

    def change(self, binding: AclBinding, *, is_added: bool) -> bool:
        """Add or remove an entry; return whether any is left."""
        bit = _BITS[binding.operation]
        if binding.permission == _ALLOW:
            self._allowing = self._allowing | bit if is_added else self._allowing & ~bit
            self.allowed = _with_implied(self._allowing)
        else:
            self._denying = self._denying | bit if is_added else self._denying & ~bit
            self.denied = EVERY_OPERATION if self._denying & _ALL else self._denying
        return bool(self._allowing | self._denying)

    def allows_itself(self, operation: Operation) -> bool:
        """Whether an entry allows this operation, or all; one that implies it does not count."""
        return bool(self._allowing & (operation.bit | _ALL))


_Who = tuple[str, str]
"""A principal and a host."""

_Bucket = _Masks | dict[_Who, _Masks]
"""The ACLs for one pattern, by principal and host. Most patterns have ACLs of one, and a dictionary takes three times
the memory of that."""


def _masks_of(bucket: _Bucket, asked: Sequence[_Who]) -> list[_Masks]:
    """Return what the ACLs for a pattern say to these principals and hosts."""
    if isinstance(bucket, _Masks):
        return [bucket] if (bucket.principal, bucket.host) in asked else []
    return [bucket[who] for who in asked if who in bucket]


def _asked(principal: str, host: str) -> Sequence[_Who]:
    """Return the principals and hosts whose ACLs are about a principal at a host."""
    return ((principal, host), (principal, WILDCARD), (EVERYONE, host), (EVERYONE, WILDCARD))


class _OfType:
    """The ACLs for one kind of resource."""

    __slots__ = ("lengths", "literal", "prefixed")

    def __init__(self) -> None:
        self.literal: dict[str, _Bucket] = {}
        self.prefixed: dict[str, _Bucket] = {}
        self.lengths: Counter[int] = Counter()
        """How many prefixes have each length, in characters."""

    def add(self, binding: AclBinding) -> None:
        """Add an ACL that is not there."""
        _, pattern_type, name, principal, host, _, _ = binding
        is_prefixed = pattern_type == _PREFIXED
        buckets = self.prefixed if is_prefixed else self.literal
        bucket = buckets.get(name)
        if bucket is None:
            masks = buckets[name] = _Masks(principal, host)
            masks.change(binding, is_added=True)
            if is_prefixed:
                self.lengths[len(name)] += 1
            return
        who = (principal, host)
        if isinstance(bucket, _Masks):
            if (bucket.principal, bucket.host) == who:
                bucket.change(binding, is_added=True)
                return
            bucket = buckets[name] = {(bucket.principal, bucket.host): bucket}
        if who not in bucket:
            bucket[who] = _Masks(*who)
        bucket[who].change(binding, is_added=True)

    def remove(self, binding: AclBinding) -> None:
        """Remove an ACL that is there."""
        is_prefixed = binding.pattern_type == PatternType.PREFIXED
        buckets, name = self.prefixed if is_prefixed else self.literal, binding.name
        bucket, who = buckets[name], (binding.principal, binding.host)
        masks = bucket if isinstance(bucket, _Masks) else bucket[who]
        if masks.change(binding, is_added=False):
            return
        if not isinstance(bucket, _Masks):
            del bucket[who]
            if bucket:
                return
        del buckets[name]
        if is_prefixed:
            self.lengths[len(name)] -= 1
            if not self.lengths[len(name)]:
                del self.lengths[len(name)]

    def buckets(self, name: str) -> Iterator[_Bucket]:
        """Yield the ACLs of every pattern that matches a name."""
        for literal in (name, WILDCARD) if name != WILDCARD else (name,):
            found = self.literal.get(literal)
            if found is not None:
                yield found
        for length in self.lengths:
            if length <= len(name):
                found = self.prefixed.get(name[:length])
                if found is not None:
                    yield found


class AclIndex:
    """The ACLs of one tenant."""

    def __init__(self, bindings: Iterable[AclBinding] = ()) -> None:
        """Take these ACLs."""
        self._bindings: dict[AclBinding, None] = {}
        self._types: defaultdict[ResourceType, _OfType] = defaultdict(_OfType)
        self._of_namespaces: Counter[str] = Counter()
        """How many ACLs are about each namespace, by its name in ACLs."""
        for binding in bindings:
            self.add(binding)

    def __len__(self) -> int:
        """Return the number of ACLs."""
        return len(self._bindings)

    def __contains__(self, binding: AclBinding) -> bool:
        return binding in self._bindings

    def add(self, binding: AclBinding) -> None:
        """Add an ACL; one that is there already changes nothing."""
        count = len(self._bindings)
        self._bindings.setdefault(binding)
        if len(self._bindings) != count:
            self._types[binding.resource_type].add(binding)
            if binding.is_of_namespace:
                self._of_namespaces[binding.name] += 1

    def remove(self, binding: AclBinding) -> None:
        """Remove an ACL; one that is not there changes nothing."""
        if binding in self._bindings:
            del self._bindings[binding]
            self._types[binding.resource_type].remove(binding)
            if binding.is_of_namespace:
                self._of_namespaces[binding.name] -= 1
                if not self._of_namespaces[binding.name]:
                    del self._of_namespaces[binding.name]

    def find(self, wanted: AclBindingFilter) -> Iterator[AclBinding]:
        """Yield the ACLs that a filter means, in the order in which they were added.

        They are those of now, though others may come and go until the last one is yielded.
        """
        only = wanted.only
        if only is not None:
            return iter((only,) if only in self._bindings else ())
        return (one for one in in_steps(tuple(self._bindings)) if wanted.matches(one))

    def compared(self, wanted: AclBindingFilter) -> int:
        """Return with how many ACLs `find` compares a filter."""
        return len(self._bindings) if wanted.only is None else 1

    def verdict(self, resource_type: ResourceType, name: str, principal: str, host: str) -> Verdict:
        """Return what the ACLs say about a principal, as `User:alice`, at a host, as Java writes its IP address."""
        allowed = denied = 0
        is_named = False
        known = self._types.get(resource_type)
        if known is None:
            return Verdict(0, 0, is_named)
        asked = _asked(principal, host)
        for bucket in known.buckets(name):
            is_named = True
            for masks in _masks_of(bucket, asked):
                allowed |= masks.allowed
                denied |= masks.denied
        return Verdict(allowed, denied, is_named)

    @property
    def has_namespaces(self) -> bool:
        """Whether any ACL is about a namespace."""
        return bool(self._of_namespaces)

    def in_namespace(self, tiers: Sequence[str], principal: str, host: str) -> int:
        """Return the operations that ACLs of a namespace, and of those above it, leave to a principal.

        Each that allows something allows it in the namespaces below as well, and so does each that denies. Where no ACL
        is about any of them, all operations are left.
        """
        if not self._of_namespaces:
            return EVERY_OPERATION
        known = self._types[ResourceType.TOPIC].literal
        names = (namespace_name(tiers[:length]) for length in range(1, len(tiers) + 1))
        buckets = [known[name] for name in names if name in self._of_namespaces]
        if not buckets:
            return EVERY_OPERATION
        asked = _asked(principal, host)
        allowed = denied = 0
        for bucket in buckets:
            for masks in _masks_of(bucket, asked):
                allowed |= masks.allowed
                denied |= masks.denied
        return allowed & ~denied

    def allows_all(
        self, operation: Operation, resource_type: ResourceType, principal: str, host: str
    ) -> bool:
        """Whether ACLs permit an operation on `*`, and none denies it on any name. As slow as `allows_some`."""
        for name in self._of_namespaces:
            tiers = name.split(SEPARATOR)[:-1]
            if not self.in_namespace(tiers, principal, host) & operation.bit:
                return False
        known = self._types.get(resource_type)
        if known is None:
            return False
        asked = _asked(principal, host)
        everything = known.literal.get(WILDCARD, {})
        if not any(one.allowed & operation.bit for one in _masks_of(everything, asked)):
            return False
        buckets = (*known.literal.values(), *known.prefixed.values())
        return not any(
            one.denied & operation.bit for bucket in in_steps(buckets) for one in _masks_of(bucket, asked)
        )

    def allows_some(
        self, operation: Operation, resource_type: ResourceType, principal: str, host: str
    ) -> bool:
        """Whether there is a resource of this kind, existing or not, on which ACLs permit an operation.

        An ACL for another operation that implies this one does not count. Its time grows with the number of names in
        ACLs for the kind: it is asked when a producer begins, not for each record.

        Source: Authorizer.authorizeByResourceType.
        """
        known = self._types.get(resource_type)
        if known is None:
            return False
        asked = _asked(principal, host)

        def is_denied(bucket: _Bucket | None) -> bool:
            return bucket is not None and any(one.denied & operation.bit for one in _masks_of(bucket, asked))

        if is_denied(known.literal.get(WILDCARD)):
            return False
        for buckets in (known.literal, known.prefixed):
            for name, bucket in in_steps(tuple(buckets.items()), _NAME_ROUNDS):
                if not any(one.allows_itself(operation) for one in _masks_of(bucket, asked)):
                    continue
                if name == WILDCARD and buckets is known.literal:
                    return True
                if buckets is known.literal and is_denied(bucket):
                    continue
                lengths = [one for one in known.lengths if one <= len(name)]
                if not any(is_denied(known.prefixed.get(name[:length])) for length in lengths):
                    return True
        return False
