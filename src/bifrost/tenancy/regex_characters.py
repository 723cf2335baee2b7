"""Which ASCII characters a character or a class of a regex matches, as a set of bits: bit 65 is `A`.

Legal topic names have no other characters, so for names this is enough. Under `(?i)` a class is folded before it is
negated, as in RE2/J: `(?i)[^a]` matches neither `a` nor `A`. Source: google/re2j 1.8, CharClass, CharGroup and
UnicodeTables.
"""

import unicodedata
from functools import cache

ASCII = (1 << 128) - 1

_UPPER = sum(1 << code for code in range(ord("A"), ord("Z") + 1))
_LOWER = _UPPER << 32


def span(low: int, high: int) -> int:
    """Return the set of the characters from `low` to `high`, of those that are ASCII."""
    return ((1 << (high + 1)) - (1 << low)) & ASCII if low < 128 else 0


def folded(characters: int) -> int:
    """Return the set with the other case of each."""
    return characters | (characters & _UPPER) << 32 | (characters & _LOWER) >> 32


def negated(characters: int) -> int:
    """Return all others."""
    return ASCII & ~characters


def _set_of(text: str) -> int:
    return sum(1 << ord(char) for char in text)


WORD = span(ord("0"), ord("9")) | _UPPER | _LOWER | _set_of("_")
_DIGIT = span(ord("0"), ord("9"))
_SPACE = _set_of("\t\n\f\r ")
_GRAPHIC = span(0x21, 0x7E)
_BY_LETTER = {"d": _DIGIT, "s": _SPACE, "w": WORD}
_POSIX = {
    "alnum": _DIGIT | _UPPER | _LOWER,
    "alpha": _UPPER | _LOWER,
    "ascii": ASCII,
    "blank": _set_of("\t "),
    "cntrl": span(0, 0x1F) | _set_of("\x7f"),
    "digit": _DIGIT,
    "graph": _GRAPHIC,
    "lower": _LOWER,
    "print": _GRAPHIC | _set_of(" "),
    "punct": _GRAPHIC & ~(_DIGIT | _UPPER | _LOWER),
    "space": _SPACE | _set_of("\v"),
    "upper": _UPPER,
    "word": WORD,
    "xdigit": _DIGIT | _set_of("abcdefABCDEF"),
}


@cache
def named(text: str, fold: bool) -> int:
    r"""Return the set of a class that has a name: `\d`, `\p{Lu}` (as the parser prints it) or `[:alpha:]`."""
    if text.startswith("[:"):
        name = text.strip("[:^]")
        characters, is_negated = _POSIX[name], text[2] == "^"
    elif text[1] in "pP":
        characters, is_negated = _of_category(text[3:-1]), text[1] == "P"
    else:
        characters, is_negated = _BY_LETTER[text[1].lower()], text[1].isupper()
    if fold:
        characters = folded(characters)
    return negated(characters) if is_negated else characters


def _of_category(name: str) -> int:
    letters = _UPPER | _LOWER
    of_script = {"Any": ASCII, "Latin": letters, "Common": negated(letters)}.get(name)
    if of_script is not None:
        return of_script
    return sum(1 << code for code in range(128) if unicodedata.category(chr(code)).startswith(name))
