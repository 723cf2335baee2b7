"""Names matched by a tree of nodes; the trees of whole patterns are compared with RE2/J in tests/golden."""

import re
from collections.abc import Iterator
from itertools import product

import pytest

from bifrost.tenancy.regex_characters import ASCII, WORD, span
from bifrost.tenancy.regex_matcher import (
    MAX_STEPS,
    Either,
    Matcher,
    Node,
    Then,
    Times,
    TooManySteps,
    matching,
)
from bifrost.wire.steps import set_pause

A, B = span(ord("a"), ord("a")), span(ord("b"), ord("b"))
NAMES = ["".join(chars) for length in range(5) for chars in product("ab-", repeat=length)]


@pytest.mark.parametrize(
    ("node", "expression"),
    [
        (None, ""),
        (0, "[^\\s\\S]"),
        (A, "a"),
        (Then(A, B), "ab"),
        (Either(A, B), "a|b"),
        (Times(A, 0, None), "a*"),
        (Times(A, 1, None), "a+"),
        (Times(A, 2, None), "a{2,}"),
        (Times(A, 2, 2), "a{2}"),
        (Times(A, 0, 1), "a?"),
        (Times(A, 1, 3), "a{1,3}"),
        (Times(None, 2, 3), ""),
        (Times(Times(A, 0, None), 0, None), "(?:a*)*"),
        (Times(Either(None, A), 2, None), "(?:|a){2,}"),
        (Then(Times(ASCII, 0, None), Then(A, Times(WORD, 2, 2))), r".*a\w{2}"),
        (Then(A, "$"), "a$"),
        (Then(Then(A, "$"), B), "a$b"),
        (Then(A, Then("b", Times(ASCII, 0, None))), r"a\b.*"),
        (Then(A, Then("B", Times(ASCII, 0, None))), r"a\B.*"),
        (Times(Then("b", Either(Times(A, 1, None), ASCII)), 1, None), r"(?:\b(?:a+|.))+"),
    ],
)
def test_a_tree_matches_what_its_regex_does(node: Node, expression: str) -> None:
    # Before the name stands a character that is none of a word, as before the beginning of a text.
    assert matching(node, NAMES, "-") == [name for name in NAMES if re.fullmatch(expression, name)]


def test_a_boundary_at_the_start_looks_at_the_prefix() -> None:
    boundary, none = Then("b", Times(ASCII, 0, None)), Then("B", Times(ASCII, 0, None))

    assert matching(boundary, ["a", "-"], "_") == ["-"]
    assert matching(boundary, ["a", "-"], "-") == ["a"]
    assert matching(none, ["a", "-"], "_") == ["a"]
    assert matching(none, ["a", "-"], ".") == ["-"]


def test_a_tree_is_as_deep_as_it_likes() -> None:
    left: Node = None
    right: Node = None
    for _ in range(5000):
        left, right = Then(left, A), Then(A, right)

    assert Matcher(left, "_").matches("a" * 5000)
    assert Matcher(right, "_").matches("a" * 5000)


def test_transitions_are_found_once() -> None:
    # (a|b)*a(a|b){5}: what is found for one name serves the others.
    many = Then(Times(A | B, 0, None), Then(A, Times(A | B, 5, 5)))
    names = ["".join(chars) for chars in product("ab", repeat=8)]

    assert len(matching(many, names * 10, "_")) == 10 * 128


def test_steps_are_bounded() -> None:
    exactly = ["x" * 100] * (MAX_STEPS // 100 - 1)

    assert matching(A, exactly, "_") == []
    with pytest.raises(TooManySteps):
        matching(A, [*exactly, "x" * 100, "x"], "_")


def test_a_pattern_with_many_ways_has_few_steps_left() -> None:
    ways = Times(Times(A, 0, 1), 600, 600)

    with pytest.raises(TooManySteps):
        matching(ways, ["a" * 200], "_")


@pytest.fixture
def pauses() -> Iterator[list[None]]:
    """An entry for each time at which the work could have paused."""
    found: list[None] = []
    set_pause(lambda: found.append(None))
    yield found
    set_pause(None)


ANY_NAME = Times(WORD, 0, None)


@pytest.mark.parametrize(
    ("node", "names", "least"),
    [(ANY_NAME, 2_000, 200), (Times(A, 1_900, 1_900), 1, 40), (Times(Times(A, 0, 1), 400, 400), 1, 25)],
    ids=["many names", "a long program", "many ways"],
)
def test_it_pauses_between_names_and_while_the_program_is_written(
    pauses: list[None], node: Node, names: int, least: int
) -> None:
    matching(node, ["name"] * names, "_")

    assert len(pauses) >= least
