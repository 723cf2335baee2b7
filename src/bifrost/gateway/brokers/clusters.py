"""The physical clusters of one gateway. Each is refreshed by itself, so that a cluster that is down delays no other."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from bifrost.config.fields.limits import Limits
from bifrost.config.fields.upstream import Upstream
from bifrost.config.fields.verifiers import Mechanism
from bifrost.config.model import Config
from bifrost.filters.api_versions import common_versions
from bifrost.gateway.brokers.broker_security import BrokerSecurity
from bifrost.gateway.brokers.cluster import Broker, Cluster, secure
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.loop.loop_guard import report
from bifrost.gateway.peers.alone_peers import AlonePeers
from bifrost.gateway.sockets.client_origin import DIRECT, ClientOrigin
from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.session.shared_state import Entry, Route
from bifrost.tenancy.brokers import NO_NODE, BrokerAddresses

log = structlog.get_logger()


GIVEN_TWICE = (
    "both are the same physical cluster, where tenants could meet: remove one, and give its tenants the other"
)


@dataclass(frozen=True, slots=True)
class Changed:
    """The clusters of another configuration, and what to do when it comes into force."""

    clusters: "Clusters"
    changes: Sequence[tuple[Cluster, Upstream, BrokerSecurity]]

    async def take_effect(self, before: "Clusters", limits: Limits) -> None:
        """Apply the new settings to the clusters that stay, and close those that are gone."""
        for cluster, upstream, security in self.changes:
            await cluster.change(upstream, security, limits)
        for cluster in self.clusters:
            cluster.grace_ms = limits.broker_grace_ms
        for cluster in before:
            if cluster not in tuple(self.clusters):
                await cluster.close()

    async def abandon(self, current: "Clusters") -> None:
        """Close the new clusters: this configuration does not come into force."""
        for cluster in self.clusters:
            if cluster not in tuple(current):
                await cluster.close()


class Clusters:
    """The physical clusters, by the names that the configuration gives them."""

    def __init__(self, clusters: Iterable[Cluster]) -> None:
        """Keep the clusters; ask none of them yet."""
        self._clusters = {one.name: one for one in clusters}
        self._answering: set[str] = set()
        self._twins: set[str] = set()

    def __getitem__(self, name: str) -> Cluster:
        return self._clusters[name]

    def __iter__(self) -> Iterator[Cluster]:
        return iter(tuple(self._clusters.values()))

    @property
    def node_ids(self) -> frozenset[int]:
        """The node IDs of the brokers known, of all clusters together."""
        return frozenset().union(*(one.node_ids for one in self))

    @property
    def served_node_ids(self) -> frozenset[int]:
        """The same, with those of brokers that left the metadata within the grace time: they have a port."""
        return frozenset().union(*(one.served_node_ids for one in self))

    @property
    def answering_node_ids(self) -> frozenset[int]:
        """The node IDs of the brokers known, of the clusters that answered when they were last asked."""
        return frozenset().union(*(one.node_ids for one in self if one.name in self._answering))

    def is_up(self, name: str) -> bool:
        """Whether a cluster answered when it was last asked."""
        return name in self._answering

    def brokers_at(self, node_id: int | None, names: Iterable[str] | None = None) -> dict[str, Broker]:
        """Return for each cluster the broker that a connection leads to, if its client's tenant is in that cluster.

        Args:
            node_id: the broker that the connection's port stands for; None for the bootstrap port: any broker will do.
            names: the possible clusters; None for all.
        """
        chosen = self._clusters if names is None else {one: self._clusters[one] for one in names}
        found = {}
        for name, cluster in chosen.items():
            if name in self._twins:
                continue
            broker = cluster.any_broker() if node_id is None else cluster.broker(node_id)
            if broker is not None:
                found[name] = broker
        return found

    async def discover(self) -> None:
        """Ask all clusters; return when the first has answered. `refresh` asks the others again."""
        tasks = [asyncio.create_task(self._discover(one)) for one in self]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def refresh(self) -> None:
        """Refresh all clusters in parallel; one that does not answer is logged, and what is known of it stays."""
        await asyncio.gather(*(self._refresh(one) for one in self))

    async def like(
        self, config: Config, before: Config, now_ms: Callable[[], int], peers: AlonePeers | None = None
    ) -> "Changed":
        """Return the clusters of another configuration; nothing changes yet.

        A cluster whose settings differ is asked for its ID: if it is the same physical cluster, it stays, with all that
        is known of it.

        Raises:
            BrokerError: a cluster that is new or has other settings does not answer.
            StartError: certificates cannot be used, or a library is missing.
        """
        changed = await asyncio.to_thread(_changed, before, config)
        limits = config.proxy.limits
        clusters: list[Cluster] = []
        changes: list[tuple[Cluster, Upstream, BrokerSecurity]] = []
        workers = 1 if peers is None else peers.workers
        for upstream in config.clusters:
            old = self._clusters.get(upstream.name)
            if old is not None and upstream.name not in changed:
                clusters.append(old)
                continue
            tenants = await asyncio.to_thread(config.tenants_of, upstream)
            security_before = None if old is None else old.security
            # To read the system's certificates takes 70 ms.
            security = await asyncio.to_thread(
                secure, upstream, tenants, limits, now_ms, workers, security_before
            )
            probe = Cluster(upstream, tenants, limits, now_ms, peers, security)
            await self._probe(probe)
            if old is not None:
                is_same = old.cluster_id is not None and old.cluster_id == probe.cluster_id
                clusters.append(old if is_same else probe)
                if is_same:
                    await probe.close()
                    changes.append((old, upstream, security))
            else:
                clusters.append(probe)
        found = Clusters(clusters)
        for one in clusters:
            twin = found.twin_of(one)
            if twin is not None:
                raise BrokerError(f"upstreams {twin.name} and {one.name}: {GIVEN_TWICE}")
        found._answering = {one.name for one in clusters if one.name in self._answering or one.node_ids}
        return Changed(found, changes)

    async def _probe(self, cluster: Cluster) -> None:
        try:
            await cluster.refresh()
        except BrokerError as error:
            await cluster.close()
            raise BrokerError(f"upstream {cluster.name}: {error}") from error

    async def close(self) -> None:
        """Close the gateway's own connections."""
        for cluster in self:
            await cluster.close()

    def twin_of(self, cluster: Cluster) -> Cluster | None:
        """Return the cluster before this one that has the same physical cluster's ID; None when there is none.

        Tenants with the same prefix on both would share their topics, so the later one serves no client.
        """
        for other in self:
            if other is cluster:
                return None
            if cluster.cluster_id is not None and other.cluster_id == cluster.cluster_id:
                return other
        return None

    def _note_answer(self, cluster: Cluster) -> None:
        twin = self.twin_of(cluster)
        if twin is None:
            self._answering.add(cluster.name)
            self._twins.discard(cluster.name)
            return
        self._answering.discard(cluster.name)
        if cluster.name not in self._twins:
            self._twins.add(cluster.name)
            log.error("upstream_given_twice", upstream=cluster.name, same_as=twin.name, detail=GIVEN_TWICE)

    async def _discover(self, cluster: Cluster) -> None:
        await cluster.discover()
        self._note_answer(cluster)

    async def _refresh(self, cluster: Cluster) -> None:
        try:
            await cluster.refresh()
        except BrokerError as error:
            self._answering.discard(cluster.name)
            log.warning("refresh_failed", upstream=cluster.name, error=str(error))
        except Exception as error:
            self._answering.discard(cluster.name)
            report("refresh", error, upstream=cluster.name)
        else:
            self._note_answer(cluster)


