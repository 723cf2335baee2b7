"""What is said when a port cannot be had, and to whom it is lent; sockets that listen are in tests/kafka."""

import errno
import socket
from collections.abc import Callable
from typing import Any

import pytest

from bifrost.gateway.errors import StartError
from bifrost.gateway.sockets import bound_socket
from bifrost.gateway.sockets.bound_socket import bind

ADDRESS = ("192.0.2.9", 9092)


class Kernel:
    """Binds nothing, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[bool] = []
        """Of each binding, whether it would share."""
        self.held_by: str | None = None
        self.fails_with: int | None = None
        self.address = ADDRESS
        self.on_bind: Callable[[socket.socket], None] | None = None
        self.opened: list[socket.socket] = []

    def bind(self, sock: socket.socket, address: tuple[str, int]) -> None:
        assert address == self.address
        if self.on_bind is not None:
            self.on_bind(sock)
        self.opened.append(sock)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
        shares = bool(sock.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT))
        self.asked.append(shares)
        if self.fails_with is not None:
            raise OSError(self.fails_with, "Network is down")
        if self.held_by == "another program" or (self.held_by == "a gateway" and not shares):
            raise OSError(errno.EADDRINUSE, "Address already in use")


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    one = Kernel()

    def bind(sock: socket.socket, address: tuple[str, int]) -> None:
        one.bind(sock, address)

    monkeypatch.setattr(socket.socket, "bind", bind)
    return one


def test_a_port_that_is_free_is_bound_so_that_it_can_be_shared(kernel: Kernel, logged: list[Any]) -> None:
    with bind("listener plaintext", *ADDRESS) as bound:
        assert bound is kernel.opened[-1]

    assert kernel.asked == [False, True]
    assert logged == []
    assert [one.fileno() for one in kernel.opened] == [-1, -1]


def test_a_port_that_a_gateway_has_is_shared_and_that_is_said(kernel: Kernel, logged: list[Any]) -> None:
    kernel.held_by = "a gateway"

    bind("listener plaintext", *ADDRESS).close()

    assert [(entry["event"], entry["address"]) for entry in logged] == [("port_shared", "192.0.2.9:9092")]


@pytest.mark.parametrize(
    ("first", "second", "is_refused"),
    [
        (("192.0.2.9", 9092), ("192.0.2.9", 9092), True),
        (("0.0.0.0", 9092), ("192.0.2.9", 9092), True),
        (("192.0.2.9", 9092), ("0.0.0.0", 9092), True),
        (("192.0.2.9", 9092), ("192.0.2.8", 9092), False),
        (("192.0.2.9", 9092), ("192.0.2.9", 9093), False),
    ],
)
def test_two_listeners_of_one_gateway_do_not_share(
    kernel: Kernel,
    monkeypatch: pytest.MonkeyPatch,
    first: tuple[str, int],
    second: tuple[str, int],
    is_refused: bool,
) -> None:
    """Two names of one address get past the look at the configuration."""
    bound_to: dict[int, tuple[str, int]] = {}
    monkeypatch.setattr(socket.socket, "getsockname", lambda sock: bound_to[id(sock)])
    kernel.address = first
    with bind("listener one", *first) as one:
        bound_to[id(one)] = first
        kernel.held_by, kernel.address = "a gateway", second
        kernel.on_bind = lambda sock: bound_to.update({id(sock): second})
        if is_refused:
            expected = f"listener two: port 9092 on {second[0]} is in use by another listener of this gateway"
            with pytest.raises(StartError, match=expected):
                bind("listener two", *second)
        else:
            bind("listener two", *second).close()


@pytest.mark.parametrize("host", ["192.0.2.9", "0.0.0.0"])
def test_a_listener_may_have_the_port_of_the_one_that_it_replaces(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, logged: list[Any], host: str
) -> None:
    bound_to: dict[int, tuple[str, int]] = {}
    monkeypatch.setattr(socket.socket, "getsockname", lambda sock: bound_to[id(sock)])
    with bind("admin", *ADDRESS) as old:
        bound_to[id(old)] = ADDRESS
        kernel.held_by, kernel.address = "a gateway", (host, 9092)
        kernel.on_bind = lambda sock: bound_to.update({id(sock): (host, 9092)})
        with bind("admin", host, 9092, replaces=old) as new:
            assert new.fileno() >= 0

    assert logged == []


def test_where_ports_cannot_be_shared_one_is_bound_as_ever(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound_socket.sys, "platform", "darwin")

    bind("listener plaintext", *ADDRESS).close()

    assert kernel.asked == [False]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (
            errno.EADDRINUSE,
            "port 9092 on 192.0.2.9 is in use: end the program that listens there, or configure another port",
        ),
        (errno.EACCES, "port 9092 on 192.0.2.9 may not be bound by this user: choose one from 1024 on"),
        (errno.EADDRNOTAVAIL, "192.0.2.9 is not an address of this machine: mend bind_host"),
        (errno.ENETDOWN, "cannot bind 192.0.2.9:9092: [Errno 100] Network is down"),
    ],
)
def test_a_port_that_cannot_be_bound_says_why_and_how_to_mend_it(
    kernel: Kernel, number: int, expected: str
) -> None:
    kernel.fails_with = number

    with pytest.raises(StartError) as caught:
        bind("listener plaintext", *ADDRESS)

    assert str(caught.value) == f"listener plaintext: {expected}"
    assert {one.fileno() for one in kernel.opened} == {-1}


def test_the_port_of_another_program_is_in_use(kernel: Kernel) -> None:
    kernel.held_by = "another program"

    with pytest.raises(StartError, match="is in use"):
        bind("admin", *ADDRESS)

    assert kernel.asked == [False, True]
