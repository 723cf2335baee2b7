"""What a worker shares with the others: `AlonePeers` for a gateway of several workers."""

import asyncio
import hashlib
import socket
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

from bifrost.authentication.failed_authentications import SharedFailures
from bifrost.config.fields.journal import Journal
from bifrost.forwarding.clock import monotonic_ns
from bifrost.forwarding.gateway_time import GATEWAY_TIME_CELLS, GatewayTime
from bifrost.forwarding.load import Load
from bifrost.forwarding.quotas.shared_budgets import SharedBudgets
from bifrost.forwarding.traffic import TRAFFIC_CELLS, Traffic
from bifrost.gateway.admin.kept_metrics import PARTS
from bifrost.gateway.loop.loop_stalls import STALL_CELLS, LoopStalls
from bifrost.gateway.loop.steps import in_steps
from bifrost.gateway.peers.alone_peers import AlonePeers
from bifrost.gateway.peers.journal_source import source_of_worker
from bifrost.gateway.workers.channel import Channel
from bifrost.gateway.workers.given_ports import GivenPorts
from bifrost.gateway.workers.shared_counters import SharedCounter, SharedCounters
from bifrost.gateway.workers.shared_limits import (
    ALL_TENANTS,
    BEAT_MS,
    BUDGET_LOCK,
    BUFFERED_BYTES,
    EXCHANGE_LOCK,
    GONE,
    IS_READY,
    SPARE_BYTES,
    TAKEN,
    Places,
    SharedLimits,
)
from bifrost.gateway.workers.shared_snapshot_turn import SharedSnapshotTurn
from bifrost.gateway.workers.shared_topics import SharedTopics
from bifrost.journal.record import Source
from bifrost.session.fetch_sessions import FetchSessions, SharedClaims
from bifrost.wire.framer import spare_bytes

if TYPE_CHECKING:
    from bifrost.gateway.gateway import Gateway

BEAT_S = 0.25
"""Time between two signs of life."""

USED_S = 5.0
"""Time between two looks at what tenants use of their limits: there may be thousands of tenants."""

NO_SUCH = -1
"""Number of brokers of a physical cluster that is no longer in the configuration."""


