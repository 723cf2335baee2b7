"""What a process shares with the other workers of its gateway: nothing, as it is the only one.

With `proxy.workers` above 1 each worker has `workers/worker_peers.py` in its place: the same methods, with results that
hold for all workers. Callers do not know which of the two they use.
"""

import mmap
import os
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import structlog

from bifrost.authentication.failed_authentications import Failures
from bifrost.config.fields.journal import Journal
from bifrost.forwarding.clock import monotonic_ns
from bifrost.forwarding.gateway_time import GatewayTime
from bifrost.forwarding.in_flight_limits import Again
from bifrost.forwarding.load import Load
from bifrost.forwarding.quotas.quotas import Quotas
from bifrost.forwarding.traffic import Traffic
from bifrost.gateway.loop.loop_stalls import LoopStalls
from bifrost.gateway.peers.elsewhere import Elsewhere
from bifrost.gateway.peers.journal_source import source_alone
from bifrost.gateway.peers.snapshot_turn import SnapshotTurn
from bifrost.gateway.sockets.ports import OwnPorts, Ports
from bifrost.journal.known_topics import KnownTopics
from bifrost.journal.record import Source
from bifrost.session.fetch_sessions import FetchSessions

if TYPE_CHECKING:
    from bifrost.forwarding.quotas.shared_budgets import SharedBudgets

BUDGET_PLACES = 65_536
"""Budgets of quotas that other gateways have as well, 4.5 MiB if all are in use: one for each user or client ID that
has a quota."""

log = structlog.get_logger()


class AlonePeers:
    """A gateway of one process."""

    is_alone = True
    workers = 1

    def __init__(self) -> None:
        """Make a key of this process's own."""
        self.key = os.urandom(32)
        """Answers about users that do not exist are made with it. It stays the same while the gateway runs; otherwise a
        reload, or another worker, would show which users do not exist."""
        self.ports: Ports = OwnPorts()
        self.failures: Failures | None = None
        self.elsewhere: Elsewhere | None = None
        self.again: Again | None = None
        self.snapshot_turn = SnapshotTurn()
        self.known_topics = KnownTopics()
        self.budget_table: SharedBudgets | None = None
        """The budgets that other workers or other gateways have as well; None: this process has all alone."""

    def journal_source(self, settings: Journal) -> Source:
        """Return the source that this process writes into the journal's records."""
        return source_alone(settings)

    def counter(self, name: str) -> Counter[Any]:
        """Return the gateway's counter of this name."""
        return Counter()

    def new_traffic(self, tenant: str, api_key: int | None) -> Traffic:
        """Return the counters of a tenant and an API."""
        return Traffic()

    def new_gateway_time(self, tenant: str) -> GatewayTime:
        """Return the counters of how long a tenant's messages are kept."""
        return GatewayTime()

    def new_load(self, tenant: str | None, of_all: Load | None) -> Load:
        """Return the counter of requests in flight of a tenant or (None) of all."""
        return Load(of_all)

    def new_quotas(self, again: Again, hits: Counter[tuple[str, str]]) -> Quotas:
        """Return the quotas of the gateway, without any yet.

        Args:
            again: calls back later.
            hits: counts how often a connection had to wait, by limit and tenant.
        """
        return Quotas(again, monotonic_ns, hits, self.counter("throttled_ms"), self.budget_memory)

    def budget_memory(self, name: str) -> memoryview | None:
        """Return the memory of the budget of this name, which others have as well; None: this process has it alone."""
        return None if self.budget_table is None else self.budget_table.memory(name)

    def share_budgets(self) -> "SharedBudgets":
        """Have the budgets together with other gateways from now on; return the table of them."""
        from bifrost.forwarding.quotas.shared_budgets import SharedBudgets, cells_of  # memory, seldom needed

        memory = memoryview(mmap.mmap(-1, 8 * cells_of(BUDGET_PLACES)))
        self.budget_table = SharedBudgets(memory, nullcontext, self.key, monotonic_ns, is_exchanged=True)
        return self.budget_table

    def takes_part(self) -> bool:
        """Whether this process does for all workers what one of them has to do: the exchange, the upkeep of offsets."""
        return True

    def new_loop_stalls(self) -> LoopStalls:
        """Return the counter of the stalls of this process's event loop."""
        return LoopStalls()

    def fetch_sessions(self, upstream: str) -> FetchSessions:
        """Return the owners of the fetch sessions at the brokers of a physical cluster."""
        return FetchSessions()

    def note_open(self, count: int) -> None:
        """Note how many connections are open."""

    def tell_ready(self, brokers: Sequence[int], tenants: int) -> None:
        """Log that clients are served."""
        log.info("ready", brokers=brokers, tenants=tenants)
