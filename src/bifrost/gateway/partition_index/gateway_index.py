"""The index of a running gateway process: one for each physical cluster whose tenants have virtual partitions."""

import asyncio
import contextlib
from typing import TYPE_CHECKING

from bifrost.gateway.partition_index.context import IndexContext

if TYPE_CHECKING:
    from bifrost.gateway.partition_index.cluster_index import ClusterIndex

START_S = 5.0
"""How long a gateway that starts waits at most until the topics were read: 16 MiB and the entries take a second."""
LOOK_S = 1.0
"""Time between two looks at which clusters need it: a reload may bring the first rule."""


class GatewayIndex:
    """The indexes of one process, begun as tenants get virtual partitions."""

    def __init__(self, gateway: IndexContext) -> None:
        """Have none yet."""
        self._gateway = gateway
        self._indexes: dict[str, ClusterIndex] = {}

    async def run(self) -> None:
        """Begin and end the indexes of the clusters, for ever; nothing is done if there is to be no index."""
        settings = self._gateway.config.proxy.partition_index
        while settings.enabled:
            await self._follow()
            await asyncio.sleep(LOOK_S)

    async def begin(self) -> None:
        """Begin the indexes of the clusters before clients come, and wait a little until they were read."""
        if not self._gateway.config.proxy.partition_index.enabled:
            return
        await self._follow()
        with contextlib.suppress(TimeoutError):  # What is read later counts from then on.
            async with asyncio.timeout(START_S):
                for one in tuple(self._indexes.values()):
                    await one.was_read.wait()

    async def end(self) -> None:
        """Write what the topics have not, and end."""
        indexes, self._indexes = self._indexes, {}
        await asyncio.gather(*(one.end() for one in indexes.values()))

    async def _follow(self) -> None:
        gateway = self._gateway
        needed = {
            gateway.cluster_of.get(one.name) for one in gateway.config.tenants if one.virtual_partitions
        }
        for cluster in gateway.clusters:
            known = self._indexes.get(cluster.name)
            if known is not None and (cluster.name not in needed or known.cluster is not cluster):
                del self._indexes[cluster.name]
                await known.end()
            # One that no broker of answers yet has to be discovered first.
            if cluster.name in needed and cluster.name not in self._indexes and cluster.node_ids:
                self._begin(cluster.name)
        for name in self._indexes.keys() - {one.name for one in gateway.clusters}:
            await self._indexes.pop(name).end()

    def _begin(self, name: str) -> None:
        # Memory, only if there are virtual partitions.
        from bifrost.gateway.partition_index.cluster_index import ClusterIndex

        gateway = self._gateway
        table = gateway.shared.virtual_clusters.models.index_of(name)
        settings = gateway.config.proxy.partition_index
        assert table is not None, "there is an index"
        index = ClusterIndex(gateway, gateway.clusters[name], settings, table, gateway.now_ms)
        self._indexes[name] = index
        index.begin()
