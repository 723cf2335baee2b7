"""ACLs of one namespace, by the names that its clients use.

    in acme:analytics        in the tenant's ACLs
    LITERAL orders           LITERAL analytics:orders
    PREFIXED ord             PREFIXED analytics:ord
    LITERAL *                PREFIXED analytics:       (all names of the namespace)
    LITERAL eu:              LITERAL analytics:eu:     (the namespace eu below it; see `namespace_name`)

The tenant's own namespace has the tenant's ACLs as they are. An ACL of the tenant that is also about names elsewhere,
such as `*`, belongs to no namespace below it.
"""

from dataclasses import dataclass

from bifrost.tenancy.acls.acl_binding import WILDCARD, AclBinding, PatternType, ResourceType


@dataclass(frozen=True, slots=True)
class RelativeAcls:
    """Names in the ACLs of one namespace, and in those of its tenant."""

    tiers: tuple[str, ...]
    """The namespace below its tenant; empty: the tenant's own."""
    separator: str
    """What stands behind each tier: `:`, or `.` where tiers are dotted."""

    def to_tenant(self, binding: AclBinding) -> AclBinding:
        """Return an ACL of the namespace as the tenant has it.

        Raises:
            ValueError: it is about the cluster, which is the tenant's.
        """
        if not self.tiers:
            return binding
        if binding.resource_type == ResourceType.CLUSTER:
            raise ValueError("the cluster is the tenant's, not a namespace's: name the tenant")
        if (binding.pattern_type, binding.name) == (PatternType.LITERAL, WILDCARD):
            return binding._replace(pattern_type=PatternType.PREFIXED, name=self._start)
        return binding._replace(name=self._start + binding.name)

    def from_tenant(self, binding: AclBinding) -> AclBinding | None:
        """Return an ACL of the tenant as the namespace has it; None: it is not the namespace's."""
        if not self.tiers:
            return binding
        if binding.resource_type == ResourceType.CLUSTER or not binding.name.startswith(self._start):
            return None
        name = binding.name[len(self._start) :]
        if name:
            # `analytics:*` is a name like any other, and could not be told from the pattern for all.
            is_star = (binding.pattern_type, name) == (PatternType.LITERAL, WILDCARD)
            return None if is_star else binding._replace(name=name)
        if binding.pattern_type != PatternType.PREFIXED:
            return None
        return binding._replace(pattern_type=PatternType.LITERAL, name=WILDCARD)

    @property
    def _start(self) -> str:
        return "".join(f"{tier}{self.separator}" for tier in self.tiers)
