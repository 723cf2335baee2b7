"""Authenticates the client of a connection: before its first request to a broker, and again when that has expired.

      UNAUTHENTICATED ──SaslHandshake v1──▶ HANDSHAKEN ──SaslAuthenticate…──▶ authenticated
             │                                                                    ▲
             └──────────SaslHandshake v0──▶ RAW_TOKEN ──tokens without header─────┘

ApiVersions is answered in every state; any other request that the drawing does not show ends the connection. A failure
is first answered with the protocol's error (v0 has none: there the connection just closes). PLAIN takes one token,
SCRAM two, OAUTHBEARER one and after a refusal another, GSSAPI three. A client that authenticates again must stay the
same user and use the same mechanism (KIP-368).

Source: KIP-43, KIP-84, KIP-152, KIP-255, KIP-368; SaslServerAuthenticator.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from bifrost.authentication.accounts import Account, AuthenticationFailed
from bifrost.authentication.sasl_server import SaslExchange, SaslSettings, new_exchange
from bifrost.config.fields.verifiers import Mechanism
from bifrost.config.tiers import SEPARATOR
from bifrost.filters.api_versions import OfferedVersions, is_valid
from bifrost.filters.plan import Plan, Plans
from bifrost.session.answered_errors import error_of_api_versions
from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.session.refusal import build_refusal
from bifrost.wire import headers
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode, encode
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import ApiVersionsResponse, SaslAuthenticateResponse, SaslHandshakeResponse

OTHER_BYTES = 16 * 1024
"""Largest frame without a token, and what a frame may have beside its token, in bytes: a client ID, a mechanism, the
name and version of a client's software. All of these are a few hundred bytes; Kafka has no bound but that of a string
(32 KiB)."""

_NAMED_SOFTWARE = 3
"""ApiVersions version from which clients name their software (KIP-511)."""


class _State(Enum):
    UNAUTHENTICATED = auto()
    HANDSHAKEN = auto()
    RAW_TOKEN = auto()


@dataclass(frozen=True, slots=True)
class Proven:
    """What a client has proved: who it is, and how."""

    account: Account
    mechanism: Mechanism | None
    """None where the client did not use SASL."""
    lifetime_ms: int | None = None
    """Time until the client must authenticate again; None: for ever."""


class Authentication:
    """The SASL exchange of one connection."""

    def __init__(
        self,
        plans: Plans,
        settings: SaslSettings,
        offered: OfferedVersions,
        mechanisms: Sequence[Mechanism],
        before: Proven | None = None,
        has_namespace: Callable[[Account], bool] = lambda _account: True,
    ) -> None:
        """Wait for the client's first frame.

        Args:
            plans: how the messages are read and written.
            settings: what all authentications have in common.
            offered: the versions that the client is told.
            mechanisms: those that this connection may use.
            before: what the client proved before, if it authenticates again.
            has_namespace: whether the namespace of an account exists.
        """
        self._has_namespace = has_namespace
        self._plans = plans
        self._settings = settings
        self._offered = offered
        self._mechanisms = mechanisms
        self._before = before
        self._mechanism = Mechanism.PLAIN
        self._exchange: SaslExchange | None = None
        self._state = _State.UNAUTHENTICATED
        self._answers: list[bytes] = []
        self._errors: list[int] = []

    @property
    def mechanism(self) -> str | None:
        """The mechanism that the client has chosen; None before its handshake."""
        return None if self._exchange is None else str(self._mechanism)

    @property
    def max_frame_bytes(self) -> int:
        """Largest frame that the client may send next, in bytes."""
        return OTHER_BYTES + (0 if self._exchange is None else self._exchange.max_token_bytes)

    def take_answers(self) -> list[bytes]:
        """Return the answers to send to the client, also after `receive` raised, and forget them."""
        taken, self._answers = self._answers, []
        return taken

    def take_errors(self) -> list[int]:
        """Return the error codes in the answers, also after `receive` raised, and forget them."""
        taken, self._errors = self._errors, []
        return taken

    def receive(self, frame: bytes | memoryview) -> Proven | None:
        """Handle one frame; return what the client has proved, None while the exchange goes on.

        Raises:
            SessionEnded: the exchange failed, or the client asked for something else.
            WireError: the client broke the protocol.
            KeysAreFetched: give the same frame again when the issuer's keys have been fetched.
            PasswordIsChecked: give the same frame again when the check of the password has run.
        """
        if self._state is _State.RAW_TOKEN:
            answer, proven = self._respond(bytes(frame), lambda _message: None)
            self._answers.append(len(answer).to_bytes(4, "big") + answer)
            return proven
        header = headers.read_request_header(frame)
        is_first = self._state is _State.UNAUTHENTICATED
        if is_first and self._before is not None and header.api_key != ApiKey.SASL_HANDSHAKE:
            lifetime_ms = self._before.lifetime_ms
            detail = f"{api_name(header.api_key)} after {lifetime_ms} ms without authentication"
            raise SessionEnded(CloseReason.SESSION_EXPIRED, detail)
        match header.api_key:
            case ApiKey.API_VERSIONS:
                answer = answer_api_versions(self._plans, self._offered, header, frame)
                self._answers.append(answer)
                code = error_of_api_versions(answer)
                self._errors += [code] if code else []
            case ApiKey.SASL_HANDSHAKE if is_first:
                self._handshake(header, frame)
            case ApiKey.SASL_AUTHENTICATE if not is_first:
                return self._token(header, frame)
            case _:
                when = "before SASL authentication" if is_first else "during SASL authentication"
                raise SessionEnded(CloseReason.NOT_AUTHENTICATED, f"{api_name(header.api_key)} {when}")
        return None

    def _handshake(self, header: headers.RequestHeader, frame: bytes | memoryview) -> None:
        plan, request = _decode_own(self._plans, header, frame)
        names = [str(one) for one in self._mechanisms]
        if request.mechanism not in names:
            error = ErrorCode.UNSUPPORTED_SASL_MECHANISM
            response = SaslHandshakeResponse(error_code=error, mechanisms=names)
            self._errors.append(error)
            self._answers.append(encode_answer(header.correlation_id, plan, response))
            self._settings.outcomes["", "", "failure"] += 1
            detail = f"the client wants another SASL mechanism than {', '.join(names)}"
            raise SessionEnded(CloseReason.AUTHENTICATION_FAILED, detail)
        response = SaslHandshakeResponse(mechanisms=names)
        self._answers.append(encode_answer(header.correlation_id, plan, response))
        self._mechanism = Mechanism(request.mechanism)
        self._exchange = new_exchange(self._mechanism, self._settings, is_again=self._before is not None)
        self._state = _State.RAW_TOKEN if header.api_version == 0 else _State.HANDSHAKEN

    def _token(self, header: headers.RequestHeader, frame: bytes | memoryview) -> Proven | None:
        plan, request = _decode_own(self._plans, header, frame)

        def refuse(message: str) -> None:
            error = ErrorCode.SASL_AUTHENTICATION_FAILED
            response = SaslAuthenticateResponse(error_code=error, error_message=message)
            self._errors.append(error)
            self._answers.append(encode_answer(header.correlation_id, plan, response))

        answer, proven = self._respond(request.auth_bytes, refuse)
        lifetime_ms = None if proven is None else proven.lifetime_ms
        response = SaslAuthenticateResponse(auth_bytes=answer, session_lifetime_ms=lifetime_ms or 0)
        self._answers.append(encode_answer(header.correlation_id, plan, response))
        return proven

    def _respond(self, token: bytes, refuse: Callable[[str], None]) -> tuple[bytes, Proven | None]:
        """Give a token to the exchange; return the answer, and what is proved if it was the last token."""
        assert self._exchange is not None
        try:
            self._check_mechanism()
            answer = self._exchange.respond(token)
            account = self._exchange.account
            if account is None:
                return answer, None
            self._check_principal(account)
            self._check_namespace(account)
        except AuthenticationFailed as failure:
            if failure.is_told:
                refuse(str(failure))
            self._settings.outcomes["", self._mechanism, "failure"] += 1
            raise SessionEnded(CloseReason.AUTHENTICATION_FAILED, failure.detail) from None
        self._settings.outcomes[account.tenant, self._mechanism, "success"] += 1
        return answer, Proven(account, self._mechanism, self._lifetime_ms(self._exchange.lifetime_ms))

    def _lifetime_ms(self, proof_ms: int | None) -> int | None:
        """Return how long an authentication is valid whose proof is valid for `proof_ms`; None: for ever.

        Source: SaslServerAuthenticator.ReauthInfo.calcCompletionTimesAndReturnSessionLifetimeMs.
        """
        limits = [one for one in (self._settings.max_reauth_ms or None, proof_ms) if one is not None]
        return min(limits, default=None)

    def _check_mechanism(self) -> None:
        """Refuse another mechanism than before, as ReauthInfo.saslMechanismUnchanged does."""
        if self._before is not None and self._mechanism is not self._before.mechanism:
            text = (
                f"SASL mechanism '{self._mechanism}' requested by client is not supported for re-authentication "
                f"of mechanism '{self._before.mechanism}'"
            )
            raise AuthenticationFailed(text, text)

    def _check_principal(self, account: Account) -> None:
        """Refuse another user than before, as ReauthInfo.ensurePrincipalUnchanged does, or another namespace."""
        if self._before is not None and _identity(account) != _identity(self._before.account):
            text = (
                f"Cannot change principals during re-authentication from User.{self._before.account.username}: "
                f"User.{account.username}"
            )
            raise AuthenticationFailed(text, "the client authenticated again as another user")

    def _check_namespace(self, account: Account) -> None:
        """Refuse a client whose namespace does not exist (KIP-37): a token may name any."""
        if not self._has_namespace(account):
            path = SEPARATOR.join((account.tenant, *account.namespace))
            text = f"InvalidNamespace: namespace {path} does not exist"
            raise AuthenticationFailed(text, f"{text}: create it, or name it in the configuration")


def _identity(account: Account) -> tuple[str, str, tuple[str, ...]]:
    return account.username, account.tenant, account.namespace


MAX_REMEMBERED_BYTES = 512
"""Of an ApiVersions request: each connection remembers one. Clients' own take about 70 bytes."""

