"""The fault proxy itself: it does what it is told, and otherwise nothing."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from support.faults.fault import Fault, FrameCount
from support.faults.fault_proxy import FaultProxy
from support.gateways.gateway_process import HOST, free_ports

FRAME = (1000).to_bytes(4, "big") + bytes(1000)
LARGE = 300_000
LATE_S = 0.3


class Echo:
    """Sends back what it receives."""

    def __init__(self) -> None:
        self._server = socket.create_server((HOST, 0))
        self.address = self._server.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._echo, args=(client,), daemon=True).start()

    def _echo(self, client: socket.socket) -> None:
        with client:
            try:
                while data := client.recv(65536):
                    client.sendall(data)
            except OSError:
                return

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


@pytest.fixture
def proxy() -> Iterator[FaultProxy]:
    echo = Echo()
    with FaultProxy({(HOST, free_ports(1)): echo.address}) as one:
        yield one
    echo.close()


def connect(proxy: FaultProxy) -> socket.socket:
    client = socket.create_connection(proxy.addresses[0])
    client.settimeout(20)
    return client


def receive(client: socket.socket, size: int) -> bytes:
    """Return so many bytes, or what comes before the end."""
    received = b""
    while len(received) < size and (data := client.recv(size - len(received))):
        received += data
    return received


def test_without_a_fault_everything_arrives_and_an_end_as_well(proxy: FaultProxy) -> None:
    with connect(proxy) as client:
        client.sendall(FRAME)
        assert receive(client, len(FRAME)) == FRAME
        client.shutdown(socket.SHUT_WR)

        assert client.recv(1) == b""
    assert (proxy.hits, proxy.bytes_toward_broker) == (0, len(FRAME))


def test_what_is_late_does_not_wait_for_each_other(proxy: FaultProxy) -> None:
    late = Fault(latency_s=LATE_S)
    with connect(proxy) as client, proxy.fault(toward_broker=late, toward_client=late):
        began = time.monotonic()
        for _ in range(20):
            client.sendall(FRAME)
            time.sleep(0.01)
        assert receive(client, 20 * len(FRAME)) == 20 * FRAME

        # Twenty that waited for each other would take twelve seconds.
        assert 2 * LATE_S <= time.monotonic() - began < 6


def test_a_narrow_line_takes_its_time_and_little_ahead(proxy: FaultProxy) -> None:
    with connect(proxy) as client, proxy.fault(toward_broker=Fault(bytes_per_s=LARGE)):
        began = time.monotonic()
        threading.Thread(target=client.sendall, args=(bytes(LARGE),), daemon=True).start()

        assert len(receive(client, LARGE)) == LARGE
        assert time.monotonic() - began > 0.8


@pytest.mark.parametrize("is_reset", [False, True])
def test_a_cut_is_in_the_middle_of_a_frame(proxy: FaultProxy, is_reset: bool) -> None:
    with connect(proxy) as client, proxy.fault(toward_client=Fault(cut_at_frame=3, is_reset=is_reset)):
        client.sendall(2 * FRAME)
        assert receive(client, 2 * len(FRAME)) == 2 * FRAME
        client.sendall(FRAME)

        if is_reset:
            with pytest.raises(ConnectionResetError):
                receive(client, len(FRAME))
        else:
            assert receive(client, len(FRAME)) == FRAME[: 4 + 500]
    assert proxy.hits == 1


def test_a_silent_connection_stays_so_and_others_go_on(proxy: FaultProxy) -> None:
    with connect(proxy) as half_open, connect(proxy) as unheard:
        half_open.sendall(FRAME)
        assert receive(half_open, len(FRAME)) == FRAME
        proxy.abandon()
        with proxy.fault(toward_broker=Fault(is_silent=True)), connect(proxy) as accepted:
            accepted.sendall(FRAME)
            half_open.sendall(FRAME)
            time.sleep(0.2)

            for silent in (half_open, accepted, unheard):
                silent.settimeout(0.3)
                with pytest.raises(TimeoutError):
                    silent.recv(1)
        with connect(proxy) as later:
            later.sendall(FRAME)
            assert receive(later, len(FRAME)) == FRAME
        with pytest.raises(TimeoutError):
            half_open.recv(1)
    assert proxy.hits == 3


def test_a_target_that_is_away_resets() -> None:
    routes = {(HOST, free_ports(1)): (HOST, free_ports(1))}
    with FaultProxy(routes) as proxy, connect(proxy) as client, pytest.raises(ConnectionResetError):
        client.recv(1)


@pytest.mark.parametrize("piece", [1, 3, 7, 504, 505, 2008])
def test_the_middle_of_a_frame_is_found_however_it_comes(piece: int) -> None:
    data, count, passed = 2 * FRAME, FrameCount(), 0
    for at in range(0, len(data), piece):
        middle = count.pass_over(data[at : at + piece], cut_at_frame=2)
        if middle is not None:
            break
        passed += len(data[at : at + piece])

    assert middle is not None
    assert passed + middle == len(FRAME) + 4 + 500
    assert count.begun == 2
