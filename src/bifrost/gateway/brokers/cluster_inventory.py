"""Lists what exists on the physical clusters of a configuration: topics, groups, transactional IDs.

It is for `bifrost inventory`, whose file `bifrost pipeline certify` compares with the journal. The brokers' own names
are listed, whoever owns them; who does is decided where they are compared. An account that may not describe the
cluster is shown fewer groups and transactional IDs, and no broker says so: see docs/pipeline.md.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from bifrost.config.fields.upstream import Upstream
from bifrost.config.model import Config
from bifrost.gateway.brokers.broker_client import BrokerClient
from bifrost.gateway.brokers.cluster import Broker, Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import ListGroupsRequest, ListTransactionsRequest, MetadataRequest

INVENTORY_VERSION = 1

RETRIES, RETRY_MS = 20, 500
"""How often and how soon a coordinator that still loads its groups is asked again: in all 10 s."""

_METADATA, _LIST_GROUPS, _LIST_TRANSACTIONS = 8, 5, 0
"""Newest versions asked for: Metadata by names alone, ListGroups with states and all types of groups."""
_FORBIDS_CREATION = 4
_LOADING = frozenset({ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE})

Listed = dict[str, Any]


async def list_clusters(
    config: Config, now_ms: Callable[[], int], wall_ms: Callable[[], int]
) -> dict[str, Any]:
    """Return the inventory of all physical clusters, as JSON has it.

    Args:
        config: the configuration.
        now_ms: a monotonic clock, in milliseconds.
        wall_ms: the time since 1970, in milliseconds.
    Raises:
        BrokerError: a broker does not answer, or refuses; there is no inventory of a part of a cluster.
        StartError: a cluster's security cannot be set up.
    """
    begun_ms = wall_ms()
    clusters = [await _list(config, upstream, now_ms) for upstream in config.clusters]
    return {
        "version": INVENTORY_VERSION,
        "begun_ms": begun_ms,
        "ended_ms": wall_ms(),
        "clusters": clusters,
    }


async def _list(config: Config, upstream: Upstream, now_ms: Callable[[], int]) -> Listed:
    cluster = Cluster(upstream, config.tenants_of(upstream), config.proxy.limits, now_ms)
    try:
        await cluster.refresh()
        away = sorted(cluster.unreachable)
        if away:
            raise BrokerError(f"upstream {upstream.name}: broker {away[0]} does not answer")
        brokers = [one for one in map(cluster.broker, sorted(cluster.node_ids)) if one is not None]
        found = _Found()
        for number, broker in enumerate(brokers):
            client = BrokerClient(
                broker.host,
                broker.port,
                timeout_ms=config.proxy.limits.upstream_connect_timeout_ms,
                security=cluster.security,
            )
            try:
                if number == 0:
                    await found.add_topics(broker, client)
                await found.add_groups(broker, client)
                await found.add_transactional_ids(broker, client)
            finally:
                await client.close()
    finally:
        await cluster.close()
    return {"upstream": upstream.name, "cluster_id": cluster.cluster_id, **found.sorted()}


class _Found:
    """What the brokers of one cluster listed: states by name."""

    def __init__(self) -> None:
        self._topics: set[str] = set()
        self._groups: dict[str, str] = {}
        self._transactional_ids: dict[str, str] = {}

    async def add_topics(self, broker: Broker, client: BrokerClient) -> None:
        version = broker.newest(ApiKey.METADATA, _METADATA)
        request = MetadataRequest(topics=None, allow_auto_topic_creation=version < _FORBIDS_CREATION)
        answer = await client.request(request, version)
        self._topics.update(one.name for one in answer.topics if one.name)

    async def add_groups(self, broker: Broker, client: BrokerClient) -> None:
        version = broker.newest(ApiKey.LIST_GROUPS, _LIST_GROUPS)
        answer = await _ask(broker, client, ListGroupsRequest(), version)
        self._groups.update((one.group_id, getattr(one, "group_state", "")) for one in answer.groups)

    async def add_transactional_ids(self, broker: Broker, client: BrokerClient) -> None:
        version = broker.newest(ApiKey.LIST_TRANSACTIONS, _LIST_TRANSACTIONS)
        if version < 0:
            raise BrokerError(f"broker {broker.node_id} has no ListTransactions: it is older than Kafka 3.0")
        answer = await _ask(broker, client, ListTransactionsRequest(), version)
        states = answer.transaction_states
        self._transactional_ids.update((one.transactional_id, one.transaction_state) for one in states)

    def sorted(self) -> Listed:
        """Return all of it in the order of the names."""
        return {
            "topics": sorted(self._topics),
            "groups": _with_states(self._groups),
            "transactional_ids": _with_states(self._transactional_ids),
        }


async def _ask(broker: Broker, client: BrokerClient, request: Message, version: int) -> Any:
    for _ in range(RETRIES):
        answer = await client.request(request, version)
        if answer.error_code not in _LOADING:
            break
        await asyncio.sleep(RETRY_MS / 1000)
    if answer.error_code != ErrorCode.NONE:
        name = type(request).__name__.removesuffix("Request")
        raise BrokerError(f"broker {broker.node_id} answers {name} with {ErrorCode(answer.error_code).name}")
    return answer


def _with_states(found: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "state": state} for name, state in sorted(found.items())]
