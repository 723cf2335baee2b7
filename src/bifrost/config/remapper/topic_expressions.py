"""Turns the keys of `mapping.topics` into the patterns of virtual partitions.

A remapper takes a key as a name first and as a regular expression then. The gateway's patterns know names and `*`; so
an expression is accepted where it says nothing else, and refused where a pattern would match other topics.
"""

import re

_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_PART = re.compile(r"\.\*|\\[._-]|[a-zA-Z0-9_-]")

EXPECTED = r"expected a topic's name, or an expression made of characters of names, \. and .*"


def is_name(key: str) -> bool:
    """Whether a key is the name of a topic; one with dots is meant as a name, not as an expression."""
    return bool(_NAME.fullmatch(key))


def pattern_of(key: str) -> str | None:
    """Return the pattern that matches what a key does; None: there is none."""
    if is_name(key):
        return key
    rest = key.removeprefix("^").removesuffix("$")
    parts = _PART.findall(rest)
    if not rest or "".join(parts) != rest:
        return None
    return "".join("*" if part == ".*" else part.removeprefix("\\") for part in parts)
