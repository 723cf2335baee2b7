"""Look-ups of topics: which of the unknown IDs that clients named are topics of their tenant, and how many it has.

A client can invent any number of IDs, so a broker's work must depend on the tenant's topics, not on the named IDs:

    a few IDs     Metadata by ID, of FEW_IDS at most
    more          a list of the tenant's own topics (session/topics/own_topics.py)
    more, and the tenant's topics were listed a moment ago        no request
    a request that creates topics          a list with their partitions (session/topics/counted_topics.py)

Connections wait in line; one look-up serves all waiting connections of a tenant. Tenants take turns
(forwarding/look_up_turns.py), one request each, over one connection to one broker; so a tenant that never stops asking
delays another by one request only. A connection that waits too long, or while no broker answers, gets an error.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import structlog

from bifrost.filters.api_versions import OfferedVersions
from bifrost.filters.topics.automatic_creation import CAN_FORBID_CREATION
from bifrost.filters.topics.metadata_ids import BY_ID
from bifrost.forwarding.in_flight_limits import InFlightLimits
from bifrost.forwarding.load import Load
from bifrost.forwarding.look_up_turns import LISTING_COST, LOOK_UPS_LIMIT
from bifrost.gateway.brokers.broker_client import BrokerClient
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.loop.look_up_line import LookUpLine
from bifrost.session.topics.asked_items import request_cost_ns
from bifrost.session.topics.counted_topics import CountedTopics
from bifrost.session.topics.named_topics import named_topics
from bifrost.session.topics.own_topics import (
    AllowedTopics,
    AllTopics,
    OwnTopics,
    PagesOfTopics,
)
from bifrost.tenancy.names import PhysicalTopic
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.topic_ids import FEW_IDS, MAX_TOPIC_IDS, TopicIds
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.message import Message
from bifrost.wire.messages import MetadataRequest
from bifrost.wire.own.own_request import check_correlation

log = structlog.get_logger()

T = TypeVar("T")

MAX_WAIT_S = 10.0
"""How long a connection waits for its look-up before it is closed: as long as for a broker to accept a connection."""

EVEN_S = 0.002
"""A look-up of a few IDs is answered after this time at the earliest. A broker takes longer for a topic that exists
than for an ID that no topic has, and a tenant must not see which of the two a foreign ID is."""

ALL_TOPICS_FOR_MS = 2_000
"""How long a list of all topics serves the look-ups of all tenants, if the broker offers no better list."""


@dataclass(eq=False, slots=True)
class _Waiter:
    """A connection that waits."""

    namespace: Namespace
    topic_ids: frozenset[bytes]
    counts: bool
    """Whether it waits for the number of its tenant's topics and partitions, not for IDs."""
    done: asyncio.Future[None]
    load: Load
    """Its tenant's, which is charged with the requests."""

    @property
    def is_served(self) -> bool:
        """Whether a recent list or count answers it already."""
        if self.counts:
            return self.namespace.bounds is None or self.namespace.bounds.is_counted
        return len(self.topic_ids) > FEW_IDS and self.namespace.was_just_listed


@dataclass(eq=False, slots=True)
class _Listing:
    """A list of topics that some connections of a tenant wait for."""

    namespace: Namespace
    topics: OwnTopics | CountedTopics
    waiters: list[_Waiter]


@dataclass(eq=False, slots=True)
class _Broker:
    """The broker that is asked."""

    client: BrokerClient
    offered: OfferedVersions
    metadata_version: int


