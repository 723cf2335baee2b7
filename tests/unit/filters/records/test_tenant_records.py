from support.stage.filtered import filtered, headers
from support.stage.guards import allow, guard_of
from support.stage.stage import Stage


def test_clients_to_whom_the_same_rules_apply_share_their_topics(stage: Stage) -> None:
    records = filtered(
        stage,
        headers(remove=["x"]),
        headers({"principals": ["User:bob"]}, label="bob", remove=["y"]),
    )
    namespace = stage.namespaces["acme"]

    alice, carol, bob = (records.topics(namespace, name, None) for name in ("alice", "carol", "bob"))

    assert alice is carol
    assert alice is not bob


def test_a_user_whom_no_rule_names_has_none(stage: Stage) -> None:
    records = filtered(stage, headers({"principals": ["User:bob"]}, remove=["x"]))

    assert records.topics(stage.namespaces["acme"], "alice", None) is None


def test_rights_of_two_users_are_kept_apart(stage: Stage) -> None:
    records = filtered(stage, headers(remove=["x"]))
    one, two = guard_of(stage, allow("WRITE", "orders")), guard_of(stage, allow("READ", "orders"))

    assert records.topics(one.namespace, "alice", one) is not records.topics(two.namespace, "alice", two)
