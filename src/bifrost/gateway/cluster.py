"""The physical cluster as the gateway knows it: its brokers, what each offers, and whose each topic ID is.

Discovered from the bootstrap addresses and looked at anew every `metadata_refresh_ms`. A broker that cannot be reached
keeps what was known of it: its clients find out for themselves.
"""

import asyncio
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import structlog

from bifrost.config.model import Config
from bifrost.filters.api_versions import OfferedVersions, offered_versions
from bifrost.gateway.broker_client import BrokerClient
from bifrost.gateway.errors import BrokerError
from bifrost.tenancy.topic_ids import TopicIds
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ApiVersionsRequest, MetadataRequest
from bifrost.wire.schema import request_schema

log = structlog.get_logger()

FIRST_RETRY_MS, LAST_RETRY_MS = 250, 10_000
"""Backoff while no broker can be reached: quick at first, for a cluster that is just starting, then unobtrusive."""

_IDS_IN_METADATA, _METADATA_BY_ID = 10, 12
"""Metadata versions that give topic IDs, and that can be asked by them (KIP-516)."""


@dataclass(frozen=True, slots=True)
class Broker:
    """One physical broker."""

    node_id: int
    host: str
    port: int
    offered: OfferedVersions


class Cluster:
    """The brokers of one physical cluster."""

    def __init__(self, config: Config, topic_ids: TopicIds, now_ms: Callable[[], int]) -> None:
        """Know nothing yet; `discover` asks."""
        self._bootstrap = config.upstream.bootstrap
        self._timeout_ms = config.proxy.limits.upstream_connect_timeout_ms
        self._topic_ids = topic_ids
        self._now_ms = now_ms
        self._brokers: dict[int, Broker] = {}
        self._client: BrokerClient | None = None
        self._metadata_version = 0
        self._lock = asyncio.Lock()

    @property
    def node_ids(self) -> frozenset[int]:
        """The node IDs of the brokers known."""
        return frozenset(self._brokers)

    def broker(self, node_id: int) -> Broker | None:
        """Return the broker with this node ID, if there is one."""
        return self._brokers.get(node_id)

    def any_broker(self) -> Broker:
        """Return a broker at random, for a client that bootstraps."""
        return random.choice(tuple(self._brokers.values()))

    async def discover(self) -> None:
        """Ask until some broker answers, with backoff; each failure is logged once per attempt."""
        retry_ms = FIRST_RETRY_MS
        while True:
            try:
                await self.refresh()
                return
            except BrokerError as error:
                log.warning("upstream_unreachable", error=str(error), retry_in_ms=retry_ms)
            await asyncio.sleep(retry_ms / 1000)
            retry_ms = min(retry_ms * 2, LAST_RETRY_MS)

    async def refresh(self) -> None:
        """Ask who the brokers are and what each offers.

        Raises:
            BrokerError: no broker of the bootstrap list, nor any known from before, answers.
        """
        async with self._lock:
            metadata = await self._ask_metadata()
            found = await asyncio.gather(*(self._inspect(node) for node in metadata.brokers))
        self._brokers = {broker.node_id: broker for broker in found if broker is not None}
        if not self._brokers:
            raise BrokerError("the cluster answers, but none of the brokers it names can be reached")

    async def learn_topic_ids(self, topic_ids: Iterable[bytes]) -> None:
        """Ask the cluster whose these topic IDs are; those it does not know are noted as absent.

        Raises:
            BrokerError: no broker answers.
        """
        wanted = tuple(topic_ids)
        async with self._lock:
            client = await self._connected_client()
            if self._metadata_version >= _METADATA_BY_ID:
                topics = [MetadataRequest.MetadataRequestTopic(topic_id=one, name=None) for one in wanted]
            else:
                topics = None  # An old broker is not asked by ID: read them all.
            request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
            response = await client.request(request, self._metadata_version)
        for topic in response.topics:
            if topic.error_code == ErrorCode.NONE and topic.name:
                self._topic_ids.learn(topic.topic_id, topic.name.encode())
        for topic_id in wanted:
            if self._topic_ids.name_of(topic_id) is None:
                self._topic_ids.learn_absent(topic_id, self._now_ms())

    async def close(self) -> None:
        """Close the gateway's own connection."""
        if self._client is not None:
            await self._client.close()

    async def _ask_metadata(self) -> Any:
        client = await self._connected_client()
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
        # Before v1 an empty list means all topics; no broker since 0.10 is that old.
        return await client.request(request, max(self._metadata_version, 1))

    async def _connected_client(self) -> BrokerClient:
        """Return a client that a broker has answered, from the one used last, the bootstrap list or the known
        brokers."""
        if self._client is not None:
            try:
                self._metadata_version = _newest(ApiKey.METADATA, await _ask_versions(self._client))
                return self._client
            except BrokerError:
                self._client = None
        failures = []
        known = [(broker.host, broker.port) for broker in self._brokers.values()]
        for host, port in [*self._bootstrap, *known]:
            client = BrokerClient(host, port, timeout_ms=self._timeout_ms)
            try:
                self._metadata_version = _newest(ApiKey.METADATA, await _ask_versions(client))
            except BrokerError as error:
                failures.append(str(error))
                continue
            self._client = client
            return client
        raise BrokerError("; ".join(failures))

    async def _inspect(self, node: Any) -> Broker | None:
        client = BrokerClient(node.host, node.port, timeout_ms=self._timeout_ms)
        try:
            offered = offered_versions(await _ask_versions(client))
        except BrokerError as error:
            log.warning("broker_unreachable", node_id=node.node_id, error=str(error))
            known = self._brokers.get(node.node_id)
            return None if known is None else Broker(node.node_id, node.host, node.port, known.offered)
        finally:
            await client.close()
        return Broker(node.node_id, node.host, node.port, offered)


async def _ask_versions(client: BrokerClient) -> Any:
    """Ask for the versions a broker has, as clients do: newest first, then what the oldest broker understands."""
    request = ApiVersionsRequest(client_software_name="bifrost", client_software_version="0")
    for version in (3, 0):
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
