"""The ports of one listener set: the bootstrap port, and one port for each broker that exists."""

import asyncio
import time
from collections.abc import Collection, Iterator, Mapping
from typing import cast

import structlog

from bifrost.config.fields.listener_sets import ListenerSet
from bifrost.config.fields.verifiers import Mechanism
from bifrost.gateway.brokers.cluster import Broker
from bifrost.gateway.brokers.clusters import entry_to, single_entry_to
from bifrost.gateway.clients.client_connection import ClientConnection
from bifrost.gateway.clients.context import ClientContext
from bifrost.gateway.clients.endings import log_end
from bifrost.gateway.clients.ingress import Ingress
from bifrost.gateway.clients.way_to_broker import load_router
from bifrost.gateway.loop.loop_guard import peer_of
from bifrost.gateway.sockets.client_origin import ClientOrigin
from bifrost.gateway.sockets.ports import Port
from bifrost.gateway.sockets.server_tls import ServerContexts
from bifrost.session.close_reason import SessionEnded
from bifrost.tenancy.brokers import BrokerAddresses, BrokerPorts

log = structlog.get_logger()

_NO_PORT = "clients cannot reach this broker: widen broker_port_range or mend broker_id_base"
_ONE_PORT = (
    "clients cannot reach this broker: the listener has a single port, which is enough for a cluster of one broker: "
    "give it broker_port_range (brokerPorts), in a virtual cluster or leave ports free after its port, or let that "
    "port stand for all brokers (single_address, singleAddress)"
)

WARN_EVERY_S = 60.0
"""Time between two warnings that no broker has a port: an operator who comes later sees it as well."""


