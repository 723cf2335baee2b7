import pytest

from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.alias_table import KIND, Access, Place
from bifrost.tenancy.namespaces.topic_aliases import NOWHERE, Standing, TenantPlace, TopicAliases
from support.physical_names import physical_name

HOME, PARTNER = Place.read("acme:eu/orders"), Place.read("globex/p")
PHYSICAL = physical_name("acme", "--eu.orders").encode()


def aliases() -> TopicAliases:
    found = TopicAliases()
    found.configure(
        {name: TenantPlace("main", physical_name(name, "")) for name in ("acme", "globex", "initech")}
    )
    return found


def put(found: TopicAliases, home: str, owner: str | None, **shares: str) -> None:
    key = StateKey(KIND, home)
    body = {"owner": owner, "shares": {"globex/" + name: access for name, access in shares.items()}}
    record = None if owner is None else StateRecord(key, 1, 0, "c", "w", None, body)
    found.apply(key, record)


def test_each_tenant_has_its_part_of_a_move_and_a_share() -> None:
    found, told = aliases(), []
    found.changed = lambda tenants: told.append(list(tenants))
    put(found, "acme:eu/orders", "acme:billing/o", p="read")

    assert len(found) == 1
    assert told == [["acme", "globex"]]
    owner = Place.read("acme:billing/o")
    assert found.parts["acme"].topics == {HOME: NOWHERE, owner: PHYSICAL}
    assert found.parts["acme"].standings == {PHYSICAL: (Standing(owner, None),)}
    assert found.parts["acme"].owners == {PHYSICAL: owner}
    assert found.parts["acme"].limited == set()
    assert found.parts["globex"].topics == {PARTNER: PHYSICAL}
    assert found.parts["globex"].standings == {PHYSICAL: (Standing(PARTNER, Access.READ),)}
    assert found.parts["globex"].limited == {PARTNER}
    assert [*found.parts["acme"].origins(PHYSICAL)] == [HOME, owner]
    assert [*found.parts["globex"].origins(PHYSICAL)] == []
    assert (HOME.full_name, PARTNER.full_name) == ("eu:orders", "p")

    put(found, "acme:eu/orders", None)
    assert found.parts == {}


def test_a_part_without_moved_and_shared_topics_is_none() -> None:
    found = aliases()
    put(found, "acme:eu/orders", "acme:eu/orders", p="read-write")
    put(found, "acme:eu/orders", "acme:billing/o")

    assert list(found.parts) == ["acme"]


def test_the_owner_of_a_topic_is_not_concerned_by_a_share_of_it() -> None:
    found, told = aliases(), []
    found.changed = lambda tenants: told.append(list(tenants))

    put(found, "acme:eu/orders", "acme:eu/orders", p="read")
    put(found, "acme:eu/orders", "acme:eu/orders", p="read-write")
    put(found, "acme:eu/orders", None)

    assert told == [["globex"]] * 3


def test_a_record_that_cannot_be_understood_changes_nothing() -> None:
    found = aliases()
    key = StateKey(KIND, "acme:eu/orders")

    with pytest.raises(ValueError, match="a record of an alias has an owner and shares"):
        found.apply(key, StateRecord(key, 1, 0, "c", "w", None, {"owner": 1}))

    assert found.parts == {}


def test_a_tenant_that_the_configuration_does_not_have_yet_gets_its_part_with_it() -> None:
    found = TopicAliases()
    put(found, "acme:eu/orders", "acme:eu/orders", p="read")
    assert found.parts["globex"].topics == {PARTNER: NOWHERE}

    found.configure({name: TenantPlace("main", physical_name(name, "")) for name in ("acme", "globex")})

    assert found.parts["globex"].topics == {PARTNER: PHYSICAL}


def test_a_tenant_without_moved_or_shared_topics_changes_nothing_for_the_others() -> None:
    found, told = aliases(), []
    put(found, "acme:eu/orders", "acme:eu/orders", p="read")
    part, version = found.parts["globex"], found.parts["globex"].version
    found.changed = lambda tenants: told.append(list(tenants))
    places = {name: TenantPlace("main", physical_name(name, "")) for name in ("acme", "globex", "new")}

    found.configure(places)

    assert (told, found.parts["globex"], part.version) == ([], part, version)
    put(found, "new/a", "acme:eu/b")
    assert found.parts["acme"].topics[Place.read("acme:eu/b")] == physical_name("new", "a").encode()
    assert told == [["acme", "new"]]
