import re

import pytest

from bifrost.tenancy import regex_parts
from bifrost.tenancy.regex_parts import (
    ALTERNATION,
    ALWAYS,
    EMPTY,
    MAX_LISTED_DEPTH,
    MAX_PROGRAM,
    NEVER,
    NOTHING,
    WORD,
    InvalidRegex,
    Part,
    Piece,
    Start,
    atom,
    both,
    either,
    listed,
    times,
)
from support.physical_names import prefix_of

A, B = Piece("a"), Piece("b")
START = Start(prefix_of("acme"))
BOUNDARY = Part(WORD, NEVER, Piece(r"\b"))


def test_nothing_and_never_are_left_out() -> None:
    assert both(A, EMPTY) == both(EMPTY, A) == either(A, NEVER) == either(NEVER, A) == either(A, A) == A
    assert both(A, NEVER) == both(NEVER, A) == times(NEVER, 1, None) == NEVER
    assert times(NEVER, 0, None) == times(EMPTY, 3, 5) == times(A, 0, 0) == EMPTY
    assert either(A, EMPTY) == either(EMPTY, A) == times(A, 0, 1)


def test_a_text_is_put_in_a_group_only_where_it_must() -> None:
    choice = either(A, B)

    assert choice.level == ALTERNATION
    assert both(choice, A).text == "(?:a|b)a"
    assert either(both(A, B), A).text == "ab|a"
    assert times(both(A, B), 2, 2).text == "(?:ab){2}"
    assert times(times(A, 0, None), 2, None).text == "(?:a*){2,}"


def test_case_is_folded_for_as_much_as_possible_at_once() -> None:
    folded = Piece("k", fold=True)

    assert both(times(folded, 0, 1), either(folded, EMPTY)).text == "k?k?"
    assert both(folded, A).text == "(?i:k)a"
    assert either(A, folded).text == "a|(?i:k)"


@pytest.mark.parametrize(
    ("low", "high", "operator", "cost"),
    [
        (0, None, "*", 3),
        (1, None, "+", 3),
        (0, 1, "?", 2),
        (2, 2, "{2}", 2),
        (2, 5, "{2,5}", 8),
        (3, None, "{3,}", 5),
    ],
)
def test_a_repetition_costs_what_re2j_writes_out(
    low: int, high: int | None, operator: str, cost: int
) -> None:
    assert times(A, low, high).text == f"a{operator}"
    assert times(A, low, high).cost == cost


def test_a_piece_has_limits() -> None:
    most = times(times(A, 100, 100), MAX_PROGRAM // 100, MAX_PROGRAM // 100)

    assert most.cost == MAX_PROGRAM
    with pytest.raises(InvalidRegex, match="too large"):
        both(most, A)
    with pytest.raises(InvalidRegex, match="too large"):
        Piece("a" * (regex_parts.MAX_CONFINED_LENGTH + 1))


def test_behind_what_takes_a_character_is_not_the_start() -> None:
    joined = START.sequence([atom(A), BOUNDARY])

    assert joined == Part(0, Piece(r"a\b", 1, 2), Piece(r"a\b", 1, 2), plain=True)


def test_behind_what_may_be_empty_it_may_be() -> None:
    maybe = START.repeated(atom(A), 0, None)

    joined = START.sequence([maybe, BOUNDARY, atom(B)])

    assert (maybe.zero, maybe.some.text, maybe.later.text) == (ALWAYS, "a+", "a*")
    assert (joined.zero, joined.some.text, joined.later.text) == (0, r"a+\bb|\Bb", r"a*\bb")


def test_no_parts_are_the_empty_regex() -> None:
    assert START.sequence([]) == NOTHING
    assert START.repeated(BOUNDARY, 0, 0) == NOTHING


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], NEVER.text),
        (["orders"], "orders"),
        (["a", "b"], "a|b"),
        (["a", "ab"], "a(?:|b)"),
        (["a.b", "a.c", "d"], r"a\.(?:b|c)|d"),
        (["ab", "abc", "abd", "x"], "ab(?:|c|d)|x"),
    ],
)
def test_names_are_listed_and_what_begins_alike_is_written_once(names: list[str], text: str) -> None:
    assert listed(names).text == text


def test_a_list_has_few_groups_in_groups() -> None:
    names = ["a" * length for length in range(1, 60)]

    text = listed(names).text

    assert text.count("(?:") == MAX_LISTED_DEPTH
    assert [name for name in names if re.fullmatch(text, name)] == names
