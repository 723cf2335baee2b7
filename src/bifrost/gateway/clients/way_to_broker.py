"""Connects one client's connection to its broker: which broker that is, and with which account the gateway logs in."""

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from bifrost.filters.steps import (
    AclsAtBroker,
    Fetched,
    RecordNeeds,
    StateChange,
    StoredBatches,
    TopicCount,
    TopicIds,
)
from bifrost.gateway.brokers.broker_connection import BrokerConnection, connect, renew_login
from bifrost.gateway.brokers.broker_login import Login
from bifrost.gateway.brokers.cluster import Broker, BrokersByCluster, Cluster
from bifrost.gateway.brokers.stored_batches import read_batches
from bifrost.gateway.clients.context import ClientContext
from bifrost.gateway.errors import BrokerError, LoginError
from bifrost.session.client_session import ClientSession
from bifrost.state.state_outcome import OFF
from bifrost.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from bifrost.gateway.clients.client_connection import ClientConnection
    from bifrost.gateway.routing.router import Router

_ACLS_VERSION = 3
"""Newest version of DescribeAcls, CreateAcls and DeleteAcls that is used here."""
_PREFIXES_SINCE = 1
"""The first one with prefixed patterns (KIP-290)."""


class WayToBroker:
    """The connection to the broker of one authenticated client."""

    __slots__ = ("_brokers", "_gateway", "_is_single", "_session")

    def __init__(
        self,
        gateway: ClientContext,
        brokers: BrokersByCluster,
        session: ClientSession,
        *,
        is_single: bool = False,
    ) -> None:
        """Keep the candidates, by the name of the physical cluster; `session` knows the client's tenant later."""
        self._gateway, self._brokers, self._session = gateway, brokers, session
        self._is_single = is_single

    @property
    def cluster(self) -> Cluster:
        """The physical cluster of the client's tenant."""
        return self._gateway.clusters[self._session.virtual_cluster.upstream]

    @property
    def address(self) -> str | None:
        """Host and port of the broker, as they were when the client came; None before authentication."""
        if not self._session.is_authenticated:
            return None
        chosen = self._brokers.get(self._session.virtual_cluster.upstream)
        return None if chosen is None else f"{chosen.host}:{chosen.port}"

    async def connect(self, client: "ClientConnection") -> "BrokerConnection | Router":
        """Return a connection to the broker, logged in. When very many clients come at once, they connect by turns.

        At a single address it is a router, which connects to brokers when they are needed.

        Raises:
            BrokerError: the gateway cannot connect or log in.
        """
        if self._is_single:
            self._session.needs_whole = True
            rooms, session = self._gateway.tenants.rooms, self._session
            return load_router()(client, session, self._gateway, rooms, self.cluster, lambda: self._login)
        await self._gateway.connects.turn()
        broker, timeout_ms = self._broker, self._gateway.limits.upstream_connect_timeout_ms
        try:
            made = await connect(client, broker, self.cluster.security, self._login, timeout_ms)
        except LoginError:
            raise  # It is about the tenant, not about the broker.
        except BrokerError:
            self.cluster.note_lost(broker.node_id)
            raise
        made.count_in(self._gateway.broker_connections, self._session.virtual_cluster.upstream)
        return made

    async def renew_login(self, broker_side: "BrokerConnection | Router") -> None:
        """Log in again on a connection that awaits no answer (KIP-368).

        Raises:
            BrokerError, LoginError: the connection cannot be used any more.
        """
        assert isinstance(broker_side, BrokerConnection), "a router logs in by itself"
        login, timeout_ms = self._login, self._gateway.limits.upstream_connect_timeout_ms
        if login is None:
            text = "the account that the connection was made with is no longer in the configuration"
            raise LoginError(text)
        await renew_login(broker_side, self._broker, login, timeout_ms)

    async def fetch(self, need: Fetched) -> Fetched:
        """Ask brokers or others for what a message of the session needs; return the need as it was met.

        Raises:
            BrokerError: the cluster could not be asked.
        """
        loads = self._gateway.shared.lanes.in_flight_limits
        namespace = self._session.virtual_cluster.namespace
        match need:
            case TopicIds():
                await self.cluster.look_ups.look_up(namespace, need.ids, loads)
            case TopicCount():
                root = self._gateway.shared.virtual_clusters.of_tenant(namespace.tenant)
                if root is None:
                    raise BrokerError(f"tenant {namespace.tenant} is not in the configuration any more")
                await self.cluster.look_ups.count(root.namespace, loads)
            case StateChange():
                state = self._gateway.state
                if state is None:
                    return replace(need, outcome=OFF)
                return await state.change(namespace.tenant, need)
            case RecordNeeds():
                records = self._session.virtual_cluster.records
                assert records is not None, "only filters of records need something for them"
                # Only for those who have filters.
                from bifrost.filters.records.sources import Upstream
                from bifrost.gateway.producing.batch_writer import BatchWriter

                upstream = Upstream(self.cluster, BatchWriter)
                return await records.process.sources.meet(namespace.tenant, need, upstream)
            case StoredBatches():
                # A connection of its own, which clients cause by the thousand as well.
                await self._gateway.connects.turn()
                limits = self._gateway.limits
                wait_ms = max(limits.max_record_wait_ms - need.waited_ns // 1_000_000, 0)
                broker, here = self._broker, need
                if self._is_single:
                    broker, here = await self._of_one_leader(need)
                client = self.cluster.client_of(broker, self._login)
                return replace(await read_batches(client, broker, here, wait_ms), wanted=need.wanted)
            case AclsAtBroker():
                return await self._ask_about_acls(need)
            case _:
                assert_never(need)
        return need

    async def _of_one_leader(self, need: StoredBatches) -> tuple[Broker, StoredBatches]:
        """Return a broker, and those of the batches whose partitions it leads: the others are asked for again."""
        routes, tenant = self.cluster.routes, self._session.virtual_cluster.namespace.tenant
        node_id = await routes.leader_of(need.wanted[0].topic, need.wanted[0].partition, tenant)
        here = [at for at in need.wanted if await routes.leader_of(at.topic, at.partition, tenant) == node_id]
        return self.cluster.broker(node_id) or self._broker, replace(need, wanted=tuple(here))

    async def _ask_about_acls(self, need: AclsAtBroker) -> AclsAtBroker:
        """Ask the client's broker, which decides by the rights of the client's account.

        Raises:
            BrokerError: it does not answer.
        """
        broker, login = self._broker, self._login
        if login is None:
            raise BrokerError("the user has no account at the brokers any more")
        await self._gateway.connects.turn()
        client = self.cluster.client_of(broker, login)
        answers = []
        try:
            for request in need.requests:
                api_key = request.SCHEMA.api_key
                assert api_key is not None
                version = broker.newest(ApiKey(api_key), _ACLS_VERSION)
                if version < _PREFIXES_SINCE:
                    raise BrokerError(
                        f"{broker.host}:{broker.port} has no prefixed ACLs: it is older than Kafka 2.0"
                    )
                answers.append(await client.request(request, version))
        finally:
            await client.close()
        return replace(need, answers=tuple(answers))

    @property
    def _login(self) -> Login | None:
        """The gateway's login at the broker for this client; None without one."""
        account = self._session.account
        assert account is not None
        return self.cluster.security.login_of(account.tenant, account.username)

    @property
    def _broker(self) -> Broker:
        """The broker that this connection leads to, in the tenant's cluster."""
        chosen = self._brokers[self._session.virtual_cluster.upstream]
        return self.cluster.broker(chosen.node_id) or chosen


def load_router() -> "type[Router]":
    """Load what routes the requests of clients behind a single address, which most gateways do not have.

    That takes some 40 ms, in which an event loop would serve no client: a listener that has such an address does it
    before its first client comes.
    """
    import bifrost.gateway.brokers.cluster_routes
    import bifrost.gateway.routing.dispatch  # noqa: F401  # A router begins with both.
    from bifrost.gateway.routing.router import Router

    return Router
