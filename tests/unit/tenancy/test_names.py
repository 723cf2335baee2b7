import subprocess
import sys

import pytest

from bifrost.config.name_template import NamePrefixes
from bifrost.tenancy.names import (
    PhysicalGroup,
    PhysicalTopic,
    PhysicalTransactionalId,
    TenantNames,
    VirtualGroup,
    VirtualTopic,
    VirtualTransactionalId,
)
from bifrost.wire.entity import Entity

ACME = TenantNames("acme", ["orders", "audit.log"])
DYNAMIC = TenantNames("acme")


@pytest.mark.parametrize(
    ("virtual", "physical"),
    [
        (b"orders", b"__vt_acme_orders"),
        (b"audit.log", b"__vt_acme_audit.log"),
        (b"users", b"__vt_acme_/users"),
        (b"Orders", b"__vt_acme_/Orders"),
        (b"", b"__vt_acme_/"),
        (b"/", b"__vt_acme_//"),
        (b"/users", b"__vt_acme_//users"),
        (b"__vt_acme_orders", b"__vt_acme_/__vt_acme_orders"),
        (b"__vt_globex_orders", b"__vt_acme_/__vt_globex_orders"),
        ("ä".encode(), "__vt_acme_/ä".encode()),
        (b"\xff", b"__vt_acme_/\xff"),
    ],
)
def test_topics_of_a_list_and_denied_ones(virtual: bytes, physical: bytes) -> None:
    assert ACME.physical_topic(VirtualTopic(virtual)) == physical
    assert ACME.virtual_topic(PhysicalTopic(physical)) == virtual


@pytest.mark.parametrize(
    ("virtual", "physical"),
    [
        (b"orders", b"__vt_acme_orders"),
        (b"anything", b"__vt_acme_anything"),
        (b"__vt_globex_orders", b"__vt_acme___vt_globex_orders"),
        (b"a/b", b"__vt_acme_a/b"),
        (b"", b"__vt_acme_/"),
        (b"/", b"__vt_acme_//"),
        (b"/a", b"__vt_acme_//a"),
    ],
)
def test_topics_of_a_dynamic_namespace(virtual: bytes, physical: bytes) -> None:
    assert DYNAMIC.physical_topic(VirtualTopic(virtual)) == physical
    assert DYNAMIC.virtual_topic(PhysicalTopic(physical)) == virtual


@pytest.mark.parametrize(
    "physical",
    [
        b"__vt_globex_orders",
        b"__vt_acme",
        b"__vt_acme_",
        b"orders",
        b"__consumer_offsets",
        b"",
        b"x__vt_acme_orders",
        b"__vt_acme_users",  # under its prefix, but not in its list
        b"__vt_acme_/orders",  # what is allowed is never denied
    ],
)
def test_what_is_foreign_has_no_virtual_name(physical: bytes) -> None:
    assert ACME.virtual_topic(PhysicalTopic(physical)) is None


def test_nothing_else_is_foreign_to_a_dynamic_namespace() -> None:
    assert DYNAMIC.virtual_topic(PhysicalTopic(b"__vt_acme_users")) == b"users"
    assert DYNAMIC.virtual_topic(PhysicalTopic(b"__vt_acme_")) is None
    assert DYNAMIC.virtual_topic(PhysicalTopic(b"__vt_acme_/users")) is None
    assert DYNAMIC.virtual_topic(PhysicalTopic(b"__vt_globex_users")) is None


def test_allowed_is_what_is_listed_or_could_be_a_name() -> None:
    assert [ACME.is_allowed(VirtualTopic(name)) for name in (b"orders", b"users", b"")] == [
        True,
        False,
        False,
    ]
    assert [DYNAMIC.is_allowed(VirtualTopic(name)) for name in (b"x", b"", b"/x")] == [True, False, False]
    assert (ACME.is_dynamic, DYNAMIC.is_dynamic) == (False, True)
    assert ACME.denied(VirtualTopic(b"orders")) == b"__vt_acme_/orders"


def test_an_empty_list_allows_nothing() -> None:
    none = TenantNames("acme", [])

    assert not none.is_dynamic
    assert none.physical_topic(VirtualTopic(b"orders")) == b"__vt_acme_/orders"


@pytest.mark.parametrize("name", [b"", b"g", b"/g", b"__vt_globex_g", "ä b".encode()])
def test_groups_and_transactional_ids_are_always_the_tenants_own(name: bytes) -> None:
    group = ACME.physical_group(VirtualGroup(name))
    transactional_id = ACME.physical_transactional_id(VirtualTransactionalId(name))

    assert bytes(group) == bytes(transactional_id) == b"__vt_acme_" + name
    assert ACME.virtual_group(group) == name
    assert ACME.virtual_transactional_id(transactional_id) == name


