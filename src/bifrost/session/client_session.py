"""One client connection, without its socket: frames in, frames out, to both sides.

      UNAUTHENTICATED ──SaslHandshake v1──▶ HANDSHAKEN ──SaslAuthenticate──▶ AUTHENTICATED
             │                                                                    ▲
             └──────────SaslHandshake v0──▶ RAW_TOKEN ──a token without header────┘

Until it is authenticated a client gets answers to ApiVersions, SaslHandshake and SaslAuthenticate only, all made
here; then its requests go to the one broker that its connection stands for, rewritten, and that broker's answers
come back.

The shell (gateway/client_connection.py) feeds frames in, then writes what stands in `to_client` and `to_broker`.
Nothing here does I/O. When a topic ID must be looked up, `lookup` names it: the shell asks the broker and calls
`resume`; until then, and while too many requests await their answer, frames are held and the shell stops reading,
so no more can come than it had read.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from bifrost.filters import namespace as translation
from bifrost.filters.api_versions import OfferedVersions, is_valid
from bifrost.filters.fetch import FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION, session_not_found
from bifrost.filters.filter import Exchange, Scope
from bifrost.filters.plan import Plan, Plans
from bifrost.session.close_reason import CloseReason
from bifrost.session.fetch_sessions import FetchSessions
from bifrost.session.in_flight import Awaited, Buffer, InFlight
from bifrost.session.refusal import build_refusal
from bifrost.session.sasl_server import MECHANISMS, Account, AuthenticationFailed, authenticate_plain
from bifrost.tenancy.brokers import BrokerPorts
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.topic_ids import MAX_LOOK_UP
from bifrost.wire import headers
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.engine import decode, encode, rewrite
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import ApiVersionsResponse, SaslAuthenticateResponse, SaslHandshakeResponse


class SessionEnded(Exception):
    """The connection is to be closed, after what stands in `to_client` is written."""

    def __init__(self, reason: CloseReason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class SharedState:
    """What all sessions of a gateway have in common."""

    plans: Plans
    accounts: Mapping[str, Account]
    namespaces: Mapping[str, Namespace]
    fetch_sessions: FetchSessions
    max_in_flight_requests: int


@dataclass(frozen=True, slots=True)
class Route:
    """The broker a connection stands for."""

    node_id: int
    offered: OfferedVersions
    ports: BrokerPorts


class _State(Enum):
    UNAUTHENTICATED = auto()
    HANDSHAKEN = auto()
    RAW_TOKEN = auto()
    AUTHENTICATED = auto()


class ClientSession:
    """The protocol state of one client connection and of the broker connection behind it."""

    def __init__(self, shared: SharedState, route: Route) -> None:
        """Start unauthenticated, towards the broker that `route` names."""
        self._shared = shared
        self._route = route
        self._state = _State.UNAUTHENTICATED
        self._plans: dict[tuple[int, int], Plan] = {}
        self._in_flight = InFlight()
        self._held_requests: deque[bytes] = deque()
        self._held_responses: deque[bytes] = deque()
        self.account: Account | None = None
        self.to_client: list[Buffer] = []
        self.to_broker: list[Buffer] = []
        self.lookup: frozenset[bytes] = frozenset()
        """Topic IDs to ask the broker for; then `resume`."""

    # -- what the shell calls

    @property
    def is_authenticated(self) -> bool:
        """Whether the client has said who it is."""
        return self._state is _State.AUTHENTICATED

    @property
    def is_holding(self) -> bool:
        """Whether the shell must stop reading from the client: a look-up is under way or too much awaits an answer."""
        return bool(self.lookup or self._held_requests) or self._is_full

    @property
    def is_holding_responses(self) -> bool:
        """Whether the shell must stop reading from the broker: an answer waits for a look-up."""
        return bool(self._held_responses)

    @property
    def in_flight(self) -> int:
        """Requests that have no answer yet."""
        return len(self._in_flight)

    def receive_from_client(self, frame: bytes | memoryview) -> None:
        """Handle one frame from the client, without its length field.

        Raises:
            SessionEnded: the connection is to be closed.
            WireError: the client broke the protocol.
        """
        if self._state is not _State.AUTHENTICATED:
            self._before_authentication(frame)
        elif self.is_holding:
            self._held_requests.append(bytes(frame))
        else:
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
        self._response(frame)
        if self._held_requests and not self.lookup:
            self._release_requests()

    def resume(self) -> None:
        """Go on after the topic IDs in `lookup` were learnt, or learnt to be absent.

        Raises:
            SessionEnded, WireError: as when frames are received.
        """
        self.lookup = frozenset()
        while self._held_responses and not self.lookup:
            self._response(self._held_responses.popleft())
        if not self.lookup:
            self._release_requests()

    # -- before authentication

    def _before_authentication(self, frame: bytes | memoryview) -> None:
        if self._state is _State.RAW_TOKEN:
            account = self._authenticate(bytes(frame), lambda _error: None)
            self.to_client.append(bytes(4))  # PLAIN has no challenge: an empty token
            self._let_in(account)
            return
        header = headers.read_request_header(frame)
        match header.api_key:
            case ApiKey.API_VERSIONS:
                self._answer_api_versions(header, frame)
            case ApiKey.SASL_HANDSHAKE:
                self._answer_handshake(header, frame)
            case ApiKey.SASL_AUTHENTICATE if self._state is _State.HANDSHAKEN:
                self._answer_authenticate(header, frame)
            case _:
                name = _api_name(header.api_key)
                raise SessionEnded(CloseReason.NOT_AUTHENTICATED, f"{name} before SASL authentication")

    def _answer_api_versions(self, header: headers.RequestHeader, frame: bytes | memoryview) -> None:
        if self._plan_of(header) is None:
            # KIP-511: whatever the version, v0 with the supported versions is understood.
            plan = self._shared.plans.plan_for(ApiKey.API_VERSIONS, 0)
            assert plan is not None
            self._answer(header.correlation_id, plan, self._route.offered.unsupported_version_response())
            return
        plan, request = self._decode_own(header, frame)
        if header.api_version >= _NAMED_SOFTWARE and not is_valid(request):
            self._answer(
                header.correlation_id, plan, ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
            )
        else:
            self._answer(header.correlation_id, plan, self._route.offered.response(header.api_version))

    def _answer_handshake(self, header: headers.RequestHeader, frame: bytes | memoryview) -> None:
        plan, request = self._decode_own(header, frame)
        if request.mechanism not in MECHANISMS:
            error = ErrorCode.UNSUPPORTED_SASL_MECHANISM
            response = SaslHandshakeResponse(error_code=error, mechanisms=list(MECHANISMS))
            self._answer(header.correlation_id, plan, response)
            offered = ", ".join(MECHANISMS)
            raise SessionEnded(
                CloseReason.AUTHENTICATION_FAILED, f"the client wants another SASL mechanism than {offered}"
            )
        self._answer(header.correlation_id, plan, SaslHandshakeResponse(mechanisms=list(MECHANISMS)))
        self._state = _State.RAW_TOKEN if header.api_version == 0 else _State.HANDSHAKEN

    def _answer_authenticate(self, header: headers.RequestHeader, frame: bytes | memoryview) -> None:
        plan, request = self._decode_own(header, frame)

        def refuse(message: str) -> None:
            error = ErrorCode.SASL_AUTHENTICATION_FAILED
            response = SaslAuthenticateResponse(error_code=error, error_message=message)
            self._answer(header.correlation_id, plan, response)

        account = self._authenticate(request.auth_bytes, refuse)
        self._answer(header.correlation_id, plan, SaslAuthenticateResponse())
        self._let_in(account)

    def _authenticate(self, token: bytes, refuse: Any) -> Account:
        try:
            return authenticate_plain(token, self._shared.accounts)
        except AuthenticationFailed as failure:
            refuse(str(failure))
            raise SessionEnded(CloseReason.AUTHENTICATION_FAILED, "wrong user name or password") from None

    def _let_in(self, account: Account) -> None:
        self.account = account
        self._namespace = self._shared.namespaces[account.tenant]
        self._scope = Scope(self._namespace, self._route.ports)
        self._state = _State.AUTHENTICATED

    def _decode_own(self, header: headers.RequestHeader, frame: bytes | memoryview) -> tuple[Plan, Any]:
        """Decode a request that the gateway itself answers."""
        plan = self._plan_of(header)
        if plan is None:
            name = _api_name(header.api_key)
            raise SessionEnded(CloseReason.UNSUPPORTED, f"{name} v{header.api_version} is not known")
        flexible = plan.request.is_flexible_header
        offset, _ = headers.request_body_offset(frame, header.client_id_length, flexible)
        return plan, decode(plan.request.layout, frame, offset, allow_trailing=True)

    # -- client to broker

    @property
    def _is_full(self) -> bool:
        return len(self._in_flight) >= self._shared.max_in_flight_requests

    def _release_requests(self) -> None:
        while self._held_requests and not self.lookup and not self._is_full:
            self._request(self._held_requests.popleft())

    def _plan_of(self, header: headers.RequestHeader) -> Plan | None:
        key = (header.api_key, header.api_version)
        plan = self._plans.get(key)
        if plan is None and self._route.offered.offers(*key):
            plan = self._shared.plans.plan_for(*key)
            if plan is not None:
                self._plans[key] = plan
        return plan

    def _request(self, frame: bytes | memoryview) -> None:
        header = headers.read_request_header(frame)
        plan = self._plan_of(header)
        if plan is None or header.api_key in _OWN_APIS:
            self._answer_own(header, plan, frame)
            return
        offset, head = headers.request_body_offset(
            frame, header.client_id_length, plan.request.is_flexible_header
        )
        # What goes on behind the body is dropped, as a broker ignores it: librdkafka 2.16 leaves three bytes there
        # when it asks for all topics by Metadata v9 or later.
        is_answered, foreign_session = True, False
        if plan.request_peek is not None:
            fields = plan.request_peek(frame, offset)
            if header.api_key == ApiKey.PRODUCE:
                is_answered = fields[0] != 0
            else:
                replica_id, session_id, session_epoch = fields
                foreign_session = not self._owns_session(session_id)
                if foreign_session and session_epoch not in (INITIAL_EPOCH, FINAL_EPOCH):
                    self._answer(header.correlation_id, plan, session_not_found())
                    return
                # The filters know what to say to a replica, and how to take a session out.
                foreign_session |= replica_id >= 0
        exchange = None
        segments = None
        if plan.request.program is not None and not foreign_session:
            segments = rewrite(plan.request.program, frame, offset, self._namespace.to_physical, head, True)
        if segments is None:
            self._namespace.take_unresolved()
            exchange = Exchange(header.api_key, header.api_version, self._scope)
            segments = self._decoded_request(plan, exchange, frame, offset, head)
            if segments is None:
                return
        self.to_broker += segments
        if is_answered:
            self._in_flight.await_broker(Awaited(header.correlation_id, plan, exchange))

    def _decoded_request(
        self, plan: Plan, exchange: Exchange, frame: bytes | memoryview, offset: int, head: bytes | None
    ) -> list[Buffer] | None:
        """Take a request through the filters; None when it was answered, or is held for a look-up."""
        request: Any = decode(plan.request.layout, frame, offset, allow_trailing=True)
        if not plan.is_refused and not translation.knows_topic_ids(
            self._namespace, request, plan.api_version
        ):
            self._look_up()
            self._held_requests.appendleft(bytes(frame))
            return None
        if plan.api_key == ApiKey.FETCH:
            exchange.notes["foreign_fetch_session"] = not self._owns_session(request.session_id)
        for one in plan.filters:
            answer = one.on_request(exchange, request)
            if answer is not None:
                correlation_id = headers.read_request_header(frame).correlation_id
                self._answer(correlation_id, plan, answer)
                return None
        translation.to_physical(self._namespace, request, plan.api_version)
        return [encode(plan.request.layout, request, head or bytes(frame[:offset]))]

    def _look_up(self) -> None:
        unresolved = self._namespace.take_unresolved()
        if len(unresolved) > MAX_LOOK_UP:
            detail = f"one message names {len(unresolved)} unknown topic IDs, more than {MAX_LOOK_UP}"
            raise SessionEnded(CloseReason.TOO_MANY_TOPIC_IDS, detail)
        self.lookup |= unresolved

    def _owns_session(self, session_id: int) -> bool:
        if session_id == NO_SESSION:
            return True
        return self._shared.fetch_sessions.is_owned(self._route.node_id, session_id, self._namespace.tenant)

    def _answer_own(
        self, header: headers.RequestHeader, plan: Plan | None, frame: bytes | memoryview
    ) -> None:
        """Answer what never goes to the broker once the client is authenticated."""
        if header.api_key == ApiKey.API_VERSIONS:
            self._answer_api_versions(header, frame)
        elif plan is not None:
            response_class = (
                SaslHandshakeResponse if header.api_key == ApiKey.SASL_HANDSHAKE else SaslAuthenticateResponse
            )
            self._answer(header.correlation_id, plan, response_class(error_code=ErrorCode.ILLEGAL_SASL_STATE))
        else:
            refusal = build_refusal(header.api_key, header.api_version, header.correlation_id)
            if refusal is None:
                name = _api_name(header.api_key)
                raise SessionEnded(CloseReason.UNSUPPORTED, f"{name} v{header.api_version} is not served")
            self.to_client += self._in_flight.answer(refusal)

    def _answer(self, correlation_id: int, plan: Plan, response: Message) -> None:
        """Give the gateway's own answer, after those to the requests before it."""
        head = headers.response_header(correlation_id, plan.response.is_flexible_header)
        self.to_client += self._in_flight.answer(encode(plan.response.layout, response, head))

    # -- broker to client

    def _response(self, frame: bytes | memoryview) -> None:
        awaited = self._in_flight.next_awaited()
        if awaited is None or len(frame) < 4:
            raise SessionEnded(CloseReason.BROKER_MISBEHAVED, "the broker sent what nobody asked for")
        if int.from_bytes(frame[:4], "big", signed=True) != awaited.correlation_id:
            raise SessionEnded(CloseReason.BROKER_MISBEHAVED, "the broker's answers are out of order")
        plan = awaited.plan
        offset, head = headers.response_body_offset(frame, plan.response.is_flexible_header)
        if plan.response_peek is not None:
            (session_id,) = plan.response_peek(frame, offset)
            if session_id != NO_SESSION:
                self._shared.fetch_sessions.claim(self._route.node_id, session_id, self._namespace.tenant)
        segments = None
        if plan.response.program is not None:
            segments = rewrite(plan.response.program, frame, offset, self._namespace.to_virtual, head)
        if segments is None:
            self._namespace.take_unresolved()
            segments = self._decoded_response(awaited, frame, offset, head)
            if segments is None:
                return
        self.to_client += segments
        self.to_client += self._in_flight.complete()

    def _decoded_response(
        self, awaited: Awaited, frame: bytes | memoryview, offset: int, head: bytes | None
    ) -> list[Buffer] | None:
        """Take a response through the filters; None when it is held for a look-up."""
        plan = awaited.plan
        response = decode(plan.response.layout, frame, offset)
        try:
            is_complete = translation.to_virtual(self._namespace, response, plan.api_version)
        except translation.ForeignEntity as error:
            raise SessionEnded(CloseReason.BROKER_MISBEHAVED, str(error)) from None
        if not is_complete:
            self._look_up()
            self._held_responses.appendleft(bytes(frame))
            return None
        exchange = awaited.exchange or Exchange(plan.api_key, plan.api_version, self._scope)
        for one in reversed(plan.filters):
            one.on_response(exchange, response)
        return [encode(plan.response.layout, response, head or bytes(frame[:offset]))]


_NAMED_SOFTWARE = 3
"""ApiVersions version from which clients say what they are (KIP-511)."""

_OWN_APIS = frozenset({ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})


def _api_name(api_key: int) -> str:
    try:
        return ApiKey(api_key).name
    except ValueError:
        return f"API key {api_key}"
