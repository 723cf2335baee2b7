"""The journal of one `bifrost control`: an event for each thing that it has changed in the state, or tried to.

It writes as a source of its own, `control/HOST/PID`, into the journal of the gateways. It has no events `start` and
`stop`: what they tell readers is whether counters of tenants' traffic are complete, and no traffic passes here.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Iterable, Mapping
from typing import Any

from bifrost.config.fields.journal import Journal as JournalSettings
from bifrost.gateway.brokers.cluster import Cluster
from bifrost.gateway.journaling.journal_topic import journal_topic_settings
from bifrost.gateway.journaling.journal_writer import JournalWriter
from bifrost.gateway.peers.journal_source import wall_ms
from bifrost.gateway.producing.upstream_topic import UpstreamTopic
from bifrost.journal.journal import Journal, JournalLimits
from bifrost.journal.record import Source
from bifrost.state.state_change import Change
from bifrost.state.state_record import Body, StateRecord
from bifrost.tenancy.acls.stored_acls import KIND as ACL
from bifrost.tenancy.quotas.quota_entity import DEFAULT, QuotaEntity
from bifrost.tenancy.quotas.quota_record import QUOTA

LAST_WORDS_S = 5.0
"""How long a process that stops waits until its last events are accepted."""

Changed = tuple[Change, StateRecord | None]
"""A change, and what was stored before."""


class ControlJournal:
    """The events of this process."""

    def __init__(self, settings: JournalSettings, cluster: Cluster, timeout_ms: int) -> None:
        """Write nothing yet.

        Args:
            settings: the section `proxy.journal`.
            cluster: the physical cluster that has the journal.
            timeout_ms: time limit for a broker to write events.
        """
        source = Source(f"control/{socket.gethostname()}/{os.getpid()}", wall_ms())
        limits = JournalLimits(
            settings.buffer_bytes,
            settings.max_usage_rows,
            settings.max_usage_rows_per_tenant,
            settings.max_events_per_tenant,
        )
        self.journal = Journal(source, limits, wall_ms)
        topic = UpstreamTopic(cluster, journal_topic_settings(settings), timeout_ms)
        self._writer = JournalWriter(topic, self.journal.buffer, timeout_ms)
        self._interval_s = settings.interval_ms / 1000
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self) -> None:
        """Start writing."""
        self._tasks = [asyncio.create_task(one) for one in (self._writer.run(), self._count())]

    def note(
        self, changed: Iterable[Changed], on_behalf_of: str, outcome: str, detail: str | None = None
    ) -> None:
        """Write down what was changed, or was to be.

        Args:
            changed: each becomes an event.
            on_behalf_of: the admin that asked for it.
            outcome: `success`, `failure` or `unknown`.
            detail: why it was not changed.
        """
        for change, before in changed:
            fields = event_of(change, before)
            namespace = fields["namespace"]
            self.journal.event(
                "admin",
                outcome,
                namespace.partition(":")[0],
                principal=on_behalf_of,
                detail=detail or "by the admin API",
                **fields,
            )
        self._writer.wake()

    async def close(self) -> None:
        """Write the remaining events, within a time limit."""
        if self._tasks:
            writing, counting = self._tasks
            counting.cancel()
            self._writer.finish()
            await asyncio.wait({writing}, timeout=LAST_WORDS_S)
            writing.cancel()
            await asyncio.gather(writing, counting, return_exceptions=True)
        with contextlib.suppress(OSError):
            await self._writer.close()

    async def _count(self) -> None:
        """End an interval every `interval_ms`, for ever: a tenant's events are bounded in each."""
        while True:
            await asyncio.sleep(self._interval_s)
            for _ in self.journal.end_interval():
                pass
            self._writer.wake()


def event_of(change: Change, before: StateRecord | None) -> dict[str, Any]:
    """Return the fields of the event of a change: namespace, resource_type, resource_name, before and after."""
    key, old = change.key, None if before is None else before.body
    found: dict[str, Any] = {
        "namespace": key.name,
        "resource_type": key.kind,
        "resource_name": key.name,
        "before": _said(key.kind, old),
        "before_ms": None if before is None else before.at_ms,
        "after": _said(key.kind, change.body),
    }
    if key.kind == QUOTA:
        found["namespace"], _, entity = key.name.partition("/")
        found["resource_name"] = _entity(entity)
    elif key.kind == ACL:
        found["namespace"] = key.name.rpartition(":")[0]
        found["resource_name"] = str((change.body or old or {}).get("name", key.name))
    return found


def _said(kind: str, body: Body | None) -> Mapping[str, str]:
    """Return what a record says, in the words of the events of Kafka's own requests."""
    if body is None:
        return {}
    if kind == QUOTA:
        return {key: f"{value:.16g}" for key, value in body.get("values", {}).items()}
    if kind == ACL:
        return {key: str(value) for key, value in body.items() if key != "name"}
    return {key: str(value) for key, value in body.items()}


def _entity(text: str) -> str:
    try:
        entity = QuotaEntity.from_text(text)
    except ValueError:
        return text
    named = (("user", entity.user), ("client-id", entity.client_id))
    parts = [f"{kind}={'<default>' if name is DEFAULT else name}" for kind, name in named if name is not None]
    return ",".join(parts) or text
