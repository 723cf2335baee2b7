"""The queue of what a connection awaits is a deque, as far as it goes."""

import gc
import sys
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.forwarding.lane import Awaited, AwaitedQueue
from bifrost.wire.api_keys import ApiKey
from support.stage.lanes import new_lane


@given(st.lists(st.one_of(st.integers(1, 40), st.integers(-40, -1)), max_size=30))
def test_what_goes_in_first_comes_out_first(steps: list[int]) -> None:
    queue, expected, number = AwaitedQueue(), deque[bytes](), 0
    for step in steps:
        for _ in range(step):
            number += 1
            queue.append(b"%d" % number)
            expected.append(b"%d" % number)
        for _ in range(min(-step, len(expected))):
            assert queue.popleft() == expected.popleft()
        assert len(queue) == len(expected)
        assert bool(queue) == bool(expected)
        assert list(queue) == list(expected)


def test_nothing_is_taken_from_an_empty_queue() -> None:
    queue = AwaitedQueue()
    for _ in range(2):
        with pytest.raises(IndexError):
            queue.popleft()
        with pytest.raises(IndexError):
            queue[0]
        queue.append(b"an answer")
        queue.popleft()
    queue.append(b"an answer")
    with pytest.raises(IndexError):
        queue[-1]


def test_it_keeps_nothing_that_was_taken() -> None:
    queue, one = AwaitedQueue(), b"an answer of some length"
    before = sys.getrefcount(one)
    for _ in range(100):
        queue.append(one)
    for _ in range(100):
        queue.popleft()

    assert sys.getrefcount(one) == before


def test_the_garbage_collector_finds_what_it_refers_to() -> None:
    queue = AwaitedQueue()
    awaited = Awaited(1, new_lane(ApiKey.METADATA, 0), [queue])
    queue.append(awaited)

    assert awaited in gc.get_referents(*gc.get_referents(queue))


def test_an_idle_connection_pays_little_for_it() -> None:
    assert sys.getsizeof(AwaitedQueue()) < 100, "a deque takes 624 bytes"
