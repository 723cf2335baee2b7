"""Asks the physical clusters of a configuration whether a gateway could serve it: `bifrost check --connect`.

It asks only what is cheap and has a sure answer: who answers, which accounts may log in, which brokers have a port, how
many replicas are possible, and whether topics that a tenant is restricted to may be described. It changes nothing, and
the brokers create no topic because of it.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from bifrost.config.fields.listener_sets import ListenerSet
from bifrost.config.fields.tenants import Tenant
from bifrost.config.fields.upstream import Upstream
from bifrost.config.model import Config
from bifrost.config.tiers import SEPARATOR
from bifrost.gateway.brokers.broker_client import BrokerClient
from bifrost.gateway.brokers.broker_login import Login
from bifrost.gateway.brokers.cluster import Broker, Cluster
from bifrost.gateway.brokers.clusters import GIVEN_TWICE
from bifrost.gateway.errors import BrokerError, StartError
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DescribeConfigsRequest, MetadataRequest

MAX_ACCOUNTS = 100
"""Accounts that are tried for each cluster, and tenants whose topics are looked up: each is a connection."""

MAX_TOPICS = 100
"""Topics of a tenant that are looked up."""

_FORBIDS_CREATION, _METADATA = 4, 8
"""The first version of Metadata that creates no topic, and the newest that has topics by name alone."""

_BROKER_RESOURCE, _CONFIGS_VERSION = 4, 1
_REPLICATION = (
    "default.replication.factor",
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
)


class Kind(StrEnum):
    """How serious a finding is."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found out."""

    kind: Kind
    text: str


async def check_clusters(config: Config, now_ms: Callable[[], int]) -> list[Finding]:
    """Return what the physical clusters of a configuration say of it.

    Args:
        config: the configuration.
        now_ms: a monotonic clock, in milliseconds.
    """
    asked = await asyncio.gather(*(_Asked.ask(config, upstream, now_ms) for upstream in config.clusters))
    known = {one.name: one.node_ids for one in asked if one.node_ids}
    twins = [
        Finding(Kind.ERROR, f"upstreams {first.name} and {one.name}: {GIVEN_TWICE}")
        for number, one in enumerate(asked)
        for first in asked[:number]
        if one.cluster_id is not None and one.cluster_id == first.cluster_id
    ]
    return [*(finding for one in asked for finding in one.findings), *twins, *uncovered(config, known)]


def uncovered(config: Config, known: Mapping[str, Collection[int]]) -> Iterator[Finding]:
    """Yield each listener set that has no port for some broker that there is.

    Args:
        config: the configuration.
        known: the node IDs of the brokers of each cluster that answered.
    """
    clusters = {tenant.name: config.cluster_of(tenant).name for tenant in config.tenants}
    everywhere = {node_id for ids in known.values() for node_id in ids}
    for one in config.proxy.listener_sets:
        node_ids = everywhere if one.tenant is None else set(known.get(clusters[one.tenant], ()))
        if one.port_range is not None and not one.single_address and node_ids:
            without = sorted(node_ids - one.port_range.broker_ports(node_ids).keys())
            if without:
                text = f"listener set {one.name}: {_no_port(one, without, len(node_ids))}"
                yield Finding(Kind.ERROR, text)


def _no_port(listener_set: ListenerSet, without: list[int], brokers: int) -> str:
    ports = listener_set.port_range
    assert ports is not None
    some = ", ".join(map(str, without[:10])) + (", ..." if len(without) > 10 else "")
    if ports.broker_port_range is None:
        return (
            f"bootstrap_port {ports.bootstrap_port} stands for one broker, and there are {brokers}: clients cannot "
            "reach the others: give it broker_port_range (brokerPorts in a virtual cluster, or leave ports free after "
            "its port), or let that port stand for all of them (single_address, singleAddress in a virtual cluster)"
        )
    range_ = ports.broker_port_range
    last = ports.broker_id_base + range_.end - range_.start
    covered = f"the ports are for node IDs {ports.broker_id_base} to {last}"
    if len(without) == brokers:
        return f"no broker has a port: {covered}, and there are {some}: mend broker_id_base"
    return f"no port for node IDs {some}: {covered}: widen broker_port_range or mend broker_id_base"


