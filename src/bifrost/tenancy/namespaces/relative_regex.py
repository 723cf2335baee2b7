r"""A pattern that a broker evaluates (see `topic_regex`), in a namespace that has others below it.

    ^orders-.*       topics of the namespace itself, not of those below
    eu:orders-.*     topics of the namespace eu below it, for the pattern begins with the path of one that exists

RE2 cannot exclude, so a pattern for the namespace itself cannot leave out the names that begin with a tier's mark.
Instead it matches the names that begin with a letter, a digit or `_`, as no mark does: topics whose names begin with
`.` or `-` have to be subscribed by name where namespaces are nested. A client that matches patterns itself, as all did
before KIP-848, finds the topics of all namespaces below.
"""

import re

from bifrost.config.tiers import encode
from bifrost.tenancy.invalid_regex import InvalidRegex
from bifrost.tenancy.namespaces.relative_names import RelativeNames
from bifrost.tenancy.topic_regex import confine

_LITERAL = re.compile(r"([a-zA-Z0-9_:-])|\\([.:_-])")
_REPETITIONS = ("*", "+", "?", "{")


def relative_regex(regex: str, prefix: str, names: RelativeNames, *, is_of_topics: bool) -> str:
    """Return the pattern by which the broker finds what matches in the namespace, or in the one below that it names.

    Args:
        regex: what the tenant sent.
        prefix: of the namespace's physical names.
        names: the namespace's names.
        is_of_topics: whether topics are matched; else other names, of which the caller leaves out those below.
    Raises:
        InvalidRegex: as `confine`; or it is for a namespace below, and has a `|` that is not in a group.
    """
    text, ends = _beginning(regex)
    tiers, rest = names.split(text + b"x")
    if not tiers:
        return confine(regex, prefix, begins_with_word=is_of_topics)
    below = regex[ends[len(text) - len(rest)] :]
    if _has_alternatives(below):
        raise InvalidRegex("| outside of ( ) in a pattern for a namespace below")
    return confine(below, prefix + encode(tiers), written=regex, begins_with_word=is_of_topics)


def _beginning(regex: str) -> tuple[bytes, list[int]]:
    """Return the characters that each match begins with, and where each of them ends in the pattern."""
    at = 1 if regex.startswith("^") else 0
    chars, ends = [], []
    while (found := _LITERAL.match(regex, at)) is not None:
        at = found.end()
        chars.append(found[1] or found[2])
        ends.append(at)
    if chars and regex.startswith(_REPETITIONS, at):
        chars.pop()
        ends.pop()
    return "".join(chars).encode(), ends


def _has_alternatives(regex: str) -> bool:
    """Whether a pattern has a `|` that may be outside of its groups and classes."""
    plain = re.sub(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", "", regex, flags=re.DOTALL)
    depth = 0
    for char in plain:
        depth += (char == "(") - (char == ")")
        if char == "|" and depth <= 0:
            return True
    return r"\Q" in regex and "|" in regex
