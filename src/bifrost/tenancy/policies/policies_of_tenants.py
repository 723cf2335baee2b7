"""The policies of namespaces that a configuration has."""

from collections.abc import Iterable

from bifrost.config.fields.tenants import Tenant
from bifrost.config.policies.namespace_policy import NamespacePolicy
from bifrost.config.tiers import SEPARATOR
from bifrost.tenancy.policies.namespace_policies import Policies


def policies_of(tenants: Iterable[Tenant]) -> Policies:
    """Return the policies of these tenants, by the path of each namespace that has one."""
    found: dict[tuple[str, ...], NamespacePolicy] = {}
    for tenant in tenants:
        for one in tenant.namespace_policies:
            tiers = () if one.namespace is None else tuple(one.namespace.split(SEPARATOR))
            found[tenant.name, *tiers] = one
    return found
