"""What a worker shares with the others: `AlonePeers` for a gateway of several workers."""

import asyncio
import hashlib
import socket
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from bifrost.authentication.failed_authentications import SharedFailures
from bifrost.config.fields.journal import Journal
from bifrost.gateway.loop.loop_stalls import STALL_CELLS, LoopStalls
from bifrost.gateway.peers.alone_peers import AlonePeers
from bifrost.gateway.peers.journal_source import source_of_worker
from bifrost.gateway.workers.channel import Channel
from bifrost.gateway.workers.given_ports import GivenPorts
from bifrost.gateway.workers.shared_counters import LedgerCounter, SharedCounters
from bifrost.gateway.workers.shared_limits import (
    BEAT_MS,
    BUFFERED_BYTES,
    GONE,
    IS_READY,
    SPARE_BYTES,
    TAKEN,
    WHOLE,
    Places,
    SharedLimits,
)
from bifrost.gateway.workers.shared_snapshot_turn import SharedSnapshotTurn
from bifrost.gateway.workers.shared_topics import SharedTopics
from bifrost.journal.record import Source
from bifrost.session.fetch_sessions import FetchSessions, SharedClaims
from bifrost.wire.engine import TRAFFIC_CELLS, Load, Traffic, spare_bytes

if TYPE_CHECKING:
    from bifrost.gateway.gateway import Gateway

BEAT_S = 0.25
"""Time between two signs of life."""

NO_SUCH = -1
"""Number of brokers of a physical cluster that is no longer in the configuration."""


