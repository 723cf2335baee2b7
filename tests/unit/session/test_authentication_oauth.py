"""OAUTHBEARER inside Kafka's handshake: refusals, sessions that end when tokens do, keys that are being fetched."""

from typing import Any

import pytest

from bifrost.authentication.accounts import Account
from bifrost.authentication.oauthbearer_server import CheckedToken, InvalidToken, KeysAreFetched
from bifrost.config.fields.verifiers import Mechanism
from bifrost.session.close_reason import CloseReason
from bifrost.session.needs import IssuerKeys
from bifrost.wire.error_codes import ErrorCode
from support.identity.issuer import client_first
from support.physical_names import physical_name
from support.stage import messages
from support.stage.messages import metadata, metadata_of
from support.stage.playbook import (
    Playbook,
    Step,
    broker_answers,
    client_sends,
    client_sends_frame,
    ends,
    holds,
    to_broker,
    to_client,
    to_client_frame,
)
from support.stage.stage import Stage, authenticate, handshake

MECHANISMS = messages.SaslHandshakeResponse(mechanisms=["OAUTHBEARER", "PLAIN"])
REFUSED = messages.SaslAuthenticateResponse(auth_bytes=b'{"status":"invalid_token"}')
FAILED = messages.SaslAuthenticateResponse(
    error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message='{"status":"invalid_token"}'
)
LIFETIME_MS = 300_000


class FakeTokens:
    """Takes every token that is the name of an account."""

    max_bytes = 1000
    has_principals = True

    def __init__(self) -> None:
        self.lifetime_ms = LIFETIME_MS
        self.is_fetching = False
        self.accounts = {
            "alice": Account("alice", "acme"),
            "bob": Account("bob", "globex"),
            "alice-of-globex": Account("alice", "globex"),
            "alice-below": Account("alice", "acme", namespace=("eu",)),
            "alice-nowhere": Account("alice", "acme", namespace=("eu", "de")),
        }

    def check(self, token: str) -> CheckedToken:
        if self.is_fetching:
            raise KeysAreFetched
        if token not in self.accounts:
            raise InvalidToken("the token has expired")
        return CheckedToken(self.accounts[token], self.lifetime_ms)


@pytest.fixture
def tokens() -> FakeTokens:
    return FakeTokens()


def stage_with(tokens: FakeTokens, max_reauth_ms: int = 0) -> Stage:
    mechanisms = (Mechanism.OAUTHBEARER, Mechanism.PLAIN)
    stage = Stage(mechanisms=mechanisms, max_reauth_ms=max_reauth_ms, tokens=tokens)
    stage.existing.configure({"acme": [("eu",)]})
    return stage


@pytest.fixture
def stage(tokens: FakeTokens) -> Stage:
    return stage_with(tokens)


def after_handshake(book: Playbook, version: int = 1) -> Playbook:
    return book >> client_sends(handshake("OAUTHBEARER"), version) << to_client(MECHANISMS)


def let_in(book: Playbook, shown: str = "alice", lifetime_ms: int = LIFETIME_MS) -> Playbook:
    return (
        after_handshake(book)
        >> client_sends(authenticate(client_first(shown)), 2)
        << to_client(messages.SaslAuthenticateResponse(session_lifetime_ms=lifetime_ms))
    )


def keys_are_fetched(tokens: FakeTokens) -> Step:
    """Let the shell tell the session that its wait is over."""

    def step(book: Playbook) -> str:
        tokens.is_fetching = False
        book.play(lambda: book.session.meet(IssuerKeys()), CloseReason.MALFORMED)
        return "keys were fetched"

    return step


def works(book: Playbook) -> bool:
    return bool(
        book
        >> client_sends(metadata("orders"))
        << to_broker(metadata(physical_name("acme", "orders")))
        >> broker_answers(metadata_of(physical_name("acme", "orders")))
        << to_client(metadata_of("orders", tenant="acme"))
    )


def test_a_token_opens_the_namespace_for_as_long_as_it_lasts(stage: Stage) -> None:
    book = let_in(stage.play(None))

    assert works(book)
    assert book.session.lifetime_left_ms() == LIFETIME_MS
    assert stage.shared.sasl.outcomes == {("acme", "OAUTHBEARER", "success"): 1}


@pytest.mark.parametrize(("max_reauth_ms", "expected_ms"), [(1_000, 1_000), (LIFETIME_MS + 1, LIFETIME_MS)])
def test_the_shorter_of_token_and_limit_counts(
    tokens: FakeTokens, max_reauth_ms: int, expected_ms: int
) -> None:
    book = let_in(stage_with(tokens, max_reauth_ms).play(None), lifetime_ms=expected_ms)

    assert book.session.lifetime_left_ms() == expected_ms


def test_a_bare_token_has_an_end_that_its_client_is_not_told(stage: Stage) -> None:
    book = (
        after_handshake(stage.play(None), version=0)
        >> client_sends_frame(client_first("alice"))
        << to_client_frame(b"")
    )

    assert book.session.lifetime_left_ms() == LIFETIME_MS


