"""Which broker leads each partition and coordinates each group, as far as clients behind a single address ask for it.

    LeaderTable       topics by name, and by ID: Metadata says
    coordinators      groups and transactional IDs: FindCoordinator says

What a broker denies to lead or to coordinate is forgotten, and asked for again. One look-up is under way at a time.
Tenants take turns (forwarding/look_up_turns.py), and a turn serves all connections of the tenant that wait: clients can
name any number of topics and groups, and those of another tenant wait for one request to a broker because of it.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from bifrost.filters.api_versions import OfferedVersions
from bifrost.gateway.brokers.broker_client import BrokerClient
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.loop.look_up_line import LookUpLine
from bifrost.routes import fetch_session
from bifrost.routes.keyed_parts import GROUP, TRANSACTION, Key
from bifrost.routes.leaders import LeaderTable
from bifrost.routes.session_memory import SessionMemory
from bifrost.routes.shapes import Shapes
from bifrost.routes.shares import share_session
from bifrost.routes.shares.share_session import Key as Partition
from bifrost.routes.split import Split
from bifrost.routes.split_request import SplitRequest
from bifrost.routes.straight import StraightRequest, StraightRoutes
from bifrost.routes.straight_ways import straight_way
from bifrost.tenancy.bounded_map import BoundedMap
from bifrost.tenancy.brokers import NO_NODE
from bifrost.tenancy.virtual_partitions.offset_groups import consumer_group_of
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import FindCoordinatorRequest, MetadataRequest
from bifrost.wire.steps import in_steps

MAX_PARTITIONS = 1_000_000
"""Bound of each leader table: 4 bytes for each partition, as many as a large cluster has (KIP-866 speaks of 2 million
with all replicas). Topics beyond are asked for again."""

MAX_COORDINATORS = 65_536
"""Bound of the groups and transactional IDs: some 10 MiB."""

LONGEST_NAME = 1_024
"""Longest group or transactional ID whose coordinator is remembered, in characters: a name may have 32 KiB."""

AT_ONCE = 500
"""Topics, or groups, in one look-up: what a broker answers in some milliseconds."""

NAMES_OF_A_REQUEST = 20.0
"""So many names of a look-up cost a broker what a small request does."""

MAX_LOOKED_UP = 1_000
"""Most names that are looked up for one request. What is not known then has a retriable error: clients ask for the
metadata of what they use, from which the leaders are learnt, before they name so many."""

KNOWN_AT_ONCE = 5_000
"""Names that wait, and are known by now, that are passed over in one turn."""

LEADERLESS_MS = 1_000
"""How long it is believed that a partition of a share session has no leader (split.pyx has the same for requests)."""

MAX_WAIT_S = 10.0
"""How long a request waits for its look-up; then it has a retriable error."""

_SEEN = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    }
)
"""What Metadata says of topics that exist, or do not. Others, such as TOPIC_AUTHORIZATION_FAILED, say neither, and a
broker decides about a request by the tenant's own rights."""

_BATCHES, _SINGLE, _BY_TYPE = 4, 3, 1
"""FindCoordinator: the first version with several keys, the last with one, the first that knows transactions."""
_BY_ID = 12
"""Metadata: the first version in which a topic may be named by its ID alone (KIP-516)."""

Connect = Callable[[], Awaitable[tuple[BrokerClient, OfferedVersions, int]]]
_Wanted = tuple[bool, bytes] | Key


@dataclass(eq=False, slots=True)
class _Waiter:
    """A request that waits for look-ups."""

    wanted: list[_Wanted]
    """What was not asked for yet."""
    came_ms: int
    done: asyncio.Future[None]


