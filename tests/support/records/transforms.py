"""Files with transforms of the operator's own, and batches for them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from bifrost.gateway.sources.child_process import DYING
from bifrost.records.codec.client_batch import read_columns
from bifrost.records.codec.columns import ColumnRecord
from bifrost.transforms.record_transform import Direction
from bifrost.transforms.user.python_transform import Given, RunSpec, UserRun
from support.records.record_columns import batch_of, only_batch, plenty

PLENTY_MS = 60_000
"""A time limit that no batch of a test reaches."""

BY_VALUE = """
import os, time
def transform(batch, context):
    first = batch.column("value")[0].as_py()
    if first == b"crash":
        os._exit(9)
    if first == b"loop":
        while True:
            pass
    if first == b"bomb":
        kept = [bytes(1 << 20) for _ in range(1 << 20)]
    if first == b"error":
        raise KeyError("secret")
    if first == b"fewer":
        return batch.slice(1)
    if first == b"environment":
        return with_value(batch, repr((dict(os.environ), sorted(os.listdir("/proc/self/fd")), os.getcwd())))
    if first == b"write":
        with open(__file__ + ".written", "w") as file:
            file.write("x")
    return with_value(batch, "MARK")

def with_value(batch, text):
    import pyarrow as pa
    at = batch.schema.names.index("value")
    return batch.set_column(at, batch.schema.field("value"), pa.array([text.encode()] * batch.num_rows, pa.binary()))
"""
"""Does what the first value says, else writes MARK in place of all values."""


def spec_of(file: Path, *, timeout_ms: int = PLENTY_MS, max_memory_bytes: int = 64 << 20) -> RunSpec:
    """Return what runs a file."""
    return RunSpec("acme", "mine", str(file), None, timeout_ms, max_memory_bytes)


async def all_gone() -> None:
    """Wait until nothing is left of processes that were ended."""
    while DYING:  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0.01)


def run_of(
    spec: RunSpec, values: Sequence[bytes | None], direction: Direction = Direction.PRODUCE
) -> UserRun:
    """Return what a batch with these values needs."""
    batch = only_batch(batch_of([ColumnRecord(i, i, b"k", value) for i, value in enumerate(values)]))
    given = Given(batch, read_columns(batch, plenty()))
    return UserRun(spec, "orders", direction, repr(values).encode(), given)
