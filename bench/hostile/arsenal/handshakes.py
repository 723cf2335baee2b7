"""TLS: handshakes without end, halves of them, and what a client may ask for within a connection."""

import contextlib
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator

from bench.certificates import HOST
from bench.hostile.attack import Evidence, attack
from bench.hostile.crowd import Crowd
from bench.hostile.field import Field

HELLO_BYTES = 600
COMMAND_S = 0.005
HANDSHAKE_S = 0.2


@attack(
    "whole TLS handshakes, a connection each, 150 at once from 8 addresses", evidence=Evidence.CONNECTIONS
)
def tls_handshakes(field: Field) -> Iterator[None]:
    crowd = Crowd(field, lambda number: [], tls=True)
    yield
    crowd.run()


@attack("400 TLS connections that say hello and no more", evidence=Evidence.CONNECTIONS)
def tls_hellos(field: Field) -> Iterator[None]:
    hello = _client_hello()
    yield
    held: list[socket.socket] = []
    while field.goes_on():
        if len(held) >= 400:
            held.pop(0).close()
        try:
            connection = field.raw(port=field.target.tls_port)
            connection.sendall(hello)
            field.count(len(hello))
            held.append(connection)
        except OSError:
            field.sent.closed += 1
    for one in held:
        one.close()


@attack("TLS connections that send random records", evidence=Evidence.CONNECTIONS)
def tls_garbage(field: Field) -> Iterator[None]:
    record = b"\x16\x03\x01\x40\x00" + field.random.randbytes(0x4000)
    yield
    while field.goes_on():
        try:
            connection = field.raw(port=field.target.tls_port)
            connection.sendall(record)
            field.count(len(record))
            connection.close()
        except OSError:
            field.sent.closed += 1


@attack("TLS 1.2 clients that ask for another handshake, again and again", evidence=Evidence.CONNECTIONS)
def tls_renegotiation(field: Field) -> Iterator[None]:
    yield
    _command(field, "R", "-tls1_2")


@attack("TLS 1.3 clients that ask for new keys, again and again", evidence=Evidence.CONNECTIONS)
def tls_key_updates(field: Field) -> Iterator[None]:
    yield
    _command(field, "K", "-tls1_3")


def _command(field: Field, letter: str, version: str) -> None:
    """Let OpenSSL's own client do what Python's ssl has no word for: a letter on a line of its own is a command."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise RuntimeError("openssl is not installed: Python's ssl knows no renegotiation")
    command = [openssl, "s_client", "-connect", f"{HOST}:{field.target.tls_port}", version]
    sent = 0
    while field.goes_on():
        client = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        field.sent.connections += 1
        field.count(HELLO_BYTES)
        time.sleep(HANDSHAKE_S)
        field.sent.answers += client.poll() is None
        assert client.stdin is not None
        try:
            while field.goes_on() and client.poll() is None:
                client.stdin.write(letter.encode() + b"\n")
                client.stdin.flush()
                sent += 1
                field.count(40)
                time.sleep(COMMAND_S)
        except OSError:
            field.sent.closed += 1
        client.kill()
        client.wait()
        client.stdin = None
    field.note(f"{sent} asked for")


def _client_hello() -> bytes:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    tls = context.wrap_bio(incoming, outgoing, server_hostname=None)
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()
