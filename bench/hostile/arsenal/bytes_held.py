"""Requests of which a part comes and the rest never does: how much memory does the gateway give away?"""

import ssl
import struct
import time
from collections.abc import Iterator

from bench.frames import CLIENT_ID
from bench.hostile.attack import Evidence, attack
from bench.hostile.field import Field
from bench.hostile.line import Line
from bifrost.wire.headers import REQUEST_PREFIX
from bifrost.wire.messages import MetadataRequest

MIB = 1 << 20
NOT_YET = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


def _half_frames(
    field: Field, connections: int, announced: int, sent: int, key: int = 0, **options: bool
) -> None:
    """Announce a frame on each connection, send a part of it, and hold it."""
    version = 3 if key == 3 else 9
    head = (
        struct.pack(">i", announced)
        + REQUEST_PREFIX.pack(key, version, 1, len(CLIENT_ID))
        + CLIENT_ID
        + b"\0"
    )
    piece = memoryview(bytes(256 * 1024))
    metadata = field.frame(MetadataRequest(topics=[]), 12)
    lines: list[tuple[Line, int]] = []
    while len(lines) < connections and field.goes_on():
        try:
            line = field.line(**options)
            if options.get("login", True):
                # A request that is answered: by it the gateway shows that the connection works.
                field.count(line.socket.send(metadata))
                field.sent.frames += 1
            field.count(line.socket.send(head))
            lines.append((line, sent - len(head)))
        except OSError:
            field.sent.closed += 1
            time.sleep(0.01)
    while field.goes_on():
        has_sent = False
        for number, (line, left) in enumerate(lines):
            if not left:
                continue
            try:
                done = line.socket.send(piece[: min(left, len(piece))])
            except NOT_YET:
                continue
            except OSError:
                field.sent.closed += 1
                lines[number] = (line, 0)
                continue
            field.count(done)
            lines[number] = (line, left - done)
            has_sent = True
        if not has_sent:
            time.sleep(0.02)
    field.note(f"{sum(not left for _, left in lines)} of {connections} took their part")
    for line, _ in lines:
        line.close()


@attack("8 connections that send 90 of 99 MiB each")
def half_frames_of_99_mib(field: Field) -> Iterator[None]:
    yield
    _half_frames(field, 8, 99 * MIB, 90 * MIB)


@attack("the same of an API that the gateway decodes")
def half_frames_to_decode(field: Field) -> Iterator[None]:
    yield
    _half_frames(field, 8, 99 * MIB, 90 * MIB, key=10)


@attack("the same over TLS")
def half_frames_tls(field: Field) -> Iterator[None]:
    yield
    _half_frames(field, 8, 99 * MIB, 90 * MIB, tls=True)


@attack("the same at a port that asks for no authentication")
def half_frames_at_an_open_port(field: Field) -> Iterator[None]:
    yield
    _half_frames(field, 8, 99 * MIB, 90 * MIB, is_open=True)


@attack("200 connections that send 2 of 4 MiB each")
def many_half_frames(field: Field) -> Iterator[None]:
    yield
    _half_frames(field, 200, 4 * MIB, 2 * MIB)


@attack("1,000 connections that send 60 of 64 KiB each")
def small_half_frames(field: Field) -> Iterator[None]:
    yield
    _half_frames(field, 1000, 64 * 1024, 60 * 1024)


@attack("300 connections that send 500 of 512 KiB before authentication", evidence=Evidence.CONNECTIONS)
def half_frames_before_login(field: Field) -> Iterator[None]:
    yield
    _half_frames(field, 300, 512 * 1024, 500 * 1024, key=3, login=False)


@attack("the same over TLS", evidence=Evidence.CONNECTIONS)
def half_frames_before_login_tls(field: Field) -> Iterator[None]:
    yield
    _half_frames(field, 300, 512 * 1024, 500 * 1024, key=3, login=False, tls=True)