@pytest.mark.parametrize("name", [b"", b"g", b"__vt_globex_g", b"__vt_acme"])
def test_foreign_groups_and_transactional_ids_have_no_virtual_name(name: bytes) -> None:
    assert ACME.virtual_group(PhysicalGroup(name)) is None
    assert ACME.virtual_transactional_id(PhysicalTransactionalId(name)) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", b""),
        (b"nothing to see", b"nothing to see"),
        (b"Topic '__vt_acme_orders' already exists.", b"Topic 'orders' already exists."),
        (b"[__vt_acme_a-0,__vt_acme_b-1]", b"[a-0,b-1]"),
        (b"Topic name is invalid: '__vt_acme_/users' contains", b"Topic name is invalid: 'users' contains"),
        (b"__vt_acme_a-__vt_acme_b", b"a-b"),
        (b"Topic __vt_acme_a collides with __vt_globex_orders", b""),
    ],
)
def test_an_error_text_shows_virtual_names(text: bytes, expected: bytes) -> None:
    assert ACME.virtual_text(text) == expected


def test_literal_prefixes_may_differ_by_kind() -> None:
    names = TenantNames(
        "t1", ["orders"], prefixes=NamePrefixes("t1-", "g1-", "x1-"), foreign_marks=["__vt_", "t2-"]
    )

    assert names.topics.shared_prefix == b"t1-"
    assert names.physical_topic(VirtualTopic(b"orders")) == b"t1-orders"
    assert names.virtual_topic(PhysicalTopic(b"t1-/users")) == b"users"
    assert names.physical_group(VirtualGroup(b"g")) == b"g1-g"
    assert names.virtual_group(PhysicalGroup(b"t1-g")) is None
    assert names.physical_transactional_id(VirtualTransactionalId(b"x")) == b"x1-x"
    assert names.virtual_transactional_id(PhysicalTransactionalId(b"x1-x")) == b"x"
    assert names.virtual_text(b"group g1-g has t1-orders") == b"group g has orders"
    assert names.virtual_text(b"t1-orders collides with t2-orders") == b""
    assert names.tenant == "t1"


def test_each_kind_of_name_has_its_owner() -> None:
    prefixes = NamePrefixes("t1-", "g1-", "x1-")
    names = TenantNames("t1", prefixes=prefixes)
    kinds = (Entity.TOPIC_NAME, Entity.GROUP_ID, Entity.TRANSACTIONAL_ID)

    assert [names.own_names(kind).physical(b"a") for kind in kinds] == [b"t1-a", b"g1-a", b"x1-a"]
    assert names.is_named_by(prefixes)
    assert not names.is_named_by(NamePrefixes("t1-", "g1-", "x2-"))
    assert not TenantNames("t1", prefixes=prefixes, tiers=["eu"]).is_named_by(prefixes)


def test_a_tenant_owns_topics_that_it_may_not_see() -> None:
    hidden = PhysicalTopic(b"__vt_acme_users")

    assert ACME.topics.owns(hidden)
    assert ACME.virtual_topic(hidden) is None


EXISTING = frozenset({("analytics",), ("analytics", "eu"), ("eu",)})


def test_a_namespace_below_sees_what_is_in_it_and_the_tenant_sees_all() -> None:
    whole = TenantNames("acme", namespaces=EXISTING)
    below = TenantNames("acme", tiers=["analytics", "eu"], namespaces=EXISTING)

    assert below.path == "acme:analytics:eu"
    physical = below.physical_topic(VirtualTopic(b"orders"))
    assert physical == b"__vt_acme_--analytics.--eu.orders"
    assert whole.virtual_topic(physical) == b"analytics:eu:orders"
    assert whole.physical_topic(VirtualTopic(b"analytics:eu:orders")) == physical
    assert below.virtual_topic(PhysicalTopic(b"__vt_acme_orders")) is None
    assert below.virtual_topic(PhysicalTopic(b"__vt_acme_--analytics.orders")) is None
    group, transactional_id = VirtualGroup(b"g"), VirtualTransactionalId(b"x")
    assert below.physical_group(group) == b"__vt_acme_--analytics.--eu.g"
    assert below.virtual_group(PhysicalGroup(b"__vt_acme_g")) is None
    assert whole.virtual_group(below.physical_group(group)) == b"analytics:eu:g"
    assert (
        whole.virtual_transactional_id(below.physical_transactional_id(transactional_id)) == b"analytics:eu:x"
    )


