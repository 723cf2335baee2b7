"""Looks at the offset groups of all tenants with virtual partitions, again and again.

every ten minutes:  retention ──▶ all groups of each broker ──▶ tenant by tenant: offsets ──▶ touch, or delete
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

import structlog

from bifrost.gateway.brokers.broker_login import Login
from bifrost.gateway.brokers.cluster import Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.loop.loop_guard import report
from bifrost.gateway.loop.steps import Breaks
from bifrost.gateway.upkeep.context import UpkeepContext
from bifrost.gateway.upkeep.coordinator import Coordinator
from bifrost.tenancy.ownership import NameOwners
from bifrost.tenancy.virtual_partitions.kept_offsets import (
    DEFAULT_RETENTION_S,
    LONGEST_LOOK_S,
    SHORTEST_LOOK_S,
    TOUCHED,
    judge_offsets,
    look_every_s,
)
from bifrost.tenancy.virtual_partitions.offset_groups import consumer_group_of

log = structlog.get_logger()

MAX_GROUPS = 20_000
"""Most offset groups of a tenant that are looked after: what is known of each takes some 200 bytes. The limit is in the
metrics as `virtual_offset_groups`."""
LIMIT = "virtual_offset_groups"

TURN_S = 60.0
"""How long one tenant's groups are looked after before it is the next tenant's turn: twenty touches, if each waits for
the brokers' default of three seconds."""

MAX_DELETED = 1_000
"""Most offsets of a group that are deleted at once, some of a millisecond's work; those that are left are due again."""

PAUSE_S = 0.01
"""Between two groups: at most a hundred a second cost a broker some hundredths of a core."""

RETRY_S = 10.0
"""Longest pause after a look that a broker did not answer, or for which there was not time enough."""

UNKNOWN_S = 1.0
"""Pause while no broker tells how long it keeps offsets, as when the gateway has just started."""

PLACE = "offset_upkeep"
"""The place of errors of the gateway's own."""

KEPT, EXPIRED, FAILED = "kept_groups", "expired_offsets", "upkeep_failures"
"""What is counted; in `NUMBERS` of partition_rules.py."""


class OffsetGroup(NamedTuple):
    """One offset group, as it was listed."""

    group_id: str
    """The physical ID."""
    consumer_group: str
    """Likewise, of the consumer group whose offsets it has."""
    node_id: int
    """The coordinator of both."""
    is_touched: bool
    has_consumer_group: bool


class _Seen(NamedTuple):
    """What is known of an offset group."""

    look_again_s: float
    has_consumer_group: bool


