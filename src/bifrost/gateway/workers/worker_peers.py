"""What a worker has in common with the others: the answers of `AlonePeers` that hold for all of them."""

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
"""Stands where a physical cluster's brokers are counted that the configuration has no more."""


class WorkerPeers(AlonePeers):
    """One worker of several."""

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
        """Be the worker of this number.

        Args:
            number: from 0.
            board: what all of them see.
            ledger: where this one counts.
            key: what `Whole.key` is, for all of them.
            places: where each tenant is counted on the board.
            channel: to the supervisor.
            doors: where connections come.
            epoch: larger for each worker that is started.
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
        """Write as a gateway of its own."""
        return source_of_worker(settings, self._number, self._epoch)

    def counter(self, name: str) -> Counter[Any]:
        """Count in the ledger."""
        return LedgerCounter(self._ledger, name)

    def new_traffic(self, tenant: str, api_key: int | None) -> Traffic:
        """Count in the ledger."""
        return Traffic(self._ledger.cells(("traffic", tenant, api_key), TRAFFIC_CELLS))

    def new_load(self, tenant: str | None, whole: Load | None) -> Load:
        """Count on the board, where the others read it."""
        place = WHOLE if tenant is None else self.places.by_tenant[tenant]
        return Load(whole, self._board.load_share(place, self._number))

    def new_loop_stalls(self) -> LoopStalls:
        """Count in the ledger; the longest ones stand on the board, where the supervisor takes them back."""
        counts = self._ledger.cells(("loop_stalls", self._number), STALL_CELLS).cast("q")
        return LoopStalls(counts, self._board.stall_marks(self._number))

    def fetch_sessions(self, upstream: str) -> FetchSessions:
        """Remember owners on the board."""
        return FetchSessions(self._claims.of_cluster(upstream))

    def note_open(self, count: int) -> None:
        """Let the supervisor know how many connections have gone."""
        self._open = count
        self._note()

    def tell_ready(self, brokers: Sequence[int], tenants: int) -> None:
        """Tell the supervisor."""
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
                outcomes["", str(mechanism), "failure"] += 0  # So that it is there before anybody failed.
            await asyncio.sleep(BEAT_S)

    def _note_upstreams(self, gateway: "Gateway") -> None:
        found = {one.name: len(one.node_ids) for one in gateway.clusters}
        for name in self._brokers.keys() | found.keys():
            self._brokers[name] = found.get(name, NO_SUCH)
            self._answering[name] = int(gateway.clusters.is_up(name))


class TenantsElsewhere:
    """The connections of tenants in the other workers."""

    def __init__(self, number: int, board: SharedLimits, places: Places) -> None:
        """Look at the board as the worker of this number."""
        self._number, self._board, self._places = number, board, places

    def admission(self, tenant: str) -> AbstractContextManager[None]:
        """Hold the others back for as long as it takes to count, microseconds: of all tenants, whose sum counts."""
        return self._board.locked(WHOLE)

    def count(self, tenant: str) -> int:
        """Add up what they have."""
        place = self._places.by_tenant.get(tenant)
        counts: Iterator[int] = iter(()) if place is None else self._board.connections(place)
        return sum(count for number, count in enumerate(counts) if number != self._number)

    def count_all(self) -> int:
        """Add up what all tenants have in the others."""
        counts = self._board.connections(WHOLE)
        return sum(count for number, count in enumerate(counts) if number != self._number)

    def note(self, tenant: str, count: int, count_all: int) -> None:
        """Write how many there are here."""
        self._board.note_connections(self._number, WHOLE, count_all)
        place = self._places.by_tenant.get(tenant)
        if place is not None:
            self._board.note_connections(self._number, place, count)


def _derived(key: bytes, purpose: bytes) -> bytes:
    return hashlib.blake2b(purpose, key=key, digest_size=32).digest()
