"""Makes a listening port of a running process dead, from outside, as a bug of the process would.

Linux hands out another process's file descriptors (pidfd_getfd, since 5.6) to whoever may trace it, such as its parent.
What is done to such a descriptor is done to the process's own socket.
"""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from support.skips.optional_parts import LINUX, lacks

_PIDFD_GETFD = 438
"""The number of the system call, on every architecture."""

# $1: the number that the listening socket has in its process, by which epoll knows it; $2: the socket; then the epolls.
_UNPOLL = """
import fcntl, os, select, sys
number, listening, *polls = (int(one) for one in sys.argv[1:])
above = max(1000, number + 1)
listening, *polls = [fcntl.fcntl(one, fcntl.F_DUPFD, above) for one in (listening, *polls)]
os.dup2(listening, number)
for one in polls:
    try:
        select.epoll.fromfd(one).unregister(number)
    except FileNotFoundError:
        continue
    sys.exit(0)
sys.exit("no epoll has the socket")
"""


def refuse_connections(pid: int, port: int) -> None:
    """Let a process's socket listen no more: the kernel refuses connections to the port."""
    with _taken(pid, port) as (_, listening, _polls), socket.socket(fileno=os.dup(listening)) as one:
        one.shutdown(socket.SHUT_RD)


def leave_unpolled(pid: int, port: int) -> None:
    """Take a process's socket out of its event loop: the kernel completes connections to the port and keeps them."""
    with _taken(pid, port) as (number, listening, polls):
        command = [sys.executable, "-c", _UNPOLL, *map(str, (number, listening, *polls))]
        subprocess.run(command, check=True, pass_fds=(listening, *polls))


@contextmanager
def _taken(pid: int, port: int) -> Iterator[tuple[int, int, list[int]]]:
    """Give the number that a listening socket has in its process, the socket, and the epolls of the process."""
    if sys.platform != "linux":
        pytest.skip(lacks(LINUX, "no other system hands out another process's descriptors"))
    with ExitStack() as stack:
        process = os.pidfd_open(pid)
        stack.callback(os.close, process)
        found: list[tuple[int, int]] = []
        polls: list[int] = []
        for number, target in _descriptors(pid):
            if not target.startswith(("socket:", "anon_inode:[eventpoll]")):
                continue
            taken = _take(process, number)
            stack.callback(os.close, taken)
            if not target.startswith("socket:"):
                polls.append(taken)
            elif _listens(taken, port):
                found.append((number, taken))
        [(number, listening)] = found
        yield number, listening, polls


def _descriptors(pid: int) -> Iterator[tuple[int, str]]:
    for one in Path(f"/proc/{pid}/fd").iterdir():
        try:
            yield int(one.name), str(one.readlink())
        except FileNotFoundError:
            continue  # It was closed in the meantime.


def _take(process: int, number: int) -> int:
    system = ctypes.CDLL(None, use_errno=True)
    taken = int(system.syscall(_PIDFD_GETFD, process, number, 0))
    if taken < 0:
        error = os.strerror(ctypes.get_errno())
        pytest.skip(f"the kernel hands out no descriptor of another process ({error})")
    return taken


def _listens(taken: int, port: int) -> bool:
    with socket.socket(fileno=os.dup(taken)) as one:
        if one.family not in (socket.AF_INET, socket.AF_INET6):
            return False
        return bool(one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)) and one.getsockname()[1] == port
