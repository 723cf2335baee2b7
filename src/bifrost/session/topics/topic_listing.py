"""Metadata of all topics, in two steps: first the names of the tenant's own topics, then Metadata of those. So it is
with DescribeTopicPartitions of all topics for a tenant that has moved or shared ones.

A broker that is asked for all topics returns those of all tenants. But it also lists topics in the order of their
names, by pages from any name on (DescribeTopicPartitions, KIP-966, Kafka 3.8 with KRaft), and a tenant's physical names
are side by side in it (tenancy/ownership.py): so the cost of its list depends on its own topics alone. Nothing is kept
from one request to the next, so nothing can be stale:

    client: Metadata of all ──▶ held     DescribeTopicPartitions from the first possible name on ──▶ broker
                                         pages of names, until one is past all of the tenant's   ◀──
                          held frame ──▶ Metadata of these names ──▶ the same broker
    client: answer        ◀───────────── the answer to that, confined like any other ◀──

Topics whose names begin otherwise, because they were moved or are shared, are added to the names that were found.

Both go to the client's own broker over the client's own broker connection, so the client sees what it would see
directly: every topic that the broker knew when it got the request. Isolation does not depend on this file.

Where this is impossible, the gateway asks the broker for all topics and leaves those of other tenants out of the
answer: with an older broker, Metadata before v4 (which cannot ask without creating what it names), too many topics, or
a page without topics (by which a broker says that it failed). For a tenant with an allow-list the gateway asks for
those names instead (filters/topics/metadata.py).
"""

from typing import Any

from bifrost.filters.filter import Exchange
from bifrost.filters.plan import Plan
from bifrost.filters.topics.automatic_creation import CAN_FORBID_CREATION
from bifrost.filters.topics.metadata import ask_by_name
from bifrost.forwarding.in_flight_limits import InFlightLimits
from bifrost.forwarding.lane import Awaited, Lane
from bifrost.session.in_flight import Buffer, InFlight
from bifrost.session.shared_state import Route
from bifrost.session.topics.inquiry import Inquiry
from bifrost.tenancy.names import PhysicalTopic, VirtualTopic
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.topic_pages import LISTED_LIMIT, LOWEST_NAME, MAX_PAGES, MAX_TOPICS, next_name
from bifrost.wire import headers
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.messages import DescribeTopicPartitionsRequest
from bifrost.wire.programs import compile_program
from bifrost.wire.rewriting import Names, rewrite

_APIS = frozenset({ApiKey.METADATA, ApiKey.DESCRIBE_TOPIC_PARTITIONS})
_VERSION = 0
_NAME, _CURSOR = 1, 2
_SLOTS = {"Topics.Name": _NAME, "NextCursor.TopicName": _CURSOR}


