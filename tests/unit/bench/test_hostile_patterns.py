"""Patterns that are costly: each can be sent, and each is another kind."""

from bench.hostile.arsenal.patterns import MOST, bombs
from bench.hostile.shapes import LONGEST_STRING


def test_every_pattern_is_as_long_as_can_be_sent_at_most() -> None:
    for size in (300, MOST):
        found = bombs(size)
        assert len(set(found.values())) == len(found) > 10
        assert all(1 < len(one.encode()) <= LONGEST_STRING for one in found.values())
