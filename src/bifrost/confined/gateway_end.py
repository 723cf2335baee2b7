"""The gateway, as a process sees it that works for it: a socket, which is its standard input."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any, Self

from bifrost.confined.frames import LENGTHS, Frame, pack, read_head, read_lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST = 2**62
"""What the gateway sends has its bounds there."""


class GatewayEnd:
    """The socket to the gateway."""

    def __init__(self, connected: socket.socket) -> None:
        """Talk over a socket that is connected."""
        self._socket = connected

    @classmethod
    def of_process(cls) -> Self:
        """Return that of this process, whose standard input is no socket afterwards."""
        connected = socket.socket(fileno=os.dup(0))
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.close(nothing)
        return cls(connected)

    def receive(self) -> Frame | None:
        """Return the next message; None: the gateway has gone."""
        lengths = self._exactly(LENGTHS.size)
        if lengths is None:
            return None
        head_size, buffers_size = read_lengths(lengths, _MOST)
        head, buffers = self._exactly(head_size), self._exactly(buffers_size)
        if head is None or buffers is None:
            return None
        return Frame(read_head(head), memoryview(buffers))

    def send(self, head: dict[str, Any], parts: Sequence[memoryview | None] = ()) -> None:
        """Send a message."""
        for piece in pack(head, parts):
            self._socket.sendall(piece)

    def _exactly(self, size: int) -> bytearray | None:
        data = bytearray(size)
        view, at = memoryview(data), 0
        while at < size:
            count = self._socket.recv_into(view[at:])
            if not count:
                return None
            at += count
        return data
