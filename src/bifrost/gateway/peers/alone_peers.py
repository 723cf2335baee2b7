"""What a process has in common with the others of its gateway: nothing, while it is the only one.

With `proxy.workers` above 1 each worker has `workers/worker_peers.py` in its place, where the same questions have
answers that hold for all of them. What asks does not know which it is.
"""

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import structlog

from bifrost.authentication.failed_authentications import Failures
from bifrost.config.fields.journal import Journal
from bifrost.forwarding.in_flight_limits import Again
from bifrost.gateway.loop.loop_stalls import LoopStalls
from bifrost.gateway.peers.elsewhere import Elsewhere
from bifrost.gateway.peers.journal_source import source_alone
from bifrost.gateway.peers.snapshot_turn import SnapshotTurn
from bifrost.gateway.sockets.ports import OwnPorts, Ports
from bifrost.journal.known_topics import KnownTopics
from bifrost.journal.record import Source
from bifrost.session.fetch_sessions import FetchSessions
from bifrost.wire.engine import Load, Traffic

log = structlog.get_logger()


class AlonePeers:
    """A gateway of one process."""

    is_alone = True
    workers = 1

    def __init__(self) -> None:
        """Have a key of its own."""
        self.key = os.urandom(32)
        """What is shown of users that do not exist is made with it: the same for as long as the gateway lives, or a
        reload, or another worker, would tell who does not exist."""
        self.ports: Ports = OwnPorts()
        self.failures: Failures | None = None
        self.elsewhere: Elsewhere | None = None
        self.again: Again | None = None
        self.looks = SnapshotTurn()
        self.known_topics = KnownTopics()

    def journal_source(self, settings: Journal) -> Source:
        """Return as whom this process writes in the journal."""
        return source_alone(settings)

    def counter(self, name: str) -> Counter[Any]:
        """Return something to count in, under a name of the gateway's."""
        return Counter()

    def new_traffic(self, tenant: str, api_key: int | None) -> Traffic:
        """Return the counters of a tenant and an API."""
        return Traffic()

    def new_load(self, tenant: str | None, whole: Load | None) -> Load:
        """Return what counts the requests in flight, of a tenant or (None) of all."""
        return Load(whole)

    def new_loop_stalls(self) -> LoopStalls:
        """Return what counts the stalls of this process's event loop."""
        return LoopStalls()

    def fetch_sessions(self, upstream: str) -> FetchSessions:
        """Return who owns which fetch session at the brokers of a physical cluster."""
        return FetchSessions()

    def note_open(self, count: int) -> None:
        """Note how many connections are open."""

    def tell_ready(self, brokers: Sequence[int], tenants: int) -> None:
        """Say that clients are served."""
        log.info("ready", brokers=brokers, tenants=tenants)
