"""The backend of `bifrost control`: the state and the physical clusters, by the gateway's own connections.

The control room and the gateway do not know each other, so they meet here, where commands are put together.
"""

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack

from bifrost.cli.admin.cluster_groups import ClusterGroups
from bifrost.cli.admin.cluster_topics import alter_topic_configs, create_topic, describe_topics
from bifrost.cli.admin.control_journal import Changed, ControlJournal
from bifrost.config.model import Config
from bifrost.control.backend import OutcomeUnknown, Unavailable
from bifrost.control.clusters.group_state import GroupState, ListedGroup, TopicPartition
from bifrost.control.clusters.topic_state import TopicState
from bifrost.gateway.brokers.broker_client import BrokerClient
from bifrost.gateway.brokers.cluster import Broker, Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.state.state_client import StateClient, open_state
from bifrost.gateway.state.state_writer import OutcomeUnknown as WriteOutcomeUnknown
from bifrost.records.batch_reader import UnreadableBatch
from bifrost.state.state_change import Author, Change, Dependents, Unchanged
from bifrost.state.state_record import TooLarge, UnreadableState
from bifrost.state.state_table import StateTable
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DeleteTopicsRequest, MetadataRequest

MAX_TOPICS_OF_ONE_REQUEST = 500
"""Topics that one request deletes: a controller answers it in a moment."""