class OffsetUpkeep:
    """What one process knows and does."""

    def __init__(self, gateway: UpkeepContext, wall_s: Callable[[], float] = time.time) -> None:
        """Know no group yet.

        Args:
            gateway: whose tenants' groups are looked after.
            wall_s: the time since 1970, in seconds.
        """
        self._gateway, self._wall_s = gateway, wall_s
        self._seen: dict[str, dict[str, _Seen]] = {}
        self._problems: dict[str, str] = {}

    async def run(self) -> None:
        """Look after the offset groups, for ever."""
        while True:
            pauses_s, divided = [float(LONGEST_LOOK_S)], self._tenants()
            self._seen = {tenant: seen for tenant, seen in self._seen.items() if tenant in divided}
            for cluster in self._gateway.clusters:
                tenants = [one for one in divided if self._gateway.cluster_of.get(one) == cluster.name]
                if not tenants:
                    continue
                try:
                    pauses_s.append(await self._look(cluster, tenants))
                except Exception as error:  # The tenants of other clusters do not wait for it to be mended.
                    report(PLACE, error, upstream=cluster.name)
                    pauses_s.append(RETRY_S)
            await asyncio.sleep(min(pauses_s))

    @property
    def _counts(self) -> Counter[tuple[str, str]]:
        return self._gateway.shared.virtual_clusters.models.partition_counts

    def _tenants(self) -> list[str]:
        """Return the tenants that have virtual partitions."""
        return [one.name for one in self._gateway.config.tenants if one.virtual_partitions]

    async def _look(self, cluster: Cluster, tenants: list[str]) -> float:
        """Look after the groups of some tenants; return how long the pause is, in seconds."""
        retention_s = await self._retention_s(cluster)
        if retention_s is None:
            return UNKNOWN_S
        by_login: dict[Login | None, list[str]] = {}
        for tenant in tenants:
            login = None if cluster.security is None else cluster.security.login_of(tenant, "")
            by_login.setdefault(login, []).append(tenant)
        is_whole = True
        for login, some in by_login.items():
            of_broker = _Coordinators(cluster, login)
            try:
                is_whole &= await self._look_as(of_broker, some, retention_s)
            finally:
                await of_broker.close()
        pause_s = look_every_s(retention_s)
        return pause_s if is_whole else max(SHORTEST_LOOK_S, min(pause_s, RETRY_S))

    async def _look_as(self, coordinators: "_Coordinators", tenants: list[str], retention_s: int) -> bool:
        """Look after the groups of the tenants of one account; return whether there was nothing left to do."""
        owners, is_done = _owners(self._gateway, tenants), True
        found: dict[str, list[OffsetGroup]] = {tenant: [] for tenant in tenants}
        silent = set()
        for node_id in coordinators.node_ids():
            try:
                groups = await coordinators.of(node_id).groups()
            except BrokerError as error:
                self._note_problem(f"broker {node_id}", str(error))
                silent.add(node_id)
                continue
            self._note_problem(f"broker {node_id}", "")
            await _sort(groups, node_id, owners, found)
        for tenant, of_tenant in found.items():
            if len(of_tenant) > MAX_GROUPS:
                self._gateway.limits_hit[LIMIT, tenant] += 1
                del of_tenant[MAX_GROUPS:]
            known = self._seen.get(tenant, {})
            if not silent:
                known = {one.group_id: known[one.group_id] for one in of_tenant if one.group_id in known}
            self._seen[tenant] = known
            is_done &= await self._tend(coordinators, tenant, of_tenant, retention_s)
        return is_done and not silent

    async def _tend(
        self, coordinators: "_Coordinators", tenant: str, groups: list[OffsetGroup], retention_s: int
    ) -> bool:
        """Look after the groups of one tenant that are due; return whether there was time for all of them."""
        loop, seen, problem = asyncio.get_running_loop(), self._seen[tenant], ""
        until_s, breaks, is_done = loop.time() + TURN_S, Breaks(), True
        for group in groups:
            await breaks.take()
            known = seen.get(group.group_id)
            if (
                known is not None
                and self._wall_s() < known.look_again_s
                and known.has_consumer_group == group.has_consumer_group
            ):
                continue
            if loop.time() >= until_s:
                is_done = False
                break
            try:
                look_again_s = await self._tend_group(coordinators, tenant, group, retention_s)
            except Exception as error:  # It is due again with the next look.
                if not isinstance(error, BrokerError):
                    report(PLACE, error, tenant=tenant)
                self._counts[tenant, FAILED] += 1
                problem = str(error) or type(error).__name__
            else:
                seen[group.group_id] = _Seen(look_again_s, group.has_consumer_group)
            await asyncio.sleep(PAUSE_S)
        self._note_problem(f"tenant {tenant}", problem)
        return is_done

    async def _tend_group(
        self, coordinators: "_Coordinators", tenant: str, group: OffsetGroup, retention_s: int
    ) -> float:
        """Do for a group what is to be done; return when it is to be looked at again.

        Raises:
            BrokerError: its coordinator does not answer, or refuses.
        """
        coordinator = coordinators.of(group.node_id)
        judged = await asyncio.to_thread(
            judge_offsets,
            await coordinator.offsets(group.group_id),
            has_consumer_group=group.has_consumer_group,
            is_touched=group.is_touched,
            now_s=self._wall_s(),
            retention_s=retention_s,
        )
        if judged.expired and await coordinator.is_gone(group.consumer_group):
            self._counts[tenant, EXPIRED] += await coordinator.delete(
                group.group_id, judged.expired[:MAX_DELETED]
            )
        if judged.is_to_touch:
            await coordinator.touch(group.group_id)
            self._counts[tenant, KEPT] += 1
        return judged.look_again_s

    async def _retention_s(self, cluster: Cluster) -> int | None:
        """Return how long the brokers of a cluster keep offsets, Kafka's default if they do not say.

        None: no broker is known yet, or the one that was asked does not answer.
        """
        broker, own = cluster.any_broker(), None if cluster.security is None else cluster.security.own
        if broker is None:
            return None
        coordinator = Coordinator(cluster, broker, own)
        try:
            found = await coordinator.retention_s()
        except BrokerError as error:
            self._note_problem(f"retention {cluster.name}", str(error))
            return None
        finally:
            await coordinator.close()
        unknown = "offsets.retention.minutes is not told: the gateway's account lacks DescribeConfigs on the cluster"
        self._note_problem(f"retention {cluster.name}", "" if found else unknown)
        return found or DEFAULT_RETENTION_S

    def _note_problem(self, place: str, problem: str) -> None:
        """Log a failure when it is a new one."""
        if problem and problem != self._problems.get(place):
            log.warning("offset_upkeep_failed", step=place, error=problem)
        if problem:
            self._problems[place] = problem
        else:
            self._problems.pop(place, None)


class _Coordinators:
    """The connections of one look, with one account."""

    def __init__(self, cluster: Cluster, login: Login | None) -> None:
        self._cluster, self._login = cluster, login
        self._open: dict[int, Coordinator] = {}

    def node_ids(self) -> list[int]:
        return sorted(self._cluster.node_ids)

    def of(self, node_id: int) -> Coordinator:
        """Return the connection to a broker.

        Raises:
            BrokerError: it is not known any more.
        """
        if node_id not in self._open:
            broker = self._cluster.broker(node_id)
            if broker is None:
                raise BrokerError(f"broker {node_id} is gone")
            self._open[node_id] = Coordinator(self._cluster, broker, self._login)
        return self._open[node_id]

    async def close(self) -> None:
        for one in self._open.values():
            await one.close()


def _owners(gateway: UpkeepContext, tenants: Iterable[str]) -> NameOwners[str]:
    """Return which of some tenants owns a group."""
    owners = NameOwners[str]()
    for tenant in tenants:
        cluster = gateway.shared.virtual_clusters.of_tenant(tenant)
        if cluster is not None:
            owners.add(cluster.namespace.names.groups, tenant)
    return owners


async def _sort(
    groups: dict[str, str], node_id: int, owners: NameOwners[str], found: dict[str, list[OffsetGroup]]
) -> None:
    """Add the offset groups among the groups of a broker to those of their tenants."""
    breaks = Breaks()
    for group_id, protocol_type in groups.items():
        await breaks.take()
        consumer_group = consumer_group_of(group_id)
        tenant = None if consumer_group is None else owners.owner_of(group_id.encode())
        if tenant is not None and consumer_group is not None:
            found[tenant].append(
                OffsetGroup(
                    group_id, consumer_group, node_id, protocol_type == TOUCHED, consumer_group in groups
                )
            )
