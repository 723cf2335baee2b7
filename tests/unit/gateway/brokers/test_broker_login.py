"""A login at a broker that is played by the test."""

import asyncio
from base64 import b64encode
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.authentication.sasl_client import LoginFailed
from bifrost.config.fields.client_tls import ClientTls
from bifrost.config.fields.upstream_sasl import UpstreamMechanism, UpstreamSasl
from bifrost.config.kept_secret import KeptSecret
from bifrost.gateway.brokers import broker_login as module
from bifrost.gateway.brokers.broker_login import (
    MAX_RENEW_MS,
    MAX_ROUNDS,
    MIN_RENEW_MS,
    Login,
    connect_failure,
)
from bifrost.gateway.errors import LoginError, OtherMechanism
from bifrost.wire.error_codes import ErrorCode
from support.clients.scram_client import ScramClient
from support.stage import messages
from support.stage.playbook import read_request, response_frame, split_frames
from support.stage.stage import broker_versions

ADDRESS = "broker 1 at kafka-1:9092"
REFUSED = int(ErrorCode.SASL_AUTHENTICATION_FAILED)


class Broker:
    """Answers the requests of a login: SaslAuthenticate with what `reply` gives for each token."""

    def __init__(self, reply: Callable[[bytes], Any] | None = None, **versions: tuple[int, int]) -> None:
        self.reply = reply or (lambda _token: messages.SaslAuthenticateResponse())
        self.versions = broker_versions(**versions)
        self.handshake = messages.SaslHandshakeResponse(mechanisms=["PLAIN"])
        self.asked: list[tuple[str, int]] = []
        self.tokens: list[bytes] = []

    async def ask(self, request: bytes) -> bytes:
        (frame,) = split_frames(request)
        header, message, _ = read_request(frame)
        name = message.SCHEMA.name.removesuffix("Request")
        self.asked.append((name, header.api_version))
        match name:
            case "ApiVersions":
                answer = self.versions
            case "SaslHandshake":
                answer = self.handshake
            case _:
                self.tokens.append(message.auth_bytes)
                answer = self.reply(message.auth_bytes)
        if isinstance(answer, Exception):
            raise answer
        return response_frame(answer, header.api_version, header.correlation_id)


def login(
    mechanism: str | None = "PLAIN", password: bytes = b"wile-e", tls: ClientTls | None = None
) -> Login:
    named = None if mechanism is None else UpstreamMechanism(mechanism)
    sasl = UpstreamSasl(mechanism=named, username="gateway", password=KeptSecret(password))
    return Login(sasl, tls=tls, timeout_ms=1000, now_ms=lambda: 0)


def logged_in(
    broker: Broker, one: Login | None = None, versions: Any = None, patience_s: float = 60.0
) -> int | None:
    async def run() -> int | None:
        deadline = asyncio.get_running_loop().time() + patience_s
        return await (one or login()).log_in(broker.ask, "kafka-1", ADDRESS, deadline, versions)

    return asyncio.run(run())


def failure(broker: Broker, one: Login | None = None) -> str:
    with pytest.raises(LoginError) as caught:
        logged_in(broker, one)
    return str(caught.value).removeprefix(f"{ADDRESS}: ")


@pytest.mark.parametrize("newest", [0, 1, 2])
def test_the_newest_version_of_both_is_spoken(newest: int) -> None:
    broker = Broker(SaslAuthenticate=(0, newest))

    assert logged_in(broker) is None

    assert broker.asked == [("ApiVersions", 0), ("SaslHandshake", 1), ("SaslAuthenticate", newest)]
    assert broker.tokens == [b"\0gateway\0wile-e"]


