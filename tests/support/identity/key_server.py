"""An HTTP server with the keys of an issuer of the tests' own, which may change them, be slow, or be away."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from support.gateways.gateway_process import HOST, free_ports
from support.identity.issuer import Issuer, jwk_set


class KeyServer:
    """Serves the keys that it is given, at any path."""

    def __init__(self, *issuers: Issuer, certificate: Path | None = None) -> None:
        """Serve over HTTPS if there is a certificate, with its key in the same file."""
        self.issuers = issuers
        self._certificate = certificate
        self.delay_s = 0.0
        self.asked = 0
        self.port = free_ports(1)
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"{'http' if self._certificate is None else 'https'}://{HOST}:{self.port}/keys"

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
        if self._certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self._certificate)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Answer no client any more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


def write_certificate(file: Path) -> Path:
    """Write a certificate for this host that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "keys of the tests")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return file
