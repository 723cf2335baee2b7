from dataclasses import replace

import pytest

from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.acls.acl_binding import (
    AclBinding,
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from bifrost.tenancy.acls.translated_acls import CannotTranslate, TranslatedAcls
from bifrost.tenancy.names import TenantNames
from bifrost.tenancy.namespaces.alias_table import KIND
from bifrost.tenancy.namespaces.topic_aliases import TenantPlace, TopicAliases
from support.physical_names import physical_name, prefix_of

LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
TOPIC, GROUP, TRANSACTION = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID
PREFIX = prefix_of("acme")
ACCOUNTS = {"shop": "acme-shop", "clerk": "acme-clerk"}


def translated(**moved: str) -> TranslatedAcls:
    """Return the ACLs of acme with the namespaces eu and eu:de; `moved` has the new places of topics of acme."""
    aliases = TopicAliases()
    aliases.configure({name: TenantPlace("main", prefix_of(name)) for name in ("acme", "globex")})
    for home, owner in moved.items():
        key = StateKey(KIND, home.replace("_", "/"))
        aliases.apply(key, StateRecord(key, 1, 0, "c", "w", None, {"owner": owner, "shares": {}}))
    namespaces = frozenset({("eu",), ("eu", "de")})
    return TranslatedAcls(TenantNames("acme", namespaces=namespaces, aliases=aliases.parts), ACCOUNTS)


def acl(
    name: str,
    pattern: PatternType = LITERAL,
    kind: ResourceType = TOPIC,
    principal: str = "User:shop",
    host: str = "*",
) -> AclBinding:
    return AclBinding(kind, pattern, name, principal, host, Operation.READ, Permission.ALLOW)


@pytest.mark.parametrize("kind", [TOPIC, GROUP, TRANSACTION])
@pytest.mark.parametrize(
    ("pattern", "name", "there", "tail"),
    [
        (LITERAL, "orders", LITERAL, "orders"),
        (LITERAL, "--x", LITERAL, "--.--x"),
        (LITERAL, "eu:orders", LITERAL, "--eu.orders"),
        (LITERAL, "eu:de:orders", LITERAL, "--eu.--de.orders"),
        (LITERAL, "us:orders", LITERAL, "us:orders"),
        (LITERAL, "*", PREFIXED, ""),
        (PREFIXED, "ord", PREFIXED, "ord"),
        (PREFIXED, "--", PREFIXED, "--.--"),
        (PREFIXED, "-a", PREFIXED, "-a"),
        (PREFIXED, "*", PREFIXED, "*"),
        (PREFIXED, "eu:", PREFIXED, "--eu."),
        (PREFIXED, "eu:ord", PREFIXED, "--eu.ord"),
        (PREFIXED, "eu:de:", PREFIXED, "--eu.--de."),
    ],
)
def test_names_are_confined_to_the_tenant_and_come_back(
    kind: ResourceType, pattern: PatternType, name: str, there: PatternType, tail: str
) -> None:
    own = acl(name, pattern, kind)

    found = translated().physical(own)

    assert found == own._replace(name=PREFIX + tail, pattern_type=there, principal="User:acme-shop")
    assert translated().virtual(found) == own


@pytest.mark.parametrize(
    ("binding", "why"),
    [
        (acl("kafka-cluster", kind=ResourceType.CLUSTER), "ACLs of the cluster are the operator's"),
        (acl("orders", host="10.0.0.1"), "host has to be"),
        (acl("orders", principal="User:bob"), "User:bob is no user of the tenant"),
        (acl("orders", principal="User:acme-shop"), "is no user of the tenant"),
        (acl("orders", principal="User:*"), "of other tenants too: name each user"),
        (acl("orders", principal="Group:shop"), "is no user of the tenant"),
        (acl("eu:"), "no ACLs of namespaces"),
        (acl("-", PREFIXED), "namespaces below"),
        (acl("eu:-", PREFIXED), "namespaces below"),
    ],
)
def test_what_would_be_more_than_the_tenant_s_is_refused(binding: AclBinding, why: str) -> None:
    with pytest.raises(CannotTranslate, match=why):
        translated().physical(binding)


@pytest.mark.parametrize(
    "binding",
    [
        acl("*", principal="User:acme-shop"),
        acl("orders", principal="User:acme-shop"),
        acl(f"{PREFIX}*", principal="User:acme-shop"),
        acl(PREFIX[:-1], PREFIXED, principal="User:acme-shop"),
        acl(f"{PREFIX}--", PREFIXED, principal="User:acme-shop"),
        acl(physical_name("globex", "orders"), principal="User:acme-shop"),
        acl("kafka-cluster", kind=ResourceType.CLUSTER, principal="User:acme-shop"),
        acl(f"{PREFIX}orders", principal="User:globex"),
        acl(f"{PREFIX}orders", principal="User:*"),
        acl(f"{PREFIX}orders", principal="acme-shop"),
    ],
)
def test_what_is_not_the_tenant_s_alone_is_not_shown(binding: AclBinding) -> None:
    assert translated().virtual(binding) is None


def test_topics_that_were_moved_have_no_acls_of_their_name() -> None:
    found = translated(acme_away="globex/a", globex_in="acme:eu/in", acme_home="acme/home")

    for name in ("away", "eu:in"):
        with pytest.raises(CannotTranslate, match="moved or is shared"):
            found.physical(acl(name))
    assert found.virtual(acl(f"{PREFIX}away", principal="User:acme-shop")) is None
    assert found.physical(acl("home")).name == f"{PREFIX}home"
    assert found.physical(acl("away", kind=GROUP)).name == f"{PREFIX}away"


def test_only_acls_of_the_tenant_s_accounts_are_asked_for() -> None:
    wanted = AclBindingFilter(TOPIC, PatternType.MATCH, "orders", None, None, Operation.READ)

    found = list(translated().to_describe(wanted))

    assert found == [
        AclBindingFilter(TOPIC, PatternType.ANY, None, f"User:{one}", None, Operation.READ)
        for one in ("acme-clerk", "acme-shop")
    ]
    assert len(list(translated().to_describe(replace(wanted, principal="User:shop")))) == 1
    for nothing in (replace(wanted, principal="User:*"), replace(wanted, resource_type=ResourceType.CLUSTER)):
        assert list(translated().to_describe(nothing)) == []


def test_a_deletion_is_about_one_resource_and_one_account_each() -> None:
    wanted = AclBindingFilter(ResourceType.ANY, PatternType.ANY, "*", "User:shop")

    found = {(one.resource_type, one.pattern_type, one.name) for one in translated().to_delete(wanted)}

    names = {(PREFIXED, PREFIX), (PREFIXED, f"{PREFIX}*")}
    assert found == {(kind, *name) for kind in (TOPIC, GROUP, TRANSACTION) for name in names}
    of_all = translated().to_delete(AclBindingFilter(GROUP, LITERAL, "g"))
    assert [one.principal for one in of_all] == ["User:acme-clerk", "User:acme-shop"]
    for nothing in (
        AclBindingFilter(TOPIC, LITERAL, "orders", "User:globex"),
        AclBindingFilter(TOPIC, LITERAL, ""),
        AclBindingFilter(TOPIC, PREFIXED, "-"),
        AclBindingFilter(ResourceType.CLUSTER, LITERAL, "kafka-cluster"),
    ):
        assert list(translated().to_delete(nothing)) == []
    for unclear in (AclBindingFilter(TOPIC), AclBindingFilter(TOPIC, PatternType.MATCH, "orders")):
        with pytest.raises(CannotTranslate, match="name one resource"):
            list(translated().to_delete(unclear))