_CORRELATION_ID_AT = 4
"""Bytes of a frame before its correlation ID: the length."""


def answer_api_versions(
    plans: Plans, offered: OfferedVersions, header: headers.RequestHeader, frame: bytes | memoryview
) -> bytes:
    """Return the answer to an ApiVersions request, which the gateway gives in every state of a connection."""
    if plans.plan_for(header.api_key, header.api_version) is None:
        # KIP-511: a client understands v0 with the supported versions, whatever version it asked for.
        plan = plans.plan_for(ApiKey.API_VERSIONS, 0)
        assert plan is not None
        return encode_answer(header.correlation_id, plan, offered.unsupported_version_response())
    plan, request = _decode_own(plans, header, frame)
    if header.api_version >= _NAMED_SOFTWARE and not is_valid(request):
        return encode_answer(
            header.correlation_id, plan, ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        )
    known = offered.encoded.get(header.api_version)
    if known is None:
        known = encode_answer(0, plan, offered.response(header.api_version))
        offered.encoded[header.api_version] = known
    correlation_id = header.correlation_id.to_bytes(4, "big", signed=True)
    return known[:_CORRELATION_ID_AT] + correlation_id + known[_CORRELATION_ID_AT + 4 :]


def is_the_same_again(api_key: int, frame: bytes | memoryview, answer: bytes) -> bool:
    """Whether the same request will get the same answer as long as the connection lasts, and is worth remembering."""
    is_found = api_key == ApiKey.API_VERSIONS and not error_of_api_versions(answer)
    return is_found and len(frame) <= MAX_REMEMBERED_BYTES