_METADATA, _DELETE_TOPICS = 8, 5
"""Newest versions used here: Metadata without operations, DeleteTopics by name with texts."""
_FORBIDS_CREATION = 4
_GONE = (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


class ClusterBackend:
    """The clusters of a configuration, and the state on one of them."""

    def __init__(
        self,
        config: Config,
        clusters: dict[str, Cluster],
        client: StateClient,
        journal: ControlJournal | None = None,
    ) -> None:
        """Use clusters whose brokers are known, and a state that is read.

        Args:
            config: the configuration.
            clusters: by the name of their upstream.
            client: the state's table, reader and writer.
            journal: where changes are written down; None: nowhere.
        """
        self._client, self._clusters, self._journal = client, clusters, journal
        self._timeout_ms = config.proxy.limits.upstream_connect_timeout_ms
        self._cluster_of = {one.name: clusters[config.cluster_of(one).name] for one in config.tenants}
        self._writer = f"control/{socket.gethostname()}/{os.getpid()}"

    @property
    def table(self) -> StateTable:
        """The state."""
        return self._client.table

    @property
    def is_current(self) -> bool:
        """Whether the state was read to its end, and can be read on."""
        return self._client.reader.is_current

    @property
    def problem(self) -> str:
        """Why the state is not read at the moment; empty: it is."""
        return self._client.reader.problem

    @property
    def lag(self) -> int:
        """Offsets between what was read of the state and its end."""
        return self._client.reader.lag

    async def change(
        self,
        changes: Sequence[Change],
        on_behalf_of: str,
        unchanged: Sequence[Unchanged] = (),
        dependents: Dependents | None = None,
    ) -> str:
        """Change keys together; see `bifrost.control.backend.Backend`."""
        tried: list[Changed] = [(one, self.table.get(one.key)) for one in changes]

        def and_dependents(table: StateTable) -> list[Change]:
            more = [] if dependents is None else list(dependents(table))
            tried[:] = [(one, table.get(one.key)) for one in (*changes, *more)]
            return more

        outcome, why = "success", None
        try:
            author = Author(self._writer, on_behalf_of)
            return await self._client.writer.change(changes, author, unchanged, and_dependents)
        except WriteOutcomeUnknown as error:
            outcome, why = "unknown", str(error)
            raise OutcomeUnknown(str(error)) from error
        except (BrokerError, UnreadableState, UnreadableBatch, OSError) as error:
            outcome, why = "failure", str(error)
            raise Unavailable(str(error)) from error
        except TooLarge as error:
            outcome, why = "failure", str(error)
            raise
        except asyncio.CancelledError:
            outcome, why = "unknown", "the request ended before its change did"
            raise
        except Exception:  # It is decided anew, or refused: nothing was to be written.
            tried.clear()
            raise
        finally:
            if self._journal is not None:
                self._journal.note(tried, on_behalf_of, outcome, why)

    async def topics_of(self, tenant: str) -> list[str]:
        """Return the physical names of all topics of a tenant's cluster."""
        async with self._asking(tenant) as (broker, client):
            version = broker.newest(ApiKey.METADATA, _METADATA)
            request = MetadataRequest(topics=None, allow_auto_topic_creation=version < _FORBIDS_CREATION)
            answer = await client.request(request, version)
            return [one.name for one in answer.topics if one.name]

    async def delete_topics(self, tenant: str, names: Sequence[str]) -> dict[str, str]:
        """Delete topics of a tenant's cluster; return Kafka's error of each that still exists."""
        errors: dict[str, str] = {}
        async with self._asking(tenant) as (broker, client):
            version = broker.newest(ApiKey.DELETE_TOPICS, _DELETE_TOPICS)
            for begin in range(0, len(names), MAX_TOPICS_OF_ONE_REQUEST):
                some = list(names[begin : begin + MAX_TOPICS_OF_ONE_REQUEST])
                request = DeleteTopicsRequest(topic_names=some, timeout_ms=self._timeout_ms)
                answer = await client.request(request, version)
                errors |= {
                    one.name: ErrorCode(one.error_code).name
                    for one in answer.responses
                    if one.error_code not in _GONE
                }
        return errors

    async def create_topic(
        self, tenant: str, name: str, wanted: TopicState, *, validate_only: bool
    ) -> TopicState | str:
        """Create a topic on a tenant's cluster; return its size, or Kafka's error."""
        async with self._asking(tenant) as (broker, client):
            timeout_ms = self._timeout_ms
            return await create_topic(
                broker, client, name, wanted, timeout_ms=timeout_ms, validate_only=validate_only
            )

    async def describe_topics(self, tenant: str, names: Sequence[str]) -> dict[str, TopicState]:
        """Return the topics of these physical names that exist on a tenant's cluster."""
        async with self._asking(tenant) as (broker, client):
            return await describe_topics(broker, client, names)

    async def alter_topic_configs(
        self, tenant: str, changes: Mapping[str, Mapping[str, str | None]]
    ) -> dict[str, str]:
        """Change configs of topics of a tenant's cluster; return Kafka's error of each whose configs stay."""
        async with self._asking(tenant) as (broker, client):
            return await alter_topic_configs(broker, client, changes)

    async def list_groups(self, tenant: str) -> list[ListedGroup]:
        """Return all groups of consumers of a tenant's cluster."""
        async with self._groups(tenant) as groups:
            return await groups.listed()

    async def describe_group(self, tenant: str, group_id: str) -> GroupState | None:
        """Return a group of a tenant's cluster; None: it does not exist."""
        async with self._groups(tenant) as groups:
            return await groups.describe(group_id)

    async def delete_group(self, tenant: str, group_id: str) -> str | None:
        """Delete a group of a tenant's cluster; return Kafka's error, None for none."""
        async with self._groups(tenant) as groups:
            return await groups.delete(group_id)

    async def commit_offsets(
        self, tenant: str, group_id: str, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, str]:
        """Commit offsets of a group of a tenant's cluster; return Kafka's error of each that stays as it was."""
        async with self._groups(tenant) as groups:
            return await groups.commit(group_id, offsets)

    async def partitions_of(self, tenant: str, topics: Sequence[str]) -> list[TopicPartition]:
        """Return the partitions of topics of a tenant's cluster."""
        async with self._groups(tenant) as groups:
            return await groups.partitions(topics)

    async def offsets_at(
        self, tenant: str, partitions: Sequence[TopicPartition], timestamp: int
    ) -> dict[TopicPartition, int]:
        """Return the offsets of partitions of a tenant's cluster at a timestamp."""
        async with self._groups(tenant) as groups:
            return await groups.positions(partitions, timestamp)

    @contextlib.asynccontextmanager
    async def _groups(self, tenant: str) -> AsyncIterator[ClusterGroups]:
        """Have connections to those brokers of a tenant's cluster that are asked."""
        cluster = self._cluster_of[tenant]
        try:
            await cluster.refresh()
            async with ClusterGroups(cluster, self._timeout_ms) as groups:
                yield groups
        except (BrokerError, OSError) as error:
            raise Unavailable(f"upstream {cluster.name}: {error}") from error

    @contextlib.asynccontextmanager
    async def _asking(self, tenant: str) -> AsyncIterator[tuple[Broker, BrokerClient]]:
        """Have a connection to a broker of a tenant's cluster, which passes requests on to the controller."""
        cluster = self._cluster_of[tenant]
        try:
            await cluster.refresh()
            broker = cluster.any_broker()
            if broker is None:
                raise BrokerError("no broker is known")
            client = BrokerClient(
                broker.host, broker.port, timeout_ms=self._timeout_ms, security=cluster.security
            )
            try:
                yield broker, client
            finally:
                await client.close()
        except (BrokerError, OSError) as error:
            raise Unavailable(f"upstream {cluster.name}: {error}") from error


@contextlib.asynccontextmanager
async def open_backend(config: Config) -> AsyncIterator[ClusterBackend]:
    """Find the clusters of a configuration with a state, and read the state until the end of the context.

    Raises:
        BrokerError: the cluster that has the state does not answer.
        StartError: a cluster's security cannot be set up.
    """
    settings, limits = config.proxy.state, config.proxy.limits
    assert settings is not None
    async with AsyncExitStack() as stack:
        clusters = {}
        for upstream in config.clusters:
            cluster = Cluster(
                upstream, config.tenants_of(upstream), limits, lambda: time.monotonic_ns() // 1_000_000
            )
            stack.push_async_callback(cluster.close)
            clusters[upstream.name] = cluster
        cluster = clusters[settings.upstream or config.clusters[0].name]
        await cluster.refresh()
        client = await stack.enter_async_context(
            open_state(cluster, settings, limits.upstream_connect_timeout_ms, creates=True)
        )
        refreshing = asyncio.create_task(_refresh(cluster, limits.metadata_refresh_ms / 1000))
        stack.callback(refreshing.cancel)
        journal = None
        if config.proxy.journal is not None:
            where = clusters[config.proxy.journal.upstream or config.clusters[0].name]
            journal = ControlJournal(config.proxy.journal, where, limits.upstream_connect_timeout_ms)
            journal.begin()
            stack.push_async_callback(journal.close)
        yield ClusterBackend(config, clusters, client, journal)


async def _refresh(cluster: Cluster, every_s: float) -> None:
    """Ask again and again which brokers the cluster of the state has; what is known stays when none answers."""
    while True:
        await asyncio.sleep(every_s)
        with contextlib.suppress(BrokerError, OSError):
            await cluster.refresh()
