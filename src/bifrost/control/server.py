"""The process that serves the API: its port, its TLS, its signals, and its end."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Iterator

import structlog
import uvicorn

from bifrost.config.fields.control import Control
from bifrost.config.files.server_context import build_server_context
from bifrost.control.connection import MAX_CONNECTIONS, MAX_HEAD_BYTES, ControlConnection
from bifrost.control.gate import App
from bifrost.control.handshakes import Handshakes

log = structlog.get_logger()

STOP_S = 30
"""How long requests may take after the process was told to stop, in seconds."""


class PortTaken(Exception):
    """The port cannot be bound; the text says which and why."""


class _Server(uvicorn.Server):
    """Uvicorn without its handlers of signals, which would end the process by the signal instead of with status 0."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to `serve`."""
        yield


async def serve(app: App, settings: Control) -> None:
    """Serve until SIGINT or SIGTERM; requests that were begun are answered.

    Raises:
        PortTaken: see there.
    """
    config = uvicorn.Config(
        app,
        http=ControlConnection  # type: ignore[arg-type]
        if settings.tls is None
        else Handshakes(build_server_context(settings.tls), ControlConnection),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=STOP_S,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
    )
    bound = _bind(settings.bind_host, settings.port)
    server = _Server(config)

    def stop() -> None:
        server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    host, port = bound.getsockname()[:2]
    log.info("control_listening", address=f"{host}:{port}", tls=settings.tls is not None)
    try:
        await server.serve([bound])
    finally:
        bound.close()
        log.info("control_stopped")


def _bind(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=min(MAX_CONNECTIONS, 128))
    except OSError as error:
        raise PortTaken(f"proxy.control: {host}:{port} cannot be bound: {error.strerror or error}") from None
