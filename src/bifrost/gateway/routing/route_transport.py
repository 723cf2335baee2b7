"""The transport of a router: a client's relay writes into it as into the socket of a broker."""

import asyncio
from collections.abc import Callable
from typing import Any

Buffer = bytes | memoryview


class RouteTransport(asyncio.Transport):
    """Gives the frames of requests to a router. There is no socket, and nothing waits here to be written."""

    def __init__(
        self, receive: Callable[[list[Buffer]], None], read: Callable[[bool], None], close: Callable[[], None]
    ) -> None:
        """Begin open, and reading.

        Args:
            receive: gets the segments of whole frames.
            read: gets whether answers may be read.
            close: called once, when the transport is closed.
        """
        super().__init__()
        self._receive, self._read, self._on_close = receive, read, close
        self.writelines = receive  # type: ignore[assignment, method-assign]  # no Python frame per read
        self._is_closing, self._is_reading = False, True

    def write(self, data: Any) -> None:
        """Give one segment."""
        self.writelines([data])

    def writelines(self, list_of_data: Any) -> None:
        """Give whole frames; the list stays the caller's."""
        if not self._is_closing:
            self._receive(list_of_data)

    def get_write_buffer_size(self) -> int:
        """Return 0: what brokers do not take waits in their own connections."""
        return 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return something as the TLS context: a relay writes nothing to the socket of a transport that has one."""
        return self if name == "sslcontext" else default

    def is_reading(self) -> bool:
        """Whether answers are read."""
        return self._is_reading

    def pause_reading(self) -> None:
        """Read no more answers: the client is slower than the brokers."""
        self._is_reading = False
        self._read(False)

    def resume_reading(self) -> None:
        """Read answers again."""
        self._is_reading = True
        self._read(True)

    def is_closing(self) -> bool:
        """Whether it is closed."""
        return self._is_closing

    def close(self) -> None:
        """Close the connections to all brokers."""
        if not self._is_closing:
            self._is_closing = True
            del self.writelines
            self._on_close()

    def abort(self) -> None:
        """Close at once, which is the same here."""
        self.close()
