r"""A pattern that a broker evaluates (see `topic_regex`), in a namespace that has others below it.

    ^orders-.*       topics of the namespace itself, not of those below
    eu:orders-.*     topics of the namespace eu below it, for the pattern begins with the path of one that exists

RE2 cannot exclude, so a pattern for the namespace itself cannot leave out the names that begin with a tier's mark.
Instead it matches the names that begin with a letter, a digit or `_`, as no mark does: topics whose names begin with
`.` or `-` have to be subscribed by name where namespaces are nested. A client that matches patterns itself, as all did
before KIP-848, finds the topics of all namespaces below.

A broker knows a moved or shared topic by the physical name of its home, so no pattern finds it by the name that it has
here: the gateway matches these names itself (`matching_names`), and subscribes the member to what it finds.
"""

import re
from collections.abc import Callable, Iterable
from heapq import nsmallest

from bifrost.config.tiers import encode
from bifrost.tenancy.invalid_regex import InvalidRegex
from bifrost.tenancy.namespaces.relative_names import RelativeNames
from bifrost.tenancy.regex_matcher import Matcher, TooManySteps
from bifrost.tenancy.topic_regex import confine, parsed
from bifrost.wire.steps import in_steps

MAX_MATCHING = 1000
"""Names that a pattern finds at most: each is in every heartbeat that changes what its member subscribes to."""

MAX_MATCHING_STEPS = 1_000_000
"""Steps that matching them may take, some 0.3 s in slices: enough for 50,000 names of 20 characters."""

_LITERAL = re.compile(r"([a-zA-Z0-9_:-])|\\([.:_-])")
_REPETITIONS = ("*", "+", "?", "{")


def relative_regex(regex: str, prefix: str, names: RelativeNames | None, *, is_of_topics: bool) -> str:
    """Return the pattern by which the broker finds what matches in the namespace, or in the one below that it names.

    Args:
        regex: what the tenant sent.
        prefix: of the namespace's physical names.
        names: the namespace's names; None: names of namespaces below it have no form of their own.
        is_of_topics: whether topics are matched; else other names, of which the caller leaves out those below.
    Raises:
        InvalidRegex: as `confine`; or it is for a namespace below, and has a `|` that is not in a group.
    """
    if names is None or not names.has_namespaces:
        return confine(regex, prefix)
    text, ends = _beginning(regex)
    tiers, rest = names.split(text + b"x")
    if not tiers:
        return confine(regex, prefix, begins_with_word=is_of_topics)
    below = regex[ends[len(text) - len(rest)] :]
    if _has_alternatives(below):
        raise InvalidRegex("| outside of ( ) in a pattern for a namespace below")
    return confine(below, prefix + encode(tiers), written=regex, begins_with_word=is_of_topics)


def matching_names(
    regex: str, topics: Iterable[bytes], place_of: Callable[[bytes], tuple[tuple[str, ...], bytes]]
) -> list[str]:
    """Return the names of topics that a pattern matches: in the namespace, or in the one below that it names.

    Args:
        regex: what the tenant sent.
        topics: the names, as the namespace calls them.
        place_of: returns the path of the namespace that a name is of, and the name there (`TenantNames.place_of`).
    Returns:
        In order, the first MAX_MATCHING; only as far as MAX_MATCHING_STEPS go.
    Raises:
        InvalidRegex: as `confine`.
    """
    text, ends = _beginning(regex)
    path, rest = place_of(text + b"x")
    # The path that the pattern begins with is no part of the name there.
    here = regex if len(rest) > len(text) else regex[ends[len(text) - len(rest)] :]
    matcher = Matcher(parsed(here, _BEFORE).node, _BEFORE, MAX_MATCHING_STEPS)
    found: list[str] = []
    for topic in in_steps(topics):
        place, name = place_of(topic)
        try:
            if place == path and matcher.matches(name.decode()):
                found.append(topic.decode())
        except TooManySteps:
            break
    return nsmallest(MAX_MATCHING, found)


_BEFORE = "_"
"""A prefix that stands for that of the physical names, which make no difference here."""


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
