"""A wiretap before a gateway: it listens where the gateway says that it is, and keeps what goes over each connection.

    client  --->  tap 127.0.0.1:port  --->  gateway 127.0.0.2:port

Every byte for the client is kept as it came, across all limits of frames. Of what the client sends the headers are kept
and who authenticates by SASL/PLAIN, so that a connection has a tenant; whole requests only of the client ID whose
answers are to be held against them.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Self

from bifrost.wire.api_keys import ApiKey

HEADER = Struct(">hhih")
"""API key, version, correlation ID and the length of the client ID, behind a frame's length."""
Forward = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]
CHUNK_BYTES = 1 << 18
START_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Request:
    """What is kept of a request; `frame` is empty if its answer is not held against it."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str
    frame: bytes


@dataclass
class Connection:
    """One tapped connection."""

    users: tuple[str, ...]
    keeps: str
    """The client ID whose requests are kept whole."""
    received: bytearray = field(default_factory=bytearray)
    """Every byte that went to the client."""
    requests: list[Request] = field(default_factory=list)
    user: str | None = None
    """As it named itself by SASL/PLAIN; None if it never did."""
    _unread: bytearray = field(default_factory=bytearray)

    def note_sent(self, data: bytes) -> None:
        """Note what the client sends, in any pieces."""
        self._unread += data
        start = 0
        while len(self._unread) - start >= 4:
            end = start + 4 + int.from_bytes(self._unread[start : start + 4], "big")
            if end > len(self._unread):
                break
            self._note_request(bytes(self._unread[start + 4 : end]))
            start = end
        del self._unread[:start]

    def _note_request(self, frame: bytes) -> None:
        if len(frame) < HEADER.size:
            return
        api_key, version, correlation_id, length = HEADER.unpack_from(frame)
        client_id = frame[HEADER.size : HEADER.size + max(length, 0)].decode(errors="replace")
        kept = frame if client_id == self.keeps else b""
        self.requests.append(Request(api_key, version, correlation_id, client_id, kept))
        if api_key == ApiKey.SASL_AUTHENTICATE and self.user is None:
            # The token is NUL user NUL password.
            self.user = next((user for user in self.users if f"\0{user}\0".encode() in frame), None)

    def answers(self) -> Iterator[tuple[Request, bytes]]:
        """Yield every whole answer with its length, and the request that it answers."""
        asked = {request.correlation_id: request for request in self.requests}
        start = 0
        while start + 8 <= len(self.received):
            end = start + 4 + int.from_bytes(self.received[start : start + 4], "big")
            if end > len(self.received):
                break
            correlation_id = int.from_bytes(self.received[start + 4 : start + 8], "big", signed=True)
            yield asked[correlation_id], bytes(self.received[start:end])
            start = end


class Tap:
    """The tap of one gateway, as a context manager: it runs in a thread of its own."""

    def __init__(
        self,
        ports: Iterable[int],
        *,
        host: str,
        behind: str,
        users: Iterable[str] = (),
        keeps: str = "",
        to_port: int | None = None,
    ) -> None:
        """Describe a tap; nothing is started yet.

        Args:
            ports: on which it listens.
            host: where it listens.
            behind: the host of what is tapped.
            users: who may authenticate.
            keeps: the client ID whose requests are kept whole.
            to_port: the one of what is tapped, if it is not that on which the client came.
        """
        self._ports, self._host, self._behind, self._to_port = list(ports), host, behind, to_port
        self._users, self._keeps = tuple(users), keeps
        self.connections: list[Connection] = []
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="tap")
        self._started, self._failure = threading.Event(), ""
        self._stop: asyncio.Event
        self._loop: asyncio.AbstractEventLoop

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(START_TIMEOUT_S)
        assert not self._failure, self._failure
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(START_TIMEOUT_S)
        assert not self._thread.is_alive()

    def of(self, user: str | None) -> list[Connection]:
        """Return the connections of a user; of None: those on which no client authenticated."""
        return [one for one in self.connections if one.user == user]

    async def _serve(self) -> None:
        self._stop, self._loop = asyncio.Event(), asyncio.get_running_loop()
        servers = []
        try:
            for port in self._ports:
                servers.append(await asyncio.start_server(self._forward_to(port), self._host, port))
        except OSError as error:
            self._failure = str(error)
            return
        finally:
            self._started.set()
        await self._stop.wait()
        for server in servers:
            server.close()
        ours = asyncio.current_task()
        open_still = [task for task in asyncio.all_tasks() if task is not ours]
        for task in open_still:
            task.cancel()
        await asyncio.gather(*open_still, return_exceptions=True)

    def _forward_to(self, port: int) -> Forward:
        async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = Connection(self._users, self._keeps)
            self.connections.append(connection)
            try:
                other_reader, other_writer = await asyncio.open_connection(
                    self._behind, self._to_port or port
                )
            except OSError:
                writer.close()
                return
            try:
                await asyncio.gather(
                    _pump(reader, other_writer, connection, is_answer=False),
                    _pump(other_reader, writer, connection, is_answer=True),
                )
            except asyncio.CancelledError:
                # The tap ends; a task of a server that is cancelled would be reported as an error.
                pass
            finally:
                writer.close()
                other_writer.close()

        return forward


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: Connection, *, is_answer: bool
) -> None:
    try:
        while data := await reader.read(CHUNK_BYTES):
            if is_answer:
                connection.received += data
            else:
                connection.note_sent(data)
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        # Whichever side ends, ends the other.
        writer.close()


def api_keys_of(connections: Iterable[Connection]) -> Counter[int]:
    """Count the requests by API key."""
    return Counter(request.api_key for one in connections for request in one.requests)
