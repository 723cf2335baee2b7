"""What clients cost that have not authenticated: bounded for each connection and each address."""

from __future__ import annotations

import re
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from bifrost.wire.messages import ApiVersionsRequest, SaslAuthenticateRequest, SaslHandshakeRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient, request_frame
from support.gateways.gateway_fixtures import StartGateway
from support.gateways.gateway_process import HOST, GatewayProcess
from support.identity.certificates import Authority

WORST_NAME = "\ufdfa" * 1300
"""Each of its characters is 18 once it is prepared."""


def at(gateway: GatewayProcess) -> Endpoint:
    return Endpoint(HOST, gateway.broker_port(1))


def read_to_the_end(client: RawClient) -> None:
    with suppress(ConnectionResetError):  # The gateway closes with requests unread.
        while client.socket.recv(1 << 16):
            pass


def cpu_s(gateway: GatewayProcess) -> float:
    times = psutil.Process(gateway.pid).cpu_times()
    return float(times.user + times.system)


def answer_ms(client: RawClient, frame: bytes) -> float:
    began_s = time.monotonic()
    client.socket.sendall(frame)
    client.receive_frame()
    return (time.monotonic() - began_s) * 1000


def test_thousands_of_requests_in_one_write_end_the_connection(start_gateway: StartGateway) -> None:
    gateway = start_gateway()
    since = gateway.mark()
    with RawClient(at(gateway)) as client:
        client.socket.sendall(request_frame(ApiVersionsRequest(), 0, 1) * 4_000)
        read_to_the_end(client)

    ended = gateway.await_event(since, event="connection_ended", reason="unauthenticated_requests")
    assert ended["detail"] == "more than 30 requests before authentication"


def test_an_address_whose_connection_ends_so_waits_the_next_time(start_gateway: StartGateway) -> None:
    gateway = start_gateway(limits={"max_authentication_delay_ms": 800})
    ask = request_frame(ApiVersionsRequest(), 0, 1)
    for _ in range(4):
        with RawClient(at(gateway)) as client:
            client.socket.sendall(ask * 31)
            read_to_the_end(client)

    with RawClient(at(gateway)) as client:
        assert 700 < answer_ms(client, ask) < 3_000


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_no_user_name_stops_the_gateway(start_gateway: StartGateway, mechanism: str) -> None:
    gateway = start_gateway(mechanisms=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"))
    token = b"n,,n=" + WORST_NAME.encode() + b",r=nonce"
    attempt = request_frame(SaslAuthenticateRequest(auth_bytes=token), 2, 2)
    spent_s = cpu_s(gateway)
    for _ in range(20):
        with RawClient(at(gateway)) as client:
            client.request(SaslHandshakeRequest(mechanism=mechanism), 1)
            answer_ms(client, attempt)

    # 135 ms each before the length was bounded; what is left is the connections' own.
    assert cpu_s(gateway) - spent_s < 0.4


def test_a_frame_that_no_mechanism_needs_ends_the_connection(start_gateway: StartGateway) -> None:
    gateway = start_gateway()
    since = gateway.mark()
    with RawClient(at(gateway)) as client:
        client.socket.sendall((16 * 1024 + 1).to_bytes(4, "big"))
        assert not client.socket.recv(1)

    gateway.await_event(since, event="connection_ended", reason="frame_too_large")


@pytest.fixture
def encrypted(start_gateway: StartGateway, tmp_path: Path) -> Callable[[int], GatewayProcess]:
    files = Authority("CA").server(HOST).write(tmp_path, "server")
    tls = {"certificate_file": str(files.certificate), "key_file": str(files.key)}

    def start(max_delay_ms: int) -> GatewayProcess:
        return start_gateway(
            listener={"security_protocol": "SASL_SSL", "tls": tls},
            limits={"max_authentication_delay_ms": max_delay_ms},
        )

    return start


def test_tls_is_not_negotiated_again(encrypted: Callable[[int], GatewayProcess]) -> None:
    gateway = encrypted(0)
    command = ["openssl", "s_client", "-connect", f"{HOST}:{gateway.broker_port(1)}", "-tls1_2"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as client:
        assert client.stdin is not None
        time.sleep(1)
        client.stdin.write(b"R\n")  # Openssl's command to negotiate again.
        client.stdin.flush()
        time.sleep(1)
        try:
            said, _ = client.communicate(b"Q\n", timeout=10)
        except (BrokenPipeError, ValueError):
            said = client.stdout.read() if client.stdout is not None else b""

    assert b"RENEGOTIATING" in said
    assert b"no renegotiation" in said


def test_tls_handshakes_of_one_address_are_slowed_down(encrypted: Callable[[int], GatewayProcess]) -> None:
    gateway = encrypted(2_000)
    address = f"{HOST}:{gateway.broker_port(1)}"
    command = ["openssl", "s_time", "-connect", address, "-new", "-time", "8"]

    floods = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(4)]
    said = b"".join(flood.communicate(timeout=60)[0] for flood in floods)

    made = sum(map(int, re.findall(rb"(\d+) connections in \d+ real seconds", said)))
    # One second of CPU at once, then a tenth of it: some 700 connections and 70 each second; else it is 300 and more.
    assert 100 < made < 1_800


def test_parallel_tls_handshakes_of_one_address_cost_no_more_than_its_budget(
    encrypted: Callable[[int], GatewayProcess],
) -> None:
    gateway = encrypted(1_000)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    made: list[tuple[str, float]] = []
    until_s = time.monotonic() + 9

    def shake_hands(source: str) -> None:
        with (
            suppress(OSError),
            socket.create_connection((HOST, gateway.broker_port(1)), 10, (source, 0)) as connection,
            context.wrap_socket(connection, server_hostname=HOST),
        ):
            made.append((source, time.monotonic()))

    def flood() -> None:
        while time.monotonic() < until_s:
            shake_hands("127.0.0.9")

    threads = [threading.Thread(target=flood) for _ in range(150)]
    for one in threads:
        one.start()
    time.sleep(7)
    began_s = time.monotonic()
    shake_hands("127.0.0.10")
    took_s = time.monotonic() - began_s
    for one in threads:
        one.join(30)

    # Each costs 1.5 to 3 ms of CPU: when the first second of that is used up, a tenth is left each second. With nothing
    # but a delay of a second for each connection it would be 150 each second.
    late = [source for source, at_s in made if until_s - 3 < at_s < until_s]
    assert 30 < late.count("127.0.0.9") < 270
    assert "127.0.0.10" in late
    assert took_s < 2
