"""An HTTP server with the keys of an issuer of the tests' own, which may change them, be slow, or be away."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from support.gateway_process import HOST, free_ports
from support.issuer import Issuer, jwk_set


class KeyServer:
    """Serves the keys that it is given, at any path."""

    def __init__(self, *issuers: Issuer) -> None:
        self.issuers = issuers
        self.delay_s = 0.0
        self.asked = 0
        self.port = free_ports(1)
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/keys"

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Begin to answer."""
        world = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                world.asked += 1
                time.sleep(world.delay_s)
                body = jwk_set(*(one.public_jwk() for one in world.issuers))
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer((HOST, self.port), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Answer nobody any more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
