"""What a client may do before it has said who it is, and how it does: the state machine of client_session.py."""

import pytest

from bifrost.session.close_reason import CloseReason
from bifrost.session.refusal import build_refusal
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import served_versions
from support.physical_names import physical_name
from support.stage import messages
from support.stage.messages import metadata
from support.stage.playbook import (
    Asked,
    broker_answers,
    client_sends,
    client_sends_frame,
    ends,
    request_frame,
    split_frames,
    to_broker,
    to_client,
    to_client_frame,
)
from support.stage.stage import Stage, authenticate, handshake, plain_token

MECHANISMS = messages.SaslHandshakeResponse(mechanisms=["PLAIN"])
LET_IN = messages.SaslAuthenticateResponse()
API_VERSIONS = messages.ApiVersionsRequest(client_software_name="tests", client_software_version="1")


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_password_opens_the_tenants_namespace(stage: Stage, version: int) -> None:
    book = (
        stage.play(tenant=None)
        >> client_sends(handshake(), 1)
        << to_client(MECHANISMS)
        >> client_sends(authenticate(plain_token("globex")), version)
        << to_client(LET_IN)
        >> client_sends(metadata("users"))
        << to_broker(metadata(physical_name("globex", "users")))
    )

    assert book
    assert book.session.is_authenticated
    assert book.session.account is not None
    assert book.session.account.tenant == "globex"


def test_the_oldest_handshake_is_followed_by_a_bare_token(stage: Stage) -> None:
    assert (
        stage.play(tenant=None)
        >> client_sends(handshake(), 0)
        << to_client(MECHANISMS)
        >> client_sends_frame(plain_token("acme"))
        << to_client_frame(b"")
        >> client_sends(metadata("orders"), 0)
        << to_broker(metadata(physical_name("acme", "orders")))
    )


def test_a_wrong_bare_token_gets_no_answer(stage: Stage) -> None:
    assert (
        stage.play(tenant=None)
        >> client_sends(handshake(), 0)
        << to_client(MECHANISMS)
        >> client_sends_frame(plain_token("acme", "guess"))
        << ends(CloseReason.AUTHENTICATION_FAILED)
    )


@pytest.mark.parametrize(
    "token",
    [
        plain_token("acme", "guess"),
        plain_token("unknown", "acme-password"),
        plain_token("acme", "globex-password"),
        plain_token("", "acme-password"),
        b"\0\xff\xfe\0acme-password",
        b"acme\0acme-password",
        b"",
    ],
)
def test_a_wrong_password_is_answered_and_ends_the_connection(stage: Stage, token: bytes) -> None:
    book = (
        stage.play(tenant=None)
        >> client_sends(handshake(), 1)
        << to_client(MECHANISMS)
        >> client_sends(authenticate(token), 2)
    )
    answer = book.said.to_client.popleft()

    error = ErrorCode.SASL_AUTHENTICATION_FAILED.to_bytes(2, "big")
    assert answer[5:7] == error  # behind the correlation ID and the header's tagged fields
    assert b"password" not in answer.replace(b"username or password", b"")
    assert book << ends(CloseReason.AUTHENTICATION_FAILED, "wrong user name or password")
    assert not book.session.is_authenticated


def test_by_what_a_client_tries_is_known_from_its_handshake_until_it_is_let_in(stage: Stage) -> None:
    failed = (
        stage.play(tenant=None)
        >> client_sends(handshake(), 1)
        << to_client(MECHANISMS)
        >> client_sends(authenticate(plain_token("acme", "guess")), 2)
    )
    assert failed.session.tried_mechanism == "PLAIN"
    fresh = stage.play(tenant=None)
    assert fresh.session.tried_mechanism is None
    passed = (
        fresh
        >> client_sends(handshake(), 1)
        << to_client(MECHANISMS)
        >> client_sends(authenticate(plain_token("acme")), 2)
        << to_client(LET_IN)
    )
    assert passed.session.tried_mechanism is None


