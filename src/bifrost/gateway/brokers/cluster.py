"""The physical cluster as the gateway knows it: its brokers, what each offers, and which topic has which ID.

Discovered from the bootstrap addresses and refreshed every `metadata_refresh_ms`. The gateway keeps what it knows of a
broker that it cannot reach: clients notice that themselves, and those that bootstrap are led to others then. For
`broker_grace_ms` it also keeps a broker that has left the metadata: a controller fences a broker whose heartbeats are
late, and the broker is back a moment later.
"""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import structlog

from bifrost.config.fields.limits import Limits
from bifrost.config.fields.tenants import Tenant
from bifrost.config.fields.upstream import Upstream
from bifrost.filters.api_versions import OfferedVersions, behind_one_address, offered_versions
from bifrost.filters.topics.automatic_creation import CAN_FORBID_CREATION
from bifrost.gateway.brokers.broker_client import BrokerClient
from bifrost.gateway.brokers.broker_login import Login
from bifrost.gateway.brokers.broker_security import BrokerSecurity
from bifrost.gateway.brokers.topic_look_ups import TopicLookUps
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.loop.loop_guard import report
from bifrost.gateway.loop.recent_run import RecentRun
from bifrost.gateway.peers.alone_peers import AlonePeers
from bifrost.session.fetch_sessions import FetchSessions
from bifrost.tenancy.topic_ids import TopicIds
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import ApiVersionsRequest, DescribeConfigsRequest, MetadataRequest
from bifrost.wire.schema import request_schema

if TYPE_CHECKING:
    from bifrost.gateway.brokers.cluster_routes import ClusterRoutes

log = structlog.get_logger()

FIRST_RETRY_MS, LAST_RETRY_MS = 250, 10_000
"""Backoff while no broker can be reached: short at first, for a cluster that is just starting, then longer."""

INSPECT_EVERY_MS = 60_000
"""How long the known versions of a broker are used before it is asked again: they change when it is upgraded."""

LOST_MS = 10_000
"""How long clients that bootstrap are led to other brokers after a connection to one has failed: about as long as a
controller takes to miss a broker, with Kafka's `broker.session.timeout.ms` of 9 s."""

FRESH_MS = 1_000
"""How old the list of brokers may be for a request that all are asked: one that is missing has groups of its own."""

_BROKER_RESOURCE = 4
"""ConfigResource.Type.BROKER."""
_CONFIGS_VERSION = 1
"""Version of DescribeConfigs; every broker from 1.1 on has it, also those of Kafka 4."""
_NUM_PARTITIONS, _NUM_REPLICAS = "num.partitions", "default.replication.factor"


@dataclass(frozen=True, slots=True)
class Broker:
    """One physical broker."""

    node_id: int
    host: str
    port: int
    offered: OfferedVersions
    topic_defaults: tuple[int, int] = (1, 1)
    """Its `num.partitions` and `default.replication.factor`, for a topic that is created without these numbers."""
    inspected_ms: int = 0
    """When the gateway last asked it what it offers, by the gateway's monotonic clock."""

    def newest(self, api_key: ApiKey, ours: int) -> int:
        """Return the newest version of an API, up to `ours`, that the broker has; -1: none."""
        for one in self.offered.broker_response.api_keys:
            if one.api_key == api_key:
                return int(min(one.max_version, ours))
        return -1


BrokersByCluster = Mapping[str, Broker]
"""A broker of each physical cluster, by the cluster's name in the configuration."""


