"""An L4 relay: what any proxy of this kind pays that only carries bytes. `python -m bench.relay LISTEN TO`.

The yardstick where HAProxy is not installed, and built like it: one thread, epoll, and what was received is sent on
at once, from the buffer it was received into.
"""

import select
import socket
import sys

BUFFER_BYTES = 256 * 1024

_READ, _WRITE = select.EPOLLIN, select.EPOLLOUT


class Half:
    """One side of a relayed connection."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = connection
        self.peer = self
        self.pending: memoryview | None = None
        """What this side could not take yet; the other side is not read until it has."""


class Relay:
    """All connections of a relay from one port to another."""

    def __init__(self, port: int, to_port: int) -> None:
        self._to_port = to_port
        self._listener = socket.create_server(("127.0.0.1", port), backlog=1024)
        self._epoll = select.epoll()
        self._epoll.register(self._listener, _READ)
        self._halves: dict[int, Half] = {}
        self._buffer = bytearray(BUFFER_BYTES)
        self._view = memoryview(self._buffer)

    def run(self) -> None:
        """Relay until the process is ended."""
        while True:
            for descriptor, events in self._epoll.poll():
                half = self._halves.get(descriptor)
                if half is None:
                    if descriptor == self._listener.fileno():
                        self._accept()
                    continue
                try:
                    if events & _WRITE:
                        self._go_on(half)
                    else:
                        self._carry(half)
                except BlockingIOError:
                    pass
                except OSError:
                    self._close(half)

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        client = Half(connection)
        broker = Half(socket.create_connection(("127.0.0.1", self._to_port)))
        client.peer, broker.peer = broker, client
        for half in (client, broker):
            self._halves[half.socket.fileno()] = half
            self._epoll.register(half.socket, _READ)

    def _carry(self, half: Half) -> None:
        size = half.socket.recv_into(self._buffer)
        if not size:
            self._close(half)
            return
        peer = half.peer
        try:
            sent = peer.socket.send(self._view[:size])
        except BlockingIOError:
            sent = 0
        if sent < size:
            peer.pending = memoryview(bytes(self._view[sent:size]))
            self._watch(peer)
            self._watch(half)

    def _go_on(self, half: Half) -> None:
        """Send what was left over."""
        assert half.pending is not None
        half.pending = half.pending[half.socket.send(half.pending) :] or None
        if half.pending is None:
            self._watch(half)
            self._watch(half.peer)

    def _watch(self, half: Half) -> None:
        wanted = (_WRITE if half.pending else 0) | (0 if half.peer.pending else _READ)
        self._epoll.modify(half.socket, wanted)

    def _close(self, half: Half) -> None:
        for one in (half, half.peer):
            if self._halves.pop(one.socket.fileno(), None) is not None:
                one.socket.close()


if __name__ == "__main__":
    Relay(int(sys.argv[1]), int(sys.argv[2])).run()
