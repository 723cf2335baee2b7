"""The operator's port, with streams but no sockets; tests/kafka asks a running gateway."""

import asyncio
from http import HTTPStatus
from typing import Any

import pytest

from bifrost.gateway.admin import admin_port as admin
from bifrost.gateway.admin.admin_port import MAX_OPEN, MAX_REQUEST_BYTES, Admin, Page
from bifrost.gateway.admin.admin_request import AdminRequest


class Writer:
    """What stands for a socket's writing side."""

    def __init__(self) -> None:
        self.written, self.is_closed = b"", False

    def write(self, data: bytes) -> None:
        self.written += data

    async def drain(self) -> None:
        pass

    def close(self) -> None:
        self.is_closed = True

    async def wait_closed(self) -> None:
        pass


async def hello(_request: AdminRequest) -> Page:
    return Page(HTTPStatus.OK, b"hello\n")


async def echo(request: AdminRequest) -> Page:
    said = f"{request.method} {request.path} {request.query} {request.headers['host']}\n"
    return Page(HTTPStatus.OK, said.encode())


async def broken(_request: AdminRequest) -> Page:
    raise RuntimeError("a bug")


def server() -> Admin:
    return Admin("127.0.0.1", 9404, {"/hello": hello, "/broken": broken, "/echo": echo}, {"/command": echo})


async def exchange(admin: Admin, request: bytes) -> bytes:
    """Send bytes in two pieces, and receive until the end."""
    reader, writer = asyncio.StreamReader(), Writer()
    serving = asyncio.ensure_future(admin._serve(reader, writer))  # type: ignore[arg-type]
    for piece in (request[:20], request[20:]):
        reader.feed_data(piece)
        await asyncio.sleep(0)
    await serving
    assert writer.is_closed
    return writer.written


def play(*requests: bytes) -> list[bytes]:
    async def exchanges() -> list[bytes]:
        admin = server()
        return [await exchange(admin, request) for request in requests]

    return asyncio.run(exchanges())


def get(path: str, method: str = "GET") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def test_a_page_is_answered_and_the_connection_closed() -> None:
    head, _, body = play(get("/hello?x=1"))[0].partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Length: 6" in head
    assert b"Connection: close" in head
    assert body == b"hello\n"


def test_a_page_and_a_command_get_the_request() -> None:
    page, command = play(get("/echo?x=1"), get("/command", "POST"))

    assert page.endswith(b"\r\n\r\nGET /echo {'x': ['1']} localhost\n")
    assert command.endswith(b"\r\n\r\nPOST /command {} localhost\n")


def test_head_has_no_body() -> None:
    assert play(get("/hello", "HEAD"))[0].endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (get("/other"), b"404"),
        (get("/hello", "POST"), b"405"),
        (b"\x16\x03\x01 TLS\r\n\r\n" + bytes(20), b"400"),
        (b"GET /hello HTTP/1.1\r\nX: " + b"x" * 2 * MAX_REQUEST_BYTES, b"431"),
    ],
)
def test_what_is_not_a_page_is_refused(request_bytes: bytes, status: bytes) -> None:
    assert play(request_bytes)[0].split()[1] == status


def test_a_request_that_never_ends_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "TIMEOUT_S", 0.05)

    assert play(b"GET /hello HTTP/1.1\r\n") == [b""]


def test_more_connections_than_the_limit_are_closed_at_once() -> None:
    async def crowd() -> tuple[bytes, bytes]:
        admin = server()
        held = []
        for _ in range(MAX_OPEN):
            reader = asyncio.StreamReader()
            held.append((reader, asyncio.ensure_future(admin._serve(reader, Writer()))))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        refused = await exchange(admin, get("/hello"))
        for reader, serving in held:
            reader.feed_data(get("/hello"))
            await serving
        return refused, await exchange(admin, get("/hello"))

    refused, served = asyncio.run(crowd())
    assert refused == b""
    assert served.startswith(b"HTTP/1.1 200")


def test_a_page_that_fails_ends_its_connection_alone(logged: list[dict[str, Any]]) -> None:
    failed, served = play(get("/broken"), get("/hello"))

    assert failed == b""
    assert served.startswith(b"HTTP/1.1 200")
    assert [line["event"] for line in logged] == ["internal_error"]
