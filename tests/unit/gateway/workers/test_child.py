"""One worker process as its supervisor sees it: here a few lines of Python."""

import asyncio
import os
import socket
import sys
import time
from typing import Any

import pytest

from bifrost.gateway.workers import child as module
from bifrost.gateway.workers.channel import Message
from bifrost.gateway.workers.child import MOST_UNDER_WAY, Child, start
from bifrost.gateway.workers.shared_limits import BEAT_MS, GONE, IS_READY, TAKEN, SharedLimits

from .conftest import Pair

HEAD = """
import json, os, socket, sys
number, workers, supervisor, control, arriving, shared_limits, counters = map(int, sys.argv[1:])
control, arriving = socket.socket(fileno=control), socket.socket(fileno=arriving)
def receive():
    size = int.from_bytes(control.recv(4, socket.MSG_WAITALL), "big")
    content = control.recv(size, socket.MSG_WAITALL)
    end = 4 + int.from_bytes(content[:4], "big")
    return json.loads(content[4:end]), content[end:]
def tell(message):
    head = json.dumps(message).encode()
    control.sendall((4 + len(head)).to_bytes(4, "big") + len(head).to_bytes(4, "big") + head)
"""


def employed(program: str, first: bytes = b"", number: int = 1) -> tuple[Child, list[Message]]:
    """Let such a worker do its work to the end; return it and what it said."""
    heard: list[Message] = []

    async def handle(message: Message, content: bytes) -> None:
        heard.append(message)

    async def scenario() -> Child:
        shared_limits = SharedLimits.create(2)
        child, control, counters = start(number, shared_limits, [sys.executable, "-c", HEAD + program])
        client, server = socket.socketpair()
        with client, server:
            await child.begin(control, first)
            assert child.give(7, server)
        await child.stay(handle)
        assert dict(counters.read()) == {}
        counters.close()
        return child

    return asyncio.run(scenario()), heard


def test_a_worker_gets_what_it_needs_and_is_heard_to_the_end() -> None:
    child, heard = employed(
        """
message, content = receive()
number_of_port, descriptors, _, _ = socket.recv_fds(arriving, 4, 1)
assert supervisor == os.getppid()
assert os.fstat(shared_limits).st_size > 2**20
got = [message, content.decode(), list(number_of_port), len(descriptors)]
tell({"do": "ready", "got": got, "as": [number, workers]})
sum(range(3_000_000))
""",
        b"handover",
    )

    assert child.status == 0
    assert heard == [{"do": "ready", "got": [{"do": "work"}, "handover", [0, 0, 0, 7], 1], "as": [1, 2]}]
    assert child.cpu_s > 0.02
    assert not child.can_take
    assert not child.is_ready
    assert child.load.at_port == {7: 1}


@pytest.mark.parametrize(
    ("end", "status"), [("sys.exit(3)", 3), ("os.kill(os.getpid(), 9)", -9), ("os.abort()", -6)]
)
def test_its_end_is_known_by_its_status(end: str, status: int) -> None:
    child, heard = employed(end)

    assert child.status == status
    assert heard == []


class Process:
    """One that lives."""

    pid = os.getpid()
    signals: list[int] = []  # noqa: RUF012

    def send_signal(self, number: int) -> None:
        self.signals.append(number)


@pytest.fixture
def living(pair: Pair) -> tuple[Child, SharedLimits]:
    shared_limits = SharedLimits.create(2)
    _, giving = pair(socket.SOCK_SEQPACKET)
    process: Any = Process()
    return Child(0, shared_limits, process, giving), shared_limits


def test_connections_are_those_given_without_those_gone(living: tuple[Child, SharedLimits]) -> None:
    child, shared_limits = living
    child.dispatched = 10
    shared_limits.pulse(0)[GONE] = 4

    assert child.connections == 6
    shared_limits.pulse(0)[GONE] = 11
    assert child.connections == 0


def test_one_that_takes_none_is_given_no_more(living: tuple[Child, SharedLimits]) -> None:
    child, shared_limits = living
    child.dispatched = MOST_UNDER_WAY
    assert not child.can_take

    shared_limits.pulse(0)[TAKEN] = 1

    assert child.can_take


def test_a_connection_that_cannot_be_given_is_not_counted(living: tuple[Child, SharedLimits]) -> None:
    child, _ = living
    one, other = socket.socketpair()
    child._giving.close()

    with one, other:
        assert not child.give(1, one)
    assert child.dispatched == 0


def test_silence_is_the_time_since_the_last_beat(living: tuple[Child, SharedLimits]) -> None:
    child, shared_limits = living
    assert child.silent_ms(5_000) == 0, "it has not begun"

    shared_limits.pulse(0)[BEAT_MS] = 4_000

    assert child.silent_ms(5_000) == 1_000
    assert not child.is_ready
    shared_limits.pulse(0)[IS_READY] = 1
    assert child.is_ready


def test_cpu_time_is_the_processs_own(living: tuple[Child, SharedLimits]) -> None:
    child, _ = living

    child.look()

    assert child.cpu_s == pytest.approx(time.process_time(), abs=0.5)
    child.kill()
    assert Process.signals == [9]


def test_what_cannot_be_started_leaves_nothing_open() -> None:
    shared_limits = SharedLimits.create(1)
    before = len(os.listdir("/proc/self/fd"))

    with pytest.raises(FileNotFoundError):
        start(0, shared_limits, ["there is no such program"])

    assert len(os.listdir("/proc/self/fd")) == before
    assert module.STUCK_AFTER_MS > module.SLOW_AFTER_MS
