"""Maps Kerberos principals to the names that tenants list: Kafka's `sasl.kerberos.principal.to.local.rules`.

    DEFAULT                                             the first part of a principal of the own realm
    RULE:[n:string](regexp)s/pattern/replacement/g/L    for principals of n parts

In `string` $0 is the realm, $1 and $2 are the parts; a rule applies if all of that matches `regexp`. Then `pattern` is
replaced, once or with `g` everywhere, and `/L` or `/U` makes letters small or large. The first rule that applies
counts.

Patterns are Java's in Kafka and Python's here. A pattern that the two read differently is refused, so that a rule has
the same meaning here and at a broker; tests/golden compares both.

Source: KerberosName, KerberosShortNamer, KerberosRule (org.apache.kafka.common.security.kerberos).
"""

import re
from dataclasses import dataclass

_PRINCIPAL = re.compile(r"([^/@]*)(?:/([^/@]*))?@([^/@]*)")
_RULE = re.compile(
    r"RULE:\[(?P<parts>[0-9]+):(?P<format>[^\]]*)\](?:\((?P<match>[^)]*)\))?"
    r"(?:s/(?P<pattern>[^/]*)/(?P<replacement>[^/]*)/(?P<all>g)?)?/?(?P<case>[LU])?"
)
_PARAMETER = re.compile(r"\$([0-9]*)")
_MEANS_ANOTHER_THING = re.compile(
    r"\\[^dDwWsS.\\/@$^|?*+(){}\[\]-]"  # an escape that one of the two does not know, or a back reference
    r"|\(\?(?!:)"  # flags, names, looks ahead and behind
    r"|\[[^\]]*(?:\[|&&)"  # Java's unions and intersections of classes
    r"|\[\^?\]"  # an empty class, or one that begins with a bracket
    r"|[*+?}]\+"  # possessive
)
_MAX_PATTERN_LENGTH = 256


class NoLocalName(Exception):
    """No rule gives the principal a name; the text says why, for the log."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule that is not DEFAULT."""

    text: str
    parts: int
    """Number of parts of the principals that it applies to."""

    format: str
    match: re.Pattern[str] | None
    pattern: re.Pattern[str] | None
    replacement: str
    replaces_all: bool
    case: str | None

    def apply(self, parameters: tuple[str, ...]) -> str | None:
        """Return the name; None if the rule does not apply to this principal.

        Args:
            parameters: the realm, then the parts.
        Raises:
            NoLocalName: the rule names a part that does not exist.
        """
        if len(parameters) - 1 != self.parts:
            return None
        name = _PARAMETER.sub(lambda found: _parameter(found[1], parameters), self.format)
        if self.match is not None and not self.match.fullmatch(name):
            return None
        if self.pattern is not None:
            count = 0 if self.replaces_all else 1
            name = self.pattern.sub(lambda found: _expand(self.replacement, found), name, count)
        return name


def read_rule(text: str) -> Rule | None:
    """Read a rule; None stands for DEFAULT.

    Raises:
        ValueError: it is not a rule, or would have another meaning at a broker.
    """
    if text == "DEFAULT":
        return None
    found = _RULE.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{text!r} is no rule: write DEFAULT, or RULE:[n:string](regexp)s/pattern/replacement/g/L"
        )
    pattern = _pattern(found["pattern"])
    replacement = found["replacement"] or ""
    _check_replacement(replacement, 0 if pattern is None else pattern.groups)
    for number in _PARAMETER.findall(found["format"]):
        if not number or int(number) > int(found["parts"]):
            raise ValueError(
                f"{text!r} names a part ${number} that a principal of {found['parts']} does not have"
            )
    return Rule(
        text,
        int(found["parts"]),
        found["format"],
        _pattern(found["match"]),
        pattern,
        replacement,
        found["all"] is not None,
        found["case"],
    )


class LocalNames:
    """Maps principals to names by the rules."""

    def __init__(self, realm: str, rules: tuple[str, ...]) -> None:
        """Store the rules, in the order in which they are tried; `realm` is the gateway's own."""
        self._realm = realm
        self._rules = tuple(read_rule(rule) for rule in rules)

    def of(self, principal: str) -> str:
        """Return the name of a principal such as `kafka/host@REALM`.

        Raises:
            NoLocalName: it is malformed, no rule applies, or the result of the first that applies is not a simple name.
        """
        found = _PRINCIPAL.fullmatch(principal)
        if found is None or not principal.isprintable():
            raise NoLocalName("the principal is malformed")
        first, second, realm = found.groups()
        parameters = (realm, first) if second is None else (realm, first, second)
        for rule in self._rules:
            name = self._default(parameters) if rule is None else rule.apply(parameters)
            if name is not None:
                if "/" in name or "@" in name:
                    raise NoLocalName(
                        f"the rule {'DEFAULT' if rule is None else rule.text} gives no simple name"
                    )
                case = None if rule is None else rule.case
                return name.lower() if case == "L" else name.upper() if case == "U" else name
        raise NoLocalName("no rule of principal_to_local_rules applies to the principal")

    def _default(self, parameters: tuple[str, ...]) -> str | None:
        return parameters[1] if parameters[0] == self._realm else None


def _parameter(number: str, parameters: tuple[str, ...]) -> str:
    return parameters[int(number)]


def _pattern(text: str | None) -> re.Pattern[str] | None:
    if text is None:
        return None
    if _MEANS_ANOTHER_THING.search(text) or len(text) > _MAX_PATTERN_LENGTH:
        raise ValueError(
            f"{text[:80]!r} is no pattern that is understood here: use letters, classes such as [a-z], groups, | and "
            "the quantifiers * + ? {m,n}"
        )
    try:
        # Java's \d, \w and \s are those of ASCII.
        return re.compile(text, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{text!r} is no pattern: {error}") from None


def _check_replacement(text: str, groups: int) -> None:
    rest = re.sub(r"\\.", "", text)
    numbers = re.findall(r"\$(.?)", rest)
    if rest.endswith("\\") or any(
        not one.isdecimal() or not one.isascii() or int(one) > groups for one in numbers
    ):
        raise ValueError(
            f"{text!r} is no replacement: $n is the n-th group of the pattern, \\$ a dollar sign"
        )


def _expand(replacement: str, found: re.Match[str]) -> str:
    """Return the text that replaces a match, by the rules of Java's Matcher.appendReplacement."""
    expanded, position = "", 0
    while position < len(replacement):
        char = replacement[position]
        position += 1
        if char == "\\":
            expanded += replacement[position]
            position += 1
        elif char == "$":
            group = int(replacement[position])
            position += 1
            # Take more digits as long as a group with that number exists.
            while position < len(replacement) and replacement[position] in "0123456789":
                longer = group * 10 + int(replacement[position])
                if longer > found.re.groups:
                    break
                group, position = longer, position + 1
            expanded += found[group] or ""
        else:
            expanded += char
    return expanded