def test_a_client_that_acts_for_another_user_is_refused(stage: Stage) -> None:
    text = "Authentication failed: Client requested an authorization id that is different from username"
    error = ErrorCode.SASL_AUTHENTICATION_FAILED
    assert (
        stage.play(tenant=None)
        >> client_sends(handshake(), 1)
        << to_client(MECHANISMS)
        >> client_sends(authenticate(plain_token("acme", authorization_id="globex")), 2)
        << to_client(messages.SaslAuthenticateResponse(error_code=error, error_message=text))
        << ends(CloseReason.AUTHENTICATION_FAILED)
    )


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "plain", ""])
@pytest.mark.parametrize("version", [0, 1])
def test_another_mechanism_is_told_which_there_are(stage: Stage, mechanism: str, version: int) -> None:
    error = ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert (
        stage.play(tenant=None)
        >> client_sends(handshake(mechanism), version)
        << to_client(messages.SaslHandshakeResponse(error_code=error, mechanisms=["PLAIN"]))
        << ends(CloseReason.AUTHENTICATION_FAILED, "SASL mechanism than PLAIN")
    )


def test_a_request_before_authentication_ends_the_connection(stage: Stage) -> None:
    assert (
        stage.play(tenant=None)
        >> client_sends(metadata("orders"))
        << ends(CloseReason.NOT_AUTHENTICATED, "METADATA before SASL authentication")
    )


def test_a_request_between_handshake_and_password_ends_the_connection(stage: Stage) -> None:
    assert (
        stage.play(tenant=None)
        >> client_sends(handshake(), 1)
        << to_client(MECHANISMS)
        >> client_sends(metadata("orders"))
        << ends(CloseReason.NOT_AUTHENTICATED)
    )


def test_a_password_without_a_handshake_ends_the_connection(stage: Stage) -> None:
    assert (
        stage.play(tenant=None)
        >> client_sends(authenticate(plain_token("acme")), 2)
        << ends(CloseReason.NOT_AUTHENTICATED, "SASL_AUTHENTICATE before")
    )


def test_an_unknown_api_before_authentication_ends_the_connection(stage: Stage) -> None:
    frame = b"\x03\xe7\0\0" + bytes(4) + b"\xff\xff"
    assert (
        stage.play(tenant=None)
        >> client_sends_frame(frame)
        << ends(CloseReason.NOT_AUTHENTICATED, "API key 999 before")
    )


@pytest.mark.parametrize(("message", "version"), [(handshake(), 2), (authenticate(b""), 9)])
def test_an_unknown_version_of_a_handshake_ends_the_connection(stage: Stage, message, version: int) -> None:
    frame = bytearray(request_frame(message, 1, 1))
    frame[2:4] = version.to_bytes(2, "big")
    book = stage.play(tenant=None)
    if message != handshake():
        book >> client_sends(handshake(), 1) << to_client(MECHANISMS)

    book >> client_sends_frame(bytes(frame))

    assert book << ends(CloseReason.UNSUPPORTED, f"v{version} is not known")


def test_a_second_handshake_ends_the_connection(stage: Stage) -> None:
    assert (
        stage.play(tenant=None)
        >> client_sends(handshake(), 1)
        << to_client(MECHANISMS)
        >> client_sends(handshake(), 1)
        << ends(CloseReason.NOT_AUTHENTICATED, "SASL_HANDSHAKE during SASL authentication")
    )


@pytest.mark.parametrize("version", list(served_versions(ApiKey.API_VERSIONS) or ()))
@pytest.mark.parametrize("tenant", [None, "acme"])
def test_api_versions_are_told_to_any_client_at_any_time(
    stage: Stage, version: int, tenant: str | None
) -> None:
    assert (
        stage.play(tenant)
        >> client_sends(API_VERSIONS, version)
        << to_client(stage.versions.response(version))
    )


