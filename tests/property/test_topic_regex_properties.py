"""Whatever a tenant sends: refused in one way, or one closed group behind the prefix from which it can be read again.

What the result matches is compared with the broker's engine in tests/golden/test_topic_regex_re2j.py.
"""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from bifrost.tenancy.invalid_regex import InvalidRegex
from bifrost.tenancy.topic_regex import confine, original
from support.forgery import regexes

prefixes = st.text("ab._-1", min_size=1, max_size=6).map("__vt_{}_".format) | st.sampled_from(
    ["t1-", "t.", "_"]
)

# Knows nothing of the printer: RE2's lexical rules, as far as they can move the end of a group.
_ESCAPED = re.compile(r"\\(?:x\{[0-9a-f]+\}|[pP]\{\w+\}|[^Q])")
_CLASS = re.compile(r"\[\^?(?:\[:\^?[a-z]+:\]|[^\[\]])+\]")
_OPENING = re.compile(r"\((?:\?(?:P<bifrost_[0-9a-f]*>|[ims]?:))?")


def ends_of_groups(physical: str) -> list[int]:
    """Where the last open group is closed, in the text with escapes and classes shortened, counted from its end."""
    bare = _CLASS.sub("c", _ESCAPED.sub("e", physical))
    depth, ends, at = 0, [], 0
    while at < len(bare):
        opening = _OPENING.match(bare, at)
        if opening:
            depth += 1
            at = opening.end()
            continue
        if bare[at] == ")":
            depth -= 1
            if depth <= 0:
                ends.append(len(bare) - at - 1)
        else:
            assert bare[at] not in "[]\\"
            # Before the first group stands the prefix only.
            assert depth or bare[at] not in "|*+?{}^$"
        at += 1
    return ends


def check(regex: str, prefix: str) -> None:
    try:
        confined = confine(regex, prefix)
    except InvalidRegex:
        return

    assert re.fullmatch("[ -~]+", confined)
    assert confined.startswith(re.sub(r"\.", r"\\.", prefix) + "(?P<bifrost_")
    assert ends_of_groups(confined) == [0]
    assert original(confined, prefix) == regex
    assert confine(regex, prefix) == confined


@given(regexes.grammatical, prefixes)
@example(r"\Qa)|(b", "t1-")
@example("(?i)a|(?m)^b$", "t1-")
@example(r"[[:alpha:]\]()]|[^)(]", "t1-")
def test_a_regex_becomes_one_closed_group_behind_the_prefix(regex: str, prefix: str) -> None:
    check(regex, prefix)


@given(regexes.nasty, prefixes)
@example("a)|(b", "t1-")
@example("a\\", "t1-")
@example("(?", "t1-")
def test_what_looks_like_one_does_too_or_is_refused(regex: str, prefix: str) -> None:
    check(regex, prefix)


@given(regexes.noise | st.text(st.characters(), max_size=20), prefixes)
def test_any_text_does_too_or_is_refused(regex: str, prefix: str) -> None:
    check(regex, prefix)


@given(regexes.nasty | st.text("\\()[]{}|^$*+?:<>Pims-", max_size=30), st.integers(2, 40), prefixes)
def test_repeated_nonsense_ends(part: str, count: int, prefix: str) -> None:
    check(part * count, prefix)


@given(regexes.regexes, regexes.regexes, prefixes)
def test_two_regexes_stay_two(one: str, other: str, prefix: str) -> None:
    try:
        confined = [confine(regex, prefix) for regex in (one, other)]
    except InvalidRegex:
        return

    assert (confined[0] == confined[1]) == (one == other)


@given(st.text(max_size=60), prefixes)
def test_reading_back_takes_any_text(physical: str, prefix: str) -> None:
    assert original(physical, prefix) is None
    original(f"{prefix}(?P<bifrost_{physical})", prefix)
