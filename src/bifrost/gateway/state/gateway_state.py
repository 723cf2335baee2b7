"""The dynamic state of one gateway process: its table, which a reader keeps up to date."""

import asyncio

import structlog

from bifrost.config.fields.state import State as StateSettings
from bifrost.gateway.loop.loop_guard import keep
from bifrost.gateway.producing.upstream_topic import UpstreamTopic
from bifrost.gateway.state.context import StateContext
from bifrost.gateway.state.state_counts import StateCounts
from bifrost.gateway.state.state_reader import UNREADABLE_RETRY_S, StateReader
from bifrost.gateway.state.state_topic import state_limits, state_topic_settings
from bifrost.records.batch_reader import UnreadableBatch
from bifrost.state.state_record import UnreadableState
from bifrost.state.state_table import StateTable

log = structlog.get_logger()


class GatewayState:
    """The state as this process has read it."""

    def __init__(self, gateway: StateContext, settings: StateSettings) -> None:
        """Read nothing yet.

        Args:
            gateway: the gateway that has the state.
            settings: the configuration's section of the state.
        """
        self._gateway, self._settings = gateway, settings
        self.table = StateTable(state_limits(settings))
        self._ignored = gateway.peers.counter("state_ignored")
        self._reader: StateReader | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def is_current(self) -> bool:
        """Whether the state was read to its end, and can be read on."""
        return self._reader is not None and self._reader.is_current

    def counts(self) -> StateCounts:
        """Return the current counts; other threads may call this."""
        state = self.state()
        is_up = bool(state["is_up"])
        return StateCounts(state["records"], state["bytes"], state["lag"], is_up, self._ignored["records"])

    def state(self) -> dict[str, int]:
        """Return the numbers that go up and down."""
        reader = self._reader
        return {
            "records": len(self.table),
            "bytes": self.table.size,
            "lag": 0 if reader is None else reader.lag,
            "is_up": int(self.is_current and reader is not None and not reader.problem),
        }

    async def begin(self) -> None:
        """Start reading, and wait until the state was read to its end, however long that takes."""
        settings, gateway = self._settings, self._gateway
        cluster = gateway.clusters[settings.upstream or gateway.config.clusters[0].name]
        timeout_ms = gateway.limits.upstream_connect_timeout_ms
        topic = UpstreamTopic(cluster, state_topic_settings(settings), timeout_ms)
        self._reader = reader = StateReader(topic, self.table, ignored=self._ignored)
        self._task = asyncio.get_running_loop().create_task(keep("state_reader", reader.run))
        while not reader.is_current:
            try:
                await reader.until_current()
            except (UnreadableState, UnreadableBatch):  # The reader has logged it, and tries again.
                await asyncio.sleep(UNREADABLE_RETRY_S)
        log.info("state_read", topic=settings.topic, records=len(self.table), offset=reader.position)

    async def end(self) -> None:
        """Stop reading."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._reader is not None:
            await self._reader.close()
