from bifrost.tenancy.names import TenantNames
from bifrost.tenancy.namespaces import subscriptions
from bifrost.tenancy.namespaces.subscriptions import Subscriptions
from unit.tenancy.namespaces.test_topic_aliases import aliases, put


def test_a_pattern_finds_topics_by_the_names_that_they_have_here() -> None:
    moved, found = aliases(), Subscriptions()
    names = TenantNames("globex", aliases=moved.parts, sees_shared=True)
    put(moved, "acme/lent", "acme/lent", **{"partner-orders": "read"})
    put(moved, "globex/home", "globex/home")

    assert found.topics_for("partner-.*", names) == ["partner-orders"]
    assert found.topics_for("lent|home", names) == []
    assert found.topics_for("", names) == []


def test_what_a_pattern_has_found_is_remembered_until_names_change() -> None:
    moved, found = aliases(), Subscriptions()
    names = TenantNames("globex", aliases=moved.parts, sees_shared=True)
    put(moved, "acme/lent", "acme/lent", lent="read")
    assert found.topics_for(".*", names) == ["lent"]

    put(moved, "acme/lent", None)
    assert found.topics_for(".*", names) == ["lent"]
    found.renew()
    assert found.topics_for(".*", names) == []


def test_a_pattern_that_cannot_be_served_any_more_finds_nothing() -> None:
    moved, found = aliases(), Subscriptions()
    names = TenantNames("globex", aliases=moved.parts, sees_shared=True)
    put(moved, "acme/lent", "acme/lent", lent="read")

    assert found.topics_for("(", names) == []


def test_a_group_is_asked_about_at_times() -> None:
    found = Subscriptions()

    assert found.may_ask("g", 0)
    assert not found.may_ask("g", subscriptions.ASKED_FOR_MS - 1)
    assert found.may_ask("g", subscriptions.ASKED_FOR_MS)
    assert found.may_ask("other", 0)
