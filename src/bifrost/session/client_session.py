"""One client connection, without its socket: frames in, frames out, to both sides.

Until it is authenticated a client only gets answers that the gateway makes itself (authentication.py); then its
requests go to the one broker that its connection stands for, rewritten, and that broker's answers come back. Where an
authentication holds for a time only, the same exchange comes again later, after the answers to all requests before it.

The shell (gateway/client_connection.py) feeds frames in, then writes what stands in `to_client` and `to_broker`.
Nothing here does I/O. When a topic ID must be looked up, `lookup` names it: the shell asks the broker and calls
`resume`; until then, and while too many requests await their answer, frames are held and nothing more is read.
"""

from collections import deque
from typing import Any

from bifrost.filters import namespace as translation
from bifrost.filters.fetch import session_not_found
from bifrost.filters.filter import Exchange, Scope
from bifrost.journal.meter import Meter
from bifrost.session import metering
from bifrost.session.accounts import Account
from bifrost.session.authentication import Authentication, Proven, answer_here, encode_answer
from bifrost.session.decoded_request import check_decodable, is_decodable
from bifrost.session.decoded_response import decoded_response
from bifrost.session.in_flight import Buffer, InFlight
from bifrost.session.lanes import NO_TENANT
from bifrost.session.oauthbearer_server import KeysAreFetched
from bifrost.session.session_lanes import OWN_APIS, SessionLanes
from bifrost.session.session_lifetime import SessionLifetime
from bifrost.session.shared_state import Entry, SharedState
from bifrost.session.topic_listing import TopicListing
from bifrost.session.tries import Tries, bounded
from bifrost.tenancy.answer_names import answer_names
from bifrost.wire import headers
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.engine import Awaited, Forwarding, Lane, Traffic, decode, encode, monotonic_ns, rewrite


