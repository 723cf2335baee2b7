import stringprep
import time

import pytest

from bifrost.authentication.saslprep import MAX_NAME_LENGTH, is_prohibited, saslprep

TABLES = (
    stringprep.in_table_c12,
    stringprep.in_table_c21_c22,
    stringprep.in_table_c3,
    stringprep.in_table_c4,
    stringprep.in_table_c5,
    stringprep.in_table_c6,
    stringprep.in_table_c7,
    stringprep.in_table_c8,
    stringprep.in_table_c9,
)


@pytest.mark.parametrize(
    ("name", "prepared"),
    [
        # RFC 4013, section 3.
        ("I\u00adX", "IX"),
        ("user", "user"),
        ("USER", "USER"),
        ("\u00aa", "a"),
        ("\u2168", "IX"),
        ("\u0007", None),
        ("\u06271", None),
        # Others.
        ("", ""),
        ("\u00adacme", "acme"),
        ("a\u00a0b", "a b"),
        ("jo\u0308rg", "jörg"),
        ("\ue000", None),
        ("\ufffd", None),
        ("\u202e", None),
        ("\u0627\u0628", "\u0627\u0628"),
        ("\u0627a\u0628", None),
        ("a\x7f", None),
    ],
)
def test_a_name_is_prepared(name: str, prepared: str | None) -> None:
    assert saslprep(name) == prepared


@pytest.mark.parametrize("plane", [0, 1, 14, 16])
def test_the_prohibited_characters_are_those_of_the_tables(plane: int) -> None:
    codes = range(plane << 16, (plane + 1) << 16, 1 if plane == 0 else 7)
    last_two = ((plane << 16) + 0xFFFE, (plane << 16) + 0xFFFF)

    for char in map(chr, (*codes, *last_two)):
        assert is_prohibited(char) == any(table(char) for table in TABLES), hex(ord(char))


@pytest.mark.parametrize("char", ["a", "é", "\u0627"])
def test_a_name_has_a_longest_length(char: str) -> None:
    assert saslprep(char * MAX_NAME_LENGTH) == char * MAX_NAME_LENGTH
    assert saslprep(char * (MAX_NAME_LENGTH + 1)) is None


def test_a_name_that_becomes_too_long_by_preparing_is_none() -> None:
    assert saslprep("\ufdfa") is not None
    assert len(saslprep("\ufdfa") or "") == 18
    assert saslprep("\ufdfa" * (MAX_NAME_LENGTH // 18 + 1)) is None


@pytest.mark.parametrize(
    "name", ["\ufdfa" * 1365, "\ufdfa" * 256, "\ufdfa" * 14, "é" * 256, "\u0344\u0316" * 128]
)
def test_the_worst_names_are_cheap(name: str) -> None:
    saslprep("é")  # The first such name imports the tables.
    best_ns = min(_cost_ns(name) for _ in range(15))

    assert best_ns < 1_000_000


def _cost_ns(name: str) -> int:
    began_ns = time.thread_time_ns()
    saslprep(name)
    return time.thread_time_ns() - began_ns
