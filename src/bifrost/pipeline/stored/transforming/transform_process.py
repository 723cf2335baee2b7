"""The process in which a task runs a transform: the gateway's own program, with its bounds; here the caller blocks.

It has no environment, no descriptor but the socket, and no key of the job. The file comes with the task, so executors
need not have it.
"""

import socket
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self

from bifrost.confined.frames import LENGTHS, BrokenFrame, Frame, pack, read_head, read_lengths
from bifrost.pipeline.errors import PipelineError
from bifrost.records.codec.columns import Columns
from bifrost.transforms.record_transform import Direction, Failure
from bifrost.transforms.user.column_parts import columns_from, parts_from
from bifrost.transforms.user.python_transform import UserRun

COMMAND = (sys.executable, "-I", "-m", "bifrost.user_transforms.child")
START_TIMEOUT_S = 60.0
"""Longest time until a process is ready: it imports Arrow, and what the user's file imports."""
MAX_ANSWER_BYTES = 64 << 20
"""Largest batch that a transform returns, as in the gateway."""


class TransformFile(NamedTuple):
    """What runs, and its bounds; Spark sends it to the executors."""

    name: str
    text: str
    timeout_ms: int
    """Of a batch."""
    max_memory_bytes: int


class _Gone(Exception):
    """The process has ended, or sent what is no message."""


class TransformProcess:
    """Runs the batches of one task."""

    def __init__(self, file: TransformFile) -> None:
        """Prepare; the process starts with the first batch."""
        self._file = file
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._folder = TemporaryDirectory(prefix="bifrost-transform-")
        path = Path(self._folder.name, file.name)
        path.write_text(file.text, encoding="utf-8")
        self._path = str(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._folder.cleanup()

    def run(self, key: UserRun) -> Columns | Failure:
        """Return a batch as the transform leaves it, or why there is none.

        Raises:
            PipelineError: the file cannot be loaded: no batch can be transformed.
        """
        columns, given = key.given.columns, key.given
        assert columns is not None
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._start()
        head = {
            "tenant": key.spec.tenant,
            "topic": key.topic,
            "direction": key.direction.value,
            "base_offset": given.base_offset if key.direction is Direction.FETCH else 0,
            "base_timestamp_ms": given.base_timestamp_ms,
        }
        try:
            frame = self._ask(head, parts_from(columns), self._file.timeout_ms / 1000)
            if "error" not in frame.head:
                return columns_from(frame)
        except TimeoutError:
            self._end()
            return self._failure(f"it took longer than {self._file.timeout_ms} ms")
        except (_Gone, OSError, BrokenFrame, TypeError):
            self._end()
            return self._failure("its process ended")
        if frame.head.get("ends"):
            self._end()
        # Where in the file; content of records is not in it.
        return self._failure(str(frame.head["error"])[:500])

    def _failure(self, text: str) -> Failure:
        return Failure(f"the transform failed: {text}", is_retriable=False)

    def _start(self) -> None:
        own, its_own = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket = own
        with its_own:
            self._process = subprocess.Popen(
                COMMAND,
                stdin=its_own.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,
            )
        first = {
            "file": self._path,
            "entry_point": None,
            "max_memory_bytes": self._file.max_memory_bytes,
        }
        try:
            answer = self._ask(first, (), START_TIMEOUT_S).head
        except TimeoutError:
            raise PipelineError(f"{self._file.name} was not loaded within {START_TIMEOUT_S:.0f} s") from None
        except (_Gone, OSError, BrokenFrame):
            raise PipelineError(
                f"{self._file.name} cannot be loaded: its process ended (max_memory_bytes?)"
            ) from None
        if "error" in answer:
            reason = str(answer["error"])[:500].replace(f"{self._folder.name}/", "")
            raise PipelineError(f"{self._file.name} cannot be loaded: {' '.join(reason.split())}")

    def _ask(self, head: dict[str, Any], parts: Any, timeout_s: float) -> Frame:
        """Send a message, and return the answer.

        Raises:
            TimeoutError: it took too long.
            _Gone, OSError, BrokenFrame: there is none.
        """
        assert self._socket is not None
        deadline = time.monotonic() + timeout_s
        for piece in pack(head, parts):
            self._wait_until(deadline)
            self._socket.sendall(piece)
        sizes = read_lengths(self._exactly(LENGTHS.size, deadline), MAX_ANSWER_BYTES)
        found = read_head(self._exactly(sizes[0], deadline))
        return Frame(found, memoryview(self._exactly(sizes[1], deadline)))

    def _exactly(self, size: int, deadline: float) -> bytearray:
        assert self._socket is not None
        data = bytearray(size)
        view, at = memoryview(data), 0
        while at < size:
            self._wait_until(deadline)
            count = self._socket.recv_into(view[at:])
            if not count:
                raise _Gone
            at += count
        return data

    def _wait_until(self, deadline: float) -> None:
        assert self._socket is not None
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None
