"""Checks that every port still accepts: the gateway connects to its own ports.

A listening socket that no event loop polls looks well from outside: the kernel completes connections and keeps them. So
every `CHECK_EVERY_S` the gateway connects to each port that accepted nothing since the last look. It knows the
connection by its address and closes it once it is accepted. The connection is not counted, logged or held against a
limit, as it is not a client's.

    accepted something ──▶ well
    nothing ──▶ connect ──accepted──▶ well
                   └── not within PROBE_TIMEOUT_S ──none waits there──▶ well: it went to another gateway
                                                  └──▶ not accepting: logged, /readyz says 503, opened again

On Linux the kernel tells how many connections wait at a listening socket. So there is no false alarm when the
connection went to a gateway that shares the port (SO_REUSEPORT), or into a packet filter.
"""

import asyncio
import socket
import struct
import sys
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import structlog

from bifrost.gateway.errors import StartError
from bifrost.gateway.loop.loop_guard import report

log = structlog.get_logger()

CHECK_EVERY_S = 5.0
"""Time between two looks at a port: within it a load balancer's probe of /readyz usually comes as well."""

PROBE_TIMEOUT_S = 2.0
"""Time for a connection to be accepted: a thousand times what it takes, and longer than any stall of the event loop."""

MOST_PROBES = 200
"""Ports that are checked at one look, some 20 ms of work; if there are more, they take turns."""

AT_ONCE = 32
"""Ports that are checked at the same time."""

_SETTLE_S = 0.05
"""Time after a timeout in which an accept still counts: after a stall, the event loop runs timers first."""

_LINUX_LISTENING, _TCP_INFO_BYTES, _WAITING_AT = 10, 32, 24
"""TCP_LISTEN, and where `tcpi_unacked` is in a `tcp_info`: for a listening socket, the number of waiting connections
(tcp_get_info)."""

_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - recognised, not bound

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""For SO_LINGER, so that no connection of the gateway's own stays in TIME_WAIT."""


class Probes:
    """The addresses of the gateway's own connections to one port."""

    _MOST = 4

    def __init__(self) -> None:
        """Start without connections."""
        self._addresses: dict[Any, None] = {}

    def add(self, address: Any) -> None:
        """Expect a connection from `address`; forget the oldest that never arrived, if there are too many."""
        self._addresses[_key(address)] = None
        if len(self._addresses) > self._MOST:
            del self._addresses[next(iter(self._addresses))]

    def take(self, address: Any) -> bool:
        """Whether a connection from `address` is expected; it has now arrived."""
        if not self._addresses or _key(address) not in self._addresses:
            return False
        del self._addresses[_key(address)]
        return True

    def awaits(self, address: Any) -> bool:
        """Whether the connection from `address` has not arrived yet."""
        return _key(address) in self._addresses


class Watched(Protocol):
    """A port that is checked."""

    name: str
    """Name of the listener set."""
    stands_for: str
    """What clients reach at the port, for the log."""
    where: tuple[str, int]
    bound: socket.socket
    accepted: int
    """Connections that the port has accepted since the start."""
    probes: Probes

    async def reopen(self) -> None:
        """Open the port again, so that it accepts.

        Raises:
            StartError: the port cannot be opened.
        """


class ListenerWatch:
    """Checks all ports of a gateway."""

    def __init__(
        self,
        ports: Callable[[], Iterable[Watched]],
        connect: Callable[[socket.socket], socket.socket] | None = None,
    ) -> None:
        """Create the watch; `run` checks the ports.

        Args:
            ports: returns the ports that should accept.
            connect: begins to connect to a listening socket and returns the connection; None: over TCP.
        """
        self._ports, self._connect = ports, connect or _connect
        self._seen: dict[Watched, int] = {}
        self._failing: set[Watched] = set()
        self._turn = 0

    def listeners(self) -> list[tuple[str, int, bool]]:
        """Return each port's listener set and number, and whether it accepts as far as known; any thread may call."""
        return [(one.name, one.where[1], one not in self._failing) for one in tuple(self._ports())]

    def not_accepting(self) -> list[str]:
        """Return the ports that do not accept, in words."""
        failing = [one for one in tuple(self._ports()) if one in self._failing]
        return [f"{one.name} at {one.where[0]}:{one.where[1]} ({one.stands_for})" for one in failing]

    async def run(self) -> None:
        """Check the ports for ever."""
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            await self.look()

    async def look(self) -> None:
        """Check every port, or the ports whose turn it is."""
        ports = tuple(self._ports())
        idle = [one for one in ports if one.accepted == self._seen.get(one, 0) or one in self._failing]
        turn = self._turn % len(idle) if idle else 0
        chosen = (idle[turn:] + idle[:turn])[:MOST_PROBES]
        self._turn = turn + len(chosen)
        for at in range(0, len(chosen), AT_ONCE):
            await asyncio.gather(*(self._check(one) for one in chosen[at : at + AT_ONCE]))
        self._seen = {one: one.accepted for one in ports}
        self._failing &= set(ports)

    async def _check(self, port: Watched) -> None:
        """Check one port, and open it again if it does not accept."""
        accepts = await self._accepts(port)
        fields = {"listener": port.name, "address": f"{port.where[0]}:{port.where[1]}"}
        if accepts and port in self._failing:
            self._failing.discard(port)
            log.info("listener_accepts_again", **fields)
        elif accepts is False:
            if port not in self._failing:
                log.error("listener_not_accepting", stands_for=port.stands_for, **fields)
            self._failing.add(port)
            try:
                await port.reopen()
            except StartError as error:
                log.warning("listener_not_reopened", error=str(error), retry_in_s=CHECK_EVERY_S, **fields)
            except Exception as error:
                report("reopen", error, **fields)

    async def _accepts(self, port: Watched) -> bool | None:
        """Connect to a port; return whether it accepts, None if that is not known."""
        if port.bound.fileno() < 0:
            return False
        before = port.accepted
        try:
            probe = self._connect(port.bound)
        except OSError:
            return None  # For example, no file descriptor is left.
        with probe:
            address = probe.getsockname()
            port.probes.add(address)
            loop = asyncio.get_running_loop()
            deadline, pause_s = loop.time() + PROBE_TIMEOUT_S, 0.001
            while port.probes.awaits(address) and loop.time() < deadline:
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, 0.1)
            await asyncio.sleep(_SETTLE_S if port.probes.awaits(address) else 0)
        return port.accepted != before or not _keeps_clients_waiting(port.bound)


def _connect(bound: socket.socket) -> socket.socket:
    """Begin to connect to a socket that is bound to a TCP port.

    Raises:
        OSError: connecting cannot even begin.
    """
    probe = socket.socket(bound.family, socket.SOCK_STREAM)
    try:
        probe.setblocking(False)
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        host, port = bound.getsockname()[:2]
        probe.connect_ex((_LOOPBACK.get(host, host), port))
    except BaseException:
        probe.close()
        raise
    return probe


def _key(address: Any) -> Any:
    """Return host and port of an address; an IPv6 address has more parts."""
    return address[:2] if isinstance(address, tuple) else address


def _keeps_clients_waiting(bound: socket.socket) -> bool:
    """Whether connections wait at a socket, or it does not listen at all; True where the system does not tell."""
    if sys.platform != "linux" or bound.fileno() < 0:
        return True
    try:
        info = bound.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    except OSError:
        return True
    (waiting,) = struct.unpack_from("=I", info, _WAITING_AT)
    return info[0] != _LINUX_LISTENING or waiting > 0
