"""What stands for a socket where the shell around the sessions is tested: it remembers, and does nothing."""

from collections.abc import Iterable
from typing import Any

from support.stage.playbook import split_frames


class FakeTransport:
    """A transport of asyncio's that keeps what is written to it."""

    def __init__(self, peer: tuple[str, int] | None = ("192.0.2.1", 50_000)) -> None:
        """Be connected to `peer`, and be read."""
        self.peer = peer
        self.written = bytearray()
        self.is_closed = False
        self.is_aborted = False
        self.has_written_eof = False
        self.is_tls = False
        self.protocol: Any = None
        self.reading = True
        self.high_water_bytes = 0
        self.unwritten_bytes = 0
        self.is_full = False
        """Whether what is written next has to wait, of which the protocol is told."""

    def take_frames(self) -> list[bytes]:
        """Return the frames that were written since the last call, without their lengths."""
        frames = split_frames(bytes(self.written))
        self.written.clear()
        return frames

    # -- asyncio.Transport

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": self.peer, "socket": self}.get(name, default)

    def setsockopt(self, *_options: int) -> None:
        """Be the socket as well."""

    def getsockopt(self, *_options: int) -> bytes:
        """The other end has not closed it: TCP_ESTABLISHED, the first byte of the kernel's information."""
        return b"\1"

    def fileno(self) -> int:
        """There is none to write to: all is written by the transport."""
        return -1

    def set_write_buffer_limits(self, high: int) -> None:
        self.high_water_bytes = high

    def writelines(self, buffers: Iterable[bytes | memoryview]) -> None:
        assert not self.is_closed, "written to after it was closed"
        for buffer in buffers:
            self.written += buffer
        if self.is_full:
            self.is_full = False
            self.protocol.pause_writing()

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = self.is_aborted = True

    def can_write_eof(self) -> bool:
        return not self.is_tls

    def write_eof(self) -> None:
        assert self.can_write_eof()
        self.has_written_eof = True

    def get_write_buffer_size(self) -> int:
        """Everything is written at once, unless a test says otherwise."""
        return self.unwritten_bytes

    def set_protocol(self, protocol: Any) -> None:
        self.protocol = protocol

    def is_closing(self) -> bool:
        return self.is_closed

    def is_reading(self) -> bool:
        return self.reading

    def pause_reading(self) -> None:
        assert self.reading, "asyncio's own transports warn of this"
        self.reading = False

    def resume_reading(self) -> None:
        assert not self.reading
        self.reading = True


def receive(protocol: Any, data: bytes) -> None:
    """Let a BufferedProtocol receive bytes."""
    while data:
        buffer = protocol.get_buffer(-1)
        size = min(len(buffer), len(data))
        buffer[:size] = data[:size]
        data = data[size:]
        protocol.buffer_updated(size)


def framed(*frames: bytes) -> bytes:
    """Give frames as they go over a socket."""
    return b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
