"""The journal of one gateway: counts usage, takes events, and makes records of both; the gateway's writer sends them.

Nothing here waits or fails because records cannot be written: see record_buffer.py.
"""

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

from bifrost.journal.identity import Identity
from bifrost.journal.known_topics import KnownTopics
from bifrost.journal.record import RecordKind, Source
from bifrost.journal.record_buffer import DropReason, RecordBuffer
from bifrost.journal.rows import api_name, client_fields, connection_row, usage_rows
from bifrost.journal.topic_names import TopicKey
from bifrost.journal.usage_table import Client, UsageTable

ROW_BYTES = 1024
"""Usual upper bound of a usage row's size; many rows take half of it."""

NewCounter = Callable[[str], Counter[Any]]
"""Returns a counter of a name."""


@dataclass(frozen=True, slots=True)
class JournalLimits:
    """Bounds on the journal's memory; see the configuration's section `journal`."""

    buffer_bytes: int
    max_usage_rows: int
    max_usage_rows_per_tenant: int
    max_events_per_tenant: int
    """Most events of a tenant within one interval."""


class Journal:
    """The usage and the events of one gateway."""

    def __init__(
        self,
        source: Source,
        limits: JournalLimits,
        now_ms: Callable[[], int],
        *,
        known_topics: KnownTopics | None = None,
        counter: NewCounter | None = None,
    ) -> None:
        """Begin an empty journal.

        Args:
            source: which gateway this is, and its epoch.
            limits: bounds on memory.
            now_ms: the time since 1970, in milliseconds.
            known_topics: facts known of topics; None: none yet.
            counter: makes the counter of a name; None: counters are for this journal alone.
        """
        self.source = source
        self.now_ms = now_ms
        self.buffer = RecordBuffer(source, limits.buffer_bytes, now_ms)
        self.table = UsageTable(
            limits.max_usage_rows, limits.max_usage_rows_per_tenant, now_ms, self._topic_denied
        )
        if counter is not None:
            self.buffer.drops, self.table.folded = counter("journal_dropped"), counter("journal_folded")
        self.known_topics = KnownTopics() if known_topics is None else known_topics
        self._rest: Iterator[None] | None = None
        """The rest of the work for the client whose records are being made."""
        self._max_events = limits.max_events_per_tenant
        self._events: Counter[str | None] = Counter()
        self._denials: deque[tuple[int, Identity, tuple[int, int], str, TopicKey]] = deque()
        """Denials of topics that are not written yet; of a tenant at most as many as its events in an interval."""

    def event(self, type_: str, outcome: str, tenant: str | None = None, **fields: Any) -> None:
        """Write an event down.

        Args:
            type_: one of the types in docs/journal.md.
            outcome: the result.
            tenant: the tenant that the event belongs to; None: no tenant.
            fields: other fields of the schema's struct `event`.
        """
        # Events of the gateway itself are not bounded.
        if (tenant is None and "client_address" not in fields) or self._has_room_for_event(tenant):
            self._write_event(self.now_ms(), tenant, {"type": type_, "outcome": outcome} | fields)

    def client_event(self, type_: str, outcome: str, identity: Identity, **fields: Any) -> None:
        """Write an event down that a client caused."""
        self.event(type_, outcome, identity.tenant, **client_fields(identity), **fields)

    def snapshot(self, tenant: str, interval: tuple[int, int], fields: dict[str, Any]) -> None:
        """Write a snapshot of a tenant's topic down."""
        self.buffer.append(RecordKind.SNAPSHOT, tenant, interval, fields)

    def end_interval(self) -> Generator[None, None, None]:
        """Make records of the counters, step by step; stop at the first client whose records would find no room.

        The other clients go on counting, and their records cover more than one interval. A caller that stops in the
        middle must call this again later: the client that was begun is finished first.
        """
        yield from self._finish()
        yield from self._write_denials()
        self._events.clear()
        self.buffer.tell_drops()
        for client in self.table:
            rows = 1 + sum(1 + len(one.topics) for one in client.usages.values())
            # An empty buffer takes even a client whose records exceed it: else they would never be written.
            if not self.buffer.has_room_for(rows * ROW_BYTES) and self.buffer.size:
                return
            self._rest = self._take(client)
            yield from self._finish()

    def _finish(self) -> Generator[None, None, None]:
        """Finish the client that was begun: its counters were taken and exist nowhere else."""
        while self._rest is not None:
            if next(self._rest, self) is self:
                self._rest = None
            yield

    def _take(self, client: Client) -> Iterator[None]:
        identity, now_ms = client.identity, self.now_ms()
        interval = (min(client.since_ms, now_ms), now_ms)
        client.since_ms = now_ms
        row = connection_row(client)
        has_rows = row is not None
        if row is not None:
            self.buffer.append(RecordKind.USAGE, identity.tenant, interval, row)
        for api_key, api_version in list(client.usages):
            rows, topics = usage_rows(client, api_key, api_version)
            self.table.give_rows(identity.tenant, topics)
            for one in rows:
                has_rows = True
                self.buffer.append(RecordKind.USAGE, identity.tenant, interval, one)
                yield
        if not has_rows and client.is_idle:
            self.table.forget(client)

    def _topic_denied(self, identity: Identity, api: tuple[int, int], rule: str, topic: TopicKey) -> None:
        """Note a denial. Its record is made later, because that takes 0.2 ms, which the time of the answer would show.

        A request with another tenant's topic ID causes a record, one with an ID that no topic has does not: a client
        must not see the difference by the time of its answer.
        """
        if self._has_room_for_event(identity.tenant):
            self._denials.append((self.now_ms(), identity, api, rule, topic))

    def _write_denials(self) -> Iterator[None]:
        while self._denials:
            at_ms, identity, (api_key, api_version), rule, topic = self._denials.popleft()
            told = {
                "type": "denial",
                "outcome": "denied",
                "api": api_name(api_key),
                "api_version": api_version,
                "resource_type": "topic" if topic.topic_id is None else "topic_id",
                "resource_name": topic.virtual or topic.topic_id,
                "physical_name": topic.physical,
                "rule": rule,
            }
            self._write_event(at_ms, identity.tenant, told | client_fields(identity))
            yield

    def _has_room_for_event(self, tenant: str | None) -> bool:
        """Count an event of a tenant; return whether there is room for it in this interval."""
        self._events[tenant] += 1
        if self._events[tenant] <= self._max_events:
            return True
        self.buffer.drop(RecordKind.EVENT, tenant, DropReason.EVENT_LIMIT)
        return False

    def _write_event(self, at_ms: int, tenant: str | None, told: dict[str, Any]) -> None:
        self.buffer.append(RecordKind.EVENT, tenant, (at_ms, at_ms), told)
