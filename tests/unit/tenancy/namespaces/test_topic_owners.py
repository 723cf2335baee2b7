from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.names import PhysicalTopic, TenantNames
from bifrost.tenancy.namespaces.alias_table import KIND
from bifrost.tenancy.namespaces.topic_aliases import TenantPlace, TopicAliases
from bifrost.tenancy.namespaces.topic_owners import owns_topic, topics_moved_in
from support.physical_names import physical_name, prefix_of


def names_of(tenant: str, **moved: dict[str, str]) -> TenantNames:
    """Return the names of a tenant; `moved` has of topics of acme the owner, and the places of shares."""
    aliases = TopicAliases()
    aliases.configure({name: TenantPlace("main", prefix_of(name)) for name in ("acme", "globex")})
    for home, places in moved.items():
        key, owner = StateKey(KIND, f"acme/{home}"), places.pop("owner", f"acme/{home}")
        body = {"owner": owner, "shares": places}
        aliases.apply(key, StateRecord(key, 1, 0, "c", "w", None, body))
    return TenantNames(tenant, namespaces=frozenset({("eu",)}), aliases=aliases.parts, sees_shared=True)


def physical(tenant: str, name: str) -> PhysicalTopic:
    return PhysicalTopic(physical_name(tenant, name).encode())


def test_without_moves_the_tenant_of_the_prefix_owns_a_topic() -> None:
    names = names_of("acme")

    assert owns_topic(names, physical("acme", "orders"))
    assert owns_topic(names, physical("acme", "--eu.orders"))
    assert not owns_topic(names, physical("globex", "orders"))
    assert topics_moved_in(names) == []


def test_a_topic_that_was_moved_to_another_tenant_is_that_ones_also_if_it_is_shared_back() -> None:
    for shares in ({}, {"acme/orders": "read-write"}):
        moved = {"owner": "globex/o", **shares}
        acme, globex = (names_of(one, orders=dict(moved)) for one in ("acme", "globex"))

        assert not owns_topic(acme, physical("acme", "orders"))
        assert owns_topic(globex, physical("acme", "orders"))
        assert topics_moved_in(globex) == [physical("acme", "orders")]
        assert topics_moved_in(acme) == []


def test_a_topic_that_is_only_shared_stays_its_owners() -> None:
    shares = {"globex/p": "read-write"}
    acme, globex = (names_of(one, orders=dict(shares)) for one in ("acme", "globex"))

    assert owns_topic(acme, physical("acme", "orders"))
    assert not owns_topic(globex, physical("acme", "orders"))
    assert topics_moved_in(globex) == []


def test_a_topic_that_was_moved_within_its_tenant_stays_its_own() -> None:
    acme = names_of("acme", orders={"owner": "acme:eu/o"})

    assert owns_topic(acme, physical("acme", "orders"))
    assert topics_moved_in(acme) == []
