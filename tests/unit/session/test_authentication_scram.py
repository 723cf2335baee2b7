"""SCRAM inside Kafka's handshake: several tokens, with and without headers."""

import pytest

from bifrost.config.fields.verifiers import Mechanism
from bifrost.session.close_reason import CloseReason
from bifrost.wire.error_codes import ErrorCode
from support.clients.scram_client import ScramClient
from support.physical_names import physical_name
from support.stage import messages
from support.stage.messages import metadata
from support.stage.playbook import (
    Playbook,
    client_sends,
    client_sends_frame,
    ends,
    read_response,
    to_broker,
    to_client,
    to_client_frame,
)
from support.stage.stage import PASSWORD_MECHANISMS, Stage, authenticate, handshake, plain_token

SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
ALL = messages.SaslHandshakeResponse(mechanisms=["PLAIN", *SCRAM])
SASL_AUTHENTICATE = 36


@pytest.fixture
def stage() -> Stage:
    return Stage(mechanisms=PASSWORD_MECHANISMS)


def answer(book: Playbook, version: int) -> bytes:
    """The token in the answer to the last request, which must be good."""
    frame = book.said.to_client.popleft()
    response = read_response(frame, SASL_AUTHENTICATE, version)
    book.asked_by_client.pop(int.from_bytes(frame[:4], "big"))
    assert (response.error_code, response.error_message) == (ErrorCode.NONE, "")
    assert response.session_lifetime_ms == 0
    token: bytes = response.auth_bytes
    return token


def after_handshake(stage: Stage, mechanism: str, version: int = 1) -> Playbook:
    book = stage.play(tenant=None)
    return book >> client_sends(handshake(mechanism), version) << to_client(ALL)


@pytest.mark.parametrize("mechanism", SCRAM)
@pytest.mark.parametrize("version", [0, 1, 2])
def test_two_tokens_open_the_tenants_namespace(stage: Stage, mechanism: str, version: int) -> None:
    client = ScramClient(mechanism, "globex", "globex-password")
    book = after_handshake(stage, mechanism)

    book >> client_sends(authenticate(client.first()), version)
    first = answer(book, version)
    assert not book.session.is_authenticated
    book >> client_sends(authenticate(client.final(first)), version)

    assert client.trusts(answer(book, version))
    assert book >> client_sends(metadata("users")) << to_broker(metadata(physical_name("globex", "users")))


@pytest.mark.parametrize("mechanism", SCRAM)
def test_after_the_oldest_handshake_both_tokens_are_bare(stage: Stage, mechanism: str) -> None:
    client = ScramClient(mechanism, "acme", "acme-password")
    book = after_handshake(stage, mechanism, version=0)

    book >> client_sends_frame(client.first())
    first = book.said.to_client.popleft()
    book >> client_sends_frame(client.final(first))

    assert client.trusts(book.said.to_client.popleft())
    assert book >> client_sends(metadata("orders")) << to_broker(metadata(physical_name("acme", "orders")))


def test_a_wrong_bare_token_gets_no_answer(stage: Stage) -> None:
    client = ScramClient(SCRAM[0], "acme", "guess")
    book = after_handshake(stage, SCRAM[0], version=0) >> client_sends_frame(client.first())
    first = book.said.to_client.popleft()

    assert book >> client_sends_frame(client.final(first)) << ends(CloseReason.AUTHENTICATION_FAILED)


@pytest.mark.parametrize("mechanism", SCRAM)
@pytest.mark.parametrize(
    ("username", "password"), [("acme", "guess"), ("unknown", "acme-password"), ("acme", "globex-password")]
)
def test_a_wrong_proof_is_told_as_kafka_does_for_any_user(
    stage: Stage, mechanism: str, username: str, password: str
) -> None:
    client = ScramClient(mechanism, username, password)
    book = after_handshake(stage, mechanism) >> client_sends(authenticate(client.first()), 2)
    first = answer(book, 2)
    text = f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}"
    error = ErrorCode.SASL_AUTHENTICATION_FAILED

    assert (
        book
        >> client_sends(authenticate(client.final(first)), 2)
        << to_client(messages.SaslAuthenticateResponse(error_code=error, error_message=text))
        << ends(CloseReason.AUTHENTICATION_FAILED, "wrong user name or password")
    )
    assert not book.session.is_authenticated


def test_a_malformed_token_is_told_so_in_the_log_alone(stage: Stage) -> None:
    text = "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512"
    error = ErrorCode.SASL_AUTHENTICATION_FAILED
    assert (
        after_handshake(stage, SCRAM[1])
        >> client_sends(authenticate(plain_token("acme")), 2)
        << to_client(messages.SaslAuthenticateResponse(error_code=error, error_message=text))
        << ends(CloseReason.AUTHENTICATION_FAILED, "a malformed first SCRAM message")
    )


@pytest.mark.parametrize("asked", [handshake(SCRAM[0]), handshake(), metadata("orders")])
def test_nothing_comes_between_two_tokens(stage: Stage, asked: messages.Message) -> None:
    client = ScramClient(SCRAM[0], "acme", "acme-password")
    book = after_handshake(stage, SCRAM[0]) >> client_sends(authenticate(client.first()), 2)
    answer(book, 2)

    version = 9 if asked == metadata("orders") else 1
    assert (
        book
        >> client_sends(asked, version)
        << ends(CloseReason.NOT_AUTHENTICATED, "during SASL authentication")
    )


def test_the_second_first_message_ends_the_connection(stage: Stage) -> None:
    client = ScramClient(SCRAM[0], "acme", "acme-password")
    book = after_handshake(stage, SCRAM[0]) >> client_sends(authenticate(client.first()), 2)
    answer(book, 2)
    book >> client_sends(authenticate(client.first()), 2)

    response = read_response(book.said.to_client.popleft(), SASL_AUTHENTICATE, 2)

    assert response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert book << ends(CloseReason.AUTHENTICATION_FAILED, "a malformed final SCRAM message")


@pytest.mark.parametrize(
    ("offered", "asked"),
    [
        ((Mechanism.SCRAM_SHA_512,), "PLAIN"),
        ((Mechanism.PLAIN, Mechanism.SCRAM_SHA_256), "SCRAM-SHA-512"),
        (PASSWORD_MECHANISMS, "SCRAM-SHA-256-PLUS"),
        (PASSWORD_MECHANISMS, "GSSAPI"),
    ],
)
def test_a_mechanism_that_is_not_offered_is_told_which_are(
    offered: tuple[Mechanism, ...], asked: str
) -> None:
    error = ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert (
        Stage(mechanisms=offered).play(tenant=None)
        >> client_sends(handshake(asked), 1)
        << to_client(
            messages.SaslHandshakeResponse(error_code=error, mechanisms=[str(one) for one in offered])
        )
        << ends(CloseReason.AUTHENTICATION_FAILED)
    )


def test_the_frame_without_header_is_answered_by_its_length(stage: Stage) -> None:
    assert (
        after_handshake(stage, "PLAIN", version=0)
        >> client_sends_frame(plain_token("acme"))
        << to_client_frame(b"")
    )
