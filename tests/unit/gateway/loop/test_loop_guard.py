"""Exceptions that must not reach the event loop: in uvloop's own words, over sockets that are no TCP ports."""

import asyncio
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop

from bifrost.gateway.loop import loop_guard
from bifrost.gateway.loop.loop_guard import InternalErrors, keep, report


class Greeter(asyncio.Protocol):
    def connection_made(self, transport: Any) -> None:
        transport.write(b"hello")
        transport.close()


class Raises(asyncio.Protocol):
    """A protocol that fails in one of its callbacks."""

    def __init__(self, where: str) -> None:
        setattr(self, where, self._raise)

    def _raise(self, *_: object) -> None:
        raise RuntimeError("a bug")


def broken() -> asyncio.Protocol:
    raise RuntimeError("a bug")


async def said(path: Path) -> bytes:
    """Connect; return what was said until the end, or nothing within a moment."""
    reader, writer = await asyncio.open_unix_connection(str(path))
    try:
        async with asyncio.timeout(0.5):
            return await reader.read()
    except TimeoutError:
        return b"(silence)"
    finally:
        writer.close()


def served(path: Path, factories: list[Callable[[], Any]]) -> tuple[list[bytes], Counter[str]]:
    """Connect as often as there are factories, on uvloop; return what was said, and the errors by place."""

    async def run() -> tuple[list[bytes], Counter[str]]:
        errors = InternalErrors(Counter())
        loop = asyncio.get_running_loop()
        errors.install(loop)
        left = iter(factories)

        def make() -> Any:
            return next(left)()

        server = await loop.create_unix_server(make, str(path))
        found = [await said(path) for _ in factories]
        server.close()
        return found, errors.counts

    return uvloop.run(run())


def test_uvloop_never_polls_a_listener_again_whose_factory_raised(tmp_path: Path) -> None:
    """Why the gateway accepts connections itself. If this fails, uvloop has been mended."""
    found, errors = served(tmp_path / "port", [broken, Greeter])

    assert (found, errors) == ([b"(silence)", b"(silence)"], {"event_loop": 1})


@pytest.mark.parametrize("where", ["data_received", "eof_received", "connection_lost"])
def test_what_escapes_later_is_counted_and_the_listener_lives_on(where: str, tmp_path: Path) -> None:
    async def run() -> tuple[bytes, Counter[str]]:
        errors = InternalErrors(Counter())
        loop = asyncio.get_running_loop()
        errors.install(loop)
        left = iter([Raises(where), Greeter()])
        path = tmp_path / "port"
        server = await loop.create_unix_server(lambda: next(left), str(path))
        _, writer = await asyncio.open_unix_connection(str(path))
        writer.write(b"something")
        await writer.drain()
        writer.close()
        await asyncio.sleep(0.05)
        after = await said(path)
        server.close()
        return after, errors.counts

    after, errors = uvloop.run(run())

    assert after == b"hello"
    assert errors == {"event_loop": 1}


def on_a_loop(work: Callable[[], Awaitable[None]]) -> Counter[str]:
    async def run() -> Counter[str]:
        errors = InternalErrors(Counter())
        errors.install(asyncio.get_running_loop())
        await work()
        return errors.counts

    return asyncio.run(run())


def test_timers_readers_and_tasks_that_raise_are_counted(logged: list[dict[str, Any]]) -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        one, other = socket.socketpair()

        def read() -> None:
            loop.remove_reader(one.fileno())
            raise RuntimeError("in a reader")

        async def task() -> None:
            raise RuntimeError("in a task")

        with one, other:
            loop.call_soon(broken)
            loop.call_later(0.001, broken)
            loop.add_reader(one.fileno(), read)
            other.send(b"x")
            forgotten = loop.create_task(task())
            await asyncio.sleep(0.01)
            del forgotten

    assert on_a_loop(work) == {"event_loop": 4}
    assert all(line["exc_info"] for line in logged)


def test_what_is_no_exception_is_only_logged(logged: list[dict[str, Any]]) -> None:
    async def work() -> None:
        asyncio.get_running_loop().call_exception_handler({"message": "a task was never awaited"})

    assert on_a_loop(work) == {}
    assert [(line["event"], line["log_level"]) for line in logged] == [("event_loop", "warning")]


def test_a_connection_that_the_loop_names_is_closed() -> None:
    class Transport:
        aborted = 0

        def abort(self) -> None:
            self.aborted += 1

    async def work() -> None:
        context = {
            "message": "protocol.pause_writing() failed",
            "exception": RuntimeError(),
            "transport": one,
        }
        asyncio.get_running_loop().call_exception_handler(context)

    one = Transport()

    assert on_a_loop(work) == {"event_loop": 1}
    assert one.aborted == 1


def test_what_is_reported_is_logged_with_its_fields_and_counted_by_place(
    logged: list[dict[str, Any]],
) -> None:
    async def work() -> None:
        report("connection", RuntimeError("a bug"), tenant="acme")

    assert on_a_loop(work) == {"connection": 1}
    assert (logged[0]["place"], logged[0]["tenant"], str(logged[0]["exc_info"])) == (
        "connection",
        "acme",
        "a bug",
    )


def test_work_that_fails_is_begun_again_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def sleeps(delay_s: float) -> None:
        pauses.append(delay_s)
        await sleep(0)

    monkeypatch.setattr(loop_guard.asyncio, "sleep", sleeps)
    left = iter([True] * 9 + [False])

    async def work() -> None:
        if next(left):
            raise RuntimeError("a bug")

    assert on_a_loop(lambda: keep("refresh", work)) == {"refresh": 9}
    assert pauses == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]


def test_work_that_is_cancelled_is_over() -> None:
    async def work() -> None:
        task = asyncio.create_task(keep("refresh", lambda: asyncio.sleep(10)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert on_a_loop(work) == {}
