"""Connections: very many, very short, or ones that read and write slowly."""

import socket
import time
from collections.abc import Iterator

from bench.frames import fetch, produce, record_batch, request_frame
from bench.hostile.attack import Evidence, attack
from bench.hostile.field import Field
from bench.hostile.line import Line
from bifrost.wire.messages import MetadataRequest

GRABBED = 2_200
"""More than the gateway of the suite lets in."""
TRICKLE_S = 0.05
HALF_OPEN, AT_ONCE = 400, 10
"""Connections whose own side is ended, and how many of them are opened before it is seen which were closed."""


@attack("connections that are opened and closed at once", evidence=Evidence.CONNECTIONS)
def connection_storm(field: Field) -> Iterator[None]:
    yield
    while field.goes_on():
        _try(lambda: field.raw().close(), field)


@attack("connections that are opened, and reset by the client", evidence=Evidence.CONNECTIONS)
def connection_resets(field: Field) -> Iterator[None]:
    yield
    while field.goes_on():
        _try(lambda: _reset(field.raw()), field)


@attack(
    "2,200 connections that say nothing: more than the gateway lets in",
    evidence=Evidence.CONNECTIONS,
    seconds=8,
)
def connections_before_login(field: Field) -> Iterator[None]:
    yield
    _grab(field, login=False)


@attack("as many connections of one tenant as it gets, of 2,200", evidence=Evidence.CONNECTIONS, seconds=10)
def connections_of_one_tenant(field: Field) -> Iterator[None]:
    yield
    _grab(field, login=True)


@attack("the same at a port that asks for no authentication", evidence=Evidence.CONNECTIONS, seconds=8)
def connections_at_an_open_port(field: Field) -> Iterator[None]:
    yield
    _grab(field, login=True, is_open=True)


@attack(
    "connections to all ports while the brokers stand still and are fenced",
    evidence=Evidence.CONNECTIONS,
    seconds=16,
    stops_brokers=True,
)
def connections_without_brokers(field: Field) -> Iterator[None]:
    yield
    while field.goes_on():
        for port in (field.target.plain_port, field.target.open_port, field.target.tls_port):
            _try(lambda port=port: field.raw(port=port, timeout_s=1).close(), field)
        time.sleep(0.01)


@attack("200 connections that send a large request one byte at a time")
def slow_writers(field: Field) -> Iterator[None]:
    batch, _ = record_batch(64 * 1024, 1024)
    frame = field.frame(produce(field.target.topic, b"", 9, 0, batch), 9)
    metadata = field.frame(MetadataRequest(topics=[]), 12)
    yield
    lines = _open(field, 200)
    for line in lines:
        line.socket.send(metadata)
        field.count(len(metadata))
    _trickle(field, lines, frame)


@attack(
    "300 connections that send a request one byte at a time before authentication",
    evidence=Evidence.CONNECTIONS,
)
def slow_writers_before_login(field: Field) -> Iterator[None]:
    frame = field.frame(MetadataRequest(topics=[]), 12)
    yield
    _trickle(field, _open(field, 300, login=False), frame)


@attack("40 connections that fetch 8 MiB again and again, and read nothing", seconds=8, is_warmed=True)
def slow_readers(field: Field) -> Iterator[None]:
    # Not of long ago, or the brokers would delete it, and each answer would be a short error.
    batch, _ = record_batch(512 * 1024, 1024, int(time.time() * 1000))
    client = field.client()
    for partition in range(8):
        for _ in range(2):
            client.request(produce(field.target.topic, b"", 9, partition, batch), 9)
    client.close()
    frame = request_frame(fetch(field.target.topic, b"", 12, [(one, 0) for one in range(8)]), 12, 1)
    yield
    field.flood([frame], connections=40, reads=False)


@attack("40 connections that ask for all metadata without end, and read nothing", seconds=8, is_warmed=True)
def slow_readers_of_metadata(field: Field) -> Iterator[None]:
    frame = field.frame(MetadataRequest(topics=None), 12)
    yield
    field.flood([frame], connections=40, reads=False)


@attack(
    "400 connections that send half a request and end their side, and others when they are closed",
    evidence=Evidence.CONNECTIONS,
)
def half_open(field: Field) -> Iterator[None]:
    frame = field.frame(MetadataRequest(topics=None), 12)
    yield
    _end_half(field, frame[: len(frame) // 2])


@attack("the same before authentication", evidence=Evidence.CONNECTIONS)
def half_open_before_login(field: Field) -> Iterator[None]:
    frame = field.frame(MetadataRequest(topics=None), 12)
    yield
    _end_half(field, frame[: len(frame) // 2], login=False)


def _try(work: object, field: Field) -> None:
    try:
        work()  # type: ignore[operator]
    except OSError:
        field.sent.closed += 1


def _reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


def _open(field: Field, count: int, **options: bool) -> list[Line]:
    lines: list[Line] = []
    while len(lines) < count and field.goes_on():
        try:
            lines.append(field.line(**options))
        except (OSError, AssertionError):
            field.sent.closed += 1
            time.sleep(0.01)
    return lines


def _grab(field: Field, **options: bool) -> None:
    """Open connections and keep them; one that is refused is tried again."""
    lines = _open(field, field.size(GRABBED) if field.target.scale == 1 else GRABBED, **options)
    field.note(f"{len(lines)} opened")
    while field.goes_on():
        time.sleep(0.1)
        kept = [one for one in lines if not _is_closed(one)]
        field.sent.closed += len(lines) - len(kept)
        lost, lines = len(lines) - len(kept), kept
        if lost:
            lines += _open(field, lost, **options)
    field.note(f"{len(lines)} kept")
    for line in lines:
        line.close()


def _is_closed(line: Line) -> bool:
    try:
        return line.socket.recv(64) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def _end_half(field: Field, half: bytes, **options: bool) -> None:
    """Send half a request on each connection, end this side of it, and keep the socket until the gateway closes it."""
    lines: list[Line] = []
    while field.goes_on():
        for line in _open(field, min(HALF_OPEN - len(lines), AT_ONCE), **options):
            lines.append(line)
            try:
                field.count(line.socket.send(half))
                line.socket.shutdown(socket.SHUT_WR)
            except OSError:
                continue  # It is closed already, and found below.
        closed = [one for one in lines if _is_closed(one)]
        field.sent.closed += len(closed)
        for line in closed:
            line.close()
        lines = [one for one in lines if one not in closed]
        if len(lines) == HALF_OPEN:
            time.sleep(0.01)
    field.note(f"{len(lines)} were still open")
    for line in lines:
        line.close()


def _trickle(field: Field, lines: list[Line], frame: bytes) -> None:
    at = 0
    while field.goes_on() and lines:
        for line in tuple(lines):
            try:
                field.count(line.socket.send(frame[at % len(frame) : at % len(frame) + 1]))
            except BlockingIOError:
                continue
            except OSError:
                field.sent.closed += 1
                lines.remove(line)
        at += 1
        time.sleep(TRICKLE_S)
    for line in lines:
        line.close()
