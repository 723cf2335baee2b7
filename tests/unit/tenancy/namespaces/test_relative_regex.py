import re

import pytest

from bifrost.tenancy.invalid_regex import InvalidRegex
from bifrost.tenancy.namespaces.relative_names import RelativeNames
from bifrost.tenancy.namespaces.relative_regex import relative_regex
from support.physical_names import prefix_of

NAMES = RelativeNames((), frozenset({("eu",), ("eu", "de"), ("a.b",)}))
PREFIX = prefix_of("acme")
TAILS = ("orders", "other", "--eu.orders", "--eu.other", "--eu.--de.orders", "--a-db.orders", "-orders", ".x")


def matched(regex: str, names: RelativeNames = NAMES, *, is_of_topics: bool = True) -> set[str]:
    """Return what the pattern matches behind the prefix; Python's syntax is enough for these."""
    confined = relative_regex(regex, PREFIX, names, is_of_topics=is_of_topics)
    return {tail for tail in TAILS if re.fullmatch(confined, PREFIX + tail)}


@pytest.mark.parametrize(
    ("regex", "found"),
    [
        (".*", {"orders", "other"}),
        ("^o.*", {"orders", "other"}),
        (".*orders", {"orders"}),
        ("[a-z.-]+", {"orders", "other"}),
        ("us:.*", set()),
        ("eu:.*", {"--eu.orders", "--eu.other"}),
        ("^eu:o[r]ders$", {"--eu.orders"}),
        ("eu:de:.*", {"--eu.--de.orders"}),
        (r"a\.b:.*", {"--a-db.orders"}),
        ("eu:(orders|other)", {"--eu.orders", "--eu.other"}),
        ("eu:[|]?orders", {"--eu.orders"}),
        ("eu:*orders", set()),
        ("orders|eu:other", {"orders"}),
    ],
)
def test_what_a_pattern_matches(regex: str, found: set[str]) -> None:
    assert matched(regex) == found


def test_names_that_are_not_of_topics_match_as_they_are() -> None:
    assert matched("-.*", is_of_topics=False) == {tail for tail in TAILS if tail.startswith("-")}


def test_another_separator() -> None:
    names = RelativeNames((), frozenset({("eu",), ("eu", "de")}), "..")

    assert matched(r"eu\.\.orders", names) == {"--eu.orders"}
    assert matched("eu:orders", names) == set()


@pytest.mark.parametrize("regex", ["eu:orders|other", r"eu:\Qa|b\E", "eu:(a)|b"])
def test_a_pattern_for_a_namespace_below_has_no_alternatives_beside_it(regex: str) -> None:
    with pytest.raises(InvalidRegex, match=r"\| outside of"):
        matched(regex)
