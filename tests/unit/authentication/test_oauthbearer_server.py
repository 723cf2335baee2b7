from typing import Any

import pytest

from bifrost.authentication.accounts import Account, AuthenticationFailed
from bifrost.authentication.oauthbearer_server import (
    MAX_OTHER_BYTES,
    CheckedToken,
    InvalidToken,
    KeysAreFetched,
    OAuthBearerServer,
)
from support.identity.issuer import client_first

ALICE = Account("alice", "acme")
TEXT = (
    "Authentication failed during authentication due to invalid credentials with SASL mechanism OAUTHBEARER"
)


class FakeTokens:
    """Takes the token `good`, and refuses each other in a way of its own."""

    max_bytes = 100
    has_principals = True

    def __init__(self) -> None:
        self.checked: list[str] = []

    def check(self, token: str) -> CheckedToken:
        self.checked.append(token)
        refusals: dict[str, Exception] = {
            "bad": InvalidToken("the token has expired"),
            "weak": InvalidToken("lacks a scope", status="insufficient_scope", scope="read write"),
            "later": KeysAreFetched(),
        }
        if token in refusals:
            raise refusals[token]
        return CheckedToken(Account("a,b=c", "acme") if token == "odd" else ALICE, 5_000)


@pytest.fixture
def tokens() -> FakeTokens:
    return FakeTokens()


@pytest.fixture
def server(tokens: FakeTokens) -> OAuthBearerServer:
    return OAuthBearerServer(tokens)


def failure(server: OAuthBearerServer, token: bytes) -> tuple[str, str]:
    """What the client and what the log is told."""
    with pytest.raises(AuthenticationFailed) as caught:
        server.respond(token)
    assert server.account is None
    return str(caught.value), caught.value.detail


@pytest.mark.parametrize(
    "message",
    [
        client_first("good"),
        client_first("good", authorization_id="alice"),
        client_first("good", extensions="logicalCluster=lkc-1\1identityPoolId=a b\t=c\1"),
        b"n,,\1traceId=1\1auth=Bearer good\1more=x\1\1",
        b"n,,\1auth=bearer  good\1\1",
        b"n,,\1auth=BEARER good\1\1",
    ],
)
def test_a_good_token_lets_in(server: OAuthBearerServer, tokens: FakeTokens, message: bytes) -> None:
    assert server.respond(message) == b""

    assert (server.account, server.lifetime_ms) == (ALICE, 5_000)
    assert tokens.checked == ["good"]


def test_no_client_is_let_in_before(server: OAuthBearerServer) -> None:
    assert (server.account, server.lifetime_ms) == (None, None)


@pytest.mark.parametrize(
    ("token", "told", "logged"),
    [
        ("bad", '{"status":"invalid_token"}', "the token has expired"),
        ("weak", '{"status":"insufficient_scope", "scope":"read write"}', "lacks a scope"),
    ],
)
def test_a_refusal_takes_a_round_more(server: OAuthBearerServer, token: str, told: str, logged: str) -> None:
    assert server.respond(client_first(token)) == told.encode()
    assert server.account is None

    assert failure(server, b"\1") == (told, logged)


@pytest.mark.parametrize("message", [b"", b"\1\1", b"\0", client_first("good")])
def test_after_a_refusal_nothing_else_is_taken(server: OAuthBearerServer, message: bytes) -> None:
    server.respond(client_first("bad"))

    assert failure(server, message) == (TEXT, "a token after a refusal")


def test_after_the_end_nothing_is_taken(server: OAuthBearerServer) -> None:
    server.respond(client_first("good"))

    with pytest.raises(AuthenticationFailed) as caught:
        server.respond(client_first("good"))

    assert caught.value.detail == "a token after the end of the OAUTHBEARER exchange"


def test_the_same_message_may_come_again_when_keys_were_fetched(
    server: OAuthBearerServer, tokens: FakeTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeysAreFetched):
        server.respond(client_first("later"))
    monkeypatch.setattr(tokens, "check", lambda _token: CheckedToken(ALICE, 1))

    assert server.respond(client_first("later")) == b""

    assert server.account is ALICE


def test_a_client_that_acts_for_another_user_is_refused_in_kafkas_words(server: OAuthBearerServer) -> None:
    told, _ = failure(server, client_first("good", authorization_id="bob"))

    assert told == (
        "Authentication failed: Client requested an authorization id (bob) that is different from the token's "
        "principal name (alice)"
    )


def test_an_authorization_id_is_unescaped(server: OAuthBearerServer) -> None:
    assert server.respond(client_first("odd", authorization_id="a=2Cb=3Dc")) == b""


MALFORMED: list[Any] = [
    b"",
    b"\1",
    b"n,,\1\1",
    b"n,,\1auth=Bearer good\1",
    b"n,,auth=Bearer good\1\1",
    b"y,,\1auth=Bearer good\1\1",
    b"p=tls-unique,,\1auth=Bearer good\1\1",
    b"n,a=,\1auth=Bearer good\1\1",
    b"n,a=a=b,\1auth=Bearer good\1\1",
    b"n,,\1auth=Basic good\1\1",
    b"n,,\1auth=Bearer\1\1",
    b"n,,\1auth=Bearer go od\1\1",
    b"n,,\1auth=Bearer good,\1\1",
    b"n,,\1auth=Bearer g\xc3\xb6od\1\1",
    b"n,,\1Auth=Bearer good\1\1",
    b"n,,\1auth=Bearer good\1auth=Bearer bad\1\1",
    b"n,,\1auth=Bearer good\1key\1\1",
    b"n,,\1auth=Bearer good\1key=\1\1",
    b"n,,\1auth=Bearer good\1k-y=v\1\1",
    b"n,,\1auth=Bearer good\1key=\0\1\1",
    b"n,,\1auth=Bearer good\1\1\1",
    b"n,,\1auth=Bearer good\1\1 ",
    b"\0alice\0password",
]


@pytest.mark.parametrize("message", MALFORMED)
def test_a_malformed_message_fails_at_once(
    server: OAuthBearerServer, tokens: FakeTokens, message: bytes
) -> None:
    told, logged = failure(server, message)

    assert told == TEXT
    assert "OAUTHBEARER message" in logged
    assert tokens.checked == []


def test_a_message_that_is_too_large_is_not_read(server: OAuthBearerServer) -> None:
    message = client_first("good", extensions=f"key={'x' * (100 + MAX_OTHER_BYTES)}\1")

    told, logged = failure(server, message)

    assert (told, logged) == (TEXT, f"an OAUTHBEARER message of {len(message)} bytes")


def test_the_text_says_if_it_was_not_the_first_time(tokens: FakeTokens) -> None:
    told, _ = failure(OAuthBearerServer(tokens, is_again=True), b"")

    assert "failed during re-authentication due to" in told
