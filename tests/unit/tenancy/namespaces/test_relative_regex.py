import re

import pytest

from bifrost.tenancy.invalid_regex import InvalidRegex
from bifrost.tenancy.names import TenantNames
from bifrost.tenancy.namespaces import relative_regex as relative_regex_module
from bifrost.tenancy.namespaces.relative_names import RelativeNames
from bifrost.tenancy.namespaces.relative_regex import matching_names, relative_regex
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


PLACES = TenantNames("acme", namespaces={("eu",), ("eu", "de")})


@pytest.mark.parametrize(
    ("regex", "found"),
    [
        (".*", ["orders", "other"]),
        ("or.*|x", ["orders"]),
        (r"\border", []),
        (r"\borders\b", ["orders"]),
        ("eu:.*", ["eu:orders"]),
        ("eu:de:o.*", ["eu:de:orders"]),
        ("^eu:o[r]ders$", ["eu:orders"]),
        ("us:.*", []),
    ],
)
def test_which_moved_topics_a_pattern_matches(regex: str, found: list[str]) -> None:
    topics = [b"other", b"orders", b"eu:orders", b"eu:de:orders"]

    assert matching_names(regex, topics, PLACES.place_of) == found


def test_names_are_matched_as_far_as_bounds_go(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [b"orders-%04d" % number for number in reversed(range(3000))]
    first = [f"orders-{number:04}" for number in range(relative_regex_module.MAX_MATCHING)]
    assert matching_names(".*", many, PLACES.place_of) == first

    monkeypatch.setattr(relative_regex_module, "MAX_MATCHING_STEPS", 5_000)
    some = matching_names(".*", many, PLACES.place_of)
    assert 100 < len(some) < relative_regex_module.MAX_MATCHING
    assert some[-1] == "orders-2999"
    with pytest.raises(InvalidRegex):
        matching_names("(", many, PLACES.place_of)
