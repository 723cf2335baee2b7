"""Changes the configuration of a running gateway: all of it or nothing, unnoticed by clients that it does not concern.

First the gateway does everything that may fail, while it serves as before: it asks new clusters and binds new ports.
Then it changes one tenant after the other, and all other settings in one turn of the loop. Last it ends the
connections that have no place any more. What takes time for each tenant runs in a thread, or in steps.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from bifrost.config.model import Config
from bifrost.gateway.brokers.clusters import Changed
from bifrost.gateway.brokers.tenant_settings import TenantSettings
from bifrost.gateway.brokers.virtual_clusters import virtual_clusters
from bifrost.gateway.clients.client_connection import ClientConnection
from bifrost.gateway.clients.ingress import contexts_of
from bifrost.gateway.clients.listener import Listener
from bifrost.gateway.clients.sni_listener import listener_of
from bifrost.gateway.errors import StartError
from bifrost.gateway.issuers.client_authenticators import Secured
from bifrost.gateway.loop.steps import Breaks, in_steps, let_go_of, one_by_one
from bifrost.gateway.loop.sweep import visit
from bifrost.gateway.reload.context import Move, ReloadContext
from bifrost.gateway.reload.moved_ports import check_ports
from bifrost.gateway.reload.needs_restart import check_changes
from bifrost.gateway.sockets.server_tls import ServerContexts
from bifrost.session.close_reason import CloseReason

Contexts = Mapping[str, ServerContexts | None]
"""The TLS contexts of listener sets by their names, made before the configuration comes into force."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Another configuration that a gateway can use, and does not use yet."""

    gateway: ReloadContext
    config: Config
    settings: TenantSettings
    changed: Changed
    secured: Secured
    contexts: Contexts
    listeners: list[Listener]
    new: list[Listener]
    """The `listeners` whose ports are bound and not served yet."""
    admin: Move

    async def take_effect(self) -> None:
        """Use the prepared configuration from now on."""
        gateway = self.gateway
        before = gateway.clusters
        # Kept, so that they are not all freed in the turn in which others take their place.
        former: list[object] = [gateway.shared.virtual_clusters, *gateway.client_authenticators.accounts()]
        await self._change_tenants()
        await self._change_listeners()
        self.admin.take_effect()
        await _end_the_displaced(gateway)
        await self.changed.take_effect(before, self.config.proxy.limits)
        await one_by_one(partial(_open, listener) for listener in self.listeners)
        await in_steps(let_go_of(former))

    async def abandon(self) -> None:
        """Drop the prepared configuration; the gateway goes on as before."""
        self.admin.abandon()
        for listener in self.new:
            listener.close()
        await self.changed.abandon(self.gateway.clusters)

    async def _change_tenants(self) -> None:
        """Change the tenants one by one, while the loop serves connections; then all else in one turn."""
        gateway, shared = self.gateway, self.gateway.shared
        clusters, hits = self.changed.clusters, shared.lanes.in_flight_limits.hits
        before = shared.virtual_clusters
        now_ms, peers = gateway.now_ms, gateway.peers
        made = virtual_clusters(self.config, self.settings, clusters, now_ms, hits, peers, before)
        shared.virtual_clusters = await in_steps(made)
        gateway.clusters = clusters
        gateway.take_settings(self.config, self.settings, self.secured)

    async def _change_listeners(self) -> None:
        gateway, breaks = self.gateway, Breaks()
        gone = set(gateway.listeners).difference(self.listeners)
        gateway.listeners = self.listeners
        for listener, listener_set in zip(self.listeners, self.config.proxy.listener_sets, strict=True):
            listener.take(listener_set, self.contexts[listener_set.name])
            await breaks.take()
        for listener in gone:
            listener.close()


async def _open(listener: Listener) -> None:
    with contextlib.suppress(StartError):
        # A broker's port that is taken is tried again with every refresh; the bootstrap port is bound already.
        await listener.open()


async def prepare(gateway: ReloadContext, config: Config) -> Prepared:
    """Do everything that may fail, while the gateway serves as before.

    Raises:
        BrokerError, StartError: the gateway cannot use this configuration; nothing has changed.
    """
    check_changes(gateway.config, config)
    owners = await in_steps(_owners(gateway.listeners))
    await asyncio.to_thread(check_ports, owners, config)
    changed = await gateway.clusters.like(config, gateway.config, gateway.now_ms, gateway.peers)
    new: list[Listener] = []
    try:
        settings = await asyncio.to_thread(TenantSettings.of, config)
        secured = await asyncio.to_thread(gateway.client_authenticators.secure, config)
        known = {one.listener_set.name: one.contexts for one in gateway.listeners}
        contexts = await asyncio.to_thread(_contexts, config, gateway.now_ms, known)
        listeners = await in_steps(_listeners(gateway, config, contexts, new))
        await one_by_one(listener.reserve for listener in new)
        admin = await gateway.admin.prepare(config)
    except BaseException:
        for listener in new:
            listener.close()
        await changed.abandon(gateway.clusters)
        raise
    return Prepared(gateway, config, settings, changed, secured, contexts, listeners, new, admin)


def _owners(listeners: Iterable[Listener]) -> Generator[None, None, dict[int, Collection[str]]]:
    """Return the open ports that stand for brokers, each with the tenants whose clients alone know it."""
    found: dict[int, Collection[str]] = {}
    for listener in listeners:
        found.update(listener.owned_ports())
        yield
    return found


def _contexts(config: Config, now_ms: Callable[[], int], before: Contexts) -> Contexts:
    """Return the TLS contexts of all listener sets; those `before` that need not be made anew go on."""
    return {one.name: contexts_of(one, now_ms, before.get(one.name)) for one in config.proxy.listener_sets}


def _listeners(
    gateway: ReloadContext, config: Config, contexts: Contexts, new: list[Listener]
) -> Generator[None, None, list[Listener]]:
    """Make the listeners of a configuration and return them at the end; append those that are not open yet to `new`."""
    before = {one.listener_set.name: one for one in gateway.listeners}
    found = []
    for listener_set in config.proxy.listener_sets:
        old = before.get(listener_set.name)
        if old is None or not old.is_at(listener_set):
            old = listener_of(listener_set, gateway, contexts[listener_set.name])
            new.append(old)
        found.append(old)
        yield
    return found


async def _end_the_displaced(gateway: ReloadContext) -> None:
    """End the connections that have no place in the configuration that is in force now."""
    listeners = {id(one.addresses): one for one in gateway.listeners}

    def look(connection: ClientConnection) -> None:
        lost = connection.lost_place()
        listener = listeners.get(id(connection.addresses))
        if lost is None and (listener is None or not listener.serves(connection.origin.tenant)):
            lost = (CloseReason.RECONFIGURED, "the listener set is gone, or is for others now")
        if lost is not None:
            connection.end(*lost)

    await visit(gateway.connections(), look, "reload")
