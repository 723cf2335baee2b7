import pytest
from pydantic import ValidationError

from bifrost.config.records.filter_rule import FilterRule


def test_a_rule_without_keys_is_for_everything() -> None:
    rule = FilterRule()

    assert (rule.namespace, rule.topics, rule.principals, rule.direction) == (None, ("*",), ("User:*",), None)


@pytest.mark.parametrize("pattern", ["orders", "*", "eu:*.events", "a-b_c.D*"])
def test_patterns_have_stars(pattern: str) -> None:
    assert FilterRule.model_validate({"topics": [pattern]}).topics == (pattern,)


@pytest.mark.parametrize("pattern", ["", "a?", "[a]", "a b", "x" * 250])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValidationError):
        FilterRule.model_validate({"topics": [pattern]})
