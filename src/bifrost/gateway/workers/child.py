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
from bifrost.gateway.workers.shared_counters import SharedCountersReader, new_shared_counters
from bifrost.gateway.workers.shared_limits import BEAT_MS, GONE, IS_READY, TAKEN, SharedLimits
from bifrost.gateway.workers.spread import WorkerLoad

log = structlog.get_logger()

MOST_UNDER_WAY = 64
"""Connections given to a worker that it may not have taken yet; with that many, others are given connections first."""

STUCK_AFTER_MS = 30_000
"""Time without a turn of its loop after which a worker counts as dead."""

SLOW_AFTER_MS = 1_000
"""Time without a turn after which others are given connections first."""


class Child:
    """A worker process that was started, and what it was given."""

    def __init__(
        self,
        number: int,
        shared_limits: SharedLimits,
        process: "subprocess.Popen[bytes]",
        giving: socket.socket,
    ) -> None:
        """Represent a process that was just started.

        Args:
            number: the worker's number.
            shared_limits: the memory that all workers share.
            process: the worker's.
            giving: socket on which connections are given to it.
        """
        self.number, self.process = number, process
        self.channel: Channel | None = None
        self.load = WorkerLoad()
        self.started_s = time.monotonic()
        self.ready_s: float | None = None
        """When the worker said that it was ready."""
        self.failure: str | None = None
        """Why the worker cannot start, as a text for the operator."""
        self.dispatched = 0
        self.status: int | None = None
        self.cpu_s = 0.0
        """CPU time that the worker has used, in seconds, when last looked at; exact once it has ended."""
        self._giving, self._pulse = giving, shared_limits.pulse(number)

    @property
    def connections(self) -> int:
        """Number of the worker's connections, with those that are on their way to it."""
        return max(self.dispatched - self._pulse[GONE], 0)

    @property
    def is_ready(self) -> bool:
        """Whether the worker can serve clients."""
        return self.status is None and self._pulse[IS_READY] == 1

    @property
    def can_take(self) -> bool:
        """Whether the worker may be given a connection."""
        return self.status is None and self.dispatched - self._pulse[TAKEN] < MOST_UNDER_WAY

    def silent_ms(self, now_ms: int) -> int:
        """Return the time since the worker's loop last turned, in milliseconds; 0 before its first sign of life."""
        beat_ms = self._pulse[BEAT_MS]
        return max(now_ms - beat_ms, 0) if beat_ms else 0

    def give(self, port: int, client: socket.socket) -> bool:
        """Give the worker a connection to a port; return False if it takes none now."""
        try:
            socket.send_fds(self._giving, [port.to_bytes(NUMBER_BYTES, "big")], [client.fileno()])
        except OSError:
            return False
        self.dispatched += 1
        self.load.give(port)
        return True

    def look(self) -> None:
        """Note the CPU time that the worker has used."""
        if self.status is None:
            with contextlib.suppress(OSError):
                # Linux: a process's CPU clock is named by its ID (MAKE_PROCESS_CPUCLOCK, CPUCLOCK_SCHED).
                self.cpu_s = time.clock_gettime((~self.process.pid << 3) | 2)
        self.load.look(self.cpu_s, time.monotonic())

    def kill(self) -> None:
        """Kill the worker at once."""
        if self.status is None:
            self.process.send_signal(signal.SIGKILL)

    async def begin(self, control: socket.socket, first: bytes) -> None:
        """Open the channel and send the worker its configuration.

        Args:
            control: the channel's socket.
            first: a `Handover` as bytes.
        """
        self.channel = await Channel.open(control)
        self.channel.tell({"do": "work"}, first)

    async def stay(self, handle: Handle) -> None:
        """Handle the worker's messages by `handle` until it has ended."""
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
            self._giving.close()

    def _reap(self) -> None:
        """Take the worker's exit status, and its final CPU time."""
        _, status, used = os.wait4(self.process.pid, 0)
        self.status = self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_s = used.ru_utime + used.ru_stime


def start(
    number: int, shared_limits: SharedLimits, command: Sequence[str]
) -> tuple[Child, socket.socket, SharedCountersReader]:
    """Start a worker in a new interpreter; return it, the channel's socket, and the reader of its counters.

    Args:
        number: the worker's number.
        shared_limits: the memory that all workers share.
        command: command that runs `run_worker`; the arguments that `Inherited` describes are added.
    Raises:
        OSError: the process could not be started.
    """
    control, its_control = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    giving, arriving = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    giving.setblocking(False)
    counters = new_shared_counters()
    inherited = (its_control.fileno(), arriving.fileno(), shared_limits.fd, counters)
    with its_control, arriving:
        try:
            process = subprocess.Popen(
                [*command, str(number), str(shared_limits.workers), str(os.getpid()), *map(str, inherited)],
                stdin=subprocess.DEVNULL,
                pass_fds=inherited,
                # The terminal's Ctrl-C is for us, who then tell it.
                start_new_session=True,
            )
        except BaseException:
            for one in (control, giving):
                one.close()
            os.close(counters)
            raise
    return Child(number, shared_limits, process, giving), control, SharedCountersReader(counters)


async def _end_of(pid: int) -> None:
    """Wait until a child process has ended, without reaping it."""
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    descriptor = os.pidfd_open(pid)
    loop.add_reader(descriptor, lambda: None if ended.done() else ended.set_result(None))
    try:
        await ended
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
