"""Patterns that are costly: each can be sent, and each is another kind."""

import itertools

import pytest
from bench.hostile.arsenal.patterns import MOST, bombs, matched_bombs, renewed
from bench.hostile.features import LISTED_TOPICS
from bench.hostile.shapes import LONGEST_STRING

from bifrost.tenancy.invalid_regex import InvalidRegex
from bifrost.tenancy.regex_matcher import MAX_STEPS, Matcher, TooManySteps
from bifrost.tenancy.topic_regex import MAX_REGEX_BYTES, confine, parsed

PREFIX = "listed_"


def test_every_pattern_is_as_long_as_can_be_sent_at_most() -> None:
    for size in (300, MOST):
        found = bombs(size)
        assert len(set(found.values())) == len(found) > 10
        assert all(1 < len(one.encode()) <= LONGEST_STRING for one in found.values())


@pytest.mark.parametrize("what", matched_bombs())
def test_the_gateway_matches_each_pattern_nearly_as_long_as_it_may(what: str) -> None:
    patterns = dict(itertools.islice(renewed({what: matched_bombs()[what]}), 12_345, 12_346))
    assert len(patterns[what].encode()) <= MAX_REGEX_BYTES
    matcher = Matcher(parsed(patterns[what], PREFIX).node, PREFIX[-1], MAX_STEPS * 8 // 10)

    with pytest.raises(TooManySteps):
        _ = [name for name in sorted(LISTED_TOPICS) if matcher.matches(name)]


def test_some_patterns_are_served_and_others_refused() -> None:
    reasons = {what: _reason(pattern) for what, pattern in matched_bombs().items()}

    assert reasons["all"] == reasons["none"] == ""
    refused = {reason.split(":")[0] for reason in reasons.values() if reason}
    assert refused == {"too much to match with the list of topics"}


def _reason(pattern: str) -> str:
    """Return why the gateway refuses a pattern; nothing: it does not."""
    try:
        confine(pattern, PREFIX, LISTED_TOPICS)
    except InvalidRegex as error:
        return str(error)
    return ""


def test_no_pattern_comes_twice() -> None:
    patterns = [pattern for _, pattern in itertools.islice(renewed(matched_bombs()), 100)]

    assert len(set(patterns)) == 100