class ClientSession(Forwarding):
    """The protocol state of one client connection and of the broker connection behind it."""

    def __init__(self, shared: SharedState, entry: Entry) -> None:
        """Start towards whatever broker `entry` has for whoever it is: unauthenticated, unless it says that as well."""
        self._shared, self._entry = shared, entry
        self._proven: Proven | None = None
        self._authentication: Authentication | None = self._new_authentication()
        """What the client's frames go to while it has to authenticate, for the first time or again."""
        self._lifetime = SessionLifetime(entry.settings(shared.sasl))
        self.authentications = 0
        """How often the client has authenticated."""
        self.awaits_keys = False
        """Whether it holds back until the issuer's keys have been fetched; then `let_go`."""
        self._max_in_flight = shared.max_in_flight_requests
        self._is_stopped = self._has_turn = self.waits_for_room = False
        """Whether a request is held because too many of its tenant, or of all, await answers; then `take_turn`."""
        self._lanes: dict[int, Lane] = {}
        self._about = metering.UNKNOWN
        self._meter: Meter | None = None
        self._in_flight = InFlight()
        self._queue = self._in_flight.queue
        self._held_requests: deque[bytes] = deque()
        self._held_responses: deque[bytes] = deque()
        self._tries = Tries()
        self._listing: TopicListing | None = None
        self.to_client: list[Buffer] = []
        self.to_broker: list[Buffer] = []
        self.lookup: frozenset[bytes] = frozenset()
        """Topic IDs to ask the broker for; then `resume`."""

    # -- what the shell calls

    def begin(self, address: str | None = None) -> None:
        """Let the client in at once where it is not asked who it is; it comes from `address`.

        Raises:
            SessionEnded: it cannot be served.
        """
        self._about = (address, self._about[1])
        if self._entry.account is not None:
            self._let_in(Proven(self._entry.account, None))

    @property
    def account(self) -> Account | None:
        """Who the client is, once it has proved it."""
        return None if self._proven is None else self._proven.account

    @property
    def is_authenticated(self) -> bool:
        """Whether the client has said who it is."""
        return self._proven is not None

    @property
    def tried_mechanism(self) -> str | None:
        """By what the client tries to prove who it is, until it has."""
        return None if self._authentication is None else self._authentication.mechanism

    def lifetime_left_ms(self) -> int | None:
        """Return how long the client may go on without authenticating again, None for ever.

        At 0 nothing but a new authentication is taken from it any more. Ask again after that time, for it may have
        authenticated meanwhile.
        """
        left_ms = self._lifetime.left_ms
        if left_ms == 0 and self._authentication is None:
            self._authentication = self._new_authentication()
        return left_ms

    @property
    def is_holding(self) -> bool:
        """Whether the shell must stop reading from the client: a look-up is under way or too much awaits an answer."""
        return not self.is_passing and (bool(self.lookup or self._held_requests) or self._is_full)

    @property
    def is_holding_responses(self) -> bool:
        """Whether the shell must stop reading from the broker: an answer waits for a look-up."""
        return bool(self._held_responses)

    @property
    def in_flight(self) -> int:
        """Requests that have no answer yet."""
        return len(self._in_flight)

    def hold_back(self) -> None:
        """Take nothing from the client until `let_go`; the shell stops reading it when something has come."""
        self._max_in_flight = 0

    def let_go(self) -> None:
        """Take what came meanwhile, and go on.

        Raises:
            SessionEnded, WireError: as when frames are received.
        """
        self.awaits_keys = False
        if not self._is_stopped:
            self._max_in_flight = self._shared.max_in_flight_requests
            self._release_requests()

    def stop(self) -> None:
        """Take nothing more, and drop what came and was not sent on: nobody was told that it would be done."""
        self._max_in_flight = 0
        self._held_requests.clear()
        self._is_stopped, self.waits_for_room = True, False

    def take_turn(self) -> None:
        """Send a request on that waited for room, and more if there is room for more.

        Raises:
            SessionEnded, WireError: as when frames are received.
        """
        self.waits_for_room, self._has_turn = False, True
        self._release_requests()
        self._has_turn = False

    def close(self) -> None:
        """Await no answer any longer: the connection is over."""
        self._in_flight.abandon()
        if self._meter is not None:
            self._meter.close()

    @property
    def has_finished(self) -> bool:
        """Whether it was stopped and everything is answered."""
        return self._is_stopped and not (self._in_flight.queue or self.to_broker or self._held_responses)

    def receive_from_client(self, frame: bytes | memoryview) -> None:
        """Handle one frame from the client, without its length field.

        Raises:
            SessionEnded: the connection is to be closed.
            WireError: the client broke the protocol.
        """
        if self._authentication is not None and not self.is_holding:
            self._authenticate(self._authentication, frame)
        elif self.is_holding:
            self._held_requests.append(bytes(frame))
        elif not self.forward_request(frame):
            self._request(frame)

    def receive_from_broker(self, frame: bytes | memoryview) -> None:
        """Handle one frame from the broker, without its length field.

        Raises:
            SessionEnded: the connection is to be closed.
            WireError: the broker's answer could not be read.
        """
        if self._held_responses:
            self._held_responses.append(bytes(frame))
            return
        if not self.forward_response(frame):
            self._response(frame)
        if self._held_requests and not self.lookup:
            self._release_requests()

    def resume(self) -> None:
        """Go on after the topic IDs in `lookup` were learnt, or learnt to be absent.

        Raises:
            SessionEnded, WireError: as when frames are received.
        """
        self._namespace.looked_up(self.lookup)
        self.lookup = frozenset()
        while self._held_responses and not self.lookup:
            self._response(self._held_responses.popleft())
            self._tries.count(needs_another=bool(self.lookup))
        if not self.lookup:
            self._release_requests()

    # -- authentication

    def _new_authentication(self) -> Authentication:
        shared, entry = self._shared, self._entry
        settings = entry.settings(shared.sasl)
        return Authentication(shared.plans, settings, entry.offered, entry.mechanisms, self._proven)

    def _authenticate(self, authentication: Authentication, frame: bytes | memoryview) -> None:
        if self._in_flight.queue:
            # As a broker, which takes the next request when the one before is answered.
            self._max_in_flight = 1
            self._held_requests.appendleft(bytes(frame))
            return
        api_key = int.from_bytes(frame[:2], "big")
        tenant = NO_TENANT if self._proven is None else self._proven.account.tenant
        traffic = self._shared.lanes.traffic(tenant, api_key if api_key in OWN_APIS else None)
        traffic.receive(4 + len(frame))
        self._about = metering.about(self._shared, self._about, api_key, frame)
        try:
            proven = authentication.receive(frame)
        except KeysAreFetched:
            self._held_requests.appendleft(bytes(frame))
            self._max_in_flight, self.awaits_keys = 0, True
            return
        finally:
            answers = authentication.take_answers()
            traffic.send(sum(map(len, answers)))
            self.to_client += answers
        if proven is None:
            return
        self.authentications += 1
        self._lifetime.begin(proven.lifetime_ms, is_again=self._proven is not None)
        self._max_in_flight = self._shared.max_in_flight_requests
        self._let_in(proven)

    def _let_in(self, proven: Proven) -> None:
        """Take the account's part from now on: its namespace, and the broker of its physical cluster.

        Raises:
            SessionEnded: there is no such broker.
        """
        self._authentication = None
        is_first, self._proven = self._proven is None, proven
        if not is_first:
            metering.prove_again(self._meter, proven)
            return
        self.virtual_cluster = self._shared.virtual_clusters.of(proven.account)
        self._route = self._entry.route_to(self.virtual_cluster.upstream)
        self._namespace = self.virtual_cluster.namespace
        self._scope = Scope(self._namespace, self._entry.addresses)
        self._fetches = self.virtual_cluster.fetch_sessions.of(self._route.node_id, self._namespace.path)
        self._admits_request, self._admits_response = self._fetches.on_request, self._fetches.on_response
        self._to_physical = self._namespace.to_physical
        self._to_virtual = answer_names(self._namespace, self._entry.addresses)
        self._meter = metering.new_meter(self._shared, proven, self.virtual_cluster, *self._about)
        self._ways = SessionLanes(self._shared.lanes, self._route, self._namespace.tenant, self._meter)
        self._lanes = self._ways.known
        self._listing = TopicListing(self._namespace, self._route, self._in_flight, self._shared.lanes.loads)

    # -- client to broker

    @property
    def _is_full(self) -> bool:
        is_listing = self._listing is not None and self._listing.is_under_way
        return is_listing or len(self._in_flight.queue) >= self._max_in_flight

    def _release_requests(self) -> None:
        while self._held_requests and not (self.lookup or self._is_full or self.waits_for_room):
            frame = self._held_requests.popleft()
            if self._authentication is None:
                self._request(frame)
            else:
                self._authenticate(self._authentication, frame)
            self._tries.count(needs_another=bool(self.lookup))

    def _request(self, frame: bytes | memoryview) -> None:
        began_ns, header = monotonic_ns(), headers.read_request_header(frame)
        lane = self._ways.of(header, frame)
        if lane is None or header.api_key in OWN_APIS:
            self._answer_own(header, lane, frame)
            return
        if lane.load.is_full and not self._has_turn:
            self.waits_for_room = True
            self._held_requests.appendleft(bytes(frame))
            return
        self._has_turn = False
        plan, way = lane.plan, lane.plan.request
        offset, head = headers.request_body_offset(frame, header.client_id_length, way.is_flexible_header)
        is_answered, is_for_filters = True, False
        if plan.request_peek is not None:
            fields = plan.request_peek(frame, offset)
            if self._fetches.is_lost(plan, fields):
                metering.deny_fetch_session(self._meter, plan, fields[1])
                answer = encode_answer(header.correlation_id, plan, session_not_found())
                self._send_own(lane.traffic, lane, frame, answer)
                return
            is_answered = plan.api_key != ApiKey.PRODUCE or fields[0] != 0
            # They know what to say to a replica, and how to take a session out.
            is_for_filters = is_answered and not self._fetches.admits_request(plan, fields)
        exchange = metering.keep_change(self._meter, plan, self._scope, frame, offset)
        segments = None
        if way.program is not None and not is_for_filters:
            segments = rewrite(way.program, frame, offset, self._to_physical, head, plan.drops_trailing)
        if segments is None:
            unresolved = self._namespace.take_unresolved()
            if unresolved and not is_decodable(len(frame)):
                # A large Produce is not decoded to find all its unknown IDs at once: the first will do, then the next.
                self.lookup |= unresolved
                self._held_requests.appendleft(bytes(frame))
                return
            exchange = exchange or Exchange(header.api_key, header.api_version, self._scope)
            segments = self._decoded_request(lane, exchange, frame, offset, head)
            if segments is None:
                return
        self.to_broker += segments
        lane.traffic.receive(4 + len(frame))
        if lane.usage is not None:
            lane.usage.count_request(frame, offset)
        if is_answered:
            self._in_flight.await_broker(Awaited(header.correlation_id, lane, exchange, began_ns))

    def _decoded_request(
        self, lane: Lane, exchange: Exchange, frame: bytes | memoryview, offset: int, head: bytes | None
    ) -> list[Buffer] | None:
        """Take a request through the filters; None when it was answered, or is held for a look-up."""
        plan = lane.plan
        check_decodable(plan, len(frame))
        request: Any = decode(plan.request.layout, frame, offset, plan.drops_trailing)
        namespace, version = self._namespace, plan.api_version
        if not plan.is_refused and not translation.knows_topic_ids(namespace, request, version):
            self.lookup |= bounded(self._namespace.take_unresolved())
            self._held_requests.appendleft(bytes(frame))
            return None
        assert self._listing is not None
        pages = self._listing.begin(lane, request, frame)
        if pages:
            self.to_broker += pages
            self._held_requests.appendleft(bytes(frame))
            return None
        if plan.api_key == ApiKey.FETCH:
            exchange.notes["foreign_fetch_session"] = not self._fetches.owns(request.session_id)
        for one in plan.filters:
            answer = one.on_request(exchange, request)
            if answer is not None:
                correlation_id = headers.read_request_header(frame).correlation_id
                self._send_own(lane.traffic, lane, frame, encode_answer(correlation_id, plan, answer))
                return None
        translation.to_physical(namespace, request, version)
        self._listing.apply(exchange, request)
        return [encode(plan.request.layout, request, head or bytes(frame[:offset]))]

    def _answer_own(self, header: headers.RequestHeader, lane: Lane | None, frame: Buffer) -> None:
        """Answer what never goes to the broker once the client is authenticated."""
        if header.api_key == ApiKey.SASL_HANDSHAKE and lane is not None and self._lifetime.may_renew:
            self._authentication = self._new_authentication()
            self._authenticate(self._authentication, frame)
            return
        own = header.api_key if header.api_key in OWN_APIS else None
        traffic = self._shared.lanes.traffic(self._namespace.tenant, own)
        metering.note_own(self._meter, self._ways, header, lane, frame)
        answer = answer_here(self._shared.plans, self._route.offered, header, frame)
        self._send_own(traffic, lane, frame, answer)

    def _send_own(self, traffic: Traffic, lane: Lane | None, frame: Buffer, answer: bytes) -> None:
        """Give the gateway's own answer to a request, after those to the requests before it."""
        metering.count_own_answer(self._meter, self._namespace, lane, frame, answer)
        traffic.receive(4 + len(frame))
        traffic.send(len(answer))
        self.to_client += self._in_flight.answer(answer)

    # -- broker to client

    def _response(self, frame: bytes | memoryview) -> None:
        came_ns, awaited = monotonic_ns(), self._in_flight.answered_by(frame)
        if isinstance(awaited.exchange, TopicListing):
            self.to_broker += awaited.exchange.receive(frame, awaited)
            return
        plan = awaited.lane.plan
        offset, head = headers.response_body_offset(frame, plan.response.is_flexible_header)
        if plan.response_peek is not None:
            self._fetches.claim(*plan.response_peek(frame, offset))
        program = plan.response.program
        segments = None if program is None else rewrite(program, frame, offset, self._to_virtual, head)
        physical = None if segments is None else (frame, offset)
        if segments is None:
            self._namespace.take_unresolved()
            segments = decoded_response(self._namespace, self._scope, awaited, frame, offset, head)
            if segments is None:
                self.lookup |= bounded(self._namespace.take_unresolved())
                self._held_responses.appendleft(bytes(frame))
                return
        metering.count_answer(self._meter, self._namespace, awaited, physical, segments)
        awaited.finish(sum(map(len, segments)), came_ns)
        self.to_client += [*segments, *self._in_flight.complete()]
