"""Maps a certificate's distinguished name to a principal, by Kafka's `ssl.principal.mapping.rules`.

    rules := rule {"," rule}
    rule  := "DEFAULT" | "RULE:" pattern "/" replacement "/" ["L" | "U"]

`/` within a pattern or a replacement is written `\\/`. A pattern must match the whole name; each place where it is
found in it then becomes the replacement, `$1` in it being what the first group matched. The patterns are Java's, as far
as `java_regex.py` accepts them. Source: SslPrincipalMapper.
"""

import re
from typing import Annotated

from pydantic import AfterValidator

from bifrost.config.principals.java_regex import read_java_regex
from bifrost.config.values import Text

MAX_RULES = 100
"""Most rules: more than this are a mistake, not a way to distinguish principals."""

_RULE = re.compile(r"RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?)", re.DOTALL)
_DEFAULT = "DEFAULT"
_DIGITS = frozenset("0123456789")
_LINE_BREAK = re.compile("[\n\r\u0085\u2028\u2029]")


class _Rule:
    """One rule that is not DEFAULT."""

    def __init__(self, pattern: str, replacement: str, case: str) -> None:
        self._pattern = read_java_regex(pattern)
        self._parts = _read_replacement(replacement, self._pattern.groups)
        self._case = case

    def apply(self, name: str) -> str | None:
        """Return the result for a name, None when it does not match."""
        if self._pattern.fullmatch(name) is None:
            return None
        principal = self._replaced(name)
        if self._case:
            return principal.lower() if self._case == "L" else principal.upper()
        return principal

    def _replaced(self, name: str) -> str:
        """Replace as Java's Matcher.replaceAll, which continues one character after an empty match."""
        parts, copied, start = [], 0, 0
        while start <= len(name):
            found = self._pattern.search(name, start)
            if found is None:
                break
            parts.append(name[copied : found.start()])
            parts += [part if isinstance(part, str) else found[part] or "" for part in self._parts]
            copied = found.end()
            start = copied + (copied == found.start())
        return "".join(parts) + name[copied:]


class PrincipalMapping:
    """Rules in their order; the first that matches a name gives its principal."""

    def __init__(self, text: str) -> None:
        """Read the rules.

        Raises:
            ValueError: they cannot be read; the message is for the operator.
        """
        self._rules: list[_Rule | None] = []
        text, position = text.strip(), 0
        while position < len(text):
            position = self._read_rule(text, position)
        if not self._rules:
            raise ValueError("there is no rule: write DEFAULT or RULE:pattern/replacement/")
        if len(self._rules) > MAX_RULES:
            raise ValueError(f"{len(self._rules)} rules; at most {MAX_RULES} are read")

    def principal_of(self, distinguished_name: str) -> str | None:
        """Return the principal of a name, None when no rule matches it.

        A name with a line break has no principal: Java and Python disagree about where `.` and `$` stop.
        """
        if _LINE_BREAK.search(distinguished_name):
            return None
        for rule in self._rules:
            principal = distinguished_name if rule is None else rule.apply(distinguished_name)
            if principal is not None:
                return principal
        return None

    def _read_rule(self, text: str, start: int) -> int:
        """Read the rule at `start`, if there is one before the next comma; return where the next may begin."""
        start = _skip_spaces(text, start)
        rule = _RULE.match(text, start)
        is_default = rule is None and text.startswith(_DEFAULT, start)
        end = rule.end() if rule else start + len(_DEFAULT) * is_default
        after = _skip_spaces(text, end)
        if after < len(text) and text[after] != ",":
            shown = text[start : start + 60]
            raise ValueError(
                f"{shown!r} is no rule: write DEFAULT or RULE:pattern/replacement/, with L or U behind it or nothing, "
                "a comma before the next, and \\/ for a slash within"
            )
        if rule is not None:
            pattern, replacement, case = rule.groups()
            try:
                self._rules.append(_Rule(pattern, replacement, case))
            except ValueError as error:
                raise ValueError(f"the rule {rule[0]!r}: {error}") from None
        elif is_default:
            self._rules.append(None)
        return after + 1


def _skip_spaces(text: str, start: int) -> int:
    while start < len(text) and text[start] in " \t\n\v\f\r":
        start += 1
    return start


def _read_replacement(text: str, groups: int) -> list[str | int]:
    """Return literal texts and numbers of groups, read as Java's Matcher.replaceAll does.

    The number of a group that does not exist is refused, though Kafka takes a single one, not two, literally.
    """
    parts: list[str | int] = []
    position = 0
    while position < len(text):
        char = text[position]
        position += 1
        if char == "\\":
            if text[position] == "$" and groups and text[position + 1 : position + 2] in _DIGITS:
                _read_reference(text, position + 1, groups)  # Kafka also looks for numbers after \$.
            parts.append(text[position])  # A character follows: the grammar reads them in pairs.
            position += 1
        elif char != "$":
            parts.append(char)
        else:
            number, position = _read_reference(text, position, groups)
            parts.append(number)
    return parts


def _read_reference(text: str, start: int, groups: int) -> tuple[int, int]:
    """Return the group that the digits at `start` name, and where they end: at the last that still names a group."""
    if start >= len(text) or text[start] not in _DIGITS:
        raise ValueError(
            "a $ in the replacement is followed by the number of a group; write \\$ for the sign itself"
        )
    number = int(text[start])
    if number > groups:
        raise ValueError(f"the replacement has ${number}, but the pattern has {groups or 'no'} groups (...)")
    end = start + 1
    while end < len(text) and text[end] in _DIGITS and number * 10 + int(text[end]) <= groups:
        number = number * 10 + int(text[end])
        end += 1
    return number, end


def _check(text: str) -> str:
    PrincipalMapping(text)
    return text


PrincipalMappingRules = Annotated[Text, AfterValidator(_check)]
"""The text of the rules, known to be readable."""
