"""Sets of ASCII characters, against what the characters are."""

import string

import pytest

from bifrost.tenancy import regex_characters
from bifrost.tenancy.regex_characters import ASCII, folded, named, negated, span


def texts(characters: int) -> str:
    return "".join(chr(code) for code in range(128) if characters >> code & 1)


def test_a_span_ends_where_ascii_does() -> None:
    assert texts(span(ord("a"), ord("c"))) == "abc"
    assert texts(span(ord("~"), 0x10FFFF)) == "~\x7f"
    assert span(0x80, 0x10FFFF) == 0
    assert span(0, 0x10FFFF) == ASCII


def test_letters_have_another_case() -> None:
    assert texts(folded(span(ord("k"), ord("m")))) == "KLMklm"
    assert texts(folded(span(ord("Y"), ord("^")))) == "YZ[\\]^yz"
    assert folded(ASCII) == ASCII


def test_all_others_are_ascii_too() -> None:
    assert negated(0) == ASCII
    assert texts(negated(negated(span(ord("0"), ord("1"))))) == "01"


@pytest.mark.parametrize(
    ("name", "characters"),
    [
        (r"\d", string.digits),
        (r"\w", string.digits + string.ascii_uppercase + "_" + string.ascii_lowercase),
        (r"\s", "\t\n\f\r "),
        ("[:alnum:]", string.digits + string.ascii_uppercase + string.ascii_lowercase),
        ("[:alpha:]", string.ascii_uppercase + string.ascii_lowercase),
        ("[:blank:]", "\t "),
        ("[:cntrl:]", "".join(map(chr, range(32))) + "\x7f"),
        ("[:digit:]", string.digits),
        ("[:graph:]", "".join(map(chr, range(33, 127)))),
        ("[:lower:]", string.ascii_lowercase),
        ("[:print:]", "".join(map(chr, range(32, 127)))),
        ("[:punct:]", string.punctuation),
        ("[:space:]", "\t\n\v\f\r "),
        ("[:upper:]", string.ascii_uppercase),
        ("[:word:]", string.digits + string.ascii_uppercase + "_" + string.ascii_lowercase),
        ("[:xdigit:]", string.digits + "ABCDEFabcdef"),
        (r"\p{Lu}", string.ascii_uppercase),
        (r"\p{L}", string.ascii_uppercase + string.ascii_lowercase),
        (r"\p{Latin}", string.ascii_uppercase + string.ascii_lowercase),
        (r"\p{N}", string.digits),
        (r"\p{Pd}", "-"),
        (r"\p{Pc}", "_"),
    ],
)
def test_classes_with_a_name(name: str, characters: str) -> None:
    assert texts(named(name, fold=False)) == "".join(sorted(characters))


@pytest.mark.parametrize(
    ("name", "negation"), [(r"\d", r"\D"), ("[:alpha:]", "[:^alpha:]"), (r"\p{Lu}", r"\P{Lu}")]
)
@pytest.mark.parametrize("fold", [False, True])
def test_a_class_and_its_negation_have_nothing_in_common(name: str, negation: str, fold: bool) -> None:
    assert named(name, fold) ^ named(negation, fold) == ASCII


def test_a_class_is_folded_before_it_is_negated() -> None:
    letters = string.ascii_uppercase + string.ascii_lowercase

    assert texts(named(r"\p{Lu}", fold=True)) == letters
    assert named(r"\P{Lu}", fold=True) == negated(named(r"\p{Lu}", fold=True))


def test_common_and_any_are_sets_too() -> None:
    assert named(r"\p{Any}", fold=False) == ASCII
    assert named(r"\p{Common}", fold=False) == negated(named(r"\p{Latin}", fold=False))
    assert named(r"\w", fold=False) == regex_characters.WORD
