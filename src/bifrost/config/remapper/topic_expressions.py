r"""Turns the keys of `mapping.topics` into the patterns of virtual partitions.

A remapper takes a key as a name first and as a regular expression then, which has to match a whole name. The gateway's
patterns know names and `*`; so an expression is accepted where it says nothing else, and refused where a pattern would
match other topics. A group of alternatives, a set of characters and an optional part are several patterns:

    (eu|us)\.orders(-v[12])?     eu.orders, eu.orders-v1, eu.orders-v2, us.orders, us.orders-v1, us.orders-v2
"""

import re

MAX_PATTERNS = 100
"""Most patterns of one expression: each new topic of a client is compared with all."""
MAX_GROUPS = 50
"""Most groups of one expression, which may stand in each other."""

EXPECTED = (
    r"expected a topic's name, or an expression made of characters of names, \. and .*, groups (a|b), sets [ab] and ?; "
    f"at most {MAX_PATTERNS} names and patterns that it stands for"
)

_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_ATOM = re.compile(r"(?P<any>\.\*)|\\(?P<escaped>[._-])|(?P<plain>[a-zA-Z0-9_-])|\[(?P<set>[a-zA-Z0-9._]+)\]")


class _NoPattern(Exception):
    """No pattern matches what an expression does."""


def is_name(key: str) -> bool:
    """Whether a key is the name of a topic; one with dots is meant as a name, not as an expression."""
    return bool(_NAME.fullmatch(key))


def patterns_of(key: str) -> tuple[str, ...]:
    """Return the patterns that match what a key does; none: there are no such patterns, or too many."""
    if is_name(key):
        return (key,)
    text = key.removeprefix("^").removesuffix("$")
    if text.count("(") > MAX_GROUPS:
        return ()
    try:
        found, end = _sequence(text, 0)
    except _NoPattern:
        return ()
    return tuple(dict.fromkeys(found)) if end == len(text) and all(found) else ()


def _sequence(text: str, at: int) -> tuple[list[str], int]:
    """Return the patterns of what stands in a row, and where it ends."""
    found = [""]
    while at < len(text) and text[at] not in "|)":
        parts, at = _group(text, at) if text[at] == "(" else _atom(text, at)
        if text[at : at + 1] == "?":
            parts, at = ["", *parts], at + 1
        if len(found) * len(parts) > MAX_PATTERNS:
            raise _NoPattern
        found = [first + second for first in found for second in parts]
    return found, at


def _group(text: str, at: int) -> tuple[list[str], int]:
    at += 3 if text.startswith("(?:", at) else 1
    found, at = _sequence(text, at)
    while text[at : at + 1] == "|":
        more, at = _sequence(text, at + 1)
        found = [*found, *more]
    if text[at : at + 1] != ")" or len(found) > MAX_PATTERNS:
        raise _NoPattern
    return found, at + 1


def _atom(text: str, at: int) -> tuple[list[str], int]:
    found = _ATOM.match(text, at)
    if found is None:
        raise _NoPattern
    if found["any"]:
        # A question mark behind it only says how a match is found.
        end = found.end()
        return ["*"], end + (text[end : end + 1] == "?")
    if found["set"]:
        return list(dict.fromkeys(found["set"])), found.end()
    return [found["escaped"] or found["plain"]], found.end()
