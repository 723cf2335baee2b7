"""One worker process as its supervisor sees it."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Sequence

import structlog

from bifrost.gateway.workers.channel import Channel, Handle
from bifrost.gateway.workers.given_ports import NUMBER_BYTES
from bifrost.gateway.workers.shared_counters import SharedCountersReader, new_ledger
from bifrost.gateway.workers.shared_limits import BEAT_MS, GONE, IS_READY, TAKEN, SharedLimits
from bifrost.gateway.workers.spread import WorkerLoad

log = structlog.get_logger()

MOST_UNDER_WAY = 64
"""Connections that were given to a worker and not taken yet: one that takes no more has others before it."""

STUCK_AFTER_MS = 30_000
"""Time without a turn of its loop after which a worker is taken for dead."""

SLOW_AFTER_MS = 1_000
"""Time without a turn after which others are given connections first."""


class Child:
    """A process that was started, and what it was given."""

    def __init__(
        self, number: int, board: SharedLimits, process: "subprocess.Popen[bytes]", doors: socket.socket
    ) -> None:
        """Take a process that was just started."""
        self.number, self.process = number, process
        self.channel: Channel | None = None
        self.load = WorkerLoad()
        self.started_s = time.monotonic()
        self.ready_s: float | None = None
        """When it said that it was ready."""
        self.failure: str | None = None
        """Why it cannot start, in words for an operator."""
        self.dispatched = 0
        self.status: int | None = None
        self.cpu_s = 0.0
        """CPU time that it has used, in seconds, as last seen; exact once it has ended."""
        self._doors, self._pulse = doors, board.pulse(number)

    @property
    def connections(self) -> int:
        """Connections that it has, those on their way among them."""
        return max(self.dispatched - self._pulse[GONE], 0)

    @property
    def is_ready(self) -> bool:
        """Whether clients can be served by it."""
        return self.status is None and self._pulse[IS_READY] == 1

    @property
    def can_take(self) -> bool:
        """Whether it may be given a connection."""
        return self.status is None and self.dispatched - self._pulse[TAKEN] < MOST_UNDER_WAY

    def silent_ms(self, now_ms: int) -> int:
        """Return the time since its loop last turned, in milliseconds; 0 before it began to tell."""
        beat_ms = self._pulse[BEAT_MS]
        return max(now_ms - beat_ms, 0) if beat_ms else 0

    def give(self, port: int, client: socket.socket) -> bool:
        """Give it a connection to a port; False: it takes none now."""
        try:
            socket.send_fds(self._doors, [port.to_bytes(NUMBER_BYTES, "big")], [client.fileno()])
        except OSError:
            return False
        self.dispatched += 1
        self.load.give(port)
        return True

    def look(self) -> None:
        """Take note of the CPU time that it has used."""
        if self.status is None:
            with contextlib.suppress(OSError):
                # Linux: a process's CPU clock is named by its ID (MAKE_PROCESS_CPUCLOCK, CPUCLOCK_SCHED).
                self.cpu_s = time.clock_gettime((~self.process.pid << 3) | 2)
        self.load.look(self.cpu_s, time.monotonic())

    def kill(self) -> None:
        """End it at once."""
        if self.status is None:
            self.process.send_signal(signal.SIGKILL)

    async def begin(self, control: socket.socket, first: bytes) -> None:
        """Give it its work.

        Args:
            control: the channel's socket.
            first: a `Handover`.
        """
        self.channel = await Channel.open(control)
        self.channel.tell({"do": "work"}, first)

    async def stay(self, handle: Handle) -> None:
        """Stay with it until it has ended; `handle` does what it asks."""
        assert self.channel is not None
        talking = asyncio.get_running_loop().create_task(self.channel.run(handle))
        try:
            await _end_of(self.process.pid)
        except BaseException:
            self.process.kill()
            raise
        finally:
            self._reap()
            # What it said last is still heard.
            await asyncio.wait({talking}, timeout=1)
            self.channel.close()
            talking.cancel()
            self._doors.close()

    def _reap(self) -> None:
        """Take its status, and the CPU time that it used to the very end."""
        _, status, used = os.wait4(self.process.pid, 0)
        self.status = self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_s = used.ru_utime + used.ru_stime


def start(
    number: int, board: SharedLimits, command: Sequence[str]
) -> tuple[Child, socket.socket, SharedCountersReader]:
    """Start a worker in a fresh interpreter; return it, the channel's socket, and what it will count.

    Args:
        number: of the worker.
        board: what all see.
        command: what runs `run_worker`, with the arguments that `Inherited` describes to be added.
    Raises:
        OSError: it could not be started.
    """
    control, its_control = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    doors, its_doors = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    doors.setblocking(False)
    ledger = new_ledger()
    inherited = (its_control.fileno(), its_doors.fileno(), board.fd, ledger)
    with its_control, its_doors:
        try:
            process = subprocess.Popen(
                [*command, str(number), str(board.workers), str(os.getpid()), *map(str, inherited)],
                stdin=subprocess.DEVNULL,
                pass_fds=inherited,
                # The terminal's Ctrl-C is for us, who then tell it.
                start_new_session=True,
            )
        except BaseException:
            for one in (control, doors):
                one.close()
            os.close(ledger)
            raise
    return Child(number, board, process, doors), control, SharedCountersReader(ledger)


async def _end_of(pid: int) -> None:
    """Wait until a child process has ended; it is not reaped."""
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    descriptor = os.pidfd_open(pid)
    loop.add_reader(descriptor, lambda: None if ended.done() else ended.set_result(None))
    try:
        await ended
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
