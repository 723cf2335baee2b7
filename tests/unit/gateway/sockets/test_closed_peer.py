"""With the kernel's answers played; that they are the kernel's, tests/kafka/faults/test_given_up.py shows."""

import socket
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.gateway.sockets import closed_peer
from bifrost.gateway.sockets.closed_peer import has_peer_closed

ESTABLISHED, CLOSE_WAIT = b"\x01", b"\x08"


def transport_of(information: bytes | OSError) -> Any:
    """Return as much of a transport as is asked."""

    def getsockopt(level: int, option: int, size: int) -> bytes:
        assert (level, option) == (socket.IPPROTO_TCP, closed_peer._INFO)
        if isinstance(information, OSError):
            raise information
        return information[:size]

    return SimpleNamespace(get_extra_info={"socket": SimpleNamespace(getsockopt=getsockopt)}.get)


@pytest.fixture(autouse=True)
def linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closed_peer, "_INFO", 11)


def test_the_kernel_knows_of_an_end_that_is_not_read() -> None:
    assert has_peer_closed(transport_of(CLOSE_WAIT))
    assert not has_peer_closed(transport_of(ESTABLISHED))


def test_what_cannot_be_known_is_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not has_peer_closed(None)
    assert not has_peer_closed(transport_of(OSError("closed meanwhile")))

    monkeypatch.setattr(closed_peer, "_INFO", None)
    assert not has_peer_closed(transport_of(CLOSE_WAIT))