class TopicLookUps:
    """The look-ups at one physical cluster."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[tuple[BrokerClient, OfferedVersions, int]]],
        topic_ids: TopicIds,
        now_ms: Callable[[], int],
        workers: int = 1,
        defaults: Callable[[], tuple[int, int]] = lambda: (1, 1),
    ) -> None:
        """Prepare; look up nothing yet.

        Args:
            connect: connects to a broker; also returns what it offers, and the Metadata version to use.
            topic_ids: the index that learns the results.
            now_ms: a monotonic clock, in milliseconds.
            workers: processes that look up at this cluster.
            defaults: returns the partitions and the replicas of a topic that is created without these numbers.
        """
        self._defaults = defaults
        self._connect, self._topic_ids, self._now_ms = connect, topic_ids, now_ms
        self._line = LookUpLine("look_ups", self._have_turn, self._fail, now_ms, workers)
        self._waiting: dict[str, list[_Waiter]] = {}
        self._served: list[_Waiter] = []
        """Connections whose IDs are being looked up now."""
        self._listings: dict[str, _Listing] = {}
        self._broker: _Broker | None = None
        self._all_until_ms = 0

    async def look_up(self, namespace: Namespace, topic_ids: frozenset[bytes], loads: InFlightLimits) -> None:
        """Learn which of these IDs are topics of a tenant.

        Args:
            namespace: the tenant's namespace.
            topic_ids: the unknown IDs; more than FEW_IDS of them stand for any number.
            loads: count that the tenant waits because its budget is spent; its own pays for the requests.
        Raises:
            BrokerError: no broker answered, or the tenant's turn did not come in time.
        """
        await self._wait(
            _Waiter(namespace, topic_ids, False, _future(), loads.load(namespace.tenant)), loads.hits
        )

    async def count(self, namespace: Namespace, loads: InFlightLimits) -> None:
        """Count the topics and partitions of a tenant and update its bounds, unless that was just done.

        Args:
            namespace: the tenant's root namespace, which has all its topics.
            loads: as for `look_up`.
        Raises:
            BrokerError: as `look_up`.
        """
        waiter = _Waiter(namespace, frozenset(), True, _future(), loads.load(namespace.tenant))
        if not waiter.is_served:
            await self._wait(waiter, loads.hits)

    async def _wait(self, waiter: _Waiter, hits: Counter[tuple[str, str]]) -> None:
        tenant = waiter.namespace.tenant
        self._waiting.setdefault(tenant, []).append(waiter)
        if not self._line.enter(tenant):
            hits[LOOK_UPS_LIMIT, tenant] += 1
        try:
            async with asyncio.timeout(MAX_WAIT_S):
                await waiter.done
        except TimeoutError:
            text = f"topics of tenant {tenant} were not looked up within {MAX_WAIT_S:.0f} s"
            raise BrokerError(text) from None

    async def close(self) -> None:
        """Close the connection; the next look-up makes a new one."""
        broker, self._broker = self._broker, None
        if broker is not None:
            await broker.client.close()

    def _fail(self, error: BrokerError) -> None:
        """Fail the look-ups of all waiting connections."""
        waiters = self._served + [one for listing in self._listings.values() for one in listing.waiters]
        waiters += [one for waiting in self._waiting.values() for one in waiting]
        self._served = []
        self._listings.clear()
        self._waiting.clear()
        for one in waiters:
            if not one.done.done():
                one.done.set_exception(error)

    async def _have_turn(self, tenant: str) -> None:
        """Send one request for a tenant, if it needs one."""
        listing = self._listings.get(tenant)
        if listing is None:
            waiters = self._served = self._next_of(tenant)
            wanted = frozenset[bytes]().union(*(one.topic_ids for one in waiters))
            if waiters:
                broker = await self._connected()
                counts = waiters[0].counts
                if not counts and len(wanted) <= FEW_IDS and broker.metadata_version >= BY_ID:
                    self._line.charge(tenant, 1.0)
                    await self._ask_by_id(wanted, broker.metadata_version, waiters)
                    self._served = []
                else:
                    topics = (self._count_of if counts else self._topics_of)(waiters[0].namespace, broker)
                    listing = self._listings[tenant] = _Listing(waiters[0].namespace, topics, waiters)
        if listing is not None:
            self._line.charge(tenant, LISTING_COST)
            await self._go_on(tenant, listing)
        if tenant in self._listings or tenant in self._waiting:
            self._line.enter(tenant)

    def _next_of(self, tenant: str) -> list[_Waiter]:
        """Return connections of a tenant that one look-up can serve, and release those that need none."""
        waiting = [one for one in self._waiting.pop(tenant, ()) if not one.done.done()]
        _release(one for one in waiting if one.is_served)
        waiting = [one for one in waiting if not one.done.done()]
        first = waiting[0] if waiting else None
        found: list[_Waiter] = []
        left: list[_Waiter] = []
        for one in waiting:
            is_alike = first is not None and (one.namespace, one.counts) == (first.namespace, first.counts)
            (found if is_alike else left).append(one)
        if left:
            self._waiting[tenant] = left
        return found

    async def _ask_by_id(self, wanted: Iterable[bytes], version: int, waiters: list[_Waiter]) -> None:
        """Ask which topics a few IDs belong to.

        Known IDs are foreign to the tenant. The request has random IDs, which no topic has, in their place, so that the
        answer takes as long as one about unknown IDs.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        asked = [os.urandom(16) if self._topic_ids.name_of(one) is not None else one for one in wanted]
        topics = [MetadataRequest.MetadataRequestTopic(topic_id=one, name=None) for one in asked]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        waiters[0].load.broker_left_ns -= request_cost_ns(request)
        self._learn((await self._ask(request, version, named_topics)).topics)
        loop.call_at(began + EVEN_S, _release, waiters)

    def _topics_of(self, namespace: Namespace, broker: _Broker) -> OwnTopics:
        if not namespace.names.is_dynamic and broker.metadata_version >= CAN_FORBID_CREATION:
            return AllowedTopics(namespace, broker.metadata_version)
        if broker.offered.offers(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0):
            return PagesOfTopics(namespace, broker.metadata_version)
        return AllTopics(broker.metadata_version)

    def _count_of(self, namespace: Namespace, broker: _Broker) -> CountedTopics:
        assert namespace.bounds is not None
        has_pages = broker.offered.offers(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0)
        version = broker.metadata_version
        return CountedTopics(namespace, namespace.bounds, has_pages=has_pages, metadata_version=version)

    async def _count_on(self, tenant: str, listing: _Listing, topics: CountedTopics) -> None:
        """Ask for the next part of a list with partitions."""
        request, version = topics.request()
        listing.waiters[0].load.broker_left_ns -= request_cost_ns(request)
        is_complete = await self._ask(request, version, topics.receive)
        self._learn(topics.topic_ids)
        if is_complete:
            assert listing.namespace.bounds is not None
            del self._listings[tenant]
            listing.namespace.bounds.count(topics.partitions, *self._defaults())
            _release(listing.waiters)

    async def _go_on(self, tenant: str, listing: _Listing) -> None:
        """Ask for the next part of a list."""
        if isinstance(listing.topics, CountedTopics):
            await self._count_on(tenant, listing, listing.topics)
            return
        namespace, is_of_all = listing.namespace, isinstance(listing.topics, AllTopics)
        is_complete = is_of_all and self._now_ms() < self._all_until_ms
        if not is_complete:
            request, version = listing.topics.request()
            listing.waiters[0].load.broker_left_ns -= request_cost_ns(request)
            found = await self._ask(request, version, named_topics)
            if is_of_all and len(found.topics) <= MAX_TOPIC_IDS // 2:
                self._learn(found.topics)
                self._all_until_ms = self._now_ms() + ALL_TOPICS_FOR_MS
            else:
                self._learn(one for one in found.topics if namespace.owns(one[1]))
            is_complete = listing.topics.receive(found)
        if is_complete:
            del self._listings[tenant]
            namespace.topics_were_listed()
            _release(listing.waiters)

    def _learn(self, topics: Iterable[tuple[bytes, PhysicalTopic]]) -> None:
        for topic_id, name in topics:
            self._topic_ids.learn(topic_id, name)

    async def _ask(self, request: Message, version: int, read: Callable[[int, int, bytes], T]) -> T:
        """Ask over the open connection, or over a new one if that is broken: it may only have been idle."""

        def read_answer(api_key: int, version: int, correlation_id: int, frame: bytes) -> T:
            check_correlation(correlation_id, frame)
            return read(api_key, version, frame)

        for is_last in (False, True):
            broker = await self._connected()
            try:
                return await broker.client.read(request, version, read_answer)
            except BrokerError:
                self._broker = None
                if is_last:
                    raise
        raise AssertionError("unreachable")

    async def _connected(self) -> _Broker:
        if self._broker is None:
            self._broker = _Broker(*await self._connect())
        return self._broker


def _future() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


def _release(waiters: Iterable[_Waiter]) -> None:
    for one in waiters:
        if not one.done.done():
            one.done.set_result(None)
