"""Metadata of all topics, in two steps: first the names of the tenant's own, then Metadata of those.

A broker that is asked for all topics tells of everybody's. But it also lists topics in the order of their names, by
pages from any name on (DescribeTopicPartitions, KIP-966, Kafka 3.8 with KRaft), and a tenant's physical names share a
prefix: so its list costs what it has itself. Nothing is kept from one request to the next, so nothing can be stale:

    client: Metadata of all ──▶ held     DescribeTopicPartitions from the prefix on ──▶ broker
                                         pages of names, until one has another prefix ◀──
                          held frame ──▶ Metadata of these names ──▶ the same broker
    client: answer        ◀───────────── the answer to that, confined like any other ◀──

Both go to the client's own broker over the connection that stands for the client's, so it sees what it would see
directly: every topic that the broker knew when it got the request. Isolation rests on nothing here.

Where that cannot be had the broker is asked for all, and what is foreign is left out of the answer: an older broker,
Metadata before v4 (which cannot ask without creating what it names), too many topics, a page without topics (how a
broker says that it failed). A tenant with an allow-list is asked for that instead (filters/metadata.py).
"""

from typing import Any

from bifrost.filters.filter import Exchange
from bifrost.filters.metadata import CAN_FORBID_CREATION, ask_by_name
from bifrost.session.in_flight import Buffer, InFlight
from bifrost.session.loads import Loads
from bifrost.session.shared_state import Route
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.topic_pages import LISTED_LIMIT, MAX_PAGES, MAX_TOPICS
from bifrost.wire import headers
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.engine import Awaited, Lane, Names, encode, rewrite
from bifrost.wire.messages import DescribeTopicPartitionsRequest
from bifrost.wire.programs import compile_layout, compile_program

_VERSION = 0
_NAME, _CURSOR = 1, 2
_SLOTS = {"Topics.Name": _NAME, "NextCursor.TopicName": _CURSOR}
_NEXT = b"-"
"""Behind a name it is the name that comes next in the order: no legal character is lower."""


class TopicListing:
    """The list that one session's request for all topics waits for; there is one at a time.

    It stands as the exchange of what it asks the broker for itself.
    """

    __slots__ = (
        "_head",
        "_hits",
        "_in_flight",
        "_names",
        "_namespace",
        "_offers",
        "_page",
        "_pages",
        "is_under_way",
    )

    def __init__(self, namespace: Namespace, route: Route, in_flight: InFlight, loads: Loads) -> None:
        """Wait for nothing yet.

        Args:
            namespace: of the tenant.
            route: to the session's broker, which says what it has.
            in_flight: what the session awaits of it.
            loads: count lists that were too long, with the other limits.
        """
        self._namespace, self._in_flight, self._hits = namespace, in_flight, loads.hits
        self._offers = route.offered.offers(ApiKey.DESCRIBE_TOPIC_PARTITIONS, _VERSION)
        self.is_under_way = False
        """Whether a page is awaited: then the request is held, and all behind it."""
        self._head = b""
        self._names: list[bytes] | None = None
        self._page, self._pages = 0, namespace.topic_pages

    def begin(self, lane: Lane, request: Any, frame: Buffer) -> list[Buffer]:
        """Return what to ask the broker before it is sent this decoded request; nothing when it can go on.

        Otherwise the request is to be given again when `is_under_way` has ended.
        """
        plan = lane.plan
        if plan.api_key != ApiKey.METADATA or request.topics is not None or self._head:
            return []
        is_possible = self._offers and plan.api_version >= CAN_FORBID_CREATION
        if not is_possible or not self._namespace.names.is_dynamic or not self._pages.is_worth_it():
            return []
        _, _, correlation_id, length = headers.read_request_header(frame)
        start = headers.REQUEST_PREFIX.size
        client_id = bytes(frame[start : start + max(0, length)])
        if self._namespace.names.client_id_prefix is not None:
            client_id = self._namespace.names.client_id_prefix + client_id
            length = len(client_id)
        asked = (ApiKey.DESCRIBE_TOPIC_PARTITIONS, _VERSION, correlation_id, length)
        self._head = headers.REQUEST_PREFIX.pack(*asked) + client_id + b"\0"
        self._names, self._page = [], 0
        return self._ask(lane, correlation_id, self._namespace.names.prefix)

    def receive(self, frame: Buffer, awaited: Awaited) -> list[Buffer]:
        """Take a page; return what asks for the next.

        Raises:
            WireError: it could not be read.
        """
        assert self._names is not None
        self._in_flight.complete()
        awaited.abandon()
        self.is_under_way = False
        found: list[bytes] = []
        cursor: list[bytes] = []
        is_read = _read(frame, found, cursor)
        prefix = self._namespace.names.prefix
        own = [name for name in found if name.startswith(prefix)]
        self._names += own
        self._page += 1
        if is_read and found and len(self._names) <= MAX_TOPICS:
            if not cursor or not cursor[0].startswith(prefix) or len(own) < len(found):
                self._pages.finished(self._page, len(self._names), len(found) - len(own))
                return []
            if self._page < MAX_PAGES:
                # A topic that the page ends within is not gone on with: its name is known.
                following = max(cursor[0], found[-1] + _NEXT)
                return self._ask(awaited.lane, awaited.correlation_id, following)
        if is_read and found:
            self._hits[LISTED_LIMIT, self._namespace.tenant] += 1
        self._names = None
        self._pages.gave_up()
        return []

    def apply(self, exchange: Exchange, request: Any) -> None:
        """Let the request that waited, with physical names already, ask for the topics that were found."""
        if not self._head or exchange.api_key != ApiKey.METADATA:
            return
        names, self._names, self._head = self._names, None, b""
        if names is not None and request.topics is None:
            ask_by_name(exchange, request, names)

    def _ask(self, lane: Lane, correlation_id: int, first: bytes) -> list[Buffer]:
        cursor = DescribeTopicPartitionsRequest.Cursor(topic_name=first.decode(), partition_index=0)
        request = DescribeTopicPartitionsRequest(
            topics=[], response_partition_limit=self._pages.size(self._page), cursor=cursor
        )
        self.is_under_way = True
        self._in_flight.await_broker(Awaited(correlation_id, lane, self))
        return [encode(compile_layout("DescribeTopicPartitionsRequest", _VERSION), request, self._head)]


def _read(frame: Buffer, names: list[bytes], cursor: list[bytes]) -> bool:
    """Put the names on a page, and the one in its cursor, into the lists; False when it has something unknown."""

    def found(slot: int, name: bytes) -> bytes:
        (names if slot == _NAME else cursor).append(name)
        return name

    offset, _ = headers.response_body_offset(frame, True)
    program = compile_program("DescribeTopicPartitionsResponse", _VERSION, _SLOTS)
    return rewrite(program, frame, offset, Names(found)) is not None