@pytest.mark.parametrize("version", [0, 3, 4])
def test_api_versions_asked_again_get_the_same_answer_with_their_own_correlation_id(
    stage: Stage, version: int
) -> None:
    session = stage.play().session
    asked = messages.ApiVersionsRequest(client_software_name="x", client_software_version="1")

    for correlation_id in (1, -(2**31), 2**31 - 1):
        session.receive_from_client(request_frame(asked, version, correlation_id))
    answers = split_frames(b"".join(session.to_client))

    assert [int.from_bytes(one[:4], "big", signed=True) for one in answers] == [1, -(2**31), 2**31 - 1]
    assert len({one[4:] for one in answers}) == 1
    assert len(answers[0]) > 100


@pytest.mark.parametrize("tenant", [None, "acme"])
def test_an_unknown_version_of_api_versions_is_answered_in_the_oldest(
    stage: Stage, tenant: str | None
) -> None:
    frame = bytearray(request_frame(API_VERSIONS, 4, 77))
    frame[2:4] = (99).to_bytes(2, "big")
    book = stage.play(tenant)
    book.asked_by_client[77] = Asked(ApiKey.API_VERSIONS, 0, 77)

    book >> client_sends_frame(bytes(frame))

    assert book << to_client(stage.versions.unsupported_version_response(), version=0)


OUT_OF_ORDER = "SaslAuthenticate request received after successful authentication"


def test_sasl_after_authentication_is_out_of_order(stage: Stage) -> None:
    error = ErrorCode.ILLEGAL_SASL_STATE
    assert (
        stage.play("acme")
        >> client_sends(handshake(), 1)
        << to_client(messages.SaslHandshakeResponse(error_code=error))
        >> client_sends(authenticate(plain_token("globex")), 2)
        << to_client(messages.SaslAuthenticateResponse(error_code=error, error_message=OUT_OF_ORDER))
        >> client_sends(metadata("orders"))
        << to_broker(metadata(physical_name("acme", "orders")))
    )


@pytest.mark.parametrize("frame", [b"", b"\0", b"\0\x03\0\x09\0\0\0\1\0", b"\0\x11\0\1\0\0\0\1\0\x09abc"])
def test_a_frame_too_short_for_its_header_is_malformed(stage: Stage, frame: bytes) -> None:
    assert stage.play(tenant=None) >> client_sends_frame(frame) << ends(CloseReason.MALFORMED)


def test_a_handshake_that_does_not_parse_is_malformed(stage: Stage) -> None:
    frame = request_frame(handshake(), 1, 1)

    book = stage.play(tenant=None) >> client_sends_frame(frame[:-1])

    assert book << ends(CloseReason.MALFORMED)


def test_a_second_handshake_does_not_open_another_namespace(stage: Stage) -> None:
    error = ErrorCode.ILLEGAL_SASL_STATE
    book = (
        stage.play("acme")
        >> client_sends(handshake(), 0)
        << to_client(messages.SaslHandshakeResponse(error_code=error))
        >> client_sends_frame(plain_token("globex"))
    )

    # Read as a request the token means nothing.
    assert book << ends(CloseReason.UNSUPPORTED)
    assert book.session.account is not None
    assert book.session.account.tenant == "acme"


def test_what_is_refused_by_an_error_code_is_refused_so_only_after_authentication(stage: Stage) -> None:
    request = messages.DescribeUserScramCredentialsRequest(users=None)
    frame = build_refusal(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 1)

    assert frame is not None
    assert stage.play(tenant=None) >> client_sends(request, 0) << ends(CloseReason.NOT_AUTHENTICATED)


def test_two_connections_are_two_tenants(stage: Stage) -> None:
    acme, globex = stage.play("acme"), stage.play("globex")

    acme >> client_sends(metadata("orders")) << to_broker(metadata(physical_name("acme", "orders")))
    globex >> client_sends(metadata("orders")) << to_broker(metadata(physical_name("globex", "orders")))

    assert (
        acme
        >> broker_answers(messages.metadata_of(physical_name("acme", "orders")))
        << to_client(messages.metadata_of("orders", tenant="acme"))
    )
    assert (
        globex
        >> broker_answers(messages.metadata_of(physical_name("globex", "orders")))
        << to_client(messages.metadata_of("orders", tenant="globex"))
    )
