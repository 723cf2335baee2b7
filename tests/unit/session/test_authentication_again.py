"""Who authenticates again on the same connection (KIP-368): after all answers, as the same user, in time."""

import pytest

from bifrost.session.close_reason import CloseReason
from bifrost.wire.error_codes import ErrorCode
from support.clients.scram_client import ScramClient
from support.physical_names import physical_name
from support.stage import messages
from support.stage.messages import metadata, metadata_of
from support.stage.playbook import (
    Playbook,
    broker_answers,
    client_sends,
    client_sends_frame,
    ends,
    holds,
    read_response,
    to_broker,
    to_client,
    to_client_frame,
)
from support.stage.stage import PASSWORD_MECHANISMS, Stage, authenticate, handshake, plain_token

LIFETIME_MS = 30_000
MECHANISMS = messages.SaslHandshakeResponse(mechanisms=[str(one) for one in PASSWORD_MECHANISMS])
LET_IN = messages.SaslAuthenticateResponse(session_lifetime_ms=LIFETIME_MS)
OUT_OF_ORDER = ErrorCode.ILLEGAL_SASL_STATE
API_VERSIONS = messages.ApiVersionsRequest(client_software_name="tests", client_software_version="1")
ASKED, SENT_ON = metadata("orders"), metadata(physical_name("acme", "orders"))
ANSWERED, SEEN = metadata_of(physical_name("acme", "orders")), metadata_of("orders", tenant="acme")


@pytest.fixture
def stage() -> Stage:
    return Stage(mechanisms=PASSWORD_MECHANISMS, max_reauth_ms=LIFETIME_MS)


def let_in(book: Playbook, tenant: str = "acme", version: int = 2) -> Playbook:
    return (
        book
        >> client_sends(handshake(), 1)
        << to_client(MECHANISMS)
        >> client_sends(authenticate(plain_token(tenant)), version)
        << to_client(LET_IN)
    )


def works(book: Playbook) -> bool:
    return bool(
        book >> client_sends(ASKED) << to_broker(SENT_ON) >> broker_answers(ANSWERED) << to_client(SEEN)
    )


def test_a_client_is_told_how_long_and_comes_again(stage: Stage) -> None:
    book = let_in(stage.play(None))
    stage.now_ms += LIFETIME_MS - 1

    let_in(book)

    assert works(book)
    assert book.session.lifetime_left_ms() == LIFETIME_MS


def test_an_old_client_is_not_told(stage: Stage) -> None:
    book = stage.play(None) >> client_sends(handshake(), 1) << to_client(MECHANISMS)

    assert (
        book
        >> client_sends(authenticate(plain_token("acme")), 0)
        << to_client(messages.SaslAuthenticateResponse())
    )
    assert book.session.lifetime_left_ms() == LIFETIME_MS


@pytest.mark.parametrize("request_", [ASKED, API_VERSIONS, authenticate(b"")])
def test_a_request_after_the_time_ends_the_connection(stage: Stage, request_: messages.Message) -> None:
    book = let_in(stage.play(None))
    assert works(book)
    stage.now_ms += LIFETIME_MS

    assert book.session.lifetime_left_ms() == 0

    assert (
        book
        >> client_sends(request_)
        << ends(CloseReason.SESSION_EXPIRED, f"after {LIFETIME_MS} ms without authentication")
    )


def test_who_is_late_may_still_authenticate_first(stage: Stage) -> None:
    book = let_in(stage.play(None))
    stage.now_ms += LIFETIME_MS
    assert book.session.lifetime_left_ms() == 0

    let_in(book)

    assert works(book)
    assert book.session.lifetime_left_ms() == LIFETIME_MS


def test_an_answer_that_comes_after_the_time_is_sent_on(stage: Stage) -> None:
    book = let_in(stage.play(None)) >> client_sends(ASKED) << to_broker(SENT_ON)
    stage.now_ms += LIFETIME_MS
    assert book.session.lifetime_left_ms() == 0

    assert book >> broker_answers(ANSWERED) << to_client(SEEN)


def test_answers_to_earlier_requests_come_before_those_to_the_handshake(stage: Stage) -> None:
    book = (
        let_in(stage.play(None))
        >> client_sends(ASKED)
        << to_broker(SENT_ON)
        >> client_sends(ASKED)
        << to_broker(SENT_ON)
        >> client_sends(handshake(), 1)
        << holds(requests=True)
        >> client_sends(authenticate(plain_token("acme")), 2)
        >> client_sends(ASKED)
        >> broker_answers(ANSWERED)
        << to_client(SEEN)
        << holds(requests=True)
        >> broker_answers(ANSWERED)
        << to_client(SEEN)
        << to_client(MECHANISMS)
        << to_client(LET_IN)
        << to_broker(SENT_ON)
        << holds()
    )

    assert book >> broker_answers(ANSWERED) << to_client(SEEN)