def answer_here(
    plans: Plans, offered: OfferedVersions, header: headers.RequestHeader, frame: bytes | memoryview
) -> bytes:
    """Return the gateway's own answer to a request that goes to no broker.

    These are ApiVersions, SASL when there is no need to authenticate again, and APIs that are not served.

    Raises:
        SessionEnded: the response has no place for an error.
        WireError: the client broke the protocol.
    """
    if header.api_key == ApiKey.API_VERSIONS:
        return answer_api_versions(plans, offered, header, frame)
    plan = plans.plan_for(header.api_key, header.api_version)
    if plan is not None and header.api_key in _OUT_OF_ORDER:
        return encode_answer(header.correlation_id, plan, _OUT_OF_ORDER[header.api_key])
    refusal = build_refusal(header.api_key, header.api_version, header.correlation_id)
    if refusal is None:
        detail = f"{api_name(header.api_key)} v{header.api_version} is not served"
        raise SessionEnded(CloseReason.UNSUPPORTED, detail)
    return refusal


_OUT_OF_ORDER: dict[int, Message] = {
    ApiKey.SASL_HANDSHAKE: SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE),
    ApiKey.SASL_AUTHENTICATE: SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
    ),
}
"""KafkaApis' answers to SASL requests on a listener without SASL, and on one where the client has authenticated."""


def encode_answer(correlation_id: int, plan: Plan, response: Message) -> bytes:
    """Return the frame of a response that the gateway itself gives."""
    head = headers.response_header(correlation_id, plan.response.is_flexible_header)
    return encode(plan.response.layout, response, head)


def api_name(api_key: int) -> str:
    """Return the name of an API key for log lines."""
    try:
        return ApiKey(api_key).name
    except ValueError:
        return f"API key {api_key}"


def _decode_own(plans: Plans, header: headers.RequestHeader, frame: bytes | memoryview) -> tuple[Plan, Any]:
    """Decode a request that the gateway itself answers."""
    plan = plans.plan_for(header.api_key, header.api_version)
    if plan is None:
        detail = f"{api_name(header.api_key)} v{header.api_version} is not known"
        raise SessionEnded(CloseReason.UNSUPPORTED, detail)
    flexible = plan.request.is_flexible_header
    offset, _ = headers.request_body_offset(frame, header.client_id_length, flexible)
    return plan, decode(plan.request.layout, frame, offset)
