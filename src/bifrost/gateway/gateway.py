"""One gateway process: its physical clusters, its tenants, its listeners and its shutdown."""

import asyncio
import contextlib
import signal
import sys
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog

from bifrost.authentication.failed_authentications import FailedAuthentications
from bifrost.config.config_source import ConfigSource
from bifrost.config.fields.journal import Journal as JournalSettings
from bifrost.config.fields.state import State as StateSettings
from bifrost.config.model import Config
from bifrost.config.quotas.quota_exchange import QuotaExchange as ExchangeSettings
from bifrost.filters.build import build_plans
from bifrost.forwarding.clock import monotonic_ns
from bifrost.forwarding.in_flight_limits import InFlightLimits
from bifrost.forwarding.lanes import NO_TENANT, Lanes
from bifrost.forwarding.time_budgets import TimeBudgets
from bifrost.forwarding.turns import Turns
from bifrost.gateway.admin.admin_pages import build_admin
from bifrost.gateway.admin.admin_place import AdminPlace
from bifrost.gateway.admin.counted import OfProcess
from bifrost.gateway.admission.address_turns import max_delay_ms
from bifrost.gateway.admission.password_checks import admission
from bifrost.gateway.brokers.cluster import Cluster
from bifrost.gateway.brokers.clusters import Clusters
from bifrost.gateway.brokers.tenant_settings import TenantSettings
from bifrost.gateway.brokers.virtual_clusters import virtual_clusters
from bifrost.gateway.clients.client_connection import ClientConnection
from bifrost.gateway.clients.client_handshake import ClientHandshake
from bifrost.gateway.clients.connection_shares import shares_of
from bifrost.gateway.clients.drain import drain
from bifrost.gateway.clients.idle_sweep import close_idle
from bifrost.gateway.clients.newcomers import Newcomers, Refusal
from bifrost.gateway.clients.open_tenants import OpenTenants
from bifrost.gateway.clients.slow_sweep import end_slow
from bifrost.gateway.clients.sni_listener import listeners_of
from bifrost.gateway.errors import StartError
from bifrost.gateway.issuers.client_authenticators import ClientAuthenticators, Secured
from bifrost.gateway.loop.aside import use_threads
from bifrost.gateway.loop.garbage import settle, watch_garbage
from bifrost.gateway.loop.later import later, soon, timer, turn_until_ns
from bifrost.gateway.loop.loop_guard import InternalErrors, Work, keep
from bifrost.gateway.loop.paced_calls import paced_calls
from bifrost.gateway.loop.pauses import Pauses
from bifrost.gateway.loop.spare_memory import release_unused
from bifrost.gateway.loop.steps import THREAD_TURN_S, at_once, one_by_one
from bifrost.gateway.partition_index.gateway_index import GatewayIndex
from bifrost.gateway.peers.alone_peers import AlonePeers
from bifrost.gateway.reload.reconfiguration import prepare
from bifrost.gateway.reload.reloader import Reloader
from bifrost.gateway.sockets.listener_watch import ListenerWatch
from bifrost.gateway.upkeep.upkeep_turn import look_after_offsets
from bifrost.session.close_reason import CloseReason, limit_of
from bifrost.session.shared_state import SharedState

if TYPE_CHECKING:
    from bifrost.gateway.admin.admin_port import Admin
    from bifrost.gateway.exchange.gateway_exchange import GatewayExchange
    from bifrost.gateway.journaling.journaling import Journaling
    from bifrost.gateway.state.gateway_state import GatewayState

log = structlog.get_logger()


def now_ms() -> int:
    """Return a monotonic time in milliseconds."""
    return time.monotonic_ns() // 1_000_000


