"""The beginning of a client's connection: its authentication, and the state that it has from then on.

Its subclass is `ClientSession`, which handles the requests of an authenticated client.
"""

from typing import TYPE_CHECKING

from bifrost.authentication.accounts import Account, PasswordIsChecked
from bifrost.authentication.oauthbearer_server import KeysAreFetched
from bifrost.authentication.session_lifetime import SessionLifetime
from bifrost.config.fields.acls import java_address
from bifrost.filters.fetch import FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION
from bifrost.filters.filter import Scope
from bifrost.filters.plan import Plan
from bifrost.forwarding.clock import monotonic_ns
from bifrost.forwarding.forwarding import Forwarding
from bifrost.forwarding.lane import Lane, Reason
from bifrost.forwarding.lane_names import lane_names
from bifrost.forwarding.lanes import NO_TENANT
from bifrost.journal.meter import Meter
from bifrost.session import metering
from bifrost.session.authentication import Authentication, Proven
from bifrost.session.held_frames import HeldFrames
from bifrost.session.in_flight import Buffer, InFlight
from bifrost.session.needs import IssuerKeys, PasswordChecked
from bifrost.session.session_lanes import OWN_APIS, SessionLanes
from bifrost.session.shared_state import Entry, SharedState
from bifrost.session.topics.absent_topics import AbsentTopics
from bifrost.session.topics.topic_listing import TopicListing
from bifrost.tenancy.acls.guard import Guard
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.headers import read_request_header

if TYPE_CHECKING:
    from bifrost.session.requests.asked_broker import AskedBroker
    from bifrost.tenancy.recent_records.recent_records import RecentView

_FOR_EVER_NS = 2**63 - 1


