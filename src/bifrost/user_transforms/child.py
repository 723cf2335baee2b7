"""The program of the process in which a transform runs: `python -I -m bifrost.user_transforms.child`.

Its standard input is a socket to the gateway; it gets no other descriptor, and no environment.

    gateway ── what to load ──▶ child        ◀── ready, or why not
            ── a batch ───────▶              ◀── the new batch, or what kind of error came up, and where
            ── end of stream ─▶ the child ends

The texts that it sends have no content of records: an exception of the user's may have.
"""

from __future__ import annotations

import os
import socket
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bifrost.user_transforms.arrow_records import WrongBatch, check_batch, parts_from, read_batch
from bifrost.user_transforms.confinement import confine
from bifrost.user_transforms.context import Context
from bifrost.user_transforms.frames import LENGTHS, Frame, pack, parts_of, read_head, read_lengths
from bifrost.user_transforms.function import LoadError, load_function, place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OUT_OF_MEMORY = 3
"""Exit status: memory that was asked for in vain may be in pieces now, so another process goes on."""

_MOST = 2**62
"""What the gateway sends has its bounds there."""


def main() -> int:
    """Serve the gateway until it ends the stream; return the exit status."""
    gateway = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)
    # Batches come one after the other, and each thread would take address space.
    pa.set_cpu_count(1)
    pa.set_memory_pool(pa.system_memory_pool())
    first = _receive(gateway)
    if first is None:
        return 0
    file = first.head["file"]
    confine(first.head["max_memory_bytes"])
    try:
        function = load_function(file, first.head["entry_point"])
    except LoadError as error:
        _send(gateway, {"error": str(error)})
        return 1
    _send(gateway, {"ready": True})
    while True:
        frame = _receive(gateway)
        if frame is None:
            return 0
        try:
            parts = run(function, frame)
        except WrongBatch as error:
            _send(gateway, {"error": str(error), "reason": "contract"})
        except BaseException as error:
            ends = isinstance(error, MemoryError)
            _send(gateway, {"error": place_of(error, file), "reason": "exception", "ends": ends})
            if ends:
                return OUT_OF_MEMORY
        else:
            _send(gateway, {"ok": True}, parts)
            del parts
        del frame


def run(function: Callable[[Any, Context], Any], frame: Frame) -> Sequence[memoryview | None]:
    """Return the parts of a batch as the function leaves it.

    Raises:
        WrongBatch: it broke the contract. Whatever else the function raises comes through.
    """
    head = frame.head
    base_timestamp_ms = head["base_timestamp_ms"]
    context = Context(head["tenant"], head["topic"], head["direction"], head["base_offset"])
    batch = read_batch(parts_of(frame), base_timestamp_ms)
    returned = check_batch(function(batch, context), batch, is_produce=context.direction == "produce")
    return parts_from(returned, base_timestamp_ms)


def _receive(gateway: socket.socket) -> Frame | None:
    """Return the next message; None: the gateway has gone."""
    lengths = _exactly(gateway, LENGTHS.size)
    if lengths is None:
        return None
    head_size, buffers_size = read_lengths(lengths, _MOST)
    head, buffers = _exactly(gateway, head_size), _exactly(gateway, buffers_size)
    if head is None or buffers is None:
        return None
    return Frame(read_head(head), memoryview(buffers))


def _exactly(gateway: socket.socket, size: int) -> bytearray | None:
    data = bytearray(size)
    view, at = memoryview(data), 0
    while at < size:
        count = gateway.recv_into(view[at:])
        if not count:
            return None
        at += count
    return data


def _send(gateway: socket.socket, head: dict[str, Any], parts: Sequence[memoryview | None] = ()) -> None:
    for piece in pack(head, parts):
        gateway.sendall(piece)


if __name__ == "__main__":
    sys.exit(main())
