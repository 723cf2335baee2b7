import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.tenancy.policies.name_pattern import matches, matches_any


@pytest.mark.parametrize(
    ("pattern", "name", "does"),
    [
        ("orders", "orders", True),
        ("orders", "orders2", False),
        ("orders-*", "orders-", True),
        ("orders-*", "my-orders-1", False),
        ("*.events", "eu.events", True),
        ("*.events", "eu.events.old", False),
        ("a*a", "a", False),
        ("a*b*c", "aXbYbZc", True),
        ("a*b*c", "acb", False),
        ("*", "", True),
    ],
)
def test_a_star_stands_for_any_characters(pattern: str, name: str, does: bool) -> None:
    assert matches(pattern, name) is does


@given(
    st.text("ab*", min_size=1, max_size=8).filter(lambda text: "**" not in text), st.text("ab", max_size=12)
)
def test_a_pattern_matches_what_a_regex_would_match(pattern: str, name: str) -> None:
    regex = ".*".join(map(re.escape, pattern.split("*")))

    assert matches(pattern, name) == (re.fullmatch(regex, name) is not None)


def test_without_patterns_every_name_matches() -> None:
    assert matches_any((), "anything")
    assert matches_any(("a", "b*"), "bc")
    assert not matches_any(("a", "b*"), "c")
