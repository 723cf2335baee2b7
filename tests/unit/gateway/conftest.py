"""What the shell logs, and how it comes to a broker."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from structlog.testing import LogCapture

from bifrost.gateway.clients import endings
from support.stage.fake_transport import FakeTransport


@pytest.fixture(autouse=True)
def _fresh_end_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test leaves out lines because another one has written some."""
    monkeypatch.setattr(endings, "_lines", endings.EndLines(lambda: 1.0))


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """What is logged, each line with its fields."""
    capture = LogCapture()
    before = structlog.get_config()
    structlog.reset_defaults()
    structlog.configure(processors=[capture], cache_logger_on_first_use=False)
    yield capture.entries
    structlog.configure(**before)


@pytest.fixture
def connects(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let connections to brokers succeed, one loop turn after they are asked for; or fail, once told so."""

    class Connects:
        fails = False
        made: list[tuple[str, int]]

        def __init__(self) -> None:
            self.made = []

    state = Connects()

    async def create_connection(_loop: Any, factory: Any, host: str, port: int) -> Any:
        await asyncio.sleep(0)
        if state.fails:
            raise ConnectionRefusedError(111, "Connection refused")
        state.made.append((host, port))
        protocol, transport = factory(), FakeTransport()
        protocol.connection_made(transport)
        return transport, protocol

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", create_connection)
    return state