def test_a_topic_with_dots_is_not_one_of_a_namespace() -> None:
    whole, below = TenantNames("acme", namespaces=EXISTING), TenantNames("acme", tiers=["eu"])

    assert whole.physical_topic(VirtualTopic(b"eu.orders")) == b"__vt_acme_eu.orders"
    assert below.virtual_topic(PhysicalTopic(b"__vt_acme_eu.orders")) is None


def test_what_cannot_be_a_topic_below_is_denied() -> None:
    whole = TenantNames("acme", namespaces=EXISTING)

    for name in (b"eu:.", b"eu:..", b"eu:/x"):
        assert whole.physical_topic(VirtualTopic(name)) == b"__vt_acme_/" + name
        assert whole.virtual_topic(PhysicalTopic(b"__vt_acme_/" + name)) == name


def test_dotted_tiers_are_as_they_were() -> None:
    whole = TenantNames("acme", namespaces=None)
    below = TenantNames("acme", ["eu.orders", "european"], tiers=["eu"], namespaces=None)

    assert below.is_dotted
    assert below.allowed_topics == frozenset({b"orders"})
    assert below.physical_topic(VirtualTopic(b"orders")) == b"__vt_acme_eu.orders"
    assert whole.virtual_topic(PhysicalTopic(b"__vt_acme_eu.orders")) == b"eu.orders"
    assert whole.has_namespace(("any",))
    assert not whole.has_namespace(("e.u",))
    assert whole.physical_group(VirtualGroup(b"--g")) == b"__vt_acme_--g"
    assert below.virtual_group(PhysicalGroup(b"__vt_acme_eu.--g")) == b"--g"


def test_a_namespace_below_has_those_of_the_list_that_lie_in_it() -> None:
    listed = ["orders", "eu:orders", "eu:de:a.b", "european", "eu.x"]
    below = TenantNames("acme", listed, tiers=["eu"], namespaces=frozenset({("eu",), ("eu", "de")}))

    assert below.allowed_topics == frozenset({b"orders", b"de:a.b"})
    assert below.virtual_topic(PhysicalTopic(b"__vt_acme_--eu.users")) is None
    assert below.physical_topic(VirtualTopic(b"de:a.b")) == b"__vt_acme_--eu.--de.a.b"
    assert below.confined_regex(".*").endswith(r">--de\.a\.b|orders)")


def test_namespaces_come_and_go() -> None:
    existing: set[tuple[str, ...]] = set()
    names = TenantNames("acme", namespaces=existing)
    topic = VirtualTopic(b"eu:orders")
    assert names.physical_topic(topic) == b"__vt_acme_eu:orders"
    assert not names.has_namespace(("eu",))

    existing.add(("eu",))
    assert names.physical_topic(topic) == b"__vt_acme_--eu.orders"
    assert names.has_namespace(("eu",))
    existing.clear()
    assert names.virtual_topic(PhysicalTopic(b"__vt_acme_--eu.orders")) is None


def test_a_text_names_what_is_in_a_namespace_below() -> None:
    names = TenantNames("acme", namespaces=EXISTING)
    illegal = b"contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"

    assert names.virtual_text(b"Topic '__vt_acme_--eu.orders' exists") == b"Topic 'eu:orders' exists"
    assert (
        names.virtual_text(b"[__vt_acme_--analytics.--eu.a-0, __vt_acme_b-1]") == b"[analytics:eu:a-0, b-1]"
    )
    assert names.virtual_text(b"Topic name is invalid: '__vt_acme_us:orders' " + illegal) == (
        b"Topic name is invalid: InvalidNamespace: namespace us does not exist"
    )
    assert names.virtual_text(b"'__vt_acme_--.--x' is there") == b"'--x' is there"


def test_a_member_s_client_id_shows_no_prefix() -> None:
    names = TenantNames("acme", namespaces=EXISTING, namespaces_client_ids=True)

    assert names.virtual_client_id(b"__vt_acme_app") == b"app"
    assert names.virtual_client_id(b"__vt_acme_--eu.app") == b"app"
    assert names.virtual_client_id(b"app") == b"app"


def test_a_pattern_is_for_the_namespace_or_for_the_one_that_it_names() -> None:
    names = TenantNames("acme", namespaces=EXISTING)

    own = names.confined_regex("orders-.*")
    below = names.confined_regex("analytics:eu:orders-.*")
    assert own.startswith(r"__vt_acme_\B(?P<bifrost_")
    assert below.startswith(r"__vt_acme_--analytics\.--eu\.\b(?P<bifrost_")
    assert [names.original_regex(one) for one in (own, below)] == ["orders-.*", "analytics:eu:orders-.*"]


