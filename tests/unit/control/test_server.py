"""The port; that it serves, and ends, is in tests/kafka/control."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bifrost.control.server import PortTaken, serve
from support.control.table_backend import settings_with


def test_a_port_that_cannot_be_bound_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(*_: Any, **__: Any) -> None:
        raise OSError(98, "Address already in use")

    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [(2,)])
    monkeypatch.setattr("socket.create_server", taken)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError

    with pytest.raises(
        PortTaken, match=r"proxy\.control: 127\.0\.0\.1:9405 cannot be bound: Address already in use"
    ):
        asyncio.run(serve(app, settings_with(tmp_path)))
