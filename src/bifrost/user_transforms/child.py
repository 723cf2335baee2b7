"""The program of the process in which a transform runs: `python -I -m bifrost.user_transforms.child`.

Its standard input is a socket to the gateway; it gets no other descriptor, and no environment.

    gateway ── what to load ──▶ child        ◀── ready, or why not
            ── a batch ───────▶              ◀── the new batch, or what kind of error came up, and where
            ── end of stream ─▶ the child ends

The texts that it sends have no content of records: an exception of the user's may have.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bifrost.confined.confinement import confine
from bifrost.confined.frames import Frame
from bifrost.confined.gateway_end import GatewayEnd
from bifrost.user_transforms.arrow_records import WrongBatch, check_batch, parts_from, read_batch
from bifrost.user_transforms.context import Context
from bifrost.user_transforms.function import LoadError, load_function, place_of
from bifrost.user_transforms.parts import parts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OUT_OF_MEMORY = 3
"""Exit status: memory that was asked for in vain may be in pieces now, so another process goes on."""


def main() -> int:
    """Serve the gateway until it ends the stream; return the exit status."""
    gateway = GatewayEnd.of_process()
    # Batches come one after the other, and each thread would take address space.
    pa.set_cpu_count(1)
    pa.set_memory_pool(pa.system_memory_pool())
    first = gateway.receive()
    if first is None:
        return 0
    file = first.head["file"]
    confine(first.head["max_memory_bytes"])
    try:
        function = load_function(file, first.head["entry_point"])
    except LoadError as error:
        gateway.send({"error": str(error)})
        return 1
    gateway.send({"ready": True})
    while True:
        frame = gateway.receive()
        if frame is None:
            return 0
        try:
            parts = run(function, frame)
        except WrongBatch as error:
            gateway.send({"error": str(error), "reason": "contract"})
        except BaseException as error:
            ends = isinstance(error, MemoryError)
            gateway.send({"error": place_of(error, file), "reason": "exception", "ends": ends})
            if ends:
                return OUT_OF_MEMORY
        else:
            gateway.send({"ok": True}, parts)
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


if __name__ == "__main__":
    sys.exit(main())
