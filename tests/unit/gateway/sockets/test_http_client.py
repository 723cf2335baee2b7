"""What is made of an answer; the server's side of the connection is played by the test."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

import pytest

from bifrost.gateway.sockets.http_client import FetchError, get, post_form

URL = "http://login.example.com:8080/keys?secret=1"
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
Answers = Callable[..., Any]


class Writer:
    """Takes what is sent."""

    def __init__(self) -> None:
        self.sent = b""
        self.is_closed = False

    def write(self, data: bytes) -> None:
        self.sent += data

    async def drain(self) -> None:
        await asyncio.sleep(0)

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """Let every connection be answered so: `answers(b"...")`; `ends=False` leaves it open after that."""

    def answers(answer: bytes | Exception, *, ends: bool = True) -> dict[str, Any]:
        made: dict[str, Any] = {}

        async def open_connection(host: str, port: int, **options: Any) -> Any:
            made.update(host=host, port=port, writer=Writer(), **options)
            if isinstance(answer, Exception):
                raise answer
            reader = asyncio.StreamReader()
            reader.feed_data(answer)
            if ends:
                reader.feed_eof()
            return reader, made["writer"]

        monkeypatch.setattr(asyncio, "open_connection", open_connection)
        return made

    return answers


def fetch(url: str = URL, max_bytes: int = 100, context: Any = None, timeout_s: float = 5.0) -> bytes:
    return asyncio.run(get(url, context=context, max_bytes=max_bytes, timeout_s=timeout_s))


def failure(*arguments: Any, **options: Any) -> str:
    with pytest.raises(FetchError) as caught:
        fetch(*arguments, **options)
    assert "secret" not in str(caught.value)
    return str(caught.value)


def test_a_page_is_asked_for_once_and_the_connection_closed(answers: Answers) -> None:
    made = answers(GOOD)

    assert fetch() == b"{}"

    assert (made["host"], made["port"], made["ssl"]) == ("login.example.com", 8080, None)
    assert made["writer"].sent.startswith(b"GET /keys?secret=1 HTTP/1.1\r\nHost: login.example.com:8080\r\n")
    assert b"Accept-Encoding: identity\r\n" in made["writer"].sent
    assert made["writer"].is_closed


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n{}",
        b"HTTP/1.1 100 Continue\r\n\r\n" + GOOD,
        GOOD + b"rest",
    ],
)
def test_a_body_ends_in_each_of_http_s_ways(answers: Answers, answer: bytes) -> None:
    answers(answer)

    assert fetch() == b"{}"


def test_https_needs_to_be_spoken(answers: Answers) -> None:
    made = answers(GOOD)
    context = ssl.create_default_context()

    assert fetch("https://[::1]/", context=context) == b"{}"

    assert (made["host"], made["port"], made["ssl"]) == ("::1", 443, context)
    assert failure("https://login.example.com/keys") == (
        "https://login.example.com/keys: HTTPS is not spoken here"
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"", "the answer ended too early"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "the answer ended too early, or is no HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}", "the answer ended too early, or is no HTTP"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "the answer ended too early, or is no HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20_000, "the answer ended too early, or is no HTTP"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://other/\r\nContent-Length: 0\r\n\r\n", "HTTP status 302"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "HTTP status 404"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n" + b"x" * 101, "larger than 100 bytes"),
        (b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 200, "larger than 100 bytes"),
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
        (OSError("all addresses failed"), "all addresses failed"),
        (ConnectionResetError(), "ConnectionResetError"),
    ],
)
def test_what_is_no_page_says_why(answers: Answers, answer: bytes | Exception, expected: str) -> None:
    made = answers(answer)

    assert failure().startswith(f"http://login.example.com:8080/keys: {expected}")
    assert made["writer"].is_closed or isinstance(answer, Exception)


def test_a_certificate_of_an_unknown_ca_is_refused_with_the_reason(answers: Answers) -> None:
    error = ssl.SSLCertVerificationError()
    error.verify_message = "self-signed certificate"
    answers(error)

    text = failure("https://login.example.com/", context=ssl.create_default_context())

    assert text.endswith("the certificate is not trusted: self-signed certificate")


def test_who_does_not_answer_is_not_waited_for(answers: Answers) -> None:
    made = answers(b"HTTP/1.1 200 OK\r\n", ends=False)

    assert failure(timeout_s=0.05).endswith("no answer within 0.05 s")
    assert made["writer"].is_closed


def test_a_form_is_sent_and_any_status_is_an_answer(answers: Answers) -> None:
    made = answers(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\n{}")

    found = asyncio.run(
        post_form(
            URL,
            {"grant_type": "client_credentials", "scope": "a b"},
            authorization="Basic eDp5",
            context=None,
            max_bytes=100,
            timeout_s=5.0,
        )
    )

    assert found == (401, b"{}")
    head, _, body = made["writer"].sent.decode().partition("\r\n\r\n")
    assert head.startswith("POST /keys?secret=1 HTTP/1.1\r\n")
    assert {"Authorization: Basic eDp5", f"Content-Length: {len(body)}"} <= set(head.split("\r\n"))
    assert body == "grant_type=client_credentials&scope=a+b"
    assert made["writer"].is_closed


def test_an_answer_to_a_form_is_bounded_too(answers: Answers) -> None:
    answers(b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n" + b"x" * 200)

    with pytest.raises(FetchError, match=r"^http://login\.example\.com:8080/keys: larger than 100 bytes$"):
        asyncio.run(post_form(URL, {}, authorization="x", context=None, max_bytes=100, timeout_s=5.0))
