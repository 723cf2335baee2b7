"""ACLs in requests and answers: read into bindings and filters, and written from them."""

from collections.abc import Iterable
from typing import Any

from bifrost.tenancy.acls.acl_binding import (
    AclBinding,
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from bifrost.wire.messages import DeleteAclsResponse, DescribeAclsResponse
from bifrost.wire.steps import in_steps


def listed(bindings: Iterable[AclBinding]) -> DescribeAclsResponse:
    """Return the answer to DescribeAcls with these ACLs, by their resources."""
    made = DescribeAclsResponse
    resources: dict[tuple[int, str, int], Any] = {}
    for one in in_steps(bindings):
        key = (int(one.resource_type), one.name, int(one.pattern_type))
        if key not in resources:
            resources[key] = made.DescribeAclsResource(
                resource_type=key[0], resource_name=key[1], pattern_type=key[2]
            )
        resources[key].acls.append(
            made.AclDescription(
                principal=one.principal,
                host=one.host,
                operation=int(one.operation),
                permission_type=int(one.permission),
            )
        )
    return made(error_message=None, resources=list(resources.values()))


def match_of(binding: AclBinding) -> Any:
    """Return an ACL in the answer to DeleteAcls."""
    return DeleteAclsResponse.DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=int(binding.resource_type),
        resource_name=binding.name,
        pattern_type=int(binding.pattern_type),
        principal=binding.principal,
        host=binding.host,
        operation=int(binding.operation),
        permission_type=int(binding.permission),
    )


_PATTERNS_SINCE = 1
"""The version from which a request says what kind of pattern it means (KIP-290); before, all were literal."""


def filter_of(one: Any, version: int) -> AclBindingFilter | None:
    """Return a filter of a request; None: it has numbers that mean nothing."""
    pattern = one.pattern_type_filter if version >= _PATTERNS_SINCE else PatternType.LITERAL
    try:
        return AclBindingFilter(
            ResourceType(one.resource_type_filter),
            PatternType(pattern),
            one.resource_name_filter,
            one.principal_filter,
            one.host_filter,
            Operation(one.operation),
            Permission(one.permission_type),
        )
    except ValueError:
        return None


def created(creation: Any, version: int) -> tuple[AclBinding | None, str | None]:
    """Return the ACL that a request creates, or None and why it cannot be."""
    pattern = creation.resource_pattern_type if version >= _PATTERNS_SINCE else PatternType.LITERAL
    try:
        binding = AclBinding(
            ResourceType(creation.resource_type),
            PatternType(pattern),
            creation.resource_name,
            creation.principal,
            creation.host,
            Operation(creation.operation),
            Permission(creation.permission_type),
        )
    except ValueError as error:
        return None, f"Invalid ACL: {error}"
    problem = binding.problem()
    return (None, problem) if problem is not None else (binding, None)
