"""Reads and writes the state without a gateway, as the commands of `bifrost state` do."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from bifrost.config.fields.state import State
from bifrost.gateway.brokers.cluster import Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.producing.upstream_topic import UpstreamTopic
from bifrost.gateway.state.state_reader import StateReader
from bifrost.gateway.state.state_topic import state_limits, state_topic_settings
from bifrost.gateway.state.state_writer import StateWriter
from bifrost.state.state_table import StateTable

READ_TIMEOUT_S = 120.0
"""How long the state may take to be read: far more than half a million records need."""


@dataclass(frozen=True, slots=True)
class StateClient:
    """A table that is read all the time, and a writer of it."""

    table: StateTable
    reader: StateReader
    writer: StateWriter

    async def until_current(self) -> None:
        """Wait until the state was read to its end.

        Raises:
            UnreadableState, UnreadableBatch: it cannot be read.
            BrokerError: it was not read in time.
        """
        try:
            async with asyncio.timeout(READ_TIMEOUT_S):
                await self.reader.until_current()
        except TimeoutError:
            raise BrokerError(
                f"the state was not read within {READ_TIMEOUT_S:.0f} s: {self.reader.problem}"
            ) from None


@contextlib.asynccontextmanager
async def open_state(
    cluster: Cluster, settings: State, timeout_ms: int, *, creates: bool = False
) -> AsyncIterator[StateClient]:
    """Read the state until the end of the context.

    Args:
        cluster: the physical cluster that has it, whose brokers are known.
        settings: the section `proxy.state`.
        timeout_ms: time limit of each request.
        creates: whether a missing topic is created.
    Raises:
        BrokerError: the topic does not exist and is not created.
    """
    table, topic_settings = StateTable(state_limits(settings)), state_topic_settings(settings)
    reader = StateReader(UpstreamTopic(cluster, topic_settings, timeout_ms), table, creates=creates)
    writer = StateWriter(UpstreamTopic(cluster, topic_settings, timeout_ms), reader)
    if not creates:
        await writer.find()
    reading = asyncio.create_task(reader.run())
    try:
        yield StateClient(table, reader, writer)
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await reader.close()
        await writer.close()
