import pytest

from bifrost.schemas.readers.reader import SchemaError
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
