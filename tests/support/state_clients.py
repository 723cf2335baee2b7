"""Readers and writers of a state on a real broker, in the test's own event loop."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from bifrost.config.fields.limits import Limits
from bifrost.config.fields.state import State
from bifrost.config.fields.upstream import Upstream
from bifrost.gateway.brokers.cluster import Cluster
from bifrost.gateway.state.state_client import StateClient, open_state

TIMEOUT_MS = 20_000


def now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


@contextlib.asynccontextmanager
async def reading(
    bootstrap: str, topic: str, *, creates: bool = True, waits: bool = True, **settings: int
) -> AsyncIterator[StateClient]:
    """Read a state and be able to write it, as one process of its own would."""
    upstream = Upstream.model_validate({"bootstrap": bootstrap.split(",")})
    cluster = Cluster(upstream, (), Limits(), now_ms)
    await cluster.refresh()
    section = State.model_validate({"topic": topic, **settings})
    try:
        async with open_state(cluster, section, TIMEOUT_MS, creates=creates) as client:
            if waits:
                await client.until_current()
            yield client
    finally:
        await cluster.close()


async def write_raw(client: StateClient, key: bytes, value: bytes) -> None:
    """Write a record that no gateway would write, and do not wait until it was read."""

    async def is_never_read(_change: str, _timeout_ms: int) -> None:
        pass

    client.reader.until_seen = is_never_read  # type: ignore[method-assign]
    await client.writer.write(lambda _: [(0, key, value)], "never-read")


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test that is a coroutine in an event loop of its own."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run
