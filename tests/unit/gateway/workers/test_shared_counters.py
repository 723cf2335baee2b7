"""Counters that outlive who counts."""

import os

import pytest

from bifrost.forwarding.traffic import TRAFFIC_CELLS, Traffic
from bifrost.gateway.workers.shared_counters import (
    CHUNK,
    SharedCounter,
    SharedCounters,
    SharedCountersReader,
    new_shared_counters,
)
from bifrost.session.close_reason import CloseReason


def both() -> tuple[SharedCounters, SharedCountersReader]:
    fd = new_shared_counters()
    return SharedCounters(fd), SharedCountersReader(fd)


def test_what_is_counted_is_read_at_once() -> None:
    counters, reader = both()
    traffic = Traffic(counters.cells(("traffic", "acme", 1), TRAFFIC_CELLS))
    other = Traffic(counters.cells(("traffic", "acme", None), TRAFFIC_CELLS))

    traffic.receive(100)
    traffic.receive(50)
    other.send(7)

    found = dict(reader.read())
    assert found["traffic", "acme", 1][:3] == (2, 150, 0)
    assert found["traffic", "acme", None][:3] == (0, 0, 7)
    traffic.receive(1)
    assert dict(reader.read())["traffic", "acme", 1][:2] == (3, 151)
    assert (traffic.requests, traffic.bytes_received, other.bytes_sent) == (3, 151, 7)


def test_a_counter_is_a_counter_and_stands_in_the_shared_memory() -> None:
    counters, reader = both()
    ends, hits = SharedCounter(counters, "ends"), SharedCounter(counters, "hits")

    ends[CloseReason.IDLE] += 2
    ends[CloseReason.IDLE] += 1
    hits["max_connections", "acme"] += 5

    assert ends == {CloseReason.IDLE: 3}
    assert ends[CloseReason.HTTP] == 0
    assert dict(reader.read()) == {("ends", "idle"): (3,), ("hits", "max_connections", "acme"): (5,)}
    copy = hits.copy()
    copy["max_connections", "acme"] += 1
    assert dict(reader.read())["hits", "max_connections", "acme"] == (5,)


def test_it_grows_and_nothing_of_before_moves() -> None:
    counters, reader = both()
    written = []
    for number in range(5 * CHUNK // 200):
        cells = counters.cells(("traffic", f"tenant {number}", number), TRAFFIC_CELLS)
        written.append(Traffic(cells))
        if number % 1000 == 0:
            assert len(dict(reader.read())) == number + 1

    for number, traffic in enumerate(written):
        traffic.receive(number)

    found = dict(reader.read())
    assert len(found) == len(written)
    for number in range(len(written)):
        assert found["traffic", f"tenant {number}", number][:2] == (1, number)


def test_what_is_too_large_is_refused() -> None:
    counters, reader = both()

    with pytest.raises(ValueError, match="more than fit"):
        counters.cells(("traffic",), CHUNK)
    assert dict(reader.read()) == {}


def test_a_reader_closes_the_file() -> None:
    _, reader = both()
    reader.close()

    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(reader._fd)


def test_too_little_memory_is_no_counter() -> None:
    with pytest.raises(ValueError, match="not enough memory"):
        Traffic(memoryview(bytearray(8)))