def test_a_text_about_the_tenant_s_other_things_is_not_for_a_namespace_below() -> None:
    below = TenantNames("acme", prefixes=NamePrefixes("t1-", "t1-", "t1-"), tiers=["eu"], foreign_marks=[])

    assert below.virtual_text(b"t1---eu.orders exists") == b"orders exists"
    assert below.virtual_text(b"t1---eu.orders collides with t1-salaries") == b""


@pytest.mark.parametrize(
    ("prefix", "topic"),
    [
        ("__bifrost_", b"journal"),
        ("_", b"_bifrost_journal"),
        ("__bifrost_", b"quotas"),
        ("__bifrost_", b"partition_index"),
        ("__", b"consumer_offsets"),
        ("__transaction_", b"state"),
        ("_", b"_share_group_state"),
        ("__remote_", b"log_metadata"),
        # Of what others run beside Kafka.
        ("_", b"_CruiseControlMetrics"),
        ("_", b"_vt_globex_orders"),
    ],
)
@pytest.mark.parametrize("is_listed", [True, False])
def test_what_is_kafka_s_or_the_gateway_s_own_is_no_tenant_s(
    prefix: str, topic: bytes, is_listed: bool
) -> None:
    allowed = [topic.decode(), "mine"] if is_listed else None
    names = TenantNames("sly", allowed, prefixes=NamePrefixes(prefix, "g-", "t-"))

    assert not names.is_allowed(VirtualTopic(topic))
    assert names.virtual_topic(PhysicalTopic(prefix.encode() + topic)) is None
    assert names.physical_topic(VirtualTopic(topic)) == prefix.encode() + b"/" + topic
    assert names.is_allowed(VirtualTopic(b"mine")) is (prefix != "__")


@pytest.mark.parametrize("name", [b".", b".."])
def test_a_name_that_only_the_prefix_would_make_legal_is_no_topic(name: bytes) -> None:
    physical = DYNAMIC.physical_topic(VirtualTopic(name))

    assert physical == b"__vt_acme_/" + name
    assert DYNAMIC.virtual_topic(physical) == name
    assert DYNAMIC.virtual_topic(PhysicalTopic(b"__vt_acme_" + name)) is None


# -- patterns


def test_a_pattern_is_confined_to_the_list() -> None:
    names = TenantNames("acme", ["orders", "audit.log"])

    confined = names.confined_regex("o.*|a.*|users")

    assert confined.endswith(r">audit\.log|orders)")
    assert names.original_regex(confined) == "o.*|a.*|users"


def test_a_pattern_finds_what_is_added_to_the_list() -> None:
    names = TenantNames("acme", ["orders"])
    names.allow(["orders", "orders-2"], foreign_marks=[])

    assert names.confined_regex("orders.*").endswith(">orders(?:|-2))")


def test_a_pattern_of_a_dynamic_namespace_is_not_listed() -> None:
    assert DYNAMIC.confined_regex("o.*").endswith(">o.*)")


def test_a_pattern_below_a_tier_lists_the_topics_there() -> None:
    root = TenantNames("acme", ["eu:orders", "us:orders"], tiers=["eu"])

    assert root.confined_regex(".*").endswith(">orders)")


def test_a_reserved_topic_in_the_list_is_not_found() -> None:
    names = TenantNames("sly", ["umer_offsets", "a"], prefixes=NamePrefixes("__cons", "g-", "t-"))

    assert names.confined_regex(".*").endswith(">a)")


def test_a_pattern_for_transactional_ids_has_their_prefix_and_no_list() -> None:
    names = TenantNames("t1", ["orders"], prefixes=NamePrefixes("t1-", "g1-", "x1-"))

    assert names.confined_regex("o.*", Entity.TRANSACTIONAL_ID).startswith("x1-(?P<bifrost_")
    assert names.confined_regex("o.*", Entity.TRANSACTIONAL_ID).endswith(">o.*)")


def test_no_code_is_imported_for_the_first_pattern_of_a_process() -> None:
    # An import takes the event loop 12 ms, in which no client is served.
    program = """
import sys
import bifrost.gateway.gateway
from bifrost.tenancy.names import TenantNames
before = set(sys.modules)
names = TenantNames("acme", ["orders"])
assert names.original_regex(names.confined_regex("o.*")) == "o.*"
print(*sorted(set(sys.modules) - before))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.split() == []