class Gateway:
    """Everything that one process shares between its connections."""

    def __init__(
        self, config: Config, source: ConfigSource | None = None, peers: AlonePeers | None = None
    ) -> None:
        """Build what the configuration describes; no I/O yet, except for certificates and Kerberos's files.

        Args:
            config: the configuration to serve.
            source: from which the configuration is read again; None for no reload.
            peers: what this worker shares with the others; None: there is only this process.
        Raises:
            StartError: certificates, keys or libraries that secure connections cannot be used.
        """
        self.config, self.limits, self.now_ms = config, config.proxy.limits, now_ms
        self.peers = peers = peers or AlonePeers()
        self.client_authenticators = ClientAuthenticators(now_ms, peers.key, peers.counter("authentications"))
        self.clusters = Clusters(
            Cluster(one, config.tenants_of(one), self.limits, now_ms, peers) for one in config.clusters
        )
        plans, settings = build_plans(), TenantSettings.of(config)
        secured = self.client_authenticators.secure(config)
        in_flight = InFlightLimits(soon, peers.new_load, peers.again, peers.counter("waits"))
        made = virtual_clusters(config, settings, self.clusters, now_ms, in_flight.hits, peers)
        self.turns = Turns(soon, monotonic_ns, in_flight.load, later, turn_until_ns)
        """Whose large work is done next."""
        self.departures, self.handshakes, self.connects, self.arrivals = paced_calls(soon, turn_until_ns)
        self.budgets = TimeBudgets(in_flight, later, monotonic_ns, self._brokers_of)
        self.shared = SharedState(
            plans=plans,
            lanes=Lanes(plans, in_flight, peers.new_traffic, peers.new_gateway_time),
            sasl=secured.sasl,
            virtual_clusters=at_once(made),
            max_in_flight_requests=self.limits.max_in_flight_requests,
            turns=self.turns,
            quotas=peers.new_quotas(later, in_flight.hits),
        )
        self.journaling = None if config.proxy.journal is None else _journaling(self, config.proxy.journal)
        self.state = None if config.proxy.state is None else _state(self, config.proxy.state)
        self.exchange, self.index = _exchange(self, config.proxy.quota_exchange), GatewayIndex(self)
        self.limits_hit: Counter[tuple[str, str]] = peers.counter("limits_hit")
        """How often a limit ended connections or made them wait, by its setting and the tenant."""
        self.tenants = OpenTenants(self.shared.lanes.in_flight_limits, peers.elsewhere, self.limits_hit)
        self.newcomers = Newcomers()
        self._limit_tenants(settings)
        self.failed_authentications = failures = FailedAuthentications(
            max_delay_ms(self.limits), peers.failures, self.limits_hit
        )
        self.address_turns, self.password_checks = admission(failures, now_ms, timer)
        self.listeners = listeners_of(config, self)
        self.reloader = None if source is None else Reloader(self, source)
        self._connections: set[ClientConnection] = set()
        self._handshakes: set[ClientHandshake] = set()
        self.admin = AdminPlace(config, self._build_admin)
        self.is_ready = False
        """Whether clients can be served: see `_can_serve`, which is looked at whenever the clusters were asked."""
        self.listener_watch = ListenerWatch(peers.ports.served)
        self.pauses, self.stalls = Pauses(peers.counter("pauses")), peers.new_loop_stalls()
        self.internal_errors = InternalErrors(peers.counter("internal_errors"))
        self.broker_connections: Counter[str] = peers.counter("broker_connections")
        self.ends: Counter[CloseReason] = peers.counter("ends")

    def take_settings(self, config: Config, settings: TenantSettings, secured: Secured) -> None:
        """Use the settings of another configuration from now on."""
        self.config, self.limits = config, config.proxy.limits
        self.shared.sasl = secured.sasl
        self.client_authenticators.take(secured)
        self.shared.max_in_flight_requests = self.limits.max_in_flight_requests
        self._limit_tenants(settings)
        self.failed_authentications.max_delay_ms = max_delay_ms(self.limits)

    def _brokers_of(self, tenant: str) -> int:
        """Return the number of brokers in a tenant's cluster: at least 1, also while none is known."""
        cluster = self.cluster_of.get(tenant)
        return max(1, len(self.clusters[cluster].node_ids)) if cluster is not None else 1

    def _limit_tenants(self, settings: TenantSettings) -> None:
        self.cluster_of = settings.upstreams
        """The name of each tenant's physical cluster."""
        self.budgets.limit(settings.gateway_time, settings.broker_time)
        self.shared.quota_tables.let_set(settings.quota_setters)
        self.shared.quotas.give(settings.quotas)
        self.tenants.limit(self.limits, settings.limits, self.shared.virtual_clusters.models.recent)
        shares = shares_of(self.limits, len(settings.tenants), self.peers.workers)
        self.newcomers.most = shares.unauthenticated
        self.newcomers.most_of_address = shares.unauthenticated_of_address

    async def reconfigure(self, config: Config) -> None:
        """Use another configuration.

        Raises:
            BrokerError, StartError: it cannot be used; nothing has changed.
        """
        await (await prepare(self, config)).take_effect()

    def note_reload(self, outcome: str, text: str) -> None:
        """Write the outcome of a reload to the journal, if one is kept."""
        if self.journaling is not None:
            self.journaling.note_reload(outcome, text)

    async def run(self, stop: asyncio.Event | None = None, hurry: asyncio.Event | None = None) -> int:
        """Serve until told to stop, then drain.

        Args:
            stop: set when the gateway has to stop; None: SIGINT and SIGTERM stop it.
            hurry: set when the drain must not wait any longer; None: a second signal says so.
        """
        loop = asyncio.get_running_loop()
        self.internal_errors.install(loop)
        if stop is None or hurry is None:
            stop, hurry = asyncio.Event(), asyncio.Event()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, tell, stop, hurry)
        background: set[asyncio.Task[Any]] = set()
        if self.reloader is not None:
            loop.add_signal_handler(signal.SIGHUP, self._reload_in, background)
            background.add(loop.create_task(keep("watch", self.reloader.watch)))
        serving = loop.create_task(self._serve())
        stopping = loop.create_task(stop.wait())
        works: dict[str, Work] = {
            "idle_sweep": partial(close_idle, self._connections, lambda: self.limits.max_idle_ms),
            "slow_sweep": partial(end_slow, self._connections, lambda: self.limits.frame_timeout_ms),
            "offset_upkeep": partial(look_after_offsets, self),
            "partition_index": self.index.run,
            "garbage": partial(watch_garbage, self._connections),
            "spare_memory": partial(release_unused, self.shared.virtual_clusters.models.recent),
            "listener_watch": self.listener_watch.run,
        }
        background |= {loop.create_task(keep(place, work)) for place, work in works.items()}
        settle()
        sys.setswitchinterval(THREAD_TURN_S)
        use_threads()
        self.stalls.start()
        try:
            await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
        finally:
            self.stalls.stop()
            for task in (serving, stopping, *background):
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError, StartError):
                await serving
            await self._drain(hurry)
            await self._close()
        return 0

    def admit(
        self, connection: ClientConnection | ClientHandshake, address: str | None, *, is_newcomer: bool = True
    ) -> Refusal | None:
        """Count a new connection; return why it is refused, if there are too many.

        Args:
            connection: the new connection.
            address: the client's address; None if it is not known yet.
            is_newcomer: whether the client has to authenticate first.
        """
        if len(self._connections) + len(self._handshakes) >= self.limits.max_connections:
            return CloseReason.TOO_MANY_CONNECTIONS, f"{self.limits.max_connections} are open"
        refusal = self.newcomers.admit(connection, address) if is_newcomer else None
        if refusal is not None:
            return refusal
        if isinstance(connection, ClientHandshake):
            self._handshakes.add(connection)
        else:
            self._connections.add(connection)
        self.peers.note_open(len(self._connections) + len(self._handshakes))
        return None

    def let_in(self, tenant: str, connection: ClientConnection) -> bool:
        """Count an authenticated connection for its tenant; return False if the tenant has too many."""
        if not self.tenants.admit(tenant, connection):
            return False  # It counts as unauthenticated until it is closed.
        self.newcomers.forget(connection)
        return True

    def forget(self, connection: ClientConnection | ClientHandshake) -> None:
        """Stop counting a connection."""
        self.newcomers.forget(connection)
        if isinstance(connection, ClientHandshake):
            self._handshakes.discard(connection)
        else:
            self._connections.discard(connection)
            self.tenants.forget(connection.tenant, connection)
        self.peers.note_open(len(self._connections) + len(self._handshakes))

    def connections(self) -> tuple[ClientConnection, ...]:
        """Return the connections that are open."""
        return tuple(self._connections)

    def count_connections(self) -> Counter[str]:
        """Return the number of open connections by tenant; unauthenticated ones are under the empty name."""
        counts = self.tenants.count()
        counts[NO_TENANT] = max(len(self._connections) + len(self._handshakes) - counts.total(), 0)
        return counts

    def count_end(
        self,
        reason: CloseReason,
        tenant: str | None,
        peer: str = "?",
        detail: str = "",
        mechanism: str | None = None,
    ) -> None:
        """Note why the connection of `peer` ended; `mechanism` is the one by which it tried to authenticate."""
        self.ends[reason] += 1
        limit = limit_of(reason, tenant)
        if limit is not None:
            self.limits_hit[limit, tenant or NO_TENANT] += 1
        if self.journaling is not None:
            self.journaling.note_end(reason, tenant, peer, detail, mechanism)

    def _reload_in(self, background: set[asyncio.Task[Any]]) -> None:
        """Reload in a task of its own, as SIGHUP asks."""
        assert self.reloader is not None
        task = asyncio.get_running_loop().create_task(self.reloader.reload())
        background.add(task)
        task.add_done_callback(background.discard)

    def _build_admin(self, config: Config) -> "Admin | None":
        """Return the operator's port; None in a worker, whose supervisor has it."""
        return build_admin(config, OfProcess(self), self.reloader) if self.peers.is_alone else None

    async def _serve(self) -> None:
        await self.admin.open()
        for listener in self.listeners:
            await listener.reserve()
        self.client_authenticators.begin()
        await self.clusters.discover()
        if self.state is not None:
            await self.state.begin()
        await self.index.begin()
        if self.exchange is not None:
            self.exchange.begin()
        for listener in self.listeners:
            await listener.open()
        if self.journaling is not None:
            self.journaling.begin()
        self.is_ready = self._can_serve()
        self.peers.tell_ready(sorted(self.clusters.node_ids), len(self.shared.virtual_clusters))
        await keep("refresh", self._follow_clusters)

    async def _follow_clusters(self) -> None:
        """Refresh the clusters and the brokers' ports periodically, for ever."""
        while True:
            await asyncio.sleep(self.limits.metadata_refresh_ms / 1000)
            await self.clusters.refresh()
            try:
                await one_by_one(listener.follow_brokers for listener in self.listeners)
            except StartError as error:
                log.warning("refresh_failed", error=str(error), retry_in_ms=self.limits.metadata_refresh_ms)
            self.is_ready = self._can_serve()

    def _can_serve(self) -> bool:
        """Whether a client can produce: a listener set leads to a broker of a cluster that answered when last asked."""
        if self.state is not None and not self.state.is_current:
            return False
        return any(one.leads_to_a_broker for one in self.listeners)

    async def _drain(self, hurry: asyncio.Event) -> None:
        """Accept nothing new, wait for the answers in flight, and end the connections left after the timeout."""
        self.is_ready = False
        for listener in self.listeners:
            listener.close()
        for handshake in tuple(self._handshakes):
            handshake.end(CloseReason.SHUTDOWN, "the gateway stops")
        if self._connections:
            timeout_ms = self.limits.drain_timeout_ms
            log.info("draining", connections=len(self._connections), timeout_ms=timeout_ms)
            if self.journaling is not None:
                self.journaling.note_drain("begun", f"{len(self._connections)} connections")
            cut = await drain(self._connections, timeout_ms=timeout_ms, hurry=hurry)
            log.info("drained", drained=self.ends[CloseReason.DRAINED], cut=cut)
            if self.journaling is not None:
                self.journaling.note_drain("done", f"{cut} connections cut")

    async def _close(self) -> None:
        self.client_authenticators.end()
        for one in (self.journaling, self.state, self.exchange, self.index):
            if one is not None:
                await one.end()
        if self.shared.virtual_clusters.records is not None:
            self.shared.virtual_clusters.records.sources.close()
        await self.clusters.close()
        self.admin.close()
        # Give the loop one turn, so that the transports write what they have and close.
        await asyncio.sleep(0)
        log.info("stopped", ends={str(reason): count for reason, count in self.ends.items()})


def _journaling(gateway: "Gateway", journal: JournalSettings) -> "Journaling":
    from bifrost.gateway.journaling.journaling import Journaling  # 0.5 MiB, only if there is a journal

    made = Journaling(gateway, journal, gateway.config)
    gateway.shared.journal = made.journal
    return made


def _state(gateway: "Gateway", state: StateSettings) -> "GatewayState":
    from bifrost.gateway.reload.stored_models import follow_stored  # memory, only if there is a state
    from bifrost.gateway.state.gateway_state import GatewayState

    made = GatewayState(gateway, state)
    follow_stored(made, gateway, None if gateway.journaling is None else gateway.journaling.note_aliases)
    return made


def _exchange(gateway: "Gateway", exchange: ExchangeSettings | None) -> "GatewayExchange | None":
    if exchange is None:
        return None
    from bifrost.gateway.exchange.gateway_exchange import GatewayExchange  # memory, only if there is one

    return GatewayExchange(gateway, exchange)


def tell(stop: asyncio.Event, hurry: asyncio.Event) -> None:
    """Handle a signal: the first one stops the gateway, every further one makes it wait for no connection."""
    (hurry if stop.is_set() else stop).set()
