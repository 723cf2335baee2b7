"""What an attack works with: the gateway's ports, its own credentials, and the counters of what it has sent."""

import contextlib
import itertools
import json
import random
import socket
import ssl
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.certificates import HOST
from bench.client import RawClient
from bench.frames import request_frame
from bench.hostile.features import LISTED
from bench.hostile.line import Flood, Line
from bifrost.wire.message import Message

BUCKET_S = 0.02
"""What was sent is noted by this much time, so that the same pace can be kept again."""
CONNECT_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Target:
    """Where the gateway is, and whose credentials the attacker has."""

    plain_port: int
    """Bootstrap ports; those of the brokers follow."""
    tls_port: int
    open_port: int
    """Without authentication: every client is the attacker's tenant."""
    ca_file: str
    user: str
    password: str
    topic: str
    """One of the attacker's own, of 8 partitions."""
    topic_id: str
    """As hexadecimal digits."""
    node_id: int
    """The broker that leads the topic's first partition."""
    seconds: float
    scale: float = 1.0
    """Below 1: smaller requests, for a quick run."""
    broker_port: int = 0
    """Of a broker itself: for what only an operator could set up."""
    source: str = ""
    """The attacker's address: another one for each attack, for the gateway remembers what an address has cost."""
    pace_file: str = ""
    """What to send again, for the control."""
    single_port: int = 0
    """A single address for all brokers; 0: there is none, nor an admin API."""
    control_port: int = 0
    """Of the admin API, whose tokens the attacker does not have."""

    @classmethod
    def read(cls, path: Path) -> "Target":
        return cls(**json.loads(path.read_text()))

    @property
    def credentials(self) -> tuple[str, str] | None:
        """User and password; None: no login is asked for."""
        return (self.user, self.password) if self.user else None

    def write(self, path: Path) -> Path:
        path.write_text(json.dumps(asdict(self)))
        return path


@dataclass
class Sent:
    """What an attack has done."""

    seconds: float = 0.0
    bytes: int = 0
    frames: int = 0
    connections: int = 0
    answers: int = 0
    closed: int = 0
    """Connections that the gateway closed or refused."""
    slowest_s: float = 0.0
    """Of all answers, and to what."""
    slowest: str = ""
    left_out: int = 0
    """How many requests that every run has to send were not sent in time: then the run says nothing of them."""
    notes: list[str] = field(default_factory=list)
    pace: dict[int, list[int]] = field(default_factory=dict)
    """By the number of the bucket: connections opened, bytes sent."""

    @property
    def requests(self) -> int:
        """How many requests were sent, at least: a frame may stand for thousands that were written at once."""
        return max(self.frames, self.answers)


class Field:
    """Of one attack."""

    def __init__(self, target: Target) -> None:
        self.target, self.sent = target, Sent()
        self.random = random.Random(20)
        self.topic_id = bytes.fromhex(target.topic_id)
        self._began_s = time.monotonic()
        self._context: ssl.SSLContext | None = None

    # -- time

    def begin(self) -> None:
        self._began_s = time.monotonic()

    def goes_on(self) -> bool:
        return time.monotonic() < self._began_s + self.target.seconds

    def end(self) -> Sent:
        self.sent.seconds = time.monotonic() - self._began_s
        return self.sent

    def size(self, size: int) -> int:
        """Return a size, or a smaller one in a quick run."""
        return max(int(size * self.target.scale), 1)

    def note(self, text: str) -> None:
        self.sent.notes.append(text)

    # -- connections

    @property
    def context(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = ssl.create_default_context(cafile=self.target.ca_file)
        return self._context

    def count(self, size: int) -> None:
        """Count bytes that were sent."""
        self.sent.bytes += size
        self._bucket()[1] += size

    def opened(self) -> None:
        """Count a connection that was opened."""
        self.sent.connections += 1
        self._bucket()[0] += 1

    def raw(
        self, *, tls: bool = False, port: int | None = None, timeout_s: float = CONNECT_TIMEOUT_S
    ) -> socket.socket:
        """Open a connection to a bootstrap port, and say nothing."""
        port = port or (self.target.tls_port if tls else self.target.plain_port)
        connection = socket.create_connection((HOST, port), timeout_s, self._source)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.opened()
        if tls:
            try:
                connection = self.context.wrap_socket(connection, server_hostname=HOST)
            except BaseException:
                connection.close()
                raise
            self.count(600)
            self.sent.answers += 1
        return connection

    def line(
        self,
        *,
        tls: bool = False,
        login: bool = True,
        is_broker: bool = True,
        is_open: bool = False,
        is_single: bool = False,
        is_listed: bool = False,
    ) -> Line:
        """Open a connection that is ready for requests; `is_listed`: of the attacker's tenant with listed topics."""
        if is_single:
            return self._counted(self._log_in(self.target.single_port))
        port = self.target.open_port if is_open else self.target.tls_port if tls else self.target.plain_port
        port += self.target.node_id if is_broker else 0
        if not login or is_open:
            return Line(self.raw(tls=tls, port=port), self.count)
        user = LISTED if is_listed else self.target.user
        return self._counted(self._log_in(port, self.context if tls else None, user), 600 * tls)

    def _counted(self, client: RawClient, handshake: int = 0) -> Line:
        self.sent.connections += 1
        self._bucket()[0] += 1
        self.count(150 + handshake)
        return Line(client.socket, self.count)

    def client(self, *, is_single: bool = False) -> RawClient:
        """Open a connection for single requests."""
        self.sent.connections += 1
        self._bucket()[0] += 1
        target = self.target
        return self._log_in(target.single_port if is_single else target.plain_port + target.node_id)

    @property
    def _source(self) -> tuple[str, int] | None:
        return (self.target.source, 0) if self.target.source else None

    def _log_in(self, port: int, context: ssl.SSLContext | None = None, user: str = "") -> RawClient:
        credentials = self.target.credentials
        if credentials and user:
            credentials = user, credentials[1]
        return RawClient(HOST, port, credentials, context, source=self.target.source)

    # -- sending

    def frame(self, message: Message, version: int) -> bytes:
        return request_frame(message, version, 1)

    def flood(
        self,
        frames: Iterable[bytes] | Iterable[tuple[str, bytes]],
        *,
        connections: int = 2,
        depth: int = 1,
        reads: bool = True,
        is_endless: bool = True,
        **line: bool,
    ) -> set[str]:
        """Send frames again and again, each connection with `depth` in flight, until it is over.

        Returns:
            The labels of frames that were answered.
        """
        flood = Flood(
            lambda: self.line(**line),
            _labelled(itertools.cycle(frames) if is_endless else frames),
            connections=connections,
            depth=depth,
            reads=reads,
        )
        try:
            flood.run(self.goes_on)
        finally:
            sent = self.sent
            sent.frames += flood.given
            sent.answers += flood.answers
            sent.closed += flood.closed
            if flood.slowest[0] > sent.slowest_s:
                sent.slowest_s, sent.slowest = flood.slowest
        return flood.answered

    def hold(self, lines: list[Any]) -> None:
        """Do nothing until it is over, then close."""
        while self.goes_on():
            time.sleep(BUCKET_S)
        for one in lines:
            with contextlib.suppress(OSError):
                one.close()

    def _bucket(self) -> list[int]:
        return self.sent.pace.setdefault(int((time.monotonic() - self._began_s) / BUCKET_S), [0, 0])


def _labelled(frames: Iterable[bytes] | Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    for one in frames:
        yield one if isinstance(one, tuple) else ("", one)