class TopicListing(Inquiry):
    """The list that one session's request for all topics waits for."""

    __slots__ = ("_hits", "_is_asked", "_names", "_offers", "_page", "_pages")

    def __init__(
        self, namespace: Namespace, route: Route, in_flight: InFlight, loads: InFlightLimits
    ) -> None:
        """Begin without a list.

        Args:
            namespace: of the tenant.
            route: to the session's broker, with the versions that it has.
            in_flight: the session's requests that await answers.
            loads: count lists that were too long, with the other limits.
        """
        super().__init__(namespace, in_flight)
        self._hits = loads.hits
        self._offers = route.offered.offers(ApiKey.DESCRIBE_TOPIC_PARTITIONS, _VERSION)
        self._is_asked = False
        self._names: list[PhysicalTopic] | None = None
        self._page, self._pages = 0, namespace.topic_pages

    def begin(self, lane: Lane, request: Any, frame: Buffer) -> list[Buffer]:
        """Return the frames to send to the broker before this decoded request; none when the request can go on.

        Otherwise give the request again when `is_under_way` has ended.
        """
        plan = lane.plan
        if self._is_asked or not self._is_about_all(plan, request):
            return []
        if not self._offers or not self._namespace.names.is_dynamic or not self._pages.is_worth_it():
            return []
        self._begin(lane, frame)
        self._is_asked, self._names, self._page = True, [], 0
        return self._ask_from(self._namespace.names.topics.first_possible_name)

    def receive(self, frame: Buffer, awaited: Awaited) -> list[Buffer]:
        """Handle a page; return the frame that asks for the next one.

        Raises:
            WireError: the page could not be read.
        """
        assert self._names is not None
        found: list[PhysicalTopic] = []
        cursor: list[PhysicalTopic] = []
        is_read = _read(frame, found, cursor)
        self._answered(awaited)
        topics = self._namespace.names.topics
        own = topics.owned(found)
        self._names += own
        self._page += 1
        if is_read and found and len(self._names) <= MAX_TOPICS:
            if not cursor or topics.is_past_all(cursor[0]) or topics.is_past_all(found[-1]):
                self._pages.finished(self._page, len(self._names), len(found) - len(own))
                self._names += self._namespace.names.topics_elsewhere
                return []
            if self._page < MAX_PAGES:
                # If the page ends within a topic, the next page skips the rest of it: its name is known.
                return self._ask_from(max(cursor[0], next_name(found[-1])))
        if is_read and found:
            self._hits[LISTED_LIMIT, self._namespace.tenant] += 1
        self._names = None
        self._pages.gave_up()
        return []

    def apply(self, exchange: Exchange, request: Any) -> None:
        """Let the request that waited, with physical names already, ask for the topics that were found."""
        if not self._is_asked or exchange.api_key not in _APIS:
            return
        names, self._names, self._is_asked = self._names, None, False
        if names is None or request.topics:
            return
        if exchange.api_key == ApiKey.METADATA:
            ask_by_name(exchange, request, names)
        else:
            self._describe_by_name(request, names)
        if request.topics:  # The client named none, so these are not charged yet.
            self._charge(request)

    def _is_about_all(self, plan: Plan, request: Any) -> bool:
        """Whether a request is for all topics, and the gateway needs their names."""
        if plan.api_key == ApiKey.METADATA:
            return request.topics is None and plan.api_version >= CAN_FORBID_CREATION
        # All of the tenant's are side by side in the broker's list, unless some were moved or are shared.
        names = self._namespace.names
        return (
            plan.api_key == ApiKey.DESCRIBE_TOPIC_PARTITIONS
            and not request.topics
            and names.tenant in names.aliases
        )

    def _describe_by_name(self, request: DescribeTopicPartitionsRequest, names: list[PhysicalTopic]) -> None:
        """Make a request for all topics ask for these, from its cursor on: a page may end at any of them."""
        own = self._namespace.names
        first = None if request.cursor is None else request.cursor.topic_name
        if first == own.physical_topic(VirtualTopic(LOWEST_NAME)).decode():
            first = None
        visible = sorted(one.decode() for one in names if own.virtual_topic(one) is not None)
        asked = [name for name in visible if first is None or name >= first]
        if not asked:
            return  # The broker begins at the cursor, and has nothing of the tenant's there.
        request.topics = [DescribeTopicPartitionsRequest.TopicRequest(name=name) for name in asked]
        if asked[0] != first:
            request.cursor = None

    def _ask_from(self, first: PhysicalTopic) -> list[Buffer]:
        cursor = DescribeTopicPartitionsRequest.Cursor(topic_name=first.decode(), partition_index=0)
        size = self._pages.size(self._page)
        request = DescribeTopicPartitionsRequest(topics=[], response_partition_limit=size, cursor=cursor)
        return self._ask(request, _VERSION)


def _read(frame: Buffer, names: list[PhysicalTopic], cursor: list[PhysicalTopic]) -> bool:
    """Put a page's names, and the one in its cursor, into the lists; False when the page has unknown fields."""

    def found(slot: int, name: bytes) -> bytes:
        (names if slot == _NAME else cursor).append(PhysicalTopic(name))
        return name

    offset, _ = headers.response_body_offset(frame, True)
    program = compile_program("DescribeTopicPartitionsResponse", _VERSION, _SLOTS)
    return rewrite(program, frame, offset, Names(found)) is not None
