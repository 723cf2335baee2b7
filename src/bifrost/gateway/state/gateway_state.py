"""The dynamic state of one gateway process: its table, which a reader keeps up to date, and its changes."""

import asyncio
import os
import socket
from collections import Counter
from functools import partial

import structlog

from bifrost.config.fields.state import State as StateSettings
from bifrost.filters.steps import StateChange
from bifrost.gateway.loop.loop_guard import keep
from bifrost.gateway.loop.steps import STEP_S
from bifrost.gateway.producing.upstream_topic import UpstreamTopic
from bifrost.gateway.state.context import StateContext
from bifrost.gateway.state.state_changes import StateChanges, has_room
from bifrost.gateway.state.state_counts import KIND, StateCounts
from bifrost.gateway.state.state_follower import FIRST_STEP_S, StateFollower
from bifrost.gateway.state.state_reader import UNREADABLE_RETRY_S, StateReader
from bifrost.gateway.state.state_topic import state_limits, state_topic_settings
from bifrost.gateway.state.state_writer import StateWriter
from bifrost.records.batch_reader import UnreadableBatch
from bifrost.state.state_model import StateModel
from bifrost.state.state_record import UnreadableState
from bifrost.state.state_table import StateTable
from bifrost.tenancy.acls.stored_acls import KIND as ACLS
from bifrost.tenancy.quotas.quota_record import QUOTA
from bifrost.tenancy.topic_configs.config_records import NAMESPACE_KIND, TOPIC_KIND

log = structlog.get_logger()


class GatewayState:
    """The state as this process has read it, and the changes that its clients ask for."""

    def __init__(self, gateway: StateContext, settings: StateSettings) -> None:
        """Read nothing yet; the gateway's sessions share the table from now on.

        Args:
            gateway: the gateway that has the state.
            settings: the configuration's section of the state.
        """
        self._gateway, self._settings = gateway, settings
        self.table = gateway.shared.state = StateTable(state_limits(settings))
        counter = gateway.peers.counter
        self._ignored, self._attempts = counter("state_ignored"), counter("state_attempts")
        self._changed: Counter[tuple[str, str]] = counter("state_changes")
        self._times_us = counter("state_times_us")
        self._changes = StateChanges(
            self._get_writer,
            self._settle,
            f"{socket.gethostname()}/{os.getpid()}",
            max_waiting=settings.max_waiting_changes,
            counts=self._changed,
            times_us=self._times_us,
            hits=gateway.shared.lanes.in_flight_limits.hits,
            has_room=partial(has_room, self.table),
        )
        self._followers: list[StateFollower] = []
        self.follow(QUOTA, gateway.shared.quota_tables)
        self.follow(ACLS, gateway.shared.virtual_clusters.acls)
        clusters = gateway.shared.virtual_clusters
        assert clusters.configs is not None, "a gateway with a state has them"
        for kind in (NAMESPACE_KIND, TOPIC_KIND):
            self.follow(kind, clusters.configs)
        self._writer: StateWriter | None = None
        self._reader: StateReader | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def is_current(self) -> bool:
        """Whether the state was read to its end, can be read on, and was understood."""
        is_read = self._reader is not None and self._reader.is_current
        return is_read and all(one.is_current for one in self._followers)

    def follow(self, kind: str, model: StateModel) -> None:
        """Keep a feature's model up to date with the records of its kind (state_follower.py); before `begin`."""
        self._followers.append(StateFollower(self.table, kind, model))

    async def change(self, tenant: str, need: StateChange) -> StateChange:
        """Write a change that a request of a tenant asks for; return it with its outcome."""
        return await self._changes.change(tenant, need)

    def counts(self) -> StateCounts:
        """Return the current counts; other threads may call this."""
        state = self.state()
        is_up = bool(state["is_up"])
        return StateCounts(
            state["records"],
            state["bytes"],
            state["lag"],
            is_up,
            self._ignored["records"],
            state["waiting"],
            self._changed.copy(),
            self._attempts.copy(),
            self._times_us["change"] / 1e6,
            self.table.counts(),
        )

    def state(self) -> dict[str, int]:
        """Return the numbers that go up and down."""
        reader = self._reader
        return {
            "records": len(self.table),
            "bytes": self.table.size,
            "lag": 0 if reader is None else reader.lag,
            "waiting": self._changes.waiting.total(),
            "is_up": int(self.is_current and reader is not None and not reader.problem),
            **{f"{KIND}{kind}": count for kind, count in self.table.counts().items()},
        }

    async def begin(self) -> None:
        """Start reading, and wait until the state was read to its end, however long that takes."""
        for one in self._followers:
            one.step_s = FIRST_STEP_S
        self._reader = reader = StateReader(
            self._topic(), self.table, ignored=self._ignored, settle=self._settle
        )
        self._task = asyncio.get_running_loop().create_task(keep("state_reader", reader.run))
        while not reader.is_current:
            try:
                await reader.until_current()
            except (UnreadableState, UnreadableBatch):  # The reader has logged it, and tries again.
                await asyncio.sleep(UNREADABLE_RETRY_S)
        await self._settle()
        for one in self._followers:
            one.step_s = STEP_S
        log.info("state_read", topic=self._settings.topic, records=len(self.table), offset=reader.position)

    async def end(self) -> None:
        """Stop writing and reading."""
        await self._changes.end()
        if self._writer is not None:
            await self._writer.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._reader is not None:
            await self._reader.close()

    async def _settle(self) -> None:
        for one in self._followers:
            await one.settle()

    def _get_writer(self) -> StateWriter:
        """Return the writer, made when a client first asks for a change."""
        if self._writer is None:
            assert self._reader is not None, "no client is accepted before the state is read"
            self._writer = StateWriter(self._topic(), self._reader, self._attempts)
        return self._writer

    def _topic(self) -> UpstreamTopic:
        """Return the topic with connections of its own."""
        settings, gateway = self._settings, self._gateway
        cluster = gateway.clusters[settings.upstream or gateway.config.clusters[0].name]
        timeout_ms = gateway.limits.upstream_connect_timeout_ms
        return UpstreamTopic(cluster, state_topic_settings(settings), timeout_ms)