class Listener:
    """Accepts the clients of one listener set."""

    def __init__(
        self, listener_set: ListenerSet, gateway: ClientContext, contexts: ServerContexts | None
    ) -> None:
        """Bind nothing yet; `contexts` is what `contexts_of` returned for the listener set."""
        self._gateway = gateway
        self.listener_set = listener_set
        self._ingress = Ingress(listener_set, gateway, contexts)
        self._name = listener_set.name
        self.addresses: BrokerAddresses = self._addresses_of(listener_set)
        """Addresses that clients are told; a new object when connections with the old ones have to end."""
        self._reserved: Port | None = None
        self._servers: dict[int | None, Port] = {}
        self._is_closed = False
        self._following = asyncio.Lock()
        """Held while ports are opened and closed: a reload may want that during a refresh."""
        self._without_port: frozenset[int] = frozenset()
        self._warn_again_s = 0.0
        """When the log says again that no broker has a port, by the monotonic clock."""

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The mechanisms of this listener set that some account can use, in the order of the configuration."""
        possible = self._gateway.shared.sasl.mechanisms
        wanted = self.listener_set.sasl_mechanisms or possible
        return tuple(one for one in dict.fromkeys(wanted) if one in possible)

    @property
    def leads_to_a_broker(self) -> bool:
        """Whether a broker of a cluster that answers has an open port."""
        if self._has_one_port:
            return None in self._servers and bool(self._gateway.clusters.answering_node_ids)
        return not self._servers.keys().isdisjoint(self._gateway.clusters.answering_node_ids)

    @property
    def _has_one_port(self) -> bool:
        """Whether the bootstrap port stands for the only broker as well."""
        return _has_one_port(self.listener_set)

    def owned_ports(self) -> Iterator[tuple[int, Collection[str]]]:
        """Yield each open port that stands for a broker, and the tenants whose clients alone know it."""
        owner, ports = self.listener_set.tenant, self.addresses
        if owner is None or not isinstance(ports, BrokerPorts):
            return
        for node_id in self._servers:
            port = None if node_id is None else ports.port_of(node_id)
            if port is not None:
                yield port, (owner,)

    def serves(self, tenant: str | None) -> bool:
        """Whether clients that are bound to this tenant have a place here; None: not bound to any."""
        return True

    def is_at(self, listener_set: ListenerSet) -> bool:
        """Whether `listener_set` has this listener's bootstrap address; the rest may change while it is open."""
        is_same_kind = (listener_set.sni is None) == (self.listener_set.sni is None)
        return is_same_kind and _bootstrap_of(listener_set) == _bootstrap_of(self.listener_set)

    @property
    def contexts(self) -> ServerContexts | None:
        """The TLS contexts; None without TLS."""
        return self._ingress.contexts

    def take(self, listener_set: ListenerSet, contexts: ServerContexts | None) -> None:
        """Apply other settings; `follow_brokers` then opens the ports that have changed.

        Args:
            listener_set: the settings.
            contexts: what `contexts_of` returned for them.
        """
        before = self.listener_set
        self.listener_set, self._ingress = listener_set, Ingress(listener_set, self._gateway, contexts)
        if listener_set.port_range != before.port_range:
            for node_id in [one for one in self._servers if one is not None]:
                self._servers.pop(node_id).close()
        if _meaning_of(before) != _meaning_of(listener_set):
            self.addresses = self._addresses_of(listener_set)

    async def reserve(self) -> None:
        """Bind the bootstrap port without listening, so that a port in use is known before anything else.

        Raises:
            StartError: the port cannot be bound.
        """
        _, port = _bootstrap_of(self.listener_set)
        self._reserved = await self._bind(port)

    async def open(self) -> None:
        """Listen for bootstrapping clients, and on the port of every broker.

        Raises:
            StartError: a port cannot be bound.
        """
        await self.follow_brokers()
        if self._reserved is not None:
            await self._serve(None, self._reserved)
            self._reserved = None

    async def follow_brokers(self) -> None:
        """Listen on the ports of brokers that are new, and no longer on those of brokers that are gone.

        A broker that has left the metadata is gone after `broker_grace_ms`.

        Raises:
            StartError: a port cannot be bound.
        """
        async with self._following:
            # A reload may have closed it since this was begun.
            if not self._is_closed:
                await self._follow()

    async def _follow(self) -> None:
        known = self._known
        if self._has_one_port:
            wanted = self._addresses_of(self.listener_set)
            self.addresses = self.addresses if wanted == self.addresses else wanted
        ports = self.addresses
        assert isinstance(ports, BrokerPorts)
        if self.listener_set.single_address:
            return
        for node_id in () if self._has_one_port else sorted(known):
            port = ports.port_of(node_id)
            if port is not None and node_id not in self._servers:
                await self._serve(node_id, await self._bind(port))
        for node_id in [one for one in self._servers if one is not None and one not in known]:
            self._servers.pop(node_id).close()
            log.info("broker_gone", listener=self._name, node_id=node_id)
        self._warn_of_brokers_without_port(ports, known)

    def close(self) -> None:
        """Accept no more connections."""
        self._is_closed = True
        for server in self._servers.values():
            server.close()
        self._servers.clear()
        if self._reserved is not None:
            self._reserved.close()
            self._reserved = None

    async def _serve(self, node_id: int | None, port: Port) -> None:
        """Accept clients on a port, for one broker or (None) for bootstrap."""

        def enter(origin: ClientOrigin) -> ClientConnection:
            return self._enter(node_id, origin)

        def accept() -> asyncio.BaseProtocol:
            try:
                return self._ingress.open(enter)
            except SessionEnded as end:
                return TurnedAway(self._gateway, end)

        if self._is_closed:
            port.close()
            return
        self._servers[node_id] = port
        await port.serve(accept, "bootstrap" if node_id is None else f"broker {node_id}")

    def _enter(self, node_id: int | None, origin: ClientOrigin) -> ClientConnection:
        """Return the connection of a client to the broker that its port stands for.

        Raises:
            SessionEnded: no broker is known.
        """
        # The broker may have left since the client connected; then any other one tells the client where to go.
        clusters, ports = self._gateway.clusters, self.addresses
        if self._has_one_port and not self.listener_set.single_address and isinstance(ports, BrokerPorts):
            node_id = ports.broker_id_base
        brokers = clusters.brokers_at(node_id) or clusters.brokers_at(None)
        return self._connection(brokers, origin)

    def _connection(self, brokers: Mapping[str, Broker], origin: ClientOrigin) -> ClientConnection:
        """Return the connection of a client to one of these brokers, by the names of their clusters.

        Raises:
            SessionEnded: there is none.
        """
        allows_repeated = self.listener_set.allow_repeated_scram_nonce
        if self.listener_set.single_address:
            entry = single_entry_to(
                brokers,
                self._gateway.clusters,
                self.addresses,
                self.mechanisms,
                origin,
                allows_repeated_scram_nonce=allows_repeated,
            )
        else:
            entry = entry_to(
                brokers,
                self.addresses,
                self.mechanisms,
                origin,
                allows_repeated_scram_nonce=allows_repeated,
            )
        return ClientConnection(self._gateway, brokers, entry, origin)

    async def _bind(self, port: int) -> Port:
        host, _ = _bootstrap_of(self.listener_set)
        return await self._gateway.peers.ports.bind(self._name, host, port)

    @property
    def _known(self) -> frozenset[int]:
        """The node IDs of the brokers to reach: of the tenant's cluster if the listener set is a tenant's own."""
        clusters, tenant = self._gateway.clusters, self.listener_set.tenant
        cluster = None if tenant is None else self._gateway.cluster_of.get(tenant)
        return clusters.served_node_ids if cluster is None else clusters[cluster].served_node_ids

    def _addresses_of(self, listener_set: ListenerSet) -> BrokerAddresses:
        if listener_set.sni is not None:
            return listener_set.sni.names
        port_range = listener_set.port_range
        assert port_range is not None
        ports = port_range.broker_port_range
        host, port = port_range.advertised_host, port_range.bootstrap_port
        if ports is None:
            only = min(self._known, default=0)
            if listener_set.single_address:
                from bifrost.routes.one_broker import NODE_ID  # Only for those who have such an address.

                load_router()
                only, port = NODE_ID, port_range.advertised_port or port
            return BrokerPorts(host, start=port, end=port, broker_id_base=only)
        return BrokerPorts(host, start=ports.start, end=ports.end, broker_id_base=port_range.broker_id_base)

    def _warn_of_brokers_without_port(self, ports: BrokerPorts, known: frozenset[int]) -> None:
        without = frozenset(node_id for node_id in known if ports.port_of(node_id) is None)
        for node_id in sorted(without - self._without_port):
            log.warning(
                "broker_without_port",
                listener=self._name,
                node_id=node_id,
                detail=_ONE_PORT if self._has_one_port else _NO_PORT,
            )
        self._without_port = without
        if known and without == known and time.monotonic() >= self._warn_again_s:
            self._warn_again_s = time.monotonic() + WARN_EVERY_S
            log.warning(
                "no_broker_has_a_port",
                listener=self._name,
                node_ids=sorted(known),
                detail="no client can produce or fetch here: broker_id_base is the lowest node ID; mend it",
            )


