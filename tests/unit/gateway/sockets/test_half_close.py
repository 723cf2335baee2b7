import asyncio
from collections.abc import Callable

import pytest

from bifrost.gateway.sockets.half_close import HalfClose
from support.stage.fake_transport import FakeTransport


def played(
    play: Callable[[FakeTransport, list[Exception | None]], object], **transport: object
) -> FakeTransport:
    """Let a transport be taken leave of, and something happen then."""
    one = FakeTransport()
    for name, value in transport.items():
        setattr(one, name, value)

    async def scenario() -> None:
        lost: list[Exception | None] = []
        HalfClose(one, lost.append, timeout_s=0.08)  # type: ignore[arg-type]
        result = play(one, lost)
        if asyncio.iscoroutine(result):
            await result

    asyncio.run(scenario())
    return one


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bifrost.gateway.sockets.half_close.LINGER_S", 0.02)


def test_only_the_writing_side_is_closed_and_what_comes_is_thrown_away() -> None:
    def play(transport: FakeTransport, lost: list[Exception | None]) -> None:
        for _ in range(3):
            assert len(transport.protocol.get_buffer(-1)) > 0
            transport.protocol.buffer_updated(1000)
        assert transport.protocol.eof_received() is False
        assert lost == []
        transport.protocol.connection_lost(None)
        assert lost == [None]

    transport = played(play)

    assert (transport.has_written_eof, transport.is_closed) == (True, False)


def test_a_client_that_was_not_read_is_read_again() -> None:
    assert played(lambda *_: None, reading=False).is_reading()


def test_a_client_that_does_not_close_is_closed() -> None:
    transport = played(lambda *_: asyncio.sleep(0.05))

    assert (transport.is_closed, transport.is_aborted) == (True, False)


def test_a_client_that_has_not_read_everything_has_more_time_and_then_none() -> None:
    async def play(transport: FakeTransport, lost: list[Exception | None]) -> None:
        await asyncio.sleep(0.05)
        assert not transport.is_closed
        await asyncio.sleep(0.07)
        assert transport.is_aborted

    played(play, unwritten_bytes=10_000)


def test_tls_closes_in_its_own_way() -> None:
    transport = played(lambda *_: None, is_tls=True)

    assert (transport.has_written_eof, transport.is_closed, transport.is_aborted) == (False, True, False)


def test_what_is_lost_is_told_once_and_looked_at_no_more() -> None:
    async def play(transport: FakeTransport, lost: list[Exception | None]) -> None:
        reset = ConnectionResetError()
        transport.protocol.connection_lost(reset)
        await asyncio.sleep(0.1)
        assert lost == [reset]

    assert not played(play).is_closed


def test_looks_at_many_connections_wait_for_their_turn() -> None:
    async def scenario() -> None:
        waiting: list[Callable[[], None]] = []
        transports = [FakeTransport() for _ in range(3)]
        for one in transports:
            HalfClose(one, lambda _error: None, 0.02, waiting.append)  # type: ignore[arg-type]
        await asyncio.sleep(0.1)
        assert len(waiting) == 3
        assert not any(one.is_closed for one in transports), "the looks were not called yet"
        for look in waiting:
            look()
        assert all(one.is_closed for one in transports)

    asyncio.run(scenario())
