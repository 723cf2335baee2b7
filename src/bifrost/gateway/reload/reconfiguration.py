"""Changes the configuration of a running gateway: all of it or nothing, unnoticed by clients that it does not concern.

First the gateway does everything that may fail, while it serves as before: it asks new clusters and binds new ports.
Then it changes one tenant after the other, and all other settings in one turn of the loop. Last it ends the
connections that have no place any more. What takes time for each tenant runs in a thread, or in steps.
"""

import asyncio
import contextlib
from dataclasses import dataclass

import structlog

from bifrost.config.model import Config
from bifrost.gateway.brokers.clusters import Changed
from bifrost.gateway.brokers.tenant_settings import TenantSettings
from bifrost.gateway.brokers.virtual_clusters import virtual_clusters
from bifrost.gateway.clients.client_connection import ClientConnection
from bifrost.gateway.clients.listener import Listener
from bifrost.gateway.clients.sni_listener import listener_of
from bifrost.gateway.errors import StartError
from bifrost.gateway.issuers.client_authenticators import Secured
from bifrost.gateway.loop.steps import in_steps
from bifrost.gateway.loop.sweep import visit
from bifrost.gateway.reload.context import Move, ReloadContext
from bifrost.gateway.reload.moved_ports import check_ports
from bifrost.gateway.reload.needs_restart import check_changes
from bifrost.session.close_reason import CloseReason

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Prepared:
    """Another configuration that a gateway can use, and does not use yet."""

    gateway: ReloadContext
    config: Config
    settings: TenantSettings
    changed: Changed
    secured: Secured
    listeners: list[Listener]
    new: list[Listener]
    """The `listeners` whose ports are bound and not served yet."""
    admin: Move

    async def take_effect(self) -> None:
        """Use the prepared configuration from now on."""
        gateway = self.gateway
        before = gateway.clusters
        await self._change_tenants()
        self._change_listeners()
        self.admin.take_effect()
        await _end_the_displaced(gateway)
        await self.changed.take_effect(before, self.config.proxy.limits)
        for listener in self.listeners:
            with contextlib.suppress(StartError):
                # A broker's port that is taken is tried again with every refresh; the bootstrap port is bound already.
                await listener.open()

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

    def _change_listeners(self) -> None:
        gateway = self.gateway
        gone = [one for one in gateway.listeners if one not in self.listeners]
        gateway.listeners = self.listeners
        for listener, listener_set in zip(self.listeners, self.config.proxy.listener_sets, strict=True):
            try:
                listener.take(listener_set)
            except StartError as error:
                # They were good when the configuration was loaded, a moment ago; the old ones serve on.
                log.warning("listener_unchanged", listener=listener_set.name, error=str(error))
        for listener in gone:
            listener.close()


async def prepare(gateway: ReloadContext, config: Config) -> Prepared:
    """Do everything that may fail, while the gateway serves as before.

    Raises:
        BrokerError, StartError: the gateway cannot use this configuration; nothing has changed.
    """
    check_changes(gateway.config, config)
    check_ports({port: owners for one in gateway.listeners for port, owners in one.owned_ports()}, config)
    changed = await gateway.clusters.like(config, gateway.config, gateway.now_ms, gateway.peers)
    new: list[Listener] = []
    try:
        settings = await asyncio.to_thread(TenantSettings.of, config)
        secured = await asyncio.to_thread(gateway.client_authenticators.secure, config)
        listeners = _listeners(gateway, config, new)
        for listener in new:
            await listener.reserve()
        admin = await gateway.admin.prepare(config)
    except BaseException:
        for listener in new:
            listener.close()
        await changed.abandon(gateway.clusters)
        raise
    return Prepared(gateway, config, settings, changed, secured, listeners, new, admin)


def _listeners(gateway: ReloadContext, config: Config, new: list[Listener]) -> list[Listener]:
    """Return the listeners of a configuration; also append those that are not open yet to `new`."""
    before = {one.listener_set.name: one for one in gateway.listeners}
    found = []
    for listener_set in config.proxy.listener_sets:
        old = before.get(listener_set.name)
        if old is None or not old.is_at(listener_set):
            old = listener_of(listener_set, gateway)
            new.append(old)
        found.append(old)
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
