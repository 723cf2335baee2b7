"""Bearer tokens, from a file and from an endpoint that is played by the test."""

import asyncio
import json
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from time import time
from typing import Any

import pytest

from bifrost.authentication.sasl_client import LoginFailed
from bifrost.config.fields.client_tls import ClientTls
from bifrost.config.fields.upstream_sasl import UpstreamMechanism, UpstreamSasl
from bifrost.config.files.upstream_files import MAX_TOKEN_BYTES
from bifrost.config.kept_secret import KeptSecret
from bifrost.gateway.brokers.oauth_token import MAX_ANSWER_BYTES, TokenEndpoint, TokenFile, token_source
from bifrost.gateway.errors import StartError

URL = "http://login.example.com:8080/token?realm=x"
SECRET = b"hunter2+/="


def account(url: str = URL, **fields: Any) -> UpstreamSasl:
    return UpstreamSasl(
        mechanism=UpstreamMechanism.OAUTHBEARER,
        token_endpoint_url=url,
        client_id="gate way",
        client_secret=KeptSecret(SECRET),
        **fields,
    )


def answer(body: Any, status: int = 200) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} Whatever\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


class Endpoint:
    """Answers each request with the next of what it is given, over a connection of its own; None says nothing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: bytes | None) -> None:
        self.answers = list(answers)
        self.requests: list[bytes] = []
        self.opened: list[tuple[Any, ...]] = []
        self.closed = 0
        monkeypatch.setattr(asyncio, "open_connection", self.open)

    async def open(self, host: str, port: int, ssl: Any = None) -> tuple[Any, Any]:
        self.opened.append((host, port, ssl))
        self.reader = asyncio.StreamReader()
        self.received = b""
        content = self.answers.pop(0)
        if content is not None:
            self.reader.feed_data(content)
            self.reader.feed_eof()
        self.requests.append(b"")
        return self.reader, self

    def write(self, data: bytes) -> None:
        self.requests[-1] += data

    async def drain(self) -> None:
        await asyncio.sleep(0)

    def close(self) -> None:
        self.closed += 1


class Clock:
    now_ms = 1_000

    def __call__(self) -> int:
        return self.now_ms


def source(sasl: UpstreamSasl | None = None, clock: Callable[[], int] = Clock()) -> TokenEndpoint:  # noqa: B008
    one = token_source(sasl or account(), None, timeout_ms=50, now_ms=clock)
    assert isinstance(one, TokenEndpoint)
    return one


def token_of(one: Any) -> str:
    token = asyncio.run(one.token())
    assert isinstance(token, str)
    return token


def failure(one: Any) -> str:
    with pytest.raises(LoginFailed) as caught:
        token_of(one)
    assert "hunter2" not in str(caught.value)
    return str(caught.value)


def jwt(**claims: Any) -> str:
    parts = [
        urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in ({"alg": "x"}, claims)
    ]
    return ".".join([*parts, "signature"])


def test_a_token_is_asked_for_as_kafkas_clients_do(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = Endpoint(monkeypatch, answer({"access_token": "a.b.c", "expires_in": 60}))

    assert token_of(source(account(scope="kafka all"))) == "a.b.c"

    head, _, body = endpoint.requests[0].decode().partition("\r\n\r\n")
    lines = head.split("\r\n")
    assert lines[0] == "POST /token?realm=x HTTP/1.1"
    assert {
        "Host: login.example.com:8080",
        "Accept: application/json",
        f"Content-Length: {len(body)}",
    } <= set(lines)
    credentials = next(line for line in lines if line.startswith("Authorization: Basic ")).split()[-1]
    assert b64decode(credentials) == b"gate way:hunter2+/="
    assert body == "grant_type=client_credentials&scope=kafka+all"
    assert (endpoint.opened, endpoint.closed) == ([("login.example.com", 8080, None)], 1)


def test_name_and_secret_are_encoded_where_that_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = Endpoint(monkeypatch, answer({"access_token": "a.b.c"}))

    token_of(source(account(header_urlencode=True)))

    credentials = endpoint.requests[0].split(b"Basic ")[1].split(b"\r\n")[0]
    assert b64decode(credentials) == b"gate+way:hunter2%2B%2F%3D"


def test_https_checks_the_endpoints_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = Endpoint(monkeypatch, answer({"access_token": "a.b.c"}))

    token_of(source(account("https://login.example.com/token")))

    ((host, port, context),) = endpoint.opened
    assert (host, port, context.check_hostname) == ("login.example.com", 443, True)
    with pytest.raises(StartError, match="token_endpoint_ca_file"):
        token_source(
            account("https://x/", token_endpoint_ca_file="none.pem"),
            ClientTls(),
            timeout_ms=1,
            now_ms=Clock(),
        )


def test_a_token_is_used_for_four_fifths_of_its_life(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [answer({"access_token": name, "expires_in": 100}) for name in ("one", "two")]
    Endpoint(monkeypatch, *answers)
    clock = Clock()
    one = source(clock=clock)

    assert token_of(one) == "one"
    clock.now_ms += 79_999
    assert token_of(one) == "one"
    clock.now_ms += 1
    assert token_of(one) == "two"


def test_the_shorter_of_what_endpoint_and_token_say_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = [jwt(exp=time() + 50), "opaque", jwt(exp="never"), jwt()]
    Endpoint(monkeypatch, answer({"access_token": tokens[0], "expires_in": 100}),
             *(answer({"access_token": one}) for one in tokens[1:]))  # fmt: skip
    clock = Clock()
    one = source(clock=clock)

    assert token_of(one) == tokens[0]
    clock.now_ms += 41_000
    # It is unknown how long these hold: each is used for one login.
    assert [token_of(one) for _ in range(3)] == tokens[1:]


def test_a_token_that_still_holds_is_used_if_there_is_no_other(
    monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    Endpoint(
        monkeypatch, answer({"access_token": "one", "expires_in": 100}), answer(b"", 503), answer(b"", 503)
    )
    clock = Clock()
    one = source(clock=clock)
    token_of(one)

    clock.now_ms += 90_000
    assert token_of(one) == "one"
    clock.now_ms += 10_000
    assert "status 503" in failure(one)
    assert [event["event"] for event in logged] == ["token_not_refreshed"]


def test_logins_at_one_time_ask_once(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = Endpoint(monkeypatch, answer({"access_token": "one", "expires_in": 100}))
    one = source()

    async def ask() -> list[str]:
        return await asyncio.gather(*(one.token() for _ in range(5)))

    assert asyncio.run(ask()) == ["one"] * 5
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (answer({"error": "invalid_client", "error_description": "no such\n client"}, 401),
         "status 401, invalid_client: no such client"),
        (answer({"error": SECRET.decode()}, 400), "status 400, no reason given"),
        (answer({"error": 7}, 400), "status 400, no reason given"),
        (answer(b"<html>", 302), "status 302 without a JSON object"),
        (answer(b"[" * 10_000), "status 200 without a JSON object"),
        (answer([]), "status 200 without a JSON object"),
        (answer({}), "the answer has no access_token that is a bearer token"),
        (answer({"access_token": "two words"}), "the answer has no access_token that is a bearer token"),
        (answer(b"x" * (MAX_ANSWER_BYTES + 1)), f"larger than {MAX_ANSWER_BYTES} bytes"),
        (b"nonsense\r\n\r\n", "the answer ended too early, or is no HTTP"),
        (answer(b"xx")[:-1], "the answer ended too early, or is no HTTP"),
        (b"", "the answer ended too early, or is no HTTP"),
        (None, "no answer within 0.05 s"),
    ],
)  # fmt: skip
def test_an_endpoint_that_gives_none(
    monkeypatch: pytest.MonkeyPatch, content: bytes | None, expected: str
) -> None:
    Endpoint(monkeypatch, content)

    found = failure(source())

    assert found.startswith("token endpoint http://login.example.com:8080/token: ")
    assert expected in found


def test_an_endpoint_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_args: Any, **_options: Any) -> Any:
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(asyncio, "open_connection", refuse)

    assert failure(source()).endswith("Connection refused")


def test_a_file_is_read_for_each_login(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one\n")
    sasl = UpstreamSasl(mechanism=UpstreamMechanism.OAUTHBEARER, token_file=str(file))
    one = token_source(sasl, None, timeout_ms=50, now_ms=Clock())
    assert isinstance(one, TokenFile)
    assert token_of(one) == "one"

    file.write_text("two")
    assert token_of(one) == "two"

    for content, expected in (
        ("", "empty"),
        ("x y", "no bearer token"),
        ("x" * (MAX_TOKEN_BYTES + 1), "larger"),
    ):
        file.write_text(content)
        assert expected in failure(one)
    file.unlink()
    assert "cannot be read (No such file or directory)" in failure(one)