class _Asked:
    """One physical cluster, and what it answered."""

    def __init__(
        self, cluster: Cluster, upstream: Upstream, tenants: tuple[Tenant, ...], config: Config
    ) -> None:
        self.name = upstream.name
        self.findings: list[Finding] = []
        self.node_ids: frozenset[int] = frozenset()
        self.cluster_id: str | None = None
        self._cluster, self._tenants, self._config = cluster, tenants, config

    @classmethod
    async def ask(cls, config: Config, upstream: Upstream, now_ms: Callable[[], int]) -> "_Asked":
        tenants = config.tenants_of(upstream)
        cluster = Cluster(upstream, tenants, config.proxy.limits, now_ms)
        asked = cls(cluster, upstream, tenants, config)
        try:
            await cluster.refresh()
            asked._describe()
            await asked._check_replication()
            await asked._check_accounts()
        except (BrokerError, StartError) as error:
            asked._note(Kind.ERROR, str(error))
        finally:
            await cluster.close()
        return asked

    def _note(self, kind: Kind, text: str) -> None:
        self.findings.append(Finding(kind, f"upstream {self.name}: {text}"))

    def _brokers(self) -> list[Broker]:
        found = (self._cluster.broker(node_id) for node_id in sorted(self._cluster.node_ids))
        return [one for one in found if one is not None]

    def _describe(self) -> None:
        cluster, brokers = self._cluster, self._brokers()
        self.node_ids, self.cluster_id = cluster.node_ids | cluster.unreachable, cluster.cluster_id
        for node_id in sorted(cluster.unreachable):
            self._note(Kind.ERROR, f"broker {node_id} does not answer")
        ids = ", ".join(str(one.node_id) for one in brokers)
        served = {_served(one) for one in brokers}
        self._note(
            Kind.OK, f"brokers {ids} answer, cluster ID {self.cluster_id}; {' or '.join(sorted(served))}"
        )
        if len({_versions(one) for one in brokers}) > 1:
            self._note(
                Kind.WARNING, "its brokers offer different versions: clients may use what all of them have"
            )

    async def _check_replication(self) -> None:
        count = len(self.node_ids)
        for kind, factor in self._own_topics():
            if factor > count:
                text = f"replication_factor of the {kind} is {factor}, and there are {count} brokers"
                self._note(Kind.ERROR, text)
        for name, value in (await self._replication_settings()).items():
            if value > count:
                text = (
                    f"{name} of the brokers is {value}, and there are {count}: such topics cannot be created"
                )
                self._note(Kind.WARNING, text)

    def _own_topics(self) -> Iterator[tuple[str, int]]:
        """Yield which topics of its own the gateway has here, each with its replication factor."""
        proxy, index = self._config.proxy, self._config.proxy.partition_index
        topics = (
            ("journal", proxy.journal),
            ("state", proxy.state),
            ("quota exchange", proxy.quota_exchange),
        )
        for kind, own in topics:
            if own is not None and (own.upstream or self._config.clusters[0].name) == self.name:
                yield kind, own.replication_factor
        if index.enabled and any(one.virtual_partitions for one in self._tenants):
            yield "partition index", index.replication_factor

    async def _replication_settings(self) -> dict[str, int]:
        """Ask a broker; empty where the gateway's account may not see its settings."""
        broker = self._brokers()[0]
        if not broker.offered.offers(ApiKey.DESCRIBE_CONFIGS, _CONFIGS_VERSION):
            return {}
        resource = DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=_BROKER_RESOURCE,
            resource_name=str(broker.node_id),
            configuration_keys=list(_REPLICATION),
        )
        client = self._client(broker, None)
        try:
            response = await client.request(DescribeConfigsRequest(resources=[resource]), _CONFIGS_VERSION)
        finally:
            await client.close()
        configs = [config for result in response.results for config in result.configs]
        return {one.name: int(one.value) for one in configs if (one.value or "").isdecimal()}

    async def _check_accounts(self) -> None:
        logins: dict[int, tuple[str, Login]] = {}
        for owner, login in self._cluster.security.accounts():
            logins.setdefault(id(login), (owner, login))
        restricted = [one for one in self._tenants if one.allowed_topics is not None]
        for owner, login in list(logins.values())[:MAX_ACCOUNTS]:
            await self._try(owner, login, ())
        for tenant in restricted[:MAX_ACCOUNTS]:
            topics = [_physical(tenant, one) for one in (tenant.allowed_topics or ())[:MAX_TOPICS]]
            await self._try(f"tenant {tenant.name}", self._cluster.security.login_of(tenant.name, ""), topics)
        left = max(0, len(logins) - MAX_ACCOUNTS), max(0, len(restricted) - MAX_ACCOUNTS)
        if any(left):
            text = f"{left[0]} accounts were not tried, and topics of {left[1]} tenants not looked up: the bound is"
            self._note(Kind.WARNING, f"{text} {MAX_ACCOUNTS}")

    async def _try(self, owner: str, login: Login | None, topics: Iterable[str]) -> None:
        """Log in and ask for topics; note what is refused. A topic that does not exist is no mistake."""
        broker = self._brokers()[0]
        version = broker.newest(ApiKey.METADATA, _METADATA)
        wanted = [MetadataRequest.MetadataRequestTopic(name=name) for name in topics]
        if wanted and version < _FORBIDS_CREATION:
            return
        client = self._client(broker, login)
        try:
            response = await client.request(
                MetadataRequest(topics=wanted, allow_auto_topic_creation=version < _FORBIDS_CREATION), version
            )
        except BrokerError as error:
            self._note(Kind.ERROR, f"account of {owner}: {error}")
            return
        finally:
            await client.close()
        refused = [
            one.name for one in response.topics if one.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        ]
        if refused:
            text = f"{owner} may not describe {', '.join(sorted(refused)[:5])}: give its account the ACL"
            self._note(Kind.ERROR, text + (f" ({len(refused)} topics)" if len(refused) > 1 else ""))

    def _client(self, broker: Broker, login: Login | None) -> BrokerClient:
        limits, security = self._config.proxy.limits, self._cluster.security
        timeout_ms = limits.upstream_connect_timeout_ms
        return BrokerClient(broker.host, broker.port, timeout_ms=timeout_ms, security=security, login=login)


def _physical(tenant: Tenant, topic: str) -> str:
    """Return what the brokers call a topic of a tenant's list."""
    *tiers, name = topic.split(SEPARATOR)
    return tenant.name_prefixes.below(tiers).topic + name


def _versions(broker: Broker) -> frozenset[tuple[int, int, int]]:
    return frozenset(
        (one.api_key, one.min_version, one.max_version) for one in broker.offered.broker_response.api_keys
    )


def _served(broker: Broker) -> str:
    produce, fetch = (
        broker.offered.ranges[key].high if key in broker.offered.ranges else "none"
        for key in (ApiKey.PRODUCE, ApiKey.FETCH)
    )
    return f"{len(broker.offered.ranges)} APIs for clients, Produce up to v{produce}, Fetch up to v{fetch}"