class WorkerPeers(AlonePeers):
    """The shared state of one worker of several."""

    is_alone = False

    def __init__(
        self,
        number: int,
        shared_limits: SharedLimits,
        counters: SharedCounters,
        key: bytes,
        places: Places,
        channel: Channel,
        arriving: socket.socket,
        epoch: int = 0,
    ) -> None:
        """Represent the worker with this number.

        Args:
            number: the worker's number, from 0.
            shared_limits: the memory that all workers share.
            counters: where this worker counts.
            key: the key that all workers share, as `AlonePeers.key`.
            places: where each tenant is counted in the shared limits.
            channel: the channel to the supervisor.
            arriving: socket on which connections arrive.
            epoch: the worker's epoch in the journal, larger for each worker that is started.
        """
        super().__init__()
        self.key, self.places, self.workers = key, places, shared_limits.workers
        self._number, self._shared_limits, self._counters, self._channel = (
            number,
            shared_limits,
            counters,
            channel,
        )
        self._pulse = shared_limits.pulse(number)
        self._taken = self._open = 0
        self.given = self.ports = GivenPorts(channel, arriving, self._note_taken)
        self.failures = SharedFailures(shared_limits.failures(), number, _derived(key, b"addresses"))
        self.elsewhere = TenantsElsewhere(number, shared_limits, places)
        self.again = lambda delay_s, call: asyncio.get_running_loop().call_later(delay_s, call)
        self.snapshot_turn = SharedSnapshotTurn(shared_limits)
        self.known_topics = self.shared_topics = SharedTopics(
            lambda content: channel.tell({"do": "known"}, content)
        )
        self._epoch = epoch
        self.budget_table = self._budgets = SharedBudgets(
            shared_limits.budgets(),
            partial(shared_limits.locked, BUDGET_LOCK),
            _derived(key, b"budgets"),
            monotonic_ns,
        )
        self._claims = SharedClaims(shared_limits.fetch_marks(), _derived(key, b"sessions"))
        self._brokers, self._answering = self.counter("brokers"), self.counter("answering")
        self._journal, self._state = self.counter("journal_state"), self.counter("state")
        self._exchange, self._shares = self.counter("exchange"), self.counter("exchange_shares")
        self._used = self.counter("used_limits")

    def journal_source(self, settings: Journal) -> Source:
        """Return the source of this worker's records: it writes as a gateway of its own."""
        return source_of_worker(settings, self._number, self._epoch)

    def counter(self, name: str) -> Counter[Any]:
        """Return a counter in the shared counters."""
        return SharedCounter(self._counters, name)

    def new_traffic(self, tenant: str, api_key: int | None) -> Traffic:
        """Return the counters of a tenant and an API in the shared counters."""
        counters = self._counters
        return Traffic(
            counters.cells(("traffic", tenant, api_key), TRAFFIC_CELLS),
            lambda code, is_own: counters.cells(("errors", tenant, api_key, code, int(is_own)), 1),
        )

    def new_gateway_time(self, tenant: str) -> GatewayTime:
        """Return the counters of how long a tenant's messages are kept in the shared counters."""
        return GatewayTime(self._counters.cells(("gateway_time", tenant), GATEWAY_TIME_CELLS))

    def new_load(self, tenant: str | None, of_all: Load | None) -> Load:
        """Return a load that counts in the shared limits, where the other workers read it."""
        place = ALL_TENANTS if tenant is None else self.places.by_tenant[tenant]
        return Load(of_all, self._shared_limits.load_share(place, self._number))

    def share_budgets(self) -> SharedBudgets:
        """Have the budgets of all workers together with other gateways from now on."""
        self._budgets.is_exchanged = True
        return self._budgets

    def takes_part(self) -> bool:
        """Whether this worker does for all what one has to do: one does, for as long as it runs."""
        return self._shared_limits.try_to_hold(EXCHANGE_LOCK)

    def new_loop_stalls(self) -> LoopStalls:
        """Return stalls in the shared counters; the longest are in the shared limits: the supervisor resets them."""
        counts = self._counters.cells(("loop_stalls", self._number), STALL_CELLS).cast("q")
        return LoopStalls(counts, self._shared_limits.stall_marks(self._number))

    def fetch_sessions(self, upstream: str) -> FetchSessions:
        """Return fetch sessions whose owners are remembered in the shared limits."""
        return FetchSessions(self._claims.of_cluster(upstream))

    def note_open(self, count: int) -> None:
        """Tell the supervisor how many connections have ended."""
        self._open = count
        self._note()

    def tell_ready(self, brokers: Sequence[int], tenants: int) -> None:
        """Tell the supervisor that this worker serves."""
        self._pulse[IS_READY] = 1
        self._channel.tell({"do": "ready", "brokers": list(brokers), "tenants": tenants})

    def _note_taken(self, taken: int) -> None:
        self._taken = taken
        self._note()

    def _note(self) -> None:
        self._pulse[GONE] = self._taken - self._open
        self._pulse[TAKEN] = self._taken

    async def live(self, gateway: "Gateway") -> None:
        """Give signs of life, for ever."""
        used_again_s = 0.0
        while True:
            self._pulse[BEAT_MS] = time.monotonic_ns() // 1_000_000
            self._pulse[IS_READY] = int(gateway.is_ready)
            self._pulse[SPARE_BYTES] = spare_bytes()
            self._pulse[BUFFERED_BYTES] = gateway.tenants.rooms.of_all.used
            self._note_upstreams(gateway)
            if gateway.journaling is not None:
                for name, number in gateway.journaling.state().items():
                    self._journal[name] = number
            if gateway.state is not None:
                for name, number in gateway.state.state().items():
                    self._state[name] = number
            if gateway.exchange is not None:
                gateway.exchange.note(self._exchange, self._shares)
            if time.monotonic() >= used_again_s:
                used_again_s = time.monotonic() + USED_S
                await in_steps(self._note_used(gateway))
            outcomes = gateway.shared.sasl.outcomes
            for mechanism in gateway.shared.sasl.mechanisms:
                outcomes["", str(mechanism), "failure"] += 0  # So that it exists before the first failure.
            await asyncio.sleep(BEAT_S)

    def _note_used(self, gateway: "Gateway") -> Generator[None, None, None]:
        """Write how much tenants use of their limits on what brokers keep."""
        unused = set(self._used)
        for one in gateway.shared.virtual_clusters.used_limits():
            if one is not None:
                tenant, limit, part = one
                self._used[tenant, limit] = int(part * PARTS)
                unused.discard((tenant, limit))
            yield
        for key in unused:
            self._used[key] = 0

    def _note_upstreams(self, gateway: "Gateway") -> None:
        found = {one.name: len(one.node_ids) for one in gateway.clusters}
        for name in self._brokers.keys() | found.keys():
            self._brokers[name] = found.get(name, NO_SUCH)
            self._answering[name] = int(gateway.clusters.is_up(name))


class TenantsElsewhere:
    """The connections of tenants in the other workers."""

    def __init__(self, number: int, shared_limits: SharedLimits, places: Places) -> None:
        """Read the shared limits as the worker with this number."""
        self._number, self._shared_limits, self._places = number, shared_limits, places

    def admission(self, tenant: str) -> AbstractContextManager[None]:
        """Hold back the other workers' admissions for all tenants, as their sum counts; it takes microseconds."""
        return self._shared_limits.locked(ALL_TENANTS)

    def count(self, tenant: str) -> int:
        """Add up the tenant's connections in the other workers."""
        place = self._places.by_tenant.get(tenant)
        counts: Iterator[int] = iter(()) if place is None else self._shared_limits.connections(place)
        return sum(count for number, count in enumerate(counts) if number != self._number)

    def count_all(self) -> int:
        """Add up the connections of all tenants in the other workers."""
        counts = self._shared_limits.connections(ALL_TENANTS)
        return sum(count for number, count in enumerate(counts) if number != self._number)

    def note(self, tenant: str, count: int, count_all: int) -> None:
        """Write the numbers of this worker's connections into the shared limits."""
        self._shared_limits.note_connections(self._number, ALL_TENANTS, count_all)
        place = self._places.by_tenant.get(tenant)
        if place is not None:
            self._shared_limits.note_connections(self._number, place, count)


def _derived(key: bytes, purpose: bytes) -> bytes:
    return hashlib.blake2b(purpose, key=key, digest_size=32).digest()
