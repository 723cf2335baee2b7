"""The index of ACLs; tests/golden/test_java_authorizer.py compares its verdicts with those of Kafka's own class."""

import random
from dataclasses import astuple, replace

from bifrost.tenancy.acls.acl_binding import (
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from bifrost.tenancy.acls.acl_index import EVERY_OPERATION, AclIndex
from support.stage.counted_pauses import counted_pauses
from support.stage.guards import allow

ALICE = ("User:alice", "192.0.2.1")
TOPIC = ResourceType.TOPIC


def permitted(index: AclIndex, name: str, operation: Operation) -> bool:
    return bool(index.verdict(TOPIC, name, *ALICE).permitted(0) & operation.bit)


def test_a_denial_wins_and_a_permission_implies_describe() -> None:
    denial = allow("READ", "secret", permission=Permission.DENY)
    index = AclIndex([allow("READ", "", pattern_type=PatternType.PREFIXED), denial])

    assert permitted(index, "orders", Operation.READ)
    assert permitted(index, "orders", Operation.DESCRIBE)
    assert not permitted(index, "orders", Operation.WRITE)
    assert not permitted(index, "secret", Operation.READ)
    assert permitted(index, "secret", Operation.DESCRIBE)


def test_an_index_without_what_was_removed_is_one_that_never_had_it() -> None:
    chance = random.Random(1)
    names, kinds = ["a", "ab", "abc", "b", "*"], [PatternType.LITERAL, PatternType.PREFIXED]
    bindings = [
        allow(operation, name, pattern_type=kind, principal=principal, permission=permission)
        for operation in ("READ", "ALL")
        for name in names
        for kind in kinds
        for principal in ("User:alice", "User:*")
        for permission in (Permission.ALLOW, Permission.DENY)
    ]
    for _ in range(50):
        kept, removed = chance.sample(bindings, 5), chance.sample(bindings, 10)
        index = AclIndex([*kept, *removed])
        for one in removed:
            index.remove(one)
        fresh = AclIndex([one for one in kept if one not in removed])

        assert len(index) == len(fresh)
        for name in ("a", "ab", "abcd", "b", "c"):
            assert index.verdict(TOPIC, name, *ALICE) == fresh.verdict(TOPIC, name, *ALICE)
            assert index.allows_some(Operation.READ, TOPIC, *ALICE) == fresh.allows_some(
                Operation.READ, TOPIC, *ALICE
            )


def test_a_decision_looks_at_as_many_names_as_there_are_lengths_of_prefixes() -> None:
    index = AclIndex(
        allow("READ", f"prefix-{number:06}", pattern_type=PatternType.PREFIXED) for number in range(5_000)
    )

    assert len(list(index._types[TOPIC].buckets("prefix-004999-x"))) == 1
    assert dict(index._types[TOPIC].lengths) == {13: 5_000}
    assert permitted(index, "prefix-004999-x", Operation.READ)


def test_all_names_are_permitted_only_without_any_denial() -> None:
    index = AclIndex([allow("DESCRIBE", "*")])

    assert index.allows_all(Operation.DESCRIBE, TOPIC, *ALICE)
    assert not index.allows_all(Operation.READ, TOPIC, *ALICE)
    index.add(allow("ALL", "secret", permission=Permission.DENY))
    assert not index.allows_all(Operation.DESCRIBE, TOPIC, *ALICE)


def test_acls_of_a_namespace_leave_what_they_allow_in_it_and_below_it() -> None:
    index = AclIndex([allow("READ", "eu:"), allow("ALL", "us:", principal="User:bob")])

    assert index.has_namespaces
    assert index.in_namespace([], *ALICE) == EVERY_OPERATION
    assert index.in_namespace(["asia"], *ALICE) == EVERY_OPERATION
    for tiers in (["eu"], ["eu", "de"]):
        assert index.in_namespace(tiers, *ALICE) == Operation.READ.bit | Operation.DESCRIBE.bit
    assert index.in_namespace(["us", "ny"], *ALICE) == 0


def test_a_denial_of_a_namespace_holds_below_it_and_a_tier_allows_what_one_above_does_not() -> None:
    denial = allow("WRITE", "eu:", permission=Permission.DENY)
    index = AclIndex([denial, allow("ALL", "eu:de:")])

    assert index.in_namespace(["eu"], *ALICE) == 0
    assert index.in_namespace(["eu", "de"], *ALICE) == EVERY_OPERATION & ~Operation.WRITE.bit
    index.remove(denial)
    assert index.in_namespace(["eu"], *ALICE) == EVERY_OPERATION
    index.remove(allow("ALL", "eu:de:"))
    assert not index.has_namespaces


def test_prefixes_and_wildcards_are_about_no_namespace() -> None:
    prefix = allow("READ", "eu:", pattern_type=PatternType.PREFIXED)
    of_groups = allow("READ", "eu:", ResourceType.GROUP)

    assert not AclIndex([prefix, of_groups, allow("READ", "*")]).has_namespaces


def test_all_topics_are_permitted_only_with_every_namespace() -> None:
    index = AclIndex([allow("DESCRIBE", "*"), allow("ALL", "eu:", principal="User:bob")])

    assert not index.allows_all(Operation.DESCRIBE, TOPIC, *ALICE)
    index.add(allow("READ", "eu:"))
    assert index.allows_all(Operation.DESCRIBE, TOPIC, *ALICE)


def test_a_filter_that_leaves_nothing_open_finds_its_only_acl_at_once() -> None:
    one, other = allow("READ", "orders"), allow("WRITE", "orders")
    index = AclIndex([one])
    exact = AclBindingFilter(*one)

    assert list(index.find(exact)) == [one]
    assert index.compared(exact) == 1
    assert list(index.find(AclBindingFilter(*other))) == []
    for field, value in zip(AclBindingFilter.__dataclass_fields__, astuple(AclBindingFilter()), strict=True):
        wider = replace(exact, **{field: value})
        assert list(index.find(wider)) == [one]
        assert index.compared(wider) == len(index)


def test_acls_may_change_while_a_filter_is_answered() -> None:
    index = AclIndex([allow("READ", f"topic-{number}") for number in range(10)])
    found = index.find(AclBindingFilter())
    next(found)

    index.add(allow("READ", "later"))

    assert len(list(found)) == 9


def test_a_right_on_any_topic_is_looked_for_with_pauses() -> None:
    """A tenant's own ACLs decide how long: names that are allowed, each below hundreds of prefixes that are denied."""
    prefix = "n" * 248
    denied = [
        allow("WRITE", prefix[:length], pattern_type=PatternType.PREFIXED, permission=Permission.DENY)
        for length in range(1, 249)
    ][::-1]
    index = AclIndex([*denied, *(allow("WRITE", f"{prefix}{number}") for number in range(300))])

    with counted_pauses() as pauses:
        assert not index.allows_some(Operation.WRITE, TOPIC, *ALICE)
        assert not index.allows_all(Operation.WRITE, TOPIC, *ALICE)

    assert pauses.count > 30


def test_a_filter_that_finds_nothing_is_compared_with_pauses() -> None:
    index = AclIndex([allow("READ", f"topic-{number}") for number in range(1_000)])

    with counted_pauses() as pauses:
        assert not list(index.find(AclBindingFilter(principal="User:nobody")))

    assert pauses.count >= 15
