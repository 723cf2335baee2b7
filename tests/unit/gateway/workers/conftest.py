"""Socket pairs that are closed when a test is over."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import pytest

Pair = Callable[..., tuple[socket.socket, socket.socket]]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Make one, of this kind: `pair(socket.SOCK_SEQPACKET)`."""
    with ExitStack() as stack:

        def pair(kind: int = socket.SOCK_STREAM) -> tuple[socket.socket, socket.socket]:
            made = socket.socketpair(socket.AF_UNIX, kind)
            for one in made:
                stack.callback(_close, one)
            return made

        yield pair


def _close(one: socket.socket) -> None:
    with suppress(OSError):
        one.close()
