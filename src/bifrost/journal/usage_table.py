"""All counters of the journal that were not taken yet: bounded, because clients choose their client IDs freely.

    UsageTable ── Client (one identity) ── Usage (one API and version, the engine's) ── TopicUsage
                        ▲
                  the connections of the client at the moment

A client, an API's version, and a topic, group or transactional ID take a row each. Beyond the bounds everything new is
counted in a client, or a topic, that is *folded*: it stands for all that found no room, so sums stay exact. A client is
forgotten when it has no connection, no request in flight, and nothing was counted for it since it was last looked at.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from bifrost.journal.identity import Identity
from bifrost.journal.tallies import FETCHES, request_tally, response_tally
from bifrost.journal.topic_names import OTHERS, AccessKey, TopicKey, TopicNames, folded_key
from bifrost.journal.usage import TopicUsage, Usage
from bifrost.wire.codec import untrack

Denied = Callable[[Identity, tuple[int, int], str, TopicKey], None]
"""Called with (identity, API and version, rule, topic) of a denied request."""

MAX_NAME_BYTES = 256
"""Longest client ID, topic, group or transactional ID with rows of its own. Topics have 249 bytes at most; the protocol
would allow 32 KiB, and brokers accept groups of that length."""

MAX_FOLDED = 100
"""Most folded clients of one tenant, one for each namespace and principal; beyond that one stands for all."""


class Client:
    """One identity's counters."""

    __slots__ = (
        "_changed_ms", "_now_ms", "_table", "_topics", "closed", "connection_ms", "identity", "open", "opened",
        "since_ms", "usages",
    )  # fmt: skip

    def __init__(
        self, identity: Identity, topics: TopicNames, table: "UsageTable", now_ms: Callable[[], int]
    ) -> None:
        """Begin to count; `topics` resolves what the client names."""
        self.identity = identity
        self.usages: dict[tuple[int, int], Usage] = {}
        self.opened = self.closed = self.connection_ms = self.open = 0
        self._topics, self._table, self._now_ms = topics, table, now_ms
        self.since_ms = self._changed_ms = now_ms()

    def usage(self, api_key: int, api_version: int) -> Usage:
        """Return the counters of the client's messages of an API and version."""
        key = (api_key, api_version)
        found = self.usages.get(key)
        if found is None:
            found = self.usages[key] = Usage(
                self.identity.client_id,
                request_tally(api_key, api_version),
                response_tally(api_key, api_version),
                api_key in FETCHES,
                partial(self._resolve, key),
                self.identity.is_folded,
            )
            self._table.take_row(self.identity.tenant)
        return found

    def enter(self, *, is_new: bool, before_ms: int = 0) -> None:
        """Add a connection, which has been open for `before_ms` without being counted for any client."""
        self._pass_time()
        self.open += 1
        self.opened += is_new
        self.connection_ms += before_ms

    def leave(self, *, has_ended: bool) -> None:
        """Remove a connection: it ended, or another client uses it now."""
        self._pass_time()
        self.open -= 1
        self.closed += has_ended

    def take_connections(self) -> tuple[int, int, int, int]:
        """Return connections opened, closed and open, and the time they were open, in ms; reset the counters."""
        self._pass_time()
        taken = (self.opened, self.closed, self.open, self.connection_ms)
        self.opened = self.closed = self.connection_ms = 0
        return taken

    @property
    def is_idle(self) -> bool:
        """Whether the client has no open connection and no request in flight."""
        return not self.open and not any(one.in_flight for one in self.usages.values())

    def _pass_time(self) -> None:
        now_ms = self._now_ms()
        self.connection_ms += self.open * max(now_ms - self._changed_ms, 0)
        self._changed_ms = now_ms

    def _resolve(
        self, api: tuple[int, int], usage: Usage, slot: int, name: bytes, is_physical: bool
    ) -> TopicUsage:
        table, tenant = self._table, self.identity.tenant
        key: TopicKey | AccessKey
        on_use: Callable[[], None] | None = None
        if slot in OTHERS:
            key = self._topics.access(slot, name)
        else:
            key, rule = self._topics.resolve(slot, name, is_physical=is_physical)
            if rule is not None:
                on_use = partial(table.denied, self.identity, api, rule, key)
        found = usage.topics.get(key)
        if found is None:
            folded = folded_key(slot)
            if not table.has_room(tenant) or len(name) > MAX_NAME_BYTES:
                table.folded[tenant] += 1
                key, on_use = folded, None
                found = usage.topics.get(key)
            if found is None:
                untrack(key)
                if on_use is not None:
                    untrack(on_use)
                found = usage.topics[key] = TopicUsage(key, on_use, is_folded=key == folded)
                table.take_row(tenant)
                untrack(usage.topics)  # It was tracked again with the new key; there may be thousands.
        return found


class UsageTable:
    """The clients of all tenants."""

    def __init__(
        self, max_rows: int, max_rows_per_tenant: int, now_ms: Callable[[], int], denied: Denied
    ) -> None:
        """Begin empty.

        Args:
            max_rows: rows of all tenants together; folded ones come in addition, as few as there are APIs and
                principals.
            max_rows_per_tenant: rows of one tenant.
            now_ms: a clock, in milliseconds.
            denied: called whenever a client names a topic that it may not name.
        """
        self.denied = denied
        self._max_rows, self._max_rows_per_tenant = max_rows, max_rows_per_tenant
        self._now_ms = now_ms
        self._clients: dict[Identity, Client] = {}
        self._rows: Counter[str] = Counter()
        self._total = 0
        self._folded_clients: Counter[str] = Counter()
        self.folded: Counter[str] = Counter()
        """How often a client, topic, group or transactional ID found no room, by tenant."""

    def __len__(self) -> int:
        return self._total

    def has_room(self, tenant: str) -> bool:
        """Whether a tenant may have one more row."""
        return self._total < self._max_rows and self._rows[tenant] < self._max_rows_per_tenant

    def take_row(self, tenant: str) -> None:
        """Note one more row."""
        self._rows[tenant] += 1
        self._total += 1

    def give_rows(self, tenant: str, count: int) -> None:
        """Note fewer rows."""
        self._rows[tenant] -= count
        self._total -= count
        if not self._rows[tenant]:
            del self._rows[tenant]

    def client(self, identity: Identity, topics: TopicNames) -> Client:
        """Return the counters of an identity, or of the folded one where there is no room."""
        found = self._clients.get(identity)
        if found is not None:
            return found
        if not self.has_room(identity.tenant) or len(identity.client_id or b"") > MAX_NAME_BYTES:
            self.folded[identity.tenant] += 1
            identity = identity.folded
            if identity not in self._clients and self._folded_clients[identity.tenant] >= MAX_FOLDED:
                identity = identity.folded_whole
            found = self._clients.get(identity)
            if found is not None:
                return found
            self._folded_clients[identity.tenant] += 1
        found = self._clients[identity] = Client(identity, topics, self, self._now_ms)
        self.take_row(identity.tenant)
        return found

    def __iter__(self) -> Iterator[Client]:
        """Yield the clients that exist at the call, except those that are forgotten meanwhile."""
        for identity in list(self._clients):
            client = self._clients.get(identity)
            if client is not None:
                yield client

    def forget(self, client: Client) -> None:
        """Forget a client that is idle and whose counters were taken."""
        assert client.is_idle
        identity = client.identity
        del self._clients[identity]
        self._folded_clients[identity.tenant] -= identity.is_folded
        topics = sum(len(one.topics) for one in client.usages.values())
        self.give_rows(identity.tenant, 1 + len(client.usages) + topics)