class TurnedAway(asyncio.BufferedProtocol):
    """The protocol of a client that is refused."""

    def __init__(self, gateway: ClientContext, end: SessionEnded) -> None:
        """Create the protocol; `end` says why."""
        self._gateway, self._end = gateway, end

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close the connection."""
        peer = peer_of(cast(asyncio.Transport, transport))
        log_end(self._end.reason, peer, None, self._end.detail)
        self._gateway.count_end(self._end.reason, None, peer, self._end.detail)
        cast(asyncio.Transport, transport).abort()


def _bootstrap_of(listener_set: ListenerSet) -> tuple[str, int]:
    """Return the host and port of a listener set's bootstrap address."""
    if listener_set.sni is not None:
        return listener_set.sni.bind_host, listener_set.sni.port
    assert listener_set.port_range is not None
    return listener_set.port_range.bind_host, listener_set.port_range.bootstrap_port


def _meaning_of(listener_set: ListenerSet) -> tuple[object, ...]:
    """Return the settings whose change would make open connections wrong."""
    sni = listener_set.sni
    # That a tenant is not listed any more concerns its own connections only: `serves` tells which.
    names = None if sni is None else sni.model_copy(update={"tenants": None})
    meaning = listener_set.port_range, names, listener_set.security_protocol, listener_set.tenant
    return *meaning, listener_set.single_address


def _has_one_port(listener_set: ListenerSet) -> bool:
    return listener_set.port_range is not None and listener_set.port_range.broker_port_range is None
