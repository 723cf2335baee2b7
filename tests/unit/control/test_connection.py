import asyncio
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from bifrost.control import connection
from bifrost.control.connection import ControlConnection
from bifrost.control.gate import ASKER, CERTIFICATE


class Encrypted:
    """As much of an SSL object as a connection asks for."""

    def getpeercert(self, *, binary_form: bool) -> bytes:
        assert binary_form
        return b"der"


class Transport(asyncio.Transport):
    """Remembers whether it was ended."""

    def __init__(self, encrypted: Encrypted | None = None) -> None:
        super().__init__({"ssl_object": encrypted, "sslcontext": encrypted})
        self.is_ended = False
        self.written = b""

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def abort(self) -> None:
        self.is_ended = True

    def is_closing(self) -> bool:
        return self.is_ended

    def close(self) -> None:
        self.is_ended = True


class Loop:
    """Calls later when the test says so."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def call_later(self, _after_s: float, call: Any, *_: Any) -> Any:
        self.calls.append(call)
        return asyncio.TimerHandle(0, call, (), asyncio.get_running_loop())

    def create_task(self, coroutine: Any, **_: Any) -> asyncio.Task[Any]:
        return asyncio.get_running_loop().create_task(coroutine)


def connected(
    app: Any, transport: Transport, state: ServerState | None = None
) -> tuple[ControlConnection, Loop]:
    config, loop = uvicorn.Config(app, ws="none", lifespan="off", log_config=None), Loop()
    config.load()
    made = ControlConnection(config, state or ServerState(), {}, loop)  # type: ignore[arg-type]
    made.connection_made(transport)
    return made, loop


async def _answer(scope: Any, receive: Any, send: Any) -> None:
    shown = scope.get("extensions", {}).get(CERTIFICATE, b"none")
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(shown))]}
    )
    await send({"type": "http.response.body", "body": shown})


REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def test_a_connection_that_sends_no_whole_request_is_ended() -> None:
    async def run() -> None:
        transport = Transport()
        made, loop = connected(_answer, transport)
        made.data_received(b"GET / HT")
        loop.calls.pop()()
        assert not transport.is_ended
        made.data_received(b"TP/1.1\r\n")
        loop.calls.pop()()
        assert transport.is_ended

    asyncio.run(run())


def test_a_connection_with_a_new_request_each_time_stays() -> None:
    async def run() -> None:
        transport = Transport()
        made, loop = connected(_answer, transport)
        for _ in range(4):
            made.data_received(REQUEST)
            await asyncio.sleep(0.01)
            loop.calls[0]()
            assert not transport.is_ended
        loop.calls[0]()
        assert transport.is_ended

    asyncio.run(run())


def test_a_request_that_is_being_answered_is_not_idle() -> None:
    async def run() -> None:
        never = asyncio.Event()

        async def wait(scope: Any, receive: Any, send: Any) -> None:
            await never.wait()
            await _answer(scope, receive, send)

        transport = Transport()
        made, loop = connected(wait, transport)
        made.data_received(REQUEST)
        for _ in range(5):
            loop.calls[0]()
        assert not transport.is_ended
        never.set()
        await asyncio.sleep(0.01)

    asyncio.run(run())


def test_the_certificate_reaches_the_application() -> None:
    async def run() -> None:
        for encrypted, expected in ((Encrypted(), b"der"), (None, b"none")):
            transport = Transport(encrypted)
            made, _ = connected(_answer, transport)
            made.data_received(REQUEST)
            await asyncio.sleep(0.01)
            assert transport.written.endswith(b"\r\n\r\n" + expected)

    asyncio.run(run())


async def _for_admins(scope: Any, receive: Any, send: Any) -> None:
    if scope["path"] == "/admin":
        scope["state"][ASKER] = "alice"
    await _answer(scope, receive, send)


def test_a_new_connection_takes_the_place_of_the_oldest_that_no_admin_has_used(monkeypatch: Any) -> None:
    monkeypatch.setattr(connection, "MAX_CONNECTIONS", 3)

    async def run() -> None:
        state, transports = ServerState(), [Transport() for _ in range(5)]
        made = [connected(_for_admins, one, state)[0] for one in transports[:3]]
        made[0].data_received(REQUEST.replace(b" / ", b" /admin "))
        made[1].data_received(REQUEST)
        await asyncio.sleep(0.01)

        for number in (1, 2):
            made.append(connected(_for_admins, transports[2 + number], state)[0])
            assert [one.is_ended for one in transports[1:3]] == [True, number == 2]
            made[number].connection_lost(None)
        assert not any(transports[number].is_ended for number in (0, 3, 4))

    asyncio.run(run())


def test_a_connection_that_serves_an_admin_for_the_first_time_keeps_its_place(monkeypatch: Any) -> None:
    monkeypatch.setattr(connection, "MAX_CONNECTIONS", 1)

    async def run() -> None:
        never = asyncio.Event()

        async def wait(scope: Any, receive: Any, send: Any) -> None:
            scope["state"][ASKER] = "alice"
            await never.wait()
            await _answer(scope, receive, send)

        state, first, second = ServerState(), Transport(), Transport()
        used, _ = connected(wait, first, state)
        used.data_received(REQUEST)
        await asyncio.sleep(0.01)
        refused, _ = connected(wait, second, state)
        assert (first.is_ended, second.is_ended) == (False, True), "all places are those of admins"
        refused.connection_lost(None)
        never.set()
        await asyncio.sleep(0.01)

    asyncio.run(run())