def test_after_the_tokens_end_a_request_ends_the_connection(stage: Stage) -> None:
    book = let_in(stage.play(None))
    stage.now_ms += LIFETIME_MS
    assert book.session.lifetime_left_ms() == 0

    assert (
        book
        >> client_sends(metadata("orders"))
        << ends(CloseReason.SESSION_EXPIRED, f"METADATA after {LIFETIME_MS} ms without authentication")
    )


def test_a_token_that_has_just_ended_serves_for_no_request(tokens: FakeTokens, stage: Stage) -> None:
    """As at a broker: within the clocks' difference it is taken, but the session is over at once."""
    tokens.lifetime_ms = 0
    book = let_in(stage.play(None), lifetime_ms=0)
    assert book.session.lifetime_left_ms() == 0

    assert book >> client_sends(metadata("orders")) << ends(CloseReason.SESSION_EXPIRED)


def test_a_new_token_renews_the_session_for_its_own_time(tokens: FakeTokens, stage: Stage) -> None:
    book = let_in(stage.play(None))
    stage.now_ms += LIFETIME_MS - 1
    tokens.lifetime_ms = 7_000

    let_in(book, lifetime_ms=7_000)

    assert works(book)
    assert book.session.lifetime_left_ms() == 7_000


def test_a_refusal_is_answered_twice_and_ends_the_connection(stage: Stage) -> None:
    assert (
        after_handshake(stage.play(None))
        >> client_sends(authenticate(client_first("mallory")), 2)
        << to_client(REFUSED)
        >> client_sends(authenticate(b"\1"), 2)
        << to_client(FAILED)
        << ends(CloseReason.AUTHENTICATION_FAILED, "the token has expired")
    )
    assert stage.shared.sasl.outcomes == {("", "OAUTHBEARER", "failure"): 1}


def test_a_token_for_a_namespace_that_does_not_exist_is_refused(stage: Stage) -> None:
    text = "InvalidNamespace: namespace acme:eu:de does not exist"
    refusal = messages.SaslAuthenticateResponse(
        error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=text
    )
    assert (
        after_handshake(stage.play(None))
        >> client_sends(authenticate(client_first("alice-nowhere")), 2)
        << to_client(refusal)
        << ends(CloseReason.AUTHENTICATION_FAILED, f"{text}: create it, or name it in the configuration")
    )


def test_a_refused_client_can_ask_for_nothing(stage: Stage) -> None:
    assert (
        after_handshake(stage.play(None))
        >> client_sends(authenticate(client_first("mallory")), 2)
        << to_client(REFUSED)
        >> client_sends(metadata("orders"))
        << ends(CloseReason.NOT_AUTHENTICATED, "METADATA during SASL authentication")
    )


@pytest.mark.parametrize("token", ["bob", "alice-of-globex", "alice-below"])
def test_a_token_of_another_principal_or_tenant_does_not_renew(stage: Stage, token: str) -> None:
    book = after_handshake(let_in(stage.play(None)))
    name = "bob" if token == "bob" else "alice"
    text = f"Cannot change principals during re-authentication from User.alice: User.{name}"
    error = ErrorCode.SASL_AUTHENTICATION_FAILED

    assert (
        book
        >> client_sends(authenticate(client_first(token)), 2)
        << to_client(messages.SaslAuthenticateResponse(error_code=error, error_message=text))
        << ends(CloseReason.AUTHENTICATION_FAILED, "as another user")
    )


def test_who_shows_a_token_while_keys_are_fetched_waits(tokens: FakeTokens, stage: Stage) -> None:
    book = after_handshake(stage.play(None))
    tokens.is_fetching = True

    book >> client_sends(authenticate(client_first("alice")), 2) << holds(requests=True)
    book >> client_sends(metadata("orders")) << holds(requests=True)
    assert book.session.needs == (IssuerKeys(),)

    book >> keys_are_fetched(tokens)

    assert not book.session.needs
    assert (
        book
        << to_client(messages.SaslAuthenticateResponse(session_lifetime_ms=LIFETIME_MS))
        << to_broker(metadata(physical_name("acme", "orders")))
        << holds()
    )


@pytest.mark.parametrize("token", ["alice", "mallory"])
def test_who_renews_while_keys_are_fetched_waits_too(tokens: FakeTokens, stage: Stage, token: str) -> None:
    book = after_handshake(let_in(stage.play(None)))
    tokens.is_fetching = True
    book >> client_sends(authenticate(client_first(token)), 2) << holds(requests=True)

    book >> keys_are_fetched(tokens)

    answer: Any = REFUSED
    if token == "alice":
        answer = messages.SaslAuthenticateResponse(session_lifetime_ms=LIFETIME_MS)
    assert book << to_client(answer) << holds()