def test_what_is_known_is_not_asked() -> None:
    broker = Broker()

    logged_in(broker, versions=broker_versions(SaslAuthenticate=(0, 1)))

    assert broker.asked == [("SaslHandshake", 1), ("SaslAuthenticate", 1)]


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_takes_two_rounds_and_trusts_who_signs(mechanism: str) -> None:
    theirs: list[Any] = []

    def reply(token: bytes) -> Any:
        if not theirs:
            nonce = token.decode().split(",r=", 1)[1]
            theirs.append(ScramClient(mechanism, "gateway", "wile-e", nonce))
            first = f"r={nonce}more,s=c2FsdCBvZiBzaXh0ZWVuLg==,i=4096".encode()
            assert theirs[0].first() == token
            theirs.append(theirs[0].final(first))
            return messages.SaslAuthenticateResponse(auth_bytes=first)
        assert token == theirs[1]
        signature = messages.SaslAuthenticateResponse(
            auth_bytes=b"v=" + b64encode(theirs[0]._signature), session_lifetime_ms=0
        )
        return signature

    broker = Broker(reply)

    assert logged_in(broker, login(mechanism)) is None
    assert len(broker.tokens) == 2


@pytest.mark.parametrize(
    ("lifetime_ms", "low", "high"),
    [
        (60_000, 51_000, 57_000),
        (3_000, 2_550, 2_850),
        (100, MIN_RENEW_MS, MIN_RENEW_MS),
        (2**62, MAX_RENEW_MS, MAX_RENEW_MS),
    ],
)
def test_a_login_is_renewed_before_it_ends(lifetime_ms: int, low: int, high: int) -> None:
    broker = Broker(lambda _token: messages.SaslAuthenticateResponse(session_lifetime_ms=lifetime_ms))

    after = logged_in(broker)

    assert after is not None
    assert low <= after <= high


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Authentication failed: wrong", "the broker refused the login: Authentication failed: wrong"),
        (None, "the broker refused the login: SASL_AUTHENTICATION_FAILED"),
        ("is it wile-e?", "the broker refused the login: (its words hold the secret)"),
        ("a\nb\x1b[2J" + "x" * 1000, "the broker refused the login: ab[2J" + "x" * 293),
    ],
)
def test_a_refusal_is_told_in_the_brokers_words_without_the_secret(words: str | None, expected: str) -> None:
    broker = Broker(lambda _token: messages.SaslAuthenticateResponse(error_code=REFUSED, error_message=words))

    assert failure(broker) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            ErrorCode.UNSUPPORTED_SASL_MECHANISM,
            "the broker does not offer PLAIN, but SCRAM-SHA-512, GSSAPI: mend mechanism",
        ),
        (
            ErrorCode.ILLEGAL_SASL_STATE,
            "the broker's listener does not authenticate by SASL: mend security_protocol",
        ),
        (ErrorCode.UNKNOWN_SERVER_ERROR, "SaslHandshake failed with UNKNOWN_SERVER_ERROR"),
        (31_000, "SaslHandshake failed with error 31000"),
    ],
)
def test_a_handshake_that_is_refused(error: int, expected: str) -> None:
    broker = Broker()
    broker.handshake = messages.SaslHandshakeResponse(
        error_code=int(error), mechanisms=["SCRAM-SHA-512", "GSSAPI"]
    )

    assert failure(broker) == expected
    assert broker.tokens == []


def refusing(*offered: str) -> Broker:
    """Return a broker that offers these mechanisms alone, and not what it is asked for."""
    broker = Broker()
    broker.handshake = messages.SaslHandshakeResponse(
        error_code=int(ErrorCode.UNSUPPORTED_SASL_MECHANISM), mechanisms=list(offered)
    )
    return broker


def test_a_login_without_a_mechanism_goes_on_with_what_the_broker_offers_on_the_next_connection() -> None:
    one, refused = login(None, tls=ClientTls()), refusing("PLAIN")

    with pytest.raises(OtherMechanism, match="does not offer SCRAM-SHA-512, but PLAIN"):
        logged_in(refused, one)
    assert refused.tokens == []

    broker = Broker()
    logged_in(broker, one)
    assert broker.tokens == [b"\0gateway\0wile-e"]


def test_a_broker_that_offers_plain_alone_in_clear_is_not_told_the_password() -> None:
    one, refused = login(None), refusing("PLAIN")

    assert "the password is not sent in clear" in failure(refused, one)
    assert refused.tokens == []
    again = Broker()
    again.handshake = refused.handshake
    failure(again, one)
    assert again.tokens == []


