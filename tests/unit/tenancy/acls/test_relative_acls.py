import pytest

from bifrost.tenancy.acls.acl_binding import CLUSTER_NAME, AclBinding, PatternType, ResourceType
from bifrost.tenancy.acls.relative_acls import RelativeAcls
from support.stage.guards import allow

EU = RelativeAcls(("analytics", "eu"), ":")


def named(name: str, pattern: PatternType = PatternType.LITERAL) -> AclBinding:
    return allow("READ", name, pattern_type=pattern)


@pytest.mark.parametrize(
    ("here", "in_tenant"),
    [
        (named("orders"), named("analytics:eu:orders")),
        (named("ord", PatternType.PREFIXED), named("analytics:eu:ord", PatternType.PREFIXED)),
        (named("*"), named("analytics:eu:", PatternType.PREFIXED)),
        (named("*", PatternType.PREFIXED), named("analytics:eu:*", PatternType.PREFIXED)),
        (named("west:clicks"), named("analytics:eu:west:clicks")),
    ],
)
def test_an_acl_of_a_namespace_is_one_of_the_tenant_and_back(here: AclBinding, in_tenant: AclBinding) -> None:
    assert EU.to_tenant(here) == in_tenant
    assert EU.from_tenant(in_tenant) == here


@pytest.mark.parametrize(
    "of_tenant",
    [
        named("orders"),
        named("*"),
        named("analytics:", PatternType.PREFIXED),
        named("analytics:eu", PatternType.PREFIXED),
        named("analytics:eu:"),
        named("analytics:eu:*"),
        named("analytics:eus:orders"),
        allow("READ", CLUSTER_NAME, ResourceType.CLUSTER),
    ],
)
def test_other_acls_of_the_tenant_are_not_the_namespaces(of_tenant: AclBinding) -> None:
    assert EU.from_tenant(of_tenant) is None


def test_the_cluster_is_the_tenants() -> None:
    with pytest.raises(ValueError, match="the cluster is the tenant's"):
        EU.to_tenant(allow("ALTER", CLUSTER_NAME, ResourceType.CLUSTER))


def test_the_tenant_has_its_acls_as_they_are() -> None:
    tenant = RelativeAcls((), ":")
    for one in (
        named("*"),
        named("eu:", PatternType.PREFIXED),
        allow("ALTER", CLUSTER_NAME, ResourceType.CLUSTER),
    ):
        assert tenant.to_tenant(one) == one == tenant.from_tenant(one)


def test_dotted_tiers_have_dots() -> None:
    dotted = RelativeAcls(("eu",), ".")

    assert dotted.to_tenant(named("orders")) == named("eu.orders")
    assert dotted.from_tenant(named("eu:orders")) is None
