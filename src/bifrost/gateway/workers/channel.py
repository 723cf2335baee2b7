"""Messages between a supervisor and a worker, over a socket pair.

    u32 size │ u32 size of the message │ the message, a JSON object │ content, bytes

A message with `id` needs an answer, which has `re` with the same number, and `error` if the request failed.
"""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from bifrost.gateway.loop.loop_guard import report

Message = dict[str, Any]
Handle = Callable[[Message, bytes], Awaitable[Message | None]]
"""Does what a message asks; its result is the answer, if the message needs one."""

MAX_BYTES = 1 << 30


class ChannelClosed(Exception):
    """The other process is gone."""


class Refused(Exception):
    """The other process cannot do what the message asked; the text says why."""


class Channel:
    """One end of the socket pair."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Use a connected socket's streams."""
        self._reader, self._writer = reader, writer
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    @classmethod
    async def open(cls, end: socket.socket) -> "Channel":
        """Return the channel of one end of a socket pair."""
        return cls(*await asyncio.open_unix_connection(sock=end))

    def tell(self, message: Message, content: bytes = b"") -> None:
        """Send a message that needs no answer."""
        head = json.dumps(message).encode()
        size = 4 + len(head) + len(content)
        if not self._is_closed:
            parts = (size.to_bytes(4, "big"), len(head).to_bytes(4, "big"), head, content)
            self._writer.writelines(parts)

    async def ask(self, message: Message, content: bytes = b"") -> Message:
        """Send a message and return its answer.

        Raises:
            Refused: the other process could not do it.
            ChannelClosed: the other process is gone.
        """
        if self._is_closed:
            raise ChannelClosed
        self._number += 1
        number = self._number
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self.tell({**message, "id": number}, content)
            found: Message = await answer
        finally:
            del self._waiting[number]
        if found.get("error") is not None:
            raise Refused(found["error"])
        return found

    async def run(self, handle: Handle) -> None:
        """Receive messages until the other process is gone; each is handled in a task of its own."""
        try:
            while True:
                message, content = await self._read()
                if "re" in message:
                    future = self._waiting.get(message["re"])
                    if future is not None and not future.done():
                        future.set_result(message)
                    continue
                task = asyncio.get_running_loop().create_task(self._answer(handle, message, content))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Close the channel; callers that wait for an answer get ChannelClosed."""
        self._is_closed = True
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ChannelClosed())
        self._writer.close()

    async def _read(self) -> tuple[Message, bytes]:
        size = int.from_bytes(await self._reader.readexactly(4), "big")
        if not 4 <= size <= MAX_BYTES:
            raise OSError("not a message")
        content = await self._reader.readexactly(size)
        end = 4 + int.from_bytes(content[:4], "big")
        message: Message = json.loads(content[4:end])
        return message, content[end:]

    async def _answer(self, handle: Handle, message: Message, content: bytes) -> None:
        answer: Message | None
        try:
            answer = await handle(message, content)
        except Refused as error:
            answer = {"error": str(error)}
        except Exception as error:
            report("channel", error, message=message.get("do"))
            answer = {"error": f"{type(error).__name__}: see the gateway's log"}
        if "id" in message:
            self.tell({**(answer or {}), "re": message["id"]})