class Cluster:
    """The brokers of one physical cluster."""

    def __init__(
        self,
        upstream: Upstream,
        tenants: Sequence[Tenant],
        limits: Limits,
        now_ms: Callable[[], int],
        peers: AlonePeers | None = None,
        security: BrokerSecurity | None = None,
    ) -> None:
        """Create the cluster without knowledge of brokers; `discover` asks for them.

        Args:
            upstream: the cluster's section.
            tenants: the tenants of this cluster.
            limits: the gateway's limits.
            now_ms: a monotonic clock, in milliseconds.
            peers: the workers of the gateway; None: there is only this process.
            security: what `secure` returned for these settings, where that must not be done in this thread.
        Raises:
            StartError: the certificates for connections to the cluster cannot be used, or a library is missing.
        """
        self.name = upstream.name
        self.fetch_sessions = FetchSessions() if peers is None else peers.fetch_sessions(upstream.name)
        self.topic_ids = TopicIds()
        self._bootstrap = upstream.bootstrap
        self._timeout_ms = limits.upstream_connect_timeout_ms
        self._now_ms, self._workers = now_ms, 1 if peers is None else peers.workers
        self.security = security or secure(upstream, tenants, limits, now_ms, self._workers)
        """Security of every connection to one of the brokers."""
        self._brokers: dict[int, Broker] = {}
        self._away: dict[int, tuple[Broker, int]] = {}
        """Brokers that have left the metadata, and when, by the gateway's monotonic clock."""
        self._unreachable: set[int] = set()
        """Brokers that did not answer when the last refresh asked them."""
        self._lost: dict[int, int] = {}
        """Brokers that a client could not be connected to, and when, by the gateway's monotonic clock."""
        self.grace_ms = limits.broker_grace_ms
        """How long a broker that has left the metadata keeps its port."""
        self._client: BrokerClient | None = None
        self.cluster_id: str | None = None
        """The physical cluster's own ID, once it has been asked."""
        self.controller_id = -1
        """The controller, or with KRaft a broker that asks it; -1: not known."""
        self._metadata_version = 0
        self._lock = asyncio.Lock()
        self.fresh = RecentRun("refresh", self.refresh, FRESH_MS, now_ms, upstream=self.name)
        """Refreshes for requests that need the brokers of this moment, the same one for all clients."""
        self._offered_by_all: tuple[tuple[OfferedVersions, ...], OfferedVersions] | None = None
        self._routes: ClusterRoutes | None = None
        self.look_ups = TopicLookUps(self._open, self.topic_ids, now_ms, self._workers, self.topic_defaults)
        """Look-ups of the topic IDs that clients name, and of the number of a tenant's topics."""

    @property
    def node_ids(self) -> frozenset[int]:
        """The node IDs of the brokers in the last metadata that named any."""
        return frozenset(self._brokers)

    @property
    def unreachable(self) -> frozenset[int]:
        """The node IDs of the brokers that did not answer when the last refresh asked them."""
        return frozenset(self._unreachable)

    @property
    def served_node_ids(self) -> frozenset[int]:
        """The node IDs of the brokers that have a port: those known, and those that left within the grace time."""
        return frozenset(self._brokers) | frozenset(self._away)

    def broker(self, node_id: int) -> Broker | None:
        """Return the broker with this node ID, if it exists or left within the grace time."""
        known = self._brokers.get(node_id)
        if known is None and node_id in self._away:
            return self._away[node_id][0]
        return known

    def any_broker(self) -> Broker | None:
        """Return a broker at random, for a client that bootstraps; None while none is known.

        One that a client could not be connected to of late is the last choice.
        """
        now_ms = self._now_ms()
        self._lost = {one: lost_ms for one, lost_ms in self._lost.items() if now_ms - lost_ms < LOST_MS}
        known = tuple(self._brokers.values())
        found = tuple(one for one in known if one.node_id not in self._lost) if self._lost else known
        return random.choice(found or known) if known else None

    def note_lost(self, node_id: int) -> None:
        """Take note that a client could not be connected to a broker."""
        self._lost[node_id] = self._now_ms()

    @property
    def routes(self) -> "ClusterRoutes":
        """Which broker leads and coordinates what, as far as clients behind a single address have asked for it."""
        if self._routes is None:
            from bifrost.gateway.brokers.cluster_routes import ClusterRoutes  # Only for such clients.

            self._routes = ClusterRoutes(self._open, self._now_ms, self._workers)
        return self._routes

    def offered_by_all(self) -> OfferedVersions:
        """Return what clients behind a single address are offered: what every broker has."""
        offered = tuple(broker.offered for broker in self._brokers.values())
        if self._offered_by_all is None or self._offered_by_all[0] != offered:
            self._offered_by_all = offered, behind_one_address(offered)
        return self._offered_by_all[1]

    async def discover(self) -> None:
        """Ask until a broker answers, with backoff; each failure is logged once per attempt."""
        retry_ms = FIRST_RETRY_MS
        while True:
            try:
                await self.refresh()
                return
            except BrokerError as error:
                log.warning(
                    "upstream_unreachable", upstream=self.name, error=str(error), retry_in_ms=retry_ms
                )
            except Exception as error:
                report("discovery", error, upstream=self.name, retry_in_ms=retry_ms)
            await asyncio.sleep(retry_ms / 1000)
            retry_ms = min(retry_ms * 2, LAST_RETRY_MS)

    async def refresh(self) -> None:
        """Ask which brokers exist and what each offers. If the answer names none, the known ones stay.

        Raises:
            BrokerError: no broker of the bootstrap list and no known broker answers; or the answer names no broker,
                like that of a single fenced broker, or none that can be reached.
        """
        async with self._lock:
            metadata = await self._ask(_metadata_of_brokers)
            unreachable = set[int]()
            found = await asyncio.gather(*(self._inspect(node, unreachable) for node in metadata.brokers))
        self._unreachable = unreachable
        self.cluster_id = metadata.cluster_id or self.cluster_id
        self.controller_id = metadata.controller_id
        brokers = {broker.node_id: broker for broker in found if broker is not None}
        if not metadata.brokers:
            raise BrokerError(
                "the cluster answers, but names no broker: its brokers are fenced, or just starting"
            )
        if brokers:
            self._replace_brokers(brokers)
        if brokers.keys() <= self._unreachable:
            raise BrokerError("the cluster answers, but none of the brokers it names can be reached")

    def _replace_brokers(self, brokers: dict[int, Broker]) -> None:
        """Replace the known brokers; those that are not in `brokers` count as away for the grace time."""
        now_ms = self._now_ms()
        left = {number: (one, now_ms) for number, one in self._brokers.items() if number not in brokers}
        if left:
            log.warning("brokers_away", upstream=self.name, node_ids=sorted(left), grace_ms=self.grace_ms)
        away = {**self._away, **left}
        self._away = {
            number: (one, since_ms)
            for number, (one, since_ms) in away.items()
            if number not in brokers and now_ms - since_ms < self.grace_ms
        }
        self._brokers = brokers

    async def change(self, upstream: Upstream, security: BrokerSecurity, limits: Limits) -> None:
        """Apply another configuration of the same physical cluster; open connections stay as they are.

        Args:
            upstream: the cluster's section.
            security: what `secure` returned for it.
            limits: the gateway's limits.
        """
        self._timeout_ms = limits.upstream_connect_timeout_ms
        self._bootstrap, self.security = upstream.bootstrap, security
        await self.close()

    async def close(self) -> None:
        """Close the gateway's own connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()
        await self.look_ups.close()
        if self._routes is not None:
            await self._routes.close()

    async def _ask(self, build_request: Callable[[int], Message]) -> Any:
        """Send a Metadata request in the newest version that both sides know, over the open connection or a new one."""
        if self._client is not None:
            try:
                return await self._client.request(
                    build_request(self._metadata_version), self._metadata_version
                )
            except BrokerError:
                self._client = None  # It may only have been idle for too long; a new one is tried at once.
        self._client = await self._connect()
        return await self._client.request(build_request(self._metadata_version), self._metadata_version)

    async def _connect(self) -> BrokerClient:
        client, _, self._metadata_version = await self._open()
        return client

    async def _open(self) -> tuple[BrokerClient, OfferedVersions, int]:
        """Return a connection to the first broker that answers, from the bootstrap list or the known brokers.

        Also return what that broker offers, and the version of Metadata to use.
        """
        failures = []
        known = [(broker.host, broker.port) for broker in self._brokers.values()]
        for host, port in [*self._bootstrap, *known]:
            client = self._client_of(host, port)
            try:
                versions = await _ask_versions(client)
                return client, offered_versions(versions), _newest(ApiKey.METADATA, versions)
            except BrokerError as error:
                await client.close()
                failures.append(str(error))
        raise BrokerError("; ".join(failures))

    def _client_of(self, host: str, port: int) -> BrokerClient:
        return BrokerClient(host, port, timeout_ms=self._timeout_ms, security=self.security)

    def client_of(self, broker: Broker, login: Login | None) -> BrokerClient:
        """Return a connection to a broker for requests of the gateway's own, with an account; None: the gateway's."""
        return BrokerClient(
            broker.host, broker.port, timeout_ms=self._timeout_ms, security=self.security, login=login
        )

    async def _inspect(self, node: Any, unreachable: set[int]) -> Broker | None:
        """Ask a broker what it offers, unless it was asked recently; add it to `unreachable` if it does not answer."""
        known = self._brokers.get(node.node_id)
        if known is not None and (known.host, known.port) == (node.host, node.port):
            inspected_ago_ms = self._now_ms() - known.inspected_ms
            if inspected_ago_ms < INSPECT_EVERY_MS:
                return known
        client = self._client_of(node.host, node.port)
        try:
            offered = offered_versions(await _ask_versions(client))
            topic_defaults = await _ask_topic_defaults(client, node.node_id, offered)
        except BrokerError as error:
            unreachable.add(node.node_id)
            log.warning("broker_unreachable", upstream=self.name, node_id=node.node_id, error=str(error))
            return None if known is None else replace(known, host=node.host, port=node.port)
        finally:
            await client.close()
        return Broker(node.node_id, node.host, node.port, offered, topic_defaults, self._now_ms())

    def topic_defaults(self) -> tuple[int, int]:
        """Return how many partitions and replicas a topic gets by default, the most of any broker."""
        found = [broker.topic_defaults for broker in self._brokers.values()] or [(1, 1)]
        return max(partitions for partitions, _ in found), max(replicas for _, replicas in found)


def secure(
    upstream: Upstream,
    tenants: Sequence[Tenant],
    limits: Limits,
    now_ms: Callable[[], int],
    workers: int = 1,
    before: BrokerSecurity | None = None,
) -> BrokerSecurity:
    """Return the security of the connections to a cluster. May run in any thread; see `BrokerSecurity`.

    Raises:
        StartError: the certificates for connections to the cluster cannot be used, or a library is missing.
    """
    timeout_ms = limits.upstream_connect_timeout_ms
    return BrokerSecurity(
        upstream, tenants, timeout_ms=timeout_ms, now_ms=now_ms, workers=workers, before=before
    )


def _metadata_of_brokers(version: int) -> Message:
    # From v1 on, which every broker since 0.10 has, an empty list asks for no topic.
    return MetadataRequest(topics=[], allow_auto_topic_creation=version < CAN_FORBID_CREATION)


async def _ask_topic_defaults(
    client: BrokerClient, node_id: int, offered: OfferedVersions
) -> tuple[int, int]:
    """Ask a broker for its `topic_defaults`; 1, Kafka's default, where the gateway's account may not see them."""
    if not offered.offers(ApiKey.DESCRIBE_CONFIGS, _CONFIGS_VERSION):
        return 1, 1
    names = [_NUM_PARTITIONS, _NUM_REPLICAS]
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=_BROKER_RESOURCE, resource_name=str(node_id), configuration_keys=names
    )
    response = await client.request(DescribeConfigsRequest(resources=[resource]), _CONFIGS_VERSION)
    found = {
        config.name: int(config.value)
        for result in response.results
        for config in result.configs
        if (config.value or "").isdecimal()
    }
    return found.get(_NUM_PARTITIONS, 1), found.get(_NUM_REPLICAS, 1)


async def _ask_versions(client: BrokerClient) -> Any:
    """Ask for a broker's versions, as clients do: newest first, down to the one that the oldest broker understands."""
    request = ApiVersionsRequest(client_software_name="bifrost", client_software_version="0")
    for version in (4, 3, 0):
        response = await client.request(request, version)
        if response.error_code == ErrorCode.NONE:
            return response
    raise BrokerError(f"{client.address}: ApiVersions failed with {ErrorCode(response.error_code).name}")


def _newest(api_key: ApiKey, versions: Any) -> int:
    ours = request_schema(api_key).versions
    theirs = next((api for api in versions.api_keys if api.api_key == api_key), None)
    if theirs is None or min(theirs.max_version, ours.high) < 1:
        raise BrokerError("the broker has no usable version of Metadata: it is older than Kafka 0.10")
    return int(min(theirs.max_version, ours.high))