class IdentifiedSession(Forwarding):
    """The state of a session, and how its client proves who it is."""

    def __init__(self, shared: SharedState, entry: Entry) -> None:
        """Start unauthenticated; the account decides to which of `entry`'s brokers the connection goes."""
        self._shared, self._entry = shared, entry
        self._proven: Proven | None = None
        self._authentication: Authentication | None = self._new_authentication()
        """Handles the client's frames while it has to authenticate, for the first time or again; else None."""
        self._lifetime = SessionLifetime(entry.settings(shared.sasl))
        self.authentications = 0
        """How often the client has authenticated."""
        self._max_in_flight = shared.max_in_flight_requests
        self._is_stopped = False
        self._lanes: dict[int, Lane] = {}
        self._about = metering.UNKNOWN
        self._meter: Meter | None = None
        self._in_flight = InFlight()
        self._queue = self._in_flight.queue
        self._requests, self._responses = HeldFrames(), HeldFrames()
        self._held_requests, self._held_responses = self._requests.frames, self._responses.frames
        self._gateway_time = self._quota = None
        self._listing: TopicListing | None = None
        self._absent: AbsentTopics | None = None
        self._asked: AskedBroker | None = None
        self._recent: RecentView | None = None
        self._last_fetch_session = self._lost_fetch_session = NO_SESSION
        self._has_lost_share_session = False
        self.to_client: list[Buffer] = []
        self.to_broker: list[Buffer] = []

    def begin(self, address: str | None = None) -> None:
        """Let the client in at once if its listener set does not use SASL; it comes from `address`.

        Raises:
            SessionEnded: the client cannot be served.
        """
        self._about = (address, self._about[1])
        if self._entry.account is not None:
            self._let_in(Proven(self._entry.account, None))

    @property
    def account(self) -> Account | None:
        """The client's account; None until it has authenticated."""
        return None if self._proven is None else self._proven.account

    @property
    def is_authenticated(self) -> bool:
        """Whether the client has authenticated."""
        return self._proven is not None

    @property
    def max_unauthenticated_frame_bytes(self) -> int:
        """Largest frame that the client may send next to authenticate; 0 once it has."""
        return 0 if self._authentication is None else self._authentication.max_frame_bytes

    @property
    def tried_mechanism(self) -> str | None:
        """The mechanism by which the client is authenticating; None when it is not."""
        return None if self._authentication is None else self._authentication.mechanism

    def judge_request_fields(self, plan: Plan, fields: tuple[int, ...]) -> Reason:
        """Return the reason why a request with these peeked fields may not be sent on as it is, or PASSES."""
        reason = self._fetches.judge_request(plan, fields)
        if reason != Reason.PASSES or plan.api_key != ApiKey.FETCH:
            return reason
        _, session_id, epoch = fields
        if session_id == self._lost_fetch_session != NO_SESSION:
            return reason if epoch in (INITIAL_EPOCH, FINAL_EPOCH) else Reason.LOST_SESSION
        self._know_fetch_session(session_id)
        return reason

    def judge_response_fields(self, fields: tuple[int, ...]) -> Reason:
        """Return likewise the reason for a response, of which only a Fetch response has such fields."""
        reason, self._last_fetch_session = self._fetches.judge_response(fields), fields[0]
        if reason == Reason.PASSES and fields[0] != self._lost_fetch_session:
            self._know_fetch_session(fields[0])
        return reason

    def _new_guard(self, proven: Proven) -> Guard | None:
        """Return what the client may do; None: its tenant has no ACLs, and no topics are shared with it."""
        authority = self.virtual_cluster.authority
        if authority is None:
            if self._shared.state is not None:  # Topics may be moved.
                self._namespace.users.sessions.add(self)
            return None
        host = java_address((self._about[0] or "").rpartition(":")[0]) or ""
        guard = authority.guard(self._namespace, proven.account.username, host)
        guard.sessions.add(self)
        return guard

    def rights_changed(self) -> None:
        """End the fetch session and the share session that go on: they may have a topic that is denied now, or that is
        called otherwise.

        A session that begins by an answer under way goes on; what it has of such a topic is taken out of its answers.
        """
        self._lost_fetch_session = self._last_fetch_session
        self.use_fetch_session(NO_SESSION, bytearray(8), 1)  # The engine asks about the next one.
        self._has_lost_share_session = True
        self._lanes.clear()  # So that the next ShareFetch comes here.

    def _take_lost_share_session(self) -> bool:
        """Whether the share session of the connection has to begin anew; the client is told once."""
        is_lost, self._has_lost_share_session = self._has_lost_share_session, False
        return is_lost

    def _know_fetch_session(self, session_id: int) -> None:
        """Let the engine pass messages that name this session: a client goes on with the same one for hours."""
        proof = self._fetches.proof(session_id)
        if proof is not None:
            self.use_fetch_session(session_id, *proof)

    def _until_ns(self) -> int:
        return _FOR_EVER_NS if self._shared.turns is None else self._shared.turns.until_ns()

    def _note_kept(self, held: HeldFrames) -> None:
        """Count how long the first held frame was kept, which goes on now."""
        assert self._gateway_time is not None
        self._gateway_time.note(held is self._responses, monotonic_ns() - held.came_ns)

    def lifetime_left_ms(self) -> int | None:
        """Return how long the client may go on without authenticating again; None: for ever.

        At 0 the session accepts only a new authentication. Ask again after the returned time, since the client may have
        authenticated meanwhile.
        """
        left_ms = self._lifetime.left_ms
        if left_ms == 0 and self._authentication is None:
            self._authentication = self._new_authentication()
        return left_ms

    def _renews_authentication(self, frame: Buffer) -> bool:
        """Whether a request is the handshake by which the client begins to authenticate again."""
        if int.from_bytes(frame[:2], "big") != ApiKey.SASL_HANDSHAKE or not self._lifetime.may_renew:
            return False
        return self._ways.of(read_request_header(frame), frame) is not None

    def _new_authentication(self) -> Authentication:
        shared, entry = self._shared, self._entry
        settings = entry.settings(shared.sasl)
        has_namespace = shared.virtual_clusters.has_namespace
        return Authentication(
            shared.plans, settings, entry.offered, entry.mechanisms, self._proven, has_namespace
        )

    def _authenticate(self, authentication: Authentication, frame: bytes | memoryview) -> None:
        if self._in_flight.queue:
            # A broker, too, takes the next request only when the one before is answered.
            self._max_in_flight = 1
            self._requests.put_back(bytes(frame))
            return
        api_key = int.from_bytes(frame[:2], "big")
        tenant = NO_TENANT if self._proven is None else self._proven.account.tenant
        traffic = self._shared.lanes.traffic(tenant, api_key if api_key in OWN_APIS else None)
        if not (self._requests.use(IssuerKeys) or self._requests.use(PasswordChecked)):
            traffic.receive(4 + len(frame))
        self._about = metering.about(self._shared, self._about, api_key, frame)
        try:
            proven = authentication.receive(frame)
        except KeysAreFetched:
            self._requests.put_back(bytes(frame))
            self._requests.need = IssuerKeys()
            return
        except PasswordIsChecked as waits:
            self._requests.put_back(bytes(frame))
            self._requests.need = PasswordChecked(waits.check)
            return
        finally:
            answers = authentication.take_answers()
            traffic.send(sum(map(len, answers)))
            self.to_client += answers
            for code in authentication.take_errors():
                traffic.fail(code, is_own=True)
        if proven is None:
            return
        self.authentications += 1
        self._lifetime.begin(proven.lifetime_ms, is_again=self._proven is not None)
        self._max_in_flight = self._shared.max_in_flight_requests
        self._let_in(proven)

    def _place(self, user: str) -> tuple[str, str, int | None]:
        """Return what decides, in its physical cluster, what a broker shows the client."""
        node_id = None if self._entry.is_single_address else self._route.node_id
        return self._namespace.path, user, node_id

    def _let_in(self, proven: Proven) -> None:
        """Serve the account from now on: use its namespace, and the broker of its physical cluster.

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
        shared, user, guard = self._shared, proven.account.username, self._new_guard(proven)
        addresses, quotas = self._entry.addresses, shared.quota_tables
        filters = self.virtual_cluster.records
        rules = self.virtual_cluster.virtual_partitions
        virtual = None if rules is None else rules.topics(self._namespace, guard)
        records = None if filters is None else filters.topics(self._namespace, user, guard, virtual)
        self._scope = Scope(
            namespace=self._namespace,
            addresses=addresses,
            user=user,
            state=shared.state,
            quotas=quotas,
            guard=guard,
            users=shared.users,
            records=records,
            virtual=virtual,
            producer=None if rules is None else rules.new_producer(),
            scanned=None if rules is None else rules.new_scanned(),
            shares=None if rules is None else rules.new_shares(),
            recent=None
            if rules is None
            else rules.new_view(self.virtual_cluster.upstream, *self._place(user)),
        )
        self._producer, self._recent = self._scope.producer, self._scope.recent
        self._fetches = self.virtual_cluster.fetch_sessions.of(self._route.node_id, self._namespace.path)
        self._meter = metering.new_meter(self._shared, proven, self.virtual_cluster, *self._about)
        names = lane_names(self._namespace, self._entry.addresses, guard, records, virtual)
        table = self._shared.lanes.table(self._namespace.tenant, names)
        self._ways = SessionLanes(table, self._route, self._meter)
        self._lanes = self._ways.known
        self._load = self._shared.lanes.in_flight_limits.load(self._namespace.tenant)
        self._gateway_time = self._shared.lanes.gateway_time(self._namespace.tenant)
        self._absent = AbsentTopics(self._namespace, self._in_flight)
        self._asked = None
        self._listing = TopicListing(
            self._namespace, self._route, self._in_flight, self._shared.lanes.in_flight_limits
        )
