import pytest

from bifrost.schemas.readers.reader import SchemaError, TakesLong
from bifrost.schemas.schema_checks import SchemaChecks

CHECKS = SchemaChecks(
    [("age", "value.age >= 18"), ("country", "value.country in ['DE', 'FR'] || value.country == ''")]
)


def test_a_record_that_keeps_all_rules_passes() -> None:
    assert CHECKS.broken({"value": {"age": 18, "country": "DE"}}) is None


def test_the_first_rule_that_a_record_breaks_is_named() -> None:
    assert CHECKS.broken({"value": {"age": 17, "country": "XX"}}) == "it breaks the rule age"
    assert CHECKS.broken({"value": {"age": 18, "country": "XX"}}) == "it breaks the rule country"


@pytest.mark.parametrize(
    "value", [{"country": "DE"}, {"age": "secret", "country": "DE"}, 3, None, ["secret"]]
)
def test_a_rule_that_cannot_be_applied_is_broken(value: object) -> None:
    broken = CHECKS.broken({"value": value})

    assert broken is not None
    assert broken.startswith("rule age cannot be applied")
    assert "secret" not in broken


def test_a_rule_that_is_not_true_or_false_is_broken() -> None:
    assert SchemaChecks([("sum", "value.age + 1")]).broken({"value": {"age": 1}}) is not None


@pytest.mark.parametrize("text", ["value.age >", "", "other.age > 1", "value.age == header.age"])
def test_an_expression_that_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(SchemaError):
        SchemaChecks([("wrong", text)])


def test_loops_name_their_own_variables() -> None:
    checks = SchemaChecks(
        [("prices", "value.items.all(item, item.price > 0) && !value.items.exists(i, i.price > 99)")]
    )

    assert checks.broken({"value": {"items": [{"price": 1}, {"price": 2}]}}) is None
    assert checks.broken({"value": {"items": [{"price": 1}, {"price": 0}]}}) == "it breaks the rule prices"
    assert checks.broken({"value": {"items": [{"price": 100}]}}) == "it breaks the rule prices"
    with pytest.raises(SchemaError, match="uses other"):
        SchemaChecks([("wrong", "value.items.all(item, other.price > 0)")])
    outside = SchemaChecks([("wrong", "value.items.all(item, item.price > 0) && item.price > 0")])
    assert "cannot be applied" in str(outside.broken({"value": {"items": [{"price": 1}]}}))


@pytest.mark.parametrize(
    ("expression", "most"),
    [
        ("value.a[0] >= 0", 1_000),
        ("value.a.all(x, x >= 0)", 30),
        ("value.a.all(x, x in value.a)", 10),
        ("value.a.all(x, value.a.all(y, x + y >= 0))", 10),
        ("value.a[0] in [0, 1, 2]", 30),
    ],
)
def test_what_takes_long_is_not_begun(expression: str, most: int) -> None:
    checks = SchemaChecks([("one", expression)])

    assert checks.broken({"value": {"a": [0]}}, 500_000) is None
    with pytest.raises(TakesLong):
        checks.broken({"value": {"a": [0] * most}}, 500_000)
    assert checks.broken({"value": {"a": [0] * most}}) is None


def test_long_texts_take_long() -> None:
    checks = SchemaChecks([("one", "value.a != 'x'")])

    with pytest.raises(TakesLong):
        checks.broken({"value": {"a": "y" * 100_000}}, 500_000)
    with pytest.raises(TakesLong):
        SchemaChecks([("one", "true")] * 100).broken({"value": [0] * 100}, 500_000)


@pytest.mark.parametrize(
    "value",
    ["x" * 40_000, b"x" * 40_000, [0] * 3_000, {str(at): 0 for at in range(3_000)}, {"a": [["x" * 40_000]]}],
)
def test_all_parts_of_a_value_count(value: object) -> None:
    checks = SchemaChecks([("any", "true")])

    assert checks.broken({"value": value}) is None
    with pytest.raises(TakesLong):
        checks.broken({"value": value}, 1_000_000)