def test_a_broker_that_is_too_old_is_told_no_secret() -> None:
    broker = Broker(SaslHandshake=(0, 0))

    assert failure(broker) == "the broker has no SaslAuthenticate: it is older than Kafka 1.0"
    assert broker.tokens == []


def test_a_broker_that_closes_has_refused() -> None:
    broker = Broker(lambda _token: EOFError())

    assert failure(broker) == "the broker closed the connection during the login"


def test_an_exchange_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    client = SimpleNamespace(first=lambda: b"1", respond=lambda _challenge: b"more")
    monkeypatch.setattr(module, "PlainClient", lambda *_: client)
    broker = Broker()

    assert failure(broker) == f"not logged in after {MAX_ROUNDS} tokens"
    assert len(broker.tokens) == MAX_ROUNDS


def bearer(tmp_path: Any, content: str) -> Login:
    (tmp_path / "token").write_text(content)
    sasl = UpstreamSasl(mechanism=UpstreamMechanism.OAUTHBEARER, token_file=str(tmp_path / "token"))
    return Login(sasl, tls=None, timeout_ms=1000, now_ms=lambda: 0)


def test_a_token_is_sent_and_its_refusal_told(tmp_path: Any) -> None:
    def reply(token: bytes) -> Any:
        if token == b"\x01":
            return messages.SaslAuthenticateResponse(
                error_code=REFUSED, error_message="the token has expired"
            )
        return messages.SaslAuthenticateResponse(auth_bytes=b'{"status":"invalid_token"}')

    broker = Broker(reply)

    assert failure(broker, bearer(tmp_path, "a.b.c\n")) == (
        "the broker refused the token (invalid_token): the token has expired"
    )
    assert broker.tokens == [b"n,,\x01auth=Bearer a.b.c\x01\x01", b"\x01"]


def test_without_a_token_nothing_is_asked(tmp_path: Any) -> None:
    one, broker = bearer(tmp_path, "a.b.c"), Broker()
    (tmp_path / "token").unlink()

    assert "cannot be read" in failure(broker, one)
    assert broker.asked == []


def test_kerberos_is_asked_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = iter([b"", None])
    client = SimpleNamespace(first=lambda: b"AP-REQ", respond=lambda _challenge: next(tokens))
    hosts: list[str] = []

    def new_client(host: str) -> Any:
        hosts.append(host)
        return client

    account = SimpleNamespace(new_client=new_client, in_thread=asyncio.to_thread)
    monkeypatch.setattr(module, "GssapiAccount", lambda _sasl: account)
    broker = Broker()

    assert logged_in(broker, login("GSSAPI")) is None
    assert (hosts, broker.tokens) == (["kafka-1"], [b"AP-REQ", b""])


def test_a_broker_that_says_nothing_has_not_let_us_in() -> None:
    async def ask(_request: bytes) -> bytes:
        await asyncio.sleep(10)
        return b""

    broker = Broker()
    broker.ask = ask  # type: ignore[method-assign]

    with pytest.raises(LoginError, match="the login was not done in time"):
        logged_in(broker, patience_s=0.1)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (TimeoutError(), "no answer within 100 ms"),
        (EOFError(), "the broker closed the connection; does security_protocol suit its listener?"),
        (
            ConnectionResetError(),
            "the broker closed the connection; does security_protocol suit its listener?",
        ),
        (ConnectionRefusedError(111, "Connection refused"), "[Errno 111] Connection refused"),
        (OSError(), "OSError"),
    ],
)
def test_what_ended_a_connection_is_worded(error: Exception, expected: str) -> None:
    assert str(connect_failure(error, ADDRESS, 100)) == f"{ADDRESS}: {expected}"


def test_what_the_exchange_cannot_do_is_a_failed_login(monkeypatch: pytest.MonkeyPatch) -> None:
    def respond(_challenge: bytes) -> None:
        raise LoginFailed("the broker is not the broker")

    client = SimpleNamespace(first=lambda: b"1", respond=respond)
    monkeypatch.setattr(module, "PlainClient", lambda *_: client)

    assert failure(Broker()) == "the broker is not the broker"
