"""ACLs as the configuration writes them."""

from bifrost.config.fields.acls import AclResource, AclRule
from bifrost.config.tiers import SEPARATOR
from bifrost.tenancy.acls.acl_binding import (
    AclBinding,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    namespace_name,
)


def binding_of(rule: AclRule) -> AclBinding:
    """Return the ACL that a rule of the configuration is."""
    is_namespace = rule.resource_type == AclResource.NAMESPACE
    return AclBinding(
        ResourceType.TOPIC if is_namespace else ResourceType[rule.resource_type],
        PatternType[rule.pattern_type],
        namespace_name(rule.name.split(SEPARATOR)) if is_namespace else rule.name,
        rule.principal,
        rule.host,
        Operation[rule.operation],
        Permission[rule.permission],
    )