class ClusterRoutes:
    """The routes at one physical cluster."""

    def __init__(self, connect: Connect, now_ms: Callable[[], int], workers: int = 1) -> None:
        """Know nothing yet.

        Args:
            connect: connects to a broker; also returns what it offers, and the Metadata version to use.
            now_ms: a monotonic clock, in milliseconds.
            workers: processes that look up at this cluster.
        """
        self._connect, self._now_ms = connect, now_ms
        self._by_name, self._by_id = LeaderTable(MAX_PARTITIONS), LeaderTable(MAX_PARTITIONS)
        self._straight = StraightRoutes(self._by_name, self._by_id, straight_way)
        self._coordinators: BoundedMap[Key, int] = BoundedMap(MAX_COORDINATORS)
        self.fetch_memory = SessionMemory(fetch_session.MAX_BYTES, fetch_session.MAX_BYTES_OF_ONE)
        self.share_memory = SessionMemory(share_session.MAX_BYTES, share_session.MAX_BYTES_OF_ONE)
        self._broker: tuple[BrokerClient, OfferedVersions, int] | None = None
        self._line = LookUpLine("routes", self._have_turn, self._fail, now_ms, workers)
        self._waiting: dict[str, deque[_Waiter]] = {}
        """By tenant."""
        self._served: list[_Waiter] = []
        """Those whose last look-up is under way."""

    # -- what is known

    def straight(self, segments: list[bytes | memoryview]) -> StraightRequest | SplitRequest | None:
        """Return the request of a frame if the leaders of all that it names are known; None: it is another one."""
        return self._straight.read(segments, self._now_ms())

    @property
    def read_straight(
        self,
    ) -> Callable[[list[bytes | memoryview], int], StraightRequest | SplitRequest | None]:
        """The same with the time, in milliseconds of the engine's monotonic clock, as compiled code calls it."""
        return self._straight.read

    def unknown(self, split: Split, shapes: Shapes, elsewhere: int = -1) -> list[bytes]:
        """Decide where the partitions of a request go; return the topics that have to be looked up first.

        They are MAX_LOOKED_UP at most.
        """
        table = self._by_id if shapes.is_by_id else self._by_name
        return split.lead(table, elsewhere, self._now_ms(), MAX_LOOKED_UP, shapes.is_by_id)

    def unknown_leaders(self, partitions: Iterable[Partition]) -> list[bytes]:
        """Return the IDs of the topics that have to be looked up, so that the leaders of these partitions are known."""
        asked_again_ms = self._now_ms() - LEADERLESS_MS
        unknown: dict[bytes, None] = {}
        for topic_id, index in partitions:
            leaders = self._by_id.find(topic_id)
            if leaders is None or (leaders[index] == NO_NODE and leaders.known_ms < asked_again_ms):
                unknown[topic_id] = None
        return list(unknown)

    def absence(self, partition: Partition) -> ErrorCode:
        """Return the error of a partition that the metadata does not have, or whose topic was not looked up; else NONE.

        As `Split.lead` has it: a broker would take 20 to 40 us of CPU time for each.
        """
        leaders = self._by_id.find(partition[0])
        if leaders is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if leaders.is_hidden or 0 <= partition[1] < leaders.count:
            return ErrorCode.NONE
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if leaders.count else ErrorCode.UNKNOWN_TOPIC_ID

    def leader_by_id(self, partition: Partition) -> int:
        """Return the leader of a partition; -1: there is none, or none is known."""
        leaders = self._by_id.find(partition[0])
        return NO_NODE if leaders is None else leaders[partition[1]]

    def coordinator(self, key: Key) -> int | None:
        """Return the coordinator of a group or transactional ID; None: it is not known."""
        return self._coordinators.get(_remembered(key))

    def forget_leaders(self, topics: Iterable[bytes], *, by_id: bool) -> None:
        """Forget the leaders of topics."""
        (self._by_id if by_id else self._by_name).forget(topics)

    def forget_coordinators(self, keys: Iterable[Key]) -> None:
        """Forget the coordinators of groups and transactional IDs."""
        for key in keys:
            self._coordinators.discard(_remembered(key))

    def forget_node(self, node_id: int) -> None:
        """Forget all that a broker leads and coordinates: it is away."""
        self._by_name.forget_node(node_id)
        self._by_id.forget_node(node_id)
        for key in [key for key, node in self._coordinators.items() if node == node_id]:
            self._coordinators.discard(key)

    def learn(self, metadata: Any) -> None:
        """Take the leaders from an answer to Metadata, also to one of a client: it asks when leaders have moved."""
        now_ms = self._now_ms()
        for found in in_steps(metadata.topics):
            nodes = [-1] * max((one.partition_index + 1 for one in in_steps(found.partitions)), default=0)
            for one in in_steps(found.partitions):
                nodes[one.partition_index] = one.leader_id
            if found.name:
                self._keep(self._by_name, found.name.encode(), nodes, now_ms, found.error_code)
            if any(found.topic_id):
                self._keep(self._by_id, found.topic_id, nodes, now_ms, found.error_code)

    def _keep(self, table: LeaderTable, key: bytes, nodes: list[int], now_ms: int, error_code: int) -> None:
        if error_code in _SEEN:
            table.put(key, nodes, now_ms)
        elif not table.find(key):
            table.put(key, (), now_ms, is_hidden=True)

    def learn_coordinators(self, request: Any, response: Any) -> None:
        """Take the coordinators from an answer to a client's FindCoordinator."""
        kind = request.key_type
        if kind not in (GROUP, TRANSACTION):
            return  # Share partitions (KIP-932): clients send nothing to these coordinators.
        for one in in_steps(response.coordinators):
            self._learn((kind, one.key), one)
        if request.key:
            self._learn((kind, request.key), response)  # up to v3

    # -- look-ups

    async def look_up_leaders(self, topics: Iterable[bytes], tenant: str, *, by_id: bool) -> bool:
        """Learn the leaders of topics; return whether the tenant had to wait until its budget had filled up.

        Raises:
            BrokerError: no broker answered in time, or the tenant's turn did not come.
        """
        return await self._look_up([(by_id, topic) for topic in topics], tenant)

    async def look_up_coordinators(self, keys: Iterable[Key], tenant: str) -> bool:
        """Learn the coordinators of groups and transactional IDs likewise; those that have none now stay unknown.

        Raises:
            BrokerError: as `look_up_leaders`.
        """
        return await self._look_up(list(keys), tenant)

    async def leader_of(self, topic: bytes, partition: int, tenant: str) -> int:
        """Return the leader of a partition, by the topic's name; -1: there is none, or none is known.

        Raises:
            BrokerError: as `look_up_leaders`.
        """
        if self._by_name.find(topic) is None:
            await self.look_up_leaders([topic], tenant, by_id=False)
        leaders = self._by_name.find(topic)
        return -1 if leaders is None else leaders[partition]

    async def _look_up(self, wanted: list[_Wanted], tenant: str) -> bool:
        if not wanted:
            return False
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiter = _Waiter(wanted[:MAX_LOOKED_UP], self._now_ms(), done)
        self._waiting.setdefault(tenant, deque()).append(waiter)
        has_turn = self._line.enter(tenant)
        try:
            async with asyncio.timeout(MAX_WAIT_S):
                await done
        except TimeoutError:
            raise BrokerError(f"no broker was asked about leaders within {MAX_WAIT_S:.0f} s") from None
        return not has_turn

    def _fail(self, error: BrokerError) -> None:
        """Fail the look-ups of all requests that wait."""
        waiters = self._served + [one for waiting in self._waiting.values() for one in waiting]
        self._served = []
        self._waiting.clear()
        for one in waiters:
            if not one.done.done():
                one.done.set_exception(error)

    async def _have_turn(self, tenant: str) -> None:
        """Ask a broker once for what requests of a tenant wait for."""
        waiting = self._waiting[tenant]
        wanted = self._next_of(waiting)
        if wanted:
            self._line.charge(tenant, 1.0 + len(wanted) / NAMES_OF_A_REQUEST)
            await self._ask_all(wanted)
        for one in self._served:
            if not one.done.done():
                one.done.set_result(None)
        self._served = []
        if waiting:
            self._line.enter(tenant)
        else:
            del self._waiting[tenant]

    def _next_of(self, waiting: deque[_Waiter]) -> dict[_Wanted, None]:
        """Return what is asked for next; requests that need no more after it are served by it."""
        wanted: dict[_Wanted, None] = {}
        left = KNOWN_AT_ONCE
        while waiting and left and len(wanted) < AT_ONCE:
            first = waiting[0]
            while first.wanted and left and len(wanted) < AT_ONCE and not first.done.done():
                left -= 1
                one = first.wanted.pop()
                if not self._was_learnt(one, first.came_ms):
                    wanted[one] = None
            if first.wanted and not first.done.done():
                break
            self._served.append(waiting.popleft())
        return wanted

    def _was_learnt(self, wanted: _Wanted, since_ms: int) -> bool:
        """Whether a look-up for another request has brought it."""
        kind, name = wanted
        if isinstance(name, str):
            return self.coordinator((int(kind), name)) is not None
        found = (self._by_id if kind else self._by_name).find(name)
        return found is not None and found.known_ms > since_ms

    async def _ask_all(self, wanted: Iterable[_Wanted]) -> None:
        by_kind: dict[tuple[type, int], list[Any]] = {}
        for kind, name in wanted:
            by_kind.setdefault((type(name), int(kind)), []).append(name)
        for (of, kind), names in by_kind.items():
            for at in range(0, len(names), AT_ONCE):
                some = names[at : at + AT_ONCE]
                await (self._ask_topics(some, kind) if of is bytes else self._ask_keys(some, kind))

    async def _ask_topics(self, topics: list[bytes], by_id: int) -> None:
        topic = MetadataRequest.MetadataRequestTopic
        listed = [
            topic(topic_id=one, name=None) if by_id else topic(name=one.decode("utf-8", "replace"))
            for one in topics
        ]
        _, _, version = await self._connected()
        table = self._by_id if by_id else self._by_name
        if by_id and version < _BY_ID:
            for one in topics:
                table.put(one, (), self._now_ms())
            return
        response = await self._request(
            MetadataRequest(topics=listed, allow_auto_topic_creation=False), version
        )
        self.learn(response)
        for one in topics:
            if table.find(one) is None:
                table.put(one, (), self._now_ms())

    async def _ask_keys(self, names: list[str], kind: int) -> None:
        _, offered, _ = await self._connected()
        newest = max(
            (
                one.max_version
                for one in offered.broker_response.api_keys
                if one.api_key == ApiKey.FIND_COORDINATOR
            ),
            default=_BY_TYPE,
        )
        if newest >= _BATCHES:
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=names)
            response = await self._request(request, _BATCHES)
            for one in response.coordinators:
                self._learn((kind, one.key), one)
            return
        for name in names:
            version = min(newest, _SINGLE)
            self._learn(
                (kind, name), await self._request(FindCoordinatorRequest(key=name, key_type=kind), version)
            )

    def _learn(self, key: Key, found: Any) -> None:
        is_known = found.error_code == ErrorCode.NONE and found.node_id >= 0
        if is_known and len(key[1]) <= LONGEST_NAME:
            self._coordinators.put(_remembered(key), found.node_id)

    async def _connected(self) -> tuple[BrokerClient, OfferedVersions, int]:
        if self._broker is None:
            self._broker = await self._connect()
        return self._broker

    async def _request(self, message: Any, version: int) -> Any:
        client, _, _ = await self._connected()
        try:
            return await client.request(message, version)
        except BrokerError:
            await self.close()  # It may only have been idle for too long; a new one is tried at once.
        client, _, _ = await self._connected()
        try:
            return await client.request(message, version)
        except BrokerError:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the connection; the next look-up makes a new one."""
        broker, self._broker = self._broker, None
        if broker is not None:
            await broker[0].close()


def _remembered(key: Key) -> Key:
    """Return the key under which a coordinator is known: up to 511 offset groups have that of their consumer group."""
    group = consumer_group_of(key[1]) if key[0] == GROUP else None
    return key if group is None else (GROUP, group)
