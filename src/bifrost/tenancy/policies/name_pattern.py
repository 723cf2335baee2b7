"""Patterns of names, in which `*` stands for any characters. One is compared in time that grows with the name alone."""

from collections.abc import Iterable


def matches(pattern: str, name: str) -> bool:
    """Whether a name matches a pattern as a whole."""
    first, star, rest = pattern.partition("*")
    if not star:
        return name == pattern
    *middle, last = rest.split("*")
    if len(name) < len(first) + len(last) or not name.startswith(first) or not name.endswith(last):
        return False
    at, end = len(first), len(name) - len(last)
    for part in middle:
        # The first place where it fits leaves most room for those that follow.
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def matches_any(patterns: Iterable[str], name: str) -> bool:
    """Whether a name matches one of the patterns; without patterns any name does."""
    some = tuple(patterns)
    return not some or any(matches(one, name) for one in some)