class WorkerPeers(AlonePeers):
    """The shared state of one worker of several."""

    is_alone = False

    def __init__(
        self,
        number: int,
        board: SharedLimits,
        ledger: SharedCounters,
        key: bytes,
        places: Places,
        channel: Channel,
        doors: socket.socket,
        epoch: int = 0,
    ) -> None:
        """Represent the worker with this number.

        Args:
            number: the worker's number, from 0.
            board: the memory that all workers share.
            ledger: where this worker counts.
            key: the key that all workers share, as `AlonePeers.key`.
            places: where each tenant is counted on the board.
            channel: the channel to the supervisor.
            doors: socket on which connections arrive.
            epoch: the worker's epoch in the journal, larger for each worker that is started.
        """
        super().__init__()
        self.key, self.places, self.workers = key, places, board.workers
        self._number, self._board, self._ledger, self._channel = number, board, ledger, channel
        self._pulse = board.pulse(number)
        self._taken = self._coming = self._open = 0
        self.given = self.ports = GivenPorts(channel, doors, self._note_coming)
        self.failures = SharedFailures(board.failures(), number, _derived(key, b"addresses"))
        self.elsewhere = TenantsElsewhere(number, board, places)
        self.again = lambda delay_s, call: asyncio.get_running_loop().call_later(delay_s, call)
        self.looks = SharedSnapshotTurn(board)
        self.known_topics = self.shared_topics = SharedTopics(
            lambda content: channel.tell({"do": "known"}, content)
        )
        self._epoch = epoch
        self._claims = SharedClaims(board.fetch_marks(), _derived(key, b"sessions"))
        self._brokers, self._answering = self.counter("brokers"), self.counter("answering")
        self._journal = self.counter("journal_state")

    def journal_source(self, settings: Journal) -> Source:
        """Return the source of this worker's records: it writes as a gateway of its own."""
        return source_of_worker(settings, self._number, self._epoch)

    def counter(self, name: str) -> Counter[Any]:
        """Return a counter in the ledger."""
        return LedgerCounter(self._ledger, name)

    def new_traffic(self, tenant: str, api_key: int | None) -> Traffic:
        """Return the counters of a tenant and an API in the ledger."""
        return Traffic(self._ledger.cells(("traffic", tenant, api_key), TRAFFIC_CELLS))

    def new_load(self, tenant: str | None, whole: Load | None) -> Load:
        """Return a load that counts on the board, where the other workers read it."""
        place = WHOLE if tenant is None else self.places.by_tenant[tenant]
        return Load(whole, self._board.load_share(place, self._number))

    def new_loop_stalls(self) -> LoopStalls:
        """Return stalls that count in the ledger; the longest are on the board, where the supervisor resets them."""
        counts = self._ledger.cells(("loop_stalls", self._number), STALL_CELLS).cast("q")
        return LoopStalls(counts, self._board.stall_marks(self._number))

    def fetch_sessions(self, upstream: str) -> FetchSessions:
        """Return fetch sessions whose owners are remembered on the board."""
        return FetchSessions(self._claims.of_cluster(upstream))

    def note_open(self, count: int) -> None:
        """Tell the supervisor how many connections have ended."""
        self._open = count
        self._note()

    def tell_ready(self, brokers: Sequence[int], tenants: int) -> None:
        """Tell the supervisor that this worker serves."""
        self._pulse[IS_READY] = 1
        self._channel.tell({"do": "ready", "brokers": list(brokers), "tenants": tenants})

    def _note_coming(self, taken: int, coming: int) -> None:
        self._taken, self._coming = taken, coming
        self._note()

    def _note(self) -> None:
        self._pulse[GONE] = self._taken - self._coming - self._open
        self._pulse[TAKEN] = self._taken

    async def live(self, gateway: "Gateway") -> None:
        """Give signs of life, for ever."""
        while True:
            self._pulse[BEAT_MS] = time.monotonic_ns() // 1_000_000
            self._pulse[IS_READY] = int(gateway.is_ready)
            self._pulse[SPARE_BYTES] = spare_bytes()
            self._pulse[BUFFERED_BYTES] = gateway.tenants.rooms.whole.used
            self._note_upstreams(gateway)
            if gateway.journaling is not None:
                for name, number in gateway.journaling.state().items():
                    self._journal[name] = number
            outcomes = gateway.shared.sasl.outcomes
            for mechanism in gateway.shared.sasl.mechanisms:
                outcomes["", str(mechanism), "failure"] += 0  # So that it exists before the first failure.
            await asyncio.sleep(BEAT_S)

    def _note_upstreams(self, gateway: "Gateway") -> None:
        found = {one.name: len(one.node_ids) for one in gateway.clusters}
        for name in self._brokers.keys() | found.keys():
            self._brokers[name] = found.get(name, NO_SUCH)
            self._answering[name] = int(gateway.clusters.is_up(name))


class TenantsElsewhere:
    """The connections of tenants in the other workers."""

    def __init__(self, number: int, board: SharedLimits, places: Places) -> None:
        """Read the board as the worker with this number."""
        self._number, self._board, self._places = number, board, places

    def admission(self, tenant: str) -> AbstractContextManager[None]:
        """Hold back the other workers' admissions for all tenants, as their sum counts; it takes microseconds."""
        return self._board.locked(WHOLE)

    def count(self, tenant: str) -> int:
        """Add up the tenant's connections in the other workers."""
        place = self._places.by_tenant.get(tenant)
        counts: Iterator[int] = iter(()) if place is None else self._board.connections(place)
        return sum(count for number, count in enumerate(counts) if number != self._number)

    def count_all(self) -> int:
        """Add up the connections of all tenants in the other workers."""
        counts = self._board.connections(WHOLE)
        return sum(count for number, count in enumerate(counts) if number != self._number)

    def note(self, tenant: str, count: int, count_all: int) -> None:
        """Write the numbers of this worker's connections on the board."""
        self._board.note_connections(self._number, WHOLE, count_all)
        place = self._places.by_tenant.get(tenant)
        if place is not None:
            self._board.note_connections(self._number, place, count)


def _derived(key: bytes, purpose: bytes) -> bytes:
    return hashlib.blake2b(purpose, key=key, digest_size=32).digest()