def _changed(before: Config, after: Config) -> set[str]:
    """Return the names of the physical clusters whose settings differ. May run in any thread."""
    described = {one.name: _described(before, one) for one in before.clusters}
    return {one.name for one in after.clusters if described.get(one.name) != _described(after, one)}


def _described(config: Config, upstream: Upstream) -> tuple[object, ...]:
    """Return all settings of a physical cluster, with the accounts that tenants have there, and its time limit."""
    accounts = [
        (
            tenant.name,
            tenant.upstream_sasl,
            [(one.username, one.upstream_sasl) for one in tenant.auth.credentials],
        )
        for tenant in config.tenants_of(upstream)
        if tenant.upstream_sasl or any(one.upstream_sasl for one in tenant.auth.credentials)
    ]
    return upstream, accounts, config.proxy.limits.upstream_connect_timeout_ms


def single_entry_to(
    brokers: Mapping[str, Broker],
    clusters: Clusters,
    addresses: BrokerAddresses,
    mechanisms: tuple[Mechanism, ...],
    origin: ClientOrigin = DIRECT,
    *,
    allows_repeated_scram_nonce: bool = False,
) -> Entry:
    """Return likewise the view of a port that stands for all brokers.

    Raises:
        SessionEnded: as `entry_to`.
    """
    entry = entry_to(
        brokers, addresses, mechanisms, origin, allows_repeated_scram_nonce=allows_repeated_scram_nonce
    )
    # No fetch session of a broker's is known here.
    routes = {name: Route(NO_NODE, clusters[name].offered_by_all()) for name in brokers}
    offered = common_versions([route.offered for route in routes.values()])
    return replace(entry, routes=routes, offered=offered, is_single_address=True)


def entry_to(
    brokers: Mapping[str, Broker],
    addresses: BrokerAddresses,
    mechanisms: tuple[Mechanism, ...],
    origin: ClientOrigin = DIRECT,
    *,
    allows_repeated_scram_nonce: bool = False,
) -> Entry:
    """Return the session's view of the port that accepted a connection.

    Raises:
        SessionEnded: `brokers` is empty: none is known yet. A client whose connection is closed tries again; a client
            that is told that a broker has no Metadata would give up.
    """
    if not brokers:
        raise SessionEnded(CloseReason.BROKER_UNREACHABLE, "no broker is known yet")
    routes = {name: Route(broker.node_id, broker.offered) for name, broker in brokers.items()}
    offered = common_versions([route.offered for route in routes.values()])
    return Entry(
        routes,
        offered,
        addresses,
        mechanisms,
        origin.account,
        origin.tenant,
        allows_repeated_scram_nonce=allows_repeated_scram_nonce,
    )
