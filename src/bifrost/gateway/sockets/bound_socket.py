"""Binds listening sockets; two gateways may share a port, so that a new one can start before the old one ends.

On Linux all sockets of a port that the same user bound with SO_REUSEPORT get their share of the new connections
(socket(7)), so a gateway can be replaced while one always listens. A process that bound the port without the option,
or belongs to another user, keeps the port alone as usual. On other systems the option means something else: there the
gateway shares no port.
"""

import errno
import socket
import sys
from weakref import WeakSet

import structlog

from bifrost.gateway.errors import StartError

log = structlog.get_logger()

_ours: "WeakSet[socket.socket]" = WeakSet()
"""The sockets that this process has bound."""

_WILDCARDS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - recognised, not bound


def bind(name: str, host: str, port: int, replaces: socket.socket | None = None) -> socket.socket:
    """Return a socket bound to a port, not listening yet. Log if another gateway has the port as well.

    Args:
        name: name of the listener, for errors and the log.
        host: an address of this machine, or a name of one.
        port: the TCP port.
        replaces: a socket of this process that is closed soon; it may have the same port on another address.
    Raises:
        StartError: the port cannot be bound.
    """
    try:
        if not is_shareable() or not _is_taken(host, port):
            return _bound(host, port, shares=is_shareable())
        bound = _bound(host, port, shares=True)
        if _is_ours_twice(bound, replaces):
            bound.close()
            text = (
                f"port {port} on {host} is in use by another listener of this gateway, until a reload has removed "
                "that: choose another port, reload twice, or restart the gateway"
            )
            raise StartError(f"{name}: {text}")
        if replaces is not None and _meets(bound, replaces):
            return bound
    except OSError as error:
        raise StartError(f"{name}: {_bind_failure(host, port, error)}") from error
    log.info(
        "port_shared",
        listener=name,
        address=f"{host}:{port}",
        detail="a gateway of this user listens there as well: until one ends, new connections go to either",
    )
    return bound


def is_shareable() -> bool:
    """Whether two gateways can listen on one port here."""
    return sys.platform == "linux" and hasattr(socket, "SO_REUSEPORT")


def _is_taken(host: str, port: int) -> bool:
    try:
        _bound(host, port, shares=False).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return True
        raise
    return False


def _bound(host: str, port: int, *, shares: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        # So that connections of the last run that have not timed out do not prevent binding.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shares:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound.bind((host, port))
    except BaseException:
        bound.close()
        raise
    if shares:
        _ours.add(bound)
    return bound


def _is_ours_twice(bound: socket.socket, replaces: socket.socket | None) -> bool:
    """Whether this process has the port already: two of its own listeners must not share one."""
    return any(other not in (bound, replaces) and _meets(bound, other) for other in tuple(_ours))


def _meets(bound: socket.socket, other: socket.socket) -> bool:
    """Whether two sockets get connections to the same address."""
    if other.fileno() < 0 or other.family != bound.family:
        return False
    host, port, *_ = bound.getsockname()
    other_host, other_port, *_ = other.getsockname()
    return bool(other_port == port and (host == other_host or _WILDCARDS & {host, other_host}))


def _bind_failure(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} on {host} is in use: end the program that listens there, or configure another port"
        )
    if error.errno == errno.EACCES:
        return f"port {port} on {host} may not be bound by this user: choose one from 1024 on"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine: mend bind_host"
    return f"cannot bind {host}:{port}: {error}"
