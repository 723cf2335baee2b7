r"""Translates those of Java's regular expressions that mean the same to Python's engine and have bounded matching time.

It accepts literals, `.`, `^`, `$`, classes without classes in them, `\d \w \s` and their opposites, groups,
alternatives, greedy, lazy and possessive quantifiers, and `(?i)` at the start. It refuses Java's other constructs
(named groups, look-around, back-references, `\b`, `\p{...}`, intersections) and names their place, so that none is read
with another meaning.

A group that is itself repeated may hold neither a repetition nor alternatives: `(a+)+` takes a time that doubles with
each letter of a name that does not match. A possessive repetition, which never backtracks, does not count as a
repetition here.

The caller ensures that no text has line breaks, which the two engines treat differently.
"""

import re
from dataclasses import dataclass

MAX_LENGTH = 1000
"""Longest pattern, in characters."""

MAX_REPEATS = 1000
"""Largest number in a quantifier: names are not longer."""

_QUANTIFIER = re.compile(r"(?:([*+?])|\{(\d{1,9})(?:(,)(\d{1,9})?)?\})([+?]?)")
_ESCAPE = re.compile(r"\\(?:[^A-Za-z0-9\s]|[dDwWsStnrf]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})", re.ASCII)


@dataclass(slots=True)
class _Group:
    """A group that is not closed yet."""

    start: int
    varies: bool = False
    """Whether it may match one text in several ways: it holds a repetition or alternatives."""


def read_java_regex(pattern: str) -> re.Pattern[str]:
    """Return Python's form of a pattern.

    Raises:
        ValueError: it is not a pattern, or has a construct that is refused; the message is for the operator.
    """
    if len(pattern) > MAX_LENGTH:
        raise ValueError(f"the pattern has {len(pattern)} characters; at most {MAX_LENGTH} are read")
    flags = re.ASCII
    start = 0
    if pattern.startswith("(?i)"):
        flags |= re.IGNORECASE
        start = 4
    _Reader(pattern, start).read()
    try:
        return re.compile(pattern[start:], flags)
    except (re.error, OverflowError) as error:
        raise ValueError(f"the pattern {pattern!r} cannot be read: {error}") from None


class _Reader:
    """Reads a pattern from left to right, and stops at a construct that is refused."""

    def __init__(self, pattern: str, start: int) -> None:
        self._pattern = pattern
        self._position = start
        self._open = [_Group(start)]

    def read(self) -> None:
        while self._position < len(self._pattern):
            self._atom()
        if len(self._open) > 1:
            raise self._refused(self._open[-1].start, "a group is not closed")

    def _atom(self) -> None:
        start, char = self._position, self._pattern[self._position]
        varies, may_repeat = False, True
        if char == "\\":
            self._escape()
        elif char == "[":
            self._class()
        elif char == "(":
            self._begin_group()
            return
        elif char == ")":
            varies = self._end_group()
        elif char == "|":
            self._open[-1].varies = True
            self._position += 1
            return
        elif char in "*+?{":
            raise self._refused(start, f"{char} repeats nothing; write \\{char} for the sign itself")
        else:
            may_repeat = char not in "^$"
            self._position += 1
        self._quantifier(start, varies, may_repeat)

    def _quantifier(self, start: int, varies: bool, may_repeat: bool) -> None:
        found = _QUANTIFIER.match(self._pattern, self._position)
        if found is None:
            self._open[-1].varies |= varies
            return
        self._position = found.end()
        sign, low, comma, high, mode = found.groups()
        least = int(low) if low else int(sign == "+")
        most = 1 if sign == "?" else None if sign or (comma and not high) else int(high or low)
        if not may_repeat:
            raise self._refused(start, "an anchor is not repeated")
        if max(least, most or 0) > MAX_REPEATS or (most is not None and most < least):
            raise self._refused(start, f"a quantifier counts up to {MAX_REPEATS}, the smaller number first")
        if most != 1 and varies:
            text = (
                "what is repeated holds a repetition or alternatives, which can take for ever: repeat a single "
                "character or class, or make the inner repetition possessive, e.g. [^,]*+"
            )
            raise self._refused(start, text)
        # Without backtracking there is only one way to match.
        self._open[-1].varies |= mode != "+" and (varies or least != most)

    def _escape(self) -> None:
        found = _ESCAPE.match(self._pattern, self._position)
        if found is None:
            what = self._pattern[self._position : self._position + 2]
            raise self._refused(self._position, f"{what} is not among what is read")
        self._position = found.end()

    def _class(self) -> None:
        start = self._position
        self._position += 2 if self._pattern.startswith("[^", start) else 1
        first = self._position
        while self._position < len(self._pattern):
            char = self._pattern[self._position]
            if char == "]":
                if self._position == first:
                    raise self._refused(start, "an empty class, or one that begins with ]: write \\]")
                self._position += 1
                return
            if char == "[" or self._pattern.startswith("&&", self._position):
                raise self._refused(
                    self._position, "a class within a class: write \\[ or \\& for the sign itself"
                )
            if char == "\\":
                self._escape()
            else:
                self._position += 1
        raise self._refused(start, "a class is not closed")

    def _begin_group(self) -> None:
        start = self._position
        self._position += 1
        if self._pattern.startswith("?", self._position):
            if not self._pattern.startswith("?:", self._position):
                raise self._refused(
                    start, "of the groups that begin with (? only (?: is read, and (?i) in front of all"
                )
            self._position += 2
        self._open.append(_Group(start))

    def _end_group(self) -> bool:
        if len(self._open) == 1:
            raise self._refused(self._position, "a ) closes nothing; write \\) for the sign itself")
        self._position += 1
        return self._open.pop().varies

    def _refused(self, position: int, text: str) -> ValueError:
        return ValueError(f"the pattern {self._pattern!r}, character {position + 1}: {text}")
