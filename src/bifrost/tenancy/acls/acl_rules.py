"""ACLs as the configuration writes them."""

from bifrost.config.fields.acls import AclRule
from bifrost.tenancy.acls.acl_binding import AclBinding, Operation, PatternType, Permission, ResourceType


def binding_of(rule: AclRule) -> AclBinding:
    """Return the ACL that a rule of the configuration is."""
    return AclBinding(
        ResourceType[rule.resource_type],
        PatternType[rule.pattern_type],
        rule.name,
        rule.principal,
        rule.host,
        Operation[rule.operation],
        Permission[rule.permission],
    )
