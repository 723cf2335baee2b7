"""What holds for every unit test: nothing is reached over a network."""

import socket
import threading
from typing import Any

import pytest

from support.stage.stage import Stage

_BLOCKED = ("connect", "connect_ex", "bind", "sendto")


@pytest.fixture(autouse=True)
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a test that uses the network. Threads that other tests left running are none of its business."""
    for name in _BLOCKED:
        monkeypatch.setattr(socket.socket, name, _blocked(name, getattr(socket.socket, name)))


def _blocked(name: str, original: Any) -> Any:
    def call(self: socket.socket, *arguments: Any) -> Any:
        is_ours = threading.current_thread() is threading.main_thread()
        if is_ours and self.family in (socket.AF_INET, socket.AF_INET6):
            raise AssertionError(f"a unit test called socket.{name}{arguments}")
        return original(self, *arguments)

    return call


@pytest.fixture
def stage() -> Stage:
    """Tenants on one cluster, none of whose topic IDs is known yet."""
    return Stage()
