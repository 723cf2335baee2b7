import pytest

from bifrost.config.records.record_filter import RecordFilter
from bifrost.transforms.record_transform import Direction
from bifrost.transforms.tenant_filters import TenantFilters, _matches
from support.stage.filtered import headers, policy

PRODUCE, FETCH = Direction.PRODUCE, Direction.FETCH


def labels(
    filters: TenantFilters,
    topic: str,
    direction: Direction = PRODUCE,
    *,
    user: str = "User:alice",
) -> list[str]:
    return [one.shown_name for one in filters.applying(filters.rules_for(user), [topic], direction)]


@pytest.mark.parametrize(
    ("pattern", "name", "does"),
    [
        ("orders", "orders", True),
        ("orders", "orders2", False),
        ("*", "", True),
        ("orders*", "orders", True),
        ("*-events", "x-events", True),
        ("*-events", "-event", False),
        ("a*a", "a", False),
        ("a*a", "aa", True),
        ("a*b*c", "a-b-b-c", True),
        ("a*b*c", "a-c", False),
        ("*b*b*", "b", False),
        ("a.b", "axb", False),
        ("*a" * 100 + "*", "a" * 99, False),
    ],
)
def test_a_star_stands_for_any_characters(pattern: str, name: str, does: bool) -> None:
    assert _matches(pattern, name) is does


def test_the_order_is_that_of_the_file_on_produce_and_its_reverse_on_fetch() -> None:
    both = ({"direction": "produce"}, {"direction": "fetch"})
    filters = TenantFilters([headers(*both, label=name, remove=["x"]) for name in ("one", "two", "three")])

    assert labels(filters, "orders") == ["one", "two", "three"]
    assert labels(filters, "orders", FETCH) == ["three", "two", "one"]


def test_rules_are_by_topic_principal_and_direction() -> None:
    filters = TenantFilters(
        [
            headers({"topics": ["orders", "audit*"]}, label="topics", remove=["x"]),
            headers({"principals": ["User:bob"]}, label="bob", remove=["x"]),
            headers({"direction": "fetch"}, label="fetch", remove=["x"]),
            policy(require_key=True),
        ]
    )

    assert labels(filters, "orders") == ["topics", "policy"]
    assert labels(filters, "audit.log", user="User:bob") == ["topics", "bob", "policy"]
    assert labels(filters, "other", FETCH) == ["fetch"]


def test_a_filter_may_leave_principals_out_by_its_config() -> None:
    config = {"fields": [{"path": "a", "action": "set_null"}], "unmasked": ["User:auditor"]}
    filters = TenantFilters([RecordFilter.model_validate({"name": "Masking", "config": config})])

    assert labels(filters, "orders", FETCH) == ["Masking"]
    assert labels(filters, "orders", FETCH, user="User:auditor") == []
    assert filters.rules_for("User:auditor") == ()
    [verdict] = filters.explain("User:auditor", "orders", FETCH)
    assert (verdict.applies, verdict.why) == (False, "its config leaves User:auditor out")


def test_a_rule_of_a_namespace_is_for_its_topics_whoever_sees_them() -> None:
    filters = TenantFilters([headers({"namespace": "eu", "topics": ["orders"]}, remove=["x"])])

    assert labels(filters, "eu:orders") == ["headers"]
    assert labels(filters, "orders") == labels(filters, "eu:other") == labels(filters, "us:orders") == []


def test_dotted_namespaces_have_dots_in_names() -> None:
    filters = TenantFilters(
        [headers({"namespace": "eu", "topics": ["orders"]}, remove=["x"])], is_dotted=True
    )

    assert labels(filters, "eu.orders") == ["headers"]
    assert labels(filters, "eu:orders") == []


def test_nothing_is_for_a_user_whom_no_rule_names() -> None:
    filters = TenantFilters([headers({"principals": ["User:bob"]}, remove=["x"])])

    assert filters.rules_for("User:alice") == ()


def test_each_filter_is_explained() -> None:
    filters = TenantFilters(
        [
            policy(label="all", require_key=True),
            headers({"topics": ["audit"]}, {"namespace": "eu"}, {"principals": ["User:bob"]}, remove=["x"]),
            headers({"topics": ["a", "o*"]}, label="mine", remove=["x"]),
            headers({"direction": "fetch"}, label="back", remove=["x"]),
        ]
    )

    produced = [
        (one.filter.shown_name, one.applies, one.why) for one in filters.explain("User:al", "orders", PRODUCE)
    ]
    fetched = [(one.applies, one.why) for one in filters.explain("User:al", "orders", FETCH)]

    assert produced == [
        ("all", True, "it has no rules: it is for all records of the tenant"),
        (
            "headers",
            False,
            "rules[0] is for topics audit; rules[1] is for namespace eu; rules[2] is for User:bob",
        ),
        ("mine", True, "rules[0] matches: topic o*, User:*"),
        ("back", False, "rules[0] is for fetch"),
    ]
    assert fetched[0] == (False, "ProducePolicy does nothing on fetch")
    assert fetched[3] == (True, "rules[0] matches: topic *, User:*")
