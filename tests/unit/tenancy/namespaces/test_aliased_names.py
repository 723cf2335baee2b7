"""What is true of all moves and shares is in tests/property/test_aliased_names_properties.py."""

from bifrost.tenancy.namespaces.alias_table import Access
from bifrost.tenancy.namespaces.aliased_names import AliasedNames
from bifrost.tenancy.namespaces.relative_names import RelativeNames
from bifrost.tenancy.namespaces.topic_aliases import NOWHERE
from support.physical_names import physical_name
from unit.tenancy.namespaces.test_topic_aliases import PHYSICAL, aliases, put

NAMESPACES = {("eu",), ("billing",)}


def seen(tenant: str, *tiers: str, sees_shared: bool = True) -> AliasedNames:
    found = aliases()
    put(found, "acme:eu/orders", "acme:billing/o", p="read")
    relative = RelativeNames(tiers, NAMESPACES if tenant == "acme" else set())
    return AliasedNames(tenant, tiers, relative, found.parts[tenant], sees_shared=sees_shared)


def test_a_moved_topic_has_its_new_name_alone() -> None:
    whole = seen("acme")

    assert whole.physical(b"eu:orders") == NOWHERE
    assert whole.physical(b"billing:o") == PHYSICAL
    assert whole.virtual(PHYSICAL) == b"billing:o"
    assert whole.access(b"billing:o") is None
    assert whole.visible == {PHYSICAL: b"billing:o"}
    assert seen("acme", "eu").virtual(PHYSICAL) == NOWHERE
    assert seen("acme", "billing").virtual(PHYSICAL) == b"o"


def test_what_is_not_moved_means_what_it_is_called() -> None:
    whole = seen("acme")

    assert whole.physical(b"eu:clicks") is None
    assert whole.virtual(physical_name("acme", "clicks").encode()) is None
    assert whole.physical("größe".encode()) is None


def test_a_shared_topic_is_seen_only_where_its_rights_are_asked_for() -> None:
    guest = seen("globex")

    assert (guest.physical(b"p"), guest.virtual(PHYSICAL), guest.access(b"p")) == (
        PHYSICAL,
        b"p",
        Access.READ,
    )
    blind = seen("globex", sees_shared=False)
    assert (blind.physical(b"p"), blind.virtual(PHYSICAL), blind.visible) == (NOWHERE, NOWHERE, {})


def test_dotted_tiers_are_part_of_the_name() -> None:
    found = aliases()
    put(found, "acme/orders", "acme/eu.renamed")
    below = AliasedNames("acme", ["eu"], None, found.parts["acme"], sees_shared=False)
    physical = physical_name("acme", "orders").encode()

    assert (below.physical(b"renamed"), below.virtual(physical)) == (physical, b"renamed")
