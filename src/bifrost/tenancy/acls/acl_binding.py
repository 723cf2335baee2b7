"""ACL bindings and the filters that find them, as Kafka has them.

Source: org.apache.kafka.common.acl (AclBinding, AclOperation, AclPermissionType, AclBindingFilter,
AccessControlEntryFilter) and org.apache.kafka.common.resource (ResourceType, PatternType, ResourcePatternFilter);
KIP-290 for prefixed patterns.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from bifrost.config.tiers import SEPARATOR

WILDCARD = "*"
"""The name of a literal pattern that matches every resource, and the host that matches every client."""

EVERYONE = "User:*"
"""The principal of an ACL that is for all."""

CLUSTER_NAME = "kafka-cluster"
"""The only name of a cluster resource: here it is the tenant's own."""

MAX_NAME_BYTES = 1024
"""Longest name of a resource, principal or host in an ACL: more than any topic (249) and any user name have."""


def namespace_name(tiers: Sequence[str]) -> str:
    """Return the name that a namespace has in ACLs: that of a topic, with `:` at its end, which no topic can have.

    Kafka's tools know no namespaces. So an ACL of a namespace is one of a topic with a literal name, as in
    `kafka-acls.sh --add --topic analytics:eu: ...`.
    """
    return SEPARATOR.join(tiers) + SEPARATOR


class ResourceType(IntEnum):
    """Kinds of resource, with the protocol's numbers."""

    __hash__ = int.__hash__  # that of an enumeration is a call of Python's

    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5


class PatternType(IntEnum):
    """How a pattern's name is meant, with the protocol's numbers. ANY and MATCH stand in filters only."""

    __hash__ = int.__hash__  # that of an enumeration is a call of Python's

    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    """What an ACL says, with the protocol's numbers."""

    __hash__ = int.__hash__  # that of an enumeration is a call of Python's

    ANY = 1
    DENY = 2
    ALLOW = 3


class Operation(IntEnum):
    """What a principal does, with the protocol's numbers."""

    __hash__ = int.__hash__  # that of an enumeration is a call of Python's

    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15

    @property
    def bit(self) -> int:
        """Its bit in a set of operations, as in the fields of authorized operations (KIP-430)."""
        return 1 << self


class AclBinding(NamedTuple):
    """One ACL. A tuple, because they are made, compared and looked up by the hundred thousand."""

    resource_type: ResourceType
    pattern_type: PatternType
    name: str
    principal: str
    """With its type, `User:alice`; `User:*` is everyone."""

    host: str
    """The client's IP address, or `*`."""

    operation: Operation
    permission: Permission

    @property
    def binding_id(self) -> str:
        """Its ID, made from all that it says: to create an ACL twice makes one."""
        return hashlib.sha256(self.binding_text.encode()).hexdigest()[:32]

    @property
    def binding_text(self) -> str:
        """All that it says, from which its ID is made."""
        what = f"{self.resource_type:d}\0{self.pattern_type:d}\0{self.name}"
        return f"{what}\0{self.principal}\0{self.host}\0{self.operation:d}\0{self.permission:d}"

    @property
    def is_of_namespace(self) -> bool:
        """Whether it is about a namespace (`namespace_name`)."""
        if not self.name.endswith(SEPARATOR):
            return False
        return self.resource_type == ResourceType.TOPIC and self.pattern_type == PatternType.LITERAL

    def problem(self) -> str | None:
        """Return why Kafka refuses to create this ACL; None: it may exist.

        Source: AclApis.handleCreateAcls, AclControlManager.validateNewAcl, KafkaPrincipal.
        """
        if self.resource_type == ResourceType.CLUSTER and self.name != CLUSTER_NAME:
            return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
        if not self.name:
            return "Invalid empty resource name"
        if self.resource_type == ResourceType.ANY:
            return "Invalid resource type: ANY"
        if self.pattern_type in (PatternType.ANY, PatternType.MATCH):
            return f"Invalid patternType {self.pattern_type.name}"
        if self.operation == Operation.ANY:
            return "Invalid operation type: ANY"
        if self.permission == Permission.ANY:
            return "Invalid permission type: ANY"
        kind, colon, name = self.principal.partition(":")
        if not (kind and colon and name):
            return f"Could not parse principal from `{self.principal}`"
        if (
            len(self.name) + len(self.principal) + len(self.host) > MAX_NAME_BYTES // 4
        ):  # of 4 bytes at the most
            texts = (self.name, self.principal, self.host)
            if any(len(one.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES for one in texts):
                return f"a name in an ACL has at most {MAX_NAME_BYTES} bytes"
        return None


@dataclass(frozen=True, slots=True)
class AclBindingFilter:
    """Finds ACLs, for DescribeAcls and DeleteAcls. None: any."""

    resource_type: ResourceType = ResourceType.ANY
    pattern_type: PatternType = PatternType.ANY
    name: str | None = None
    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission: Permission = Permission.ANY

    @property
    def only(self) -> AclBinding | None:
        """The only ACL that the filter can mean, for it leaves nothing open; None: there may be several."""
        if self.name is None or self.principal is None or self.host is None:
            return None
        if self.resource_type == ResourceType.ANY or self.pattern_type in (
            PatternType.ANY,
            PatternType.MATCH,
        ):
            return None
        if self.operation == Operation.ANY or self.permission == Permission.ANY:
            return None
        return AclBinding(
            self.resource_type,
            self.pattern_type,
            self.name,
            self.principal,
            self.host,
            self.operation,
            self.permission,
        )

    def matches(self, binding: AclBinding) -> bool:
        """Whether an ACL is one of those that the filter means."""
        return (
            self.resource_type in (ResourceType.ANY, binding.resource_type)
            and self._matches_name(binding)
            and self.principal in (None, binding.principal)
            and self.host in (None, binding.host)
            and self.operation in (Operation.ANY, binding.operation)
            and self.permission in (Permission.ANY, binding.permission)
        )

    def _matches_name(self, binding: AclBinding) -> bool:
        """Source: ResourcePatternFilter.matches."""
        wanted, found = self.pattern_type, binding.pattern_type
        if wanted not in (PatternType.ANY, PatternType.MATCH, found):
            return False
        if self.name is None:
            return True
        if wanted != PatternType.MATCH:
            return self.name == binding.name
        if found == PatternType.PREFIXED:
            return self.name.startswith(binding.name)
        return binding.name in (self.name, WILDCARD)