def test_an_expired_client_with_an_open_request_may_authenticate_after_its_answer(stage: Stage) -> None:
    book = let_in(stage.play(None)) >> client_sends(ASKED) << to_broker(SENT_ON)
    stage.now_ms += LIFETIME_MS
    assert book.session.lifetime_left_ms() == 0

    assert (
        book
        >> client_sends(handshake(), 1)
        << holds(requests=True)
        >> broker_answers(ANSWERED)
        << to_client(SEEN)
        << to_client(MECHANISMS)
    )


def test_another_user_is_refused_in_kafkas_words(stage: Stage) -> None:
    book = let_in(stage.play(None)) >> client_sends(handshake(), 1) << to_client(MECHANISMS)
    error = ErrorCode.SASL_AUTHENTICATION_FAILED
    text = "Cannot change principals during re-authentication from User.acme: User.globex"

    assert (
        book
        >> client_sends(authenticate(plain_token("globex")), 2)
        << to_client(messages.SaslAuthenticateResponse(error_code=error, error_message=text))
        << ends(CloseReason.AUTHENTICATION_FAILED, "as another user")
    )
    assert book.session.account is not None
    assert book.session.account.tenant == "acme"


def test_another_mechanism_is_refused_in_kafkas_words(stage: Stage) -> None:
    book = let_in(stage.play(None))
    error = ErrorCode.SASL_AUTHENTICATION_FAILED
    text = (
        "SASL mechanism 'SCRAM-SHA-512' requested by client is not supported for re-authentication "
        "of mechanism 'PLAIN'"
    )
    client = ScramClient("SCRAM-SHA-512", "acme", "acme-password")

    assert (
        book
        >> client_sends(handshake("SCRAM-SHA-512"), 1)
        << to_client(MECHANISMS)
        >> client_sends(authenticate(client.first()), 2)
        << to_client(messages.SaslAuthenticateResponse(error_code=error, error_message=text))
        << ends(CloseReason.AUTHENTICATION_FAILED, "not supported for re-authentication")
    )


def test_a_wrong_password_ends_the_connection_the_second_time_too(stage: Stage) -> None:
    book = let_in(stage.play(None)) >> client_sends(handshake(), 1) << to_client(MECHANISMS)
    error = ErrorCode.SASL_AUTHENTICATION_FAILED
    text = "Authentication failed: Invalid username or password"

    assert (
        book
        >> client_sends(authenticate(plain_token("acme", "guess")), 2)
        << to_client(messages.SaslAuthenticateResponse(error_code=error, error_message=text))
        << ends(CloseReason.AUTHENTICATION_FAILED)
    )


def test_scram_comes_again_with_both_its_tokens(stage: Stage) -> None:
    book = stage.play(None)
    for _ in range(2):
        client = ScramClient("SCRAM-SHA-256", "acme", "acme-password")
        book >> client_sends(handshake("SCRAM-SHA-256"), 1) << to_client(MECHANISMS)
        lifetimes = []
        token = client.first()
        for _ in range(2):
            book >> client_sends(authenticate(token), 2)
            frame = book.said.to_client.popleft()
            book.asked_by_client.pop(int.from_bytes(frame[:4], "big"))
            response = read_response(frame, 36, 2)
            lifetimes.append(response.session_lifetime_ms)
            token = client.final(response.auth_bytes) if len(lifetimes) == 1 else b""
        assert lifetimes == [0, LIFETIME_MS]
        assert client.trusts(response.auth_bytes)
        assert works(book)


def test_a_bare_token_works_the_second_time_too(stage: Stage) -> None:
    book = (
        let_in(stage.play(None))
        >> client_sends(handshake(), 0)
        << to_client(MECHANISMS)
        >> client_sends_frame(plain_token("acme"))
        << to_client_frame(b"")
    )

    assert works(book)


def test_a_request_between_handshake_and_token_ends_the_connection(stage: Stage) -> None:
    assert (
        let_in(stage.play(None))
        >> client_sends(handshake(), 1)
        << to_client(MECHANISMS)
        >> client_sends(ASKED)
        << ends(CloseReason.NOT_AUTHENTICATED, "METADATA during SASL authentication")
    )


def test_twice_within_a_second_is_out_of_order(stage: Stage) -> None:
    book = let_in(let_in(stage.play(None)))
    stage.now_ms += 999

    book >> client_sends(handshake(), 1) << to_client(messages.SaslHandshakeResponse(error_code=OUT_OF_ORDER))
    stage.now_ms += 1

    assert works(let_in(book))


def test_a_token_without_a_handshake_is_out_of_order(stage: Stage) -> None:
    book = let_in(stage.play(None))

    assert (
        book
        >> client_sends(authenticate(plain_token("acme")), 2)
        << to_client(
            messages.SaslAuthenticateResponse(
                error_code=OUT_OF_ORDER,
                error_message="SaslAuthenticate request received after successful authentication",
            )
        )
    )
    assert works(book)


def test_without_a_limit_nothing_expires() -> None:
    stage = Stage()
    book = stage.play("acme")
    stage.now_ms += 10**9

    assert book.session.lifetime_left_ms() is None
    assert works(book)
