"""The program of the process that reads large records: `python -I -m bifrost.schema_process.child`.

Its standard input is a socket to the gateway; it gets no other descriptor, and no environment. The texts that it sends
have no content of records.
"""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from bifrost.confined.confinement import confine
from bifrost.confined.gateway_end import GatewayEnd
from bifrost.schema_process.messages import MAX_REASON, read_first, read_records, read_schema
from bifrost.schemas.build_reader import build_reader
from bifrost.schemas.record_check import ReadPart, fault_of

if TYPE_CHECKING:
    from bifrost.confined.frames import Frame
    from bifrost.schemas.readers.reader import Reader
    from bifrost.schemas.schema_checks import SchemaChecks

OUT_OF_MEMORY = 3
"""Exit status: memory that was asked for in vain may be in pieces now, so another process goes on."""

TOO_MUCH_MEMORY = "it takes more memory to read than a record may"

_LIBRARIES = ("readers.avro_reader", "readers.json_reader", "readers.protobuf_reader", "schema_checks")


def main() -> int:
    """Serve the gateway until it ends the stream; return the exit status."""
    gateway = GatewayEnd.of_process()
    frame = gateway.receive()
    if frame is None:
        return 0
    first = read_first(frame)
    for name in _LIBRARIES:
        # Their own memory does not count. What is not installed reads nothing in the gateway either.
        with suppress(ImportError):
            import_module(f"bifrost.schemas.{name}")
    confine(first.max_memory_bytes)
    checks: SchemaChecks | None = None
    if first.checks:
        from bifrost.schemas.schema_checks import SchemaChecks

        checks = SchemaChecks(first.checks)
    gateway.send({"ready": True})
    readers: dict[int, Reader] = {}
    while True:
        frame = gateway.receive()
        if frame is None:
            return 0
        if frame.head["what"] == "schema":
            if frame.head["forgets"]:
                readers.clear()
            readers[frame.head["number"]] = build_reader(read_schema(frame))
            gateway.send({"ok": True})
            continue
        reasons, ends = judged(frame, readers, checks)
        gateway.send({"reasons": reasons, "ends": ends})
        if ends:
            return OUT_OF_MEMORY


def judged(
    frame: Frame, readers: dict[int, Reader], checks: SchemaChecks | None
) -> tuple[list[str | None], bool]:
    """Return why each record is not valid, and whether the memory has come to an end; then it is that of the last."""
    reasons: list[str | None] = []
    for time_s, parts in read_records(frame, readers.__getitem__):
        # When the time is over, the signal ends the process: it comes also while a library reads.
        signal.setitimer(signal.ITIMER_PROF, time_s)
        try:
            reasons.append(_reason(parts, checks))
        except MemoryError:
            return [*reasons, TOO_MUCH_MEMORY], True
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return reasons, False


def _reason(parts: list[ReadPart], checks: SchemaChecks | None) -> str | None:
    found = fault_of(parts, checks)
    return None if found is None else found[:MAX_REASON]


if __name__ == "__main__":
    sys.exit(main())
