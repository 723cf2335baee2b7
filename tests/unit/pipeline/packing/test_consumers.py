from bifrost.pipeline.packing.consumers import Client, Consumer, consumers


def client(name: str, tenant: str = "acme") -> Client:
    return tenant, tenant, f"User:{tenant}", name


def test_clients_of_a_group_are_one_consumer_with_as_many_members_as_connections() -> None:
    one, two = client("one"), client("two")

    found = consumers([one, two], [(one, "app"), (two, "app")], {one: 3, two: 2})

    assert found == dict.fromkeys([one, two], Consumer(("app",), 5))


def test_a_client_of_two_groups_joins_them() -> None:
    one, two, both = client("one"), client("two"), client("both")
    members = [(one, "a"), (both, "a"), (both, "b"), (two, "b")]

    found = consumers([one, two], members, {one: 1, two: 1, both: 4})

    assert found[one] == found[two] == Consumer(("a", "b"), 6)


def test_members_are_unknown_without_a_group_or_without_connections() -> None:
    alone, told, silent = client("alone"), client("told"), client("silent")

    found = consumers([alone, told], [(told, "app"), (silent, "app")], {alone: 1, told: 1})

    assert found[alone] == Consumer((), None)
    assert found[told] == Consumer(("app",), None)


def test_groups_of_two_tenants_are_apart() -> None:
    ours, theirs = client("c"), client("c", "globex")

    found = consumers([ours, theirs], [(ours, "app"), (theirs, "app")], {ours: 1, theirs: 2})

    assert (found[ours].members, found[theirs].members) == (1, 2)
