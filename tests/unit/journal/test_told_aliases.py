from bifrost.journal.told_aliases import ToldAlias, ToldAliases
from support.physical_names import physical_name
from unit.tenancy.namespaces.test_topic_aliases import aliases, put

PHYSICAL = physical_name("acme", "--eu.orders")


def test_what_a_tenant_gets_and_what_ends_is_told_once() -> None:
    told, found = ToldAliases(), aliases()
    put(found, "acme:eu/orders", "acme:billing/o", p="read")

    news = list(told.news("globex", found.parts["globex"]))
    assert news == [ToldAlias(True, PHYSICAL, "globex/p", "read")]
    assert list(told.news("acme", found.parts["acme"])) == [
        ToldAlias(True, PHYSICAL, "acme:billing/o", "owner")
    ]
    assert list(told.news("globex", found.parts["globex"])) == []

    put(found, "acme:eu/orders", "acme:billing/o", p="read-write")
    assert list(told.news("globex", found.parts["globex"])) == [
        ToldAlias(False, PHYSICAL, "globex/p", "read"),
        ToldAlias(True, PHYSICAL, "globex/p", "read-write"),
    ]
    put(found, "acme:eu/orders", None)
    assert list(told.news("globex", found.parts.get("globex"))) == [
        ToldAlias(False, PHYSICAL, "globex/p", "read-write")
    ]
    assert list(told.news("globex", None)) == []
