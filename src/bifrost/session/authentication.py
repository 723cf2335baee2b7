"""Who is it? The part of a connection before its first request to a broker.

      UNAUTHENTICATED ──SaslHandshake v1──▶ HANDSHAKEN ──SaslAuthenticate──▶ authenticated
             │                                                                    ▲
             └──────────SaslHandshake v0──▶ RAW_TOKEN ──a token without header────┘

ApiVersions is answered in every state, everything else than what the drawing shows ends the connection. A failure is
answered in the protocol's own words first (v0 has none: there the connection just closes).

Source: KIP-43, KIP-152, KIP-255; SaslServerAuthenticator.
"""

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any

from bifrost.filters.api_versions import OfferedVersions, is_valid
from bifrost.filters.plan import Plan, Plans
from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.session.sasl_server import MECHANISMS, Account, AuthenticationFailed, authenticate_plain
from bifrost.wire import headers
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.engine import decode, encode
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import ApiVersionsResponse, SaslAuthenticateResponse, SaslHandshakeResponse

_NAMED_SOFTWARE = 3
"""ApiVersions version from which clients say what they are (KIP-511)."""

_EMPTY_TOKEN = bytes(4)
"""What PLAIN has to say after SaslHandshake v0: a token of length 0, no header."""


class _State(Enum):
    UNAUTHENTICATED = auto()
    HANDSHAKEN = auto()
    RAW_TOKEN = auto()


class Authentication:
    """The SASL exchange of one connection."""

    def __init__(self, plans: Plans, accounts: Mapping[str, Account], offered: OfferedVersions) -> None:
        """Begin; `accounts` by user name."""
        self._plans = plans
        self._accounts = accounts
        self._offered = offered
        self._state = _State.UNAUTHENTICATED
        self._answers: list[bytes] = []

    def take_answers(self) -> list[bytes]:
        """Return what is to be sent to the client, also after `receive` raised."""
        taken, self._answers = self._answers, []
        return taken

    def receive(self, frame: bytes | memoryview) -> Account | None:
        """Handle one frame; return the account once the client has proved it.

        Raises:
            SessionEnded: the exchange failed, or the client asked for something else.
            WireError: the client broke the protocol.
        """
        if self._state is _State.RAW_TOKEN:
            account = self._authenticate(bytes(frame), lambda _message: None)
            self._answers.append(_EMPTY_TOKEN)
            return account
        header = headers.read_request_header(frame)
        match header.api_key:
            case ApiKey.API_VERSIONS:
                self._answers.append(answer_api_versions(self._plans, self._offered, header, frame))
            case ApiKey.SASL_HANDSHAKE:
                self._handshake(header, frame)
            case ApiKey.SASL_AUTHENTICATE if self._state is _State.HANDSHAKEN:
                return self._token(header, frame)
            case _:
                detail = f"{api_name(header.api_key)} before SASL authentication"
                raise SessionEnded(CloseReason.NOT_AUTHENTICATED, detail)
        return None

    def _handshake(self, header: headers.RequestHeader, frame: bytes | memoryview) -> None:
        plan, request = _decode_own(self._plans, header, frame)
        if request.mechanism not in MECHANISMS:
            error = ErrorCode.UNSUPPORTED_SASL_MECHANISM
            response = SaslHandshakeResponse(error_code=error, mechanisms=list(MECHANISMS))
            self._answers.append(encode_answer(header.correlation_id, plan, response))
            detail = f"the client wants another SASL mechanism than {', '.join(MECHANISMS)}"
            raise SessionEnded(CloseReason.AUTHENTICATION_FAILED, detail)
        response = SaslHandshakeResponse(mechanisms=list(MECHANISMS))
        self._answers.append(encode_answer(header.correlation_id, plan, response))
        self._state = _State.RAW_TOKEN if header.api_version == 0 else _State.HANDSHAKEN

    def _token(self, header: headers.RequestHeader, frame: bytes | memoryview) -> Account:
        plan, request = _decode_own(self._plans, header, frame)

        def refuse(message: str) -> None:
            error = ErrorCode.SASL_AUTHENTICATION_FAILED
            response = SaslAuthenticateResponse(error_code=error, error_message=message)
            self._answers.append(encode_answer(header.correlation_id, plan, response))

        account = self._authenticate(request.auth_bytes, refuse)
        self._answers.append(encode_answer(header.correlation_id, plan, SaslAuthenticateResponse()))
        return account

    def _authenticate(self, token: bytes, refuse: Callable[[str], None]) -> Account:
        try:
            return authenticate_plain(token, self._accounts)
        except AuthenticationFailed as failure:
            refuse(str(failure))
            raise SessionEnded(CloseReason.AUTHENTICATION_FAILED, "wrong user name or password") from None


def answer_api_versions(
    plans: Plans, offered: OfferedVersions, header: headers.RequestHeader, frame: bytes | memoryview
) -> bytes:
    """Return the answer to an ApiVersions request, which is given in every state of a connection."""
    if plans.plan_for(header.api_key, header.api_version) is None:
        # KIP-511: whatever the version, v0 with the supported versions is understood.
        plan = plans.plan_for(ApiKey.API_VERSIONS, 0)
        assert plan is not None
        return encode_answer(header.correlation_id, plan, offered.unsupported_version_response())
    plan, request = _decode_own(plans, header, frame)
    if header.api_version >= _NAMED_SOFTWARE and not is_valid(request):
        response: Message = ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    else:
        response = offered.response(header.api_version)
    return encode_answer(header.correlation_id, plan, response)


def encode_answer(correlation_id: int, plan: Plan, response: Message) -> bytes:
    """Return a response of the gateway's own as a frame."""
    head = headers.response_header(correlation_id, plan.response.is_flexible_header)
    return encode(plan.response.layout, response, head)


def api_name(api_key: int) -> str:
    """Return what a log line calls an API key."""
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
