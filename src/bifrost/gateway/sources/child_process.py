"""A process that works for the gateway within bounds: its start, its socket, its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from time import monotonic
from typing import TYPE_CHECKING, Any

from bifrost.confined.frames import LENGTHS, Frame, pack, read_head, read_lengths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

START_TIMEOUT_S = 60.0
"""Longest time until a process is ready: that of a transform imports Arrow, and what the user's file imports."""

_PIECE_BYTES = 262_144
"""Read and written at once: between two pieces others have their turn."""


DYING: set[subprocess.Popen[bytes]] = set()
"""Processes that were killed, until their exit status was taken."""

_END_S, _LOOK_S = 1.0, 0.005
"""How long a process may take to end after its socket was closed, and how often it is looked at."""


class ChildGone(Exception):
    """The process has ended, or sent what is no message."""


class LoadFailed(Exception):
    """The process could not make itself ready."""


class Received(bytearray):
    """Bytes from a process; unlike a bytearray one can be told of their end."""

    __slots__ = ("__weakref__",)


class ChildProcess:
    """A process that was started."""

    def __init__(
        self, program: str, first: Mapping[str, Any], parts: Sequence[memoryview | None] = ()
    ) -> None:
        """Start it; it has no environment and no descriptor but the socket.

        Args:
            program: the module that it runs.
            first: the first message, which says what it is to prepare.
            parts: what is behind it.
        Raises:
            OSError: it could not be started.
        """
        self._socket, its_own = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        with its_own:
            try:
                self._process: subprocess.Popen[bytes] = subprocess.Popen(
                    (sys.executable, "-I", "-m", program),
                    stdin=its_own.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={},
                    cwd="/",
                    # The terminal's Ctrl-C is for the gateway, which then ends it.
                    start_new_session=True,
                )
            except BaseException:
                self._socket.close()
                raise
        self._first, self._parts = dict(first), parts

    @property
    def pid(self) -> int:
        """The process's ID."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it has ended by itself."""
        return self._process.poll() is not None

    async def exit_status(self) -> int | None:
        """Return how a process has ended that sends nothing more: below 0 by a signal; None: it has not."""
        until_s = monotonic() + _END_S
        while self._process.poll() is None and monotonic() < until_s:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(_LOOK_S)
        return self._process.returncode

    async def begin(self) -> None:
        """Send the first message, and wait until it is ready.

        Raises:
            LoadFailed: it could not; the text says why.
            ChildGone: it has ended.
        """
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                answer = await self.ask(self._first, self._parts, 0)
        except TimeoutError:
            raise LoadFailed(f"it was not ready within {START_TIMEOUT_S:.0f} s") from None
        if "error" in answer.head:
            raise LoadFailed(str(answer.head["error"])[:1_000])

    async def ask(self, head: dict[str, Any], parts: Sequence[memoryview | None], max_bytes: int) -> Frame:
        """Send a message, and return the answer.

        Raises:
            ChildGone: there is none, or it is longer than `max_bytes`.
        """
        loop = asyncio.get_running_loop()
        try:
            for piece in pack(head, parts):
                view = memoryview(piece)
                for at in range(0, len(view), _PIECE_BYTES):
                    await loop.sock_sendall(self._socket, view[at : at + _PIECE_BYTES])
            lengths = read_lengths(await self._exactly(LENGTHS.size), max_bytes)
            found = read_head(await self._exactly(lengths[0]))
            return Frame(found, memoryview(await self._exactly(lengths[1])))
        except (OSError, ValueError) as error:
            raise ChildGone(type(error).__name__) from None

    async def _exactly(self, size: int) -> Received:
        loop = asyncio.get_running_loop()
        data = Received(size)
        with memoryview(data) as view:
            at = 0
            while at < size:
                count = await loop.sock_recv_into(self._socket, view[at : at + _PIECE_BYTES])
                if not count:
                    raise ChildGone("end of stream")
                at += count
        return data

    def end(self) -> None:
        """Kill it; its exit status is taken when it is there."""
        self._process.kill()
        DYING.add(self._process)
        try:
            loop = asyncio.get_running_loop()
            descriptor = os.pidfd_open(self._process.pid)
        except (RuntimeError, OSError):
            self._socket.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(1)
            DYING.discard(self._process)
            return

        def reap() -> None:
            # The kill has ended whatever waited for the socket.
            loop.remove_reader(descriptor)
            os.close(descriptor)
            self._socket.close()
            self._process.wait()  # it has ended: the descriptor says so
            DYING.discard(self._process)

        loop.add_reader(descriptor, reap)
