"""A schema registry of a test's own, over HTTP: it answers as Apicurio 3.3.3 and Confluent's registry do."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from support.encryption.in_thread import in_thread

if TYPE_CHECKING:
    from support.identity.certificates import Files

NO_SCHEMA = {"message": "Schema not found.", "error_code": 40403}
NO_SUBJECT = {"message": "Subject not found.", "error_code": 40401}


class RegistryServer:
    """Serves the schemas that it was given, and remembers what it was asked."""

    def __init__(self, certificate: Files | None = None) -> None:
        """Serve on a free port of localhost; with a certificate over TLS."""
        played = self
        self.status: int | None = None
        """Of every answer; None: what belongs to it."""
        self.body: bytes | None = None
        self.delay_s = 0.0
        self.asked: list[tuple[str, str | None]] = []
        """Paths, and what authorized them."""
        self._schemas: dict[int, dict[str, Any]] = {}
        self._guids: dict[str, int] = {}
        self._subjects: dict[str, list[int]] = {}

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                played.asked.append((self.path, self.headers["Authorization"]))
                time.sleep(played.delay_s)
                status, answer = played._answer(self.path)
                data = json.dumps(answer).encode() if played.body is None else played.body
                self.send_response(status if played.status is None else played.status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: object) -> None:
                """A client that has waited long enough is gone."""

        self._server = in_thread(lambda: Server(("127.0.0.1", 0), Handler))
        self._server.daemon_threads = True
        scheme = "http"
        if certificate is not None:
            scheme, context = "https", ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate.certificate, certificate.key)
            # The handshake is the business of the thread of each connection.
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.url = f"{scheme}://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def add(
        self,
        subject: str,
        schema: Any,
        kind: str = "AVRO",
        references: Sequence[Mapping[str, object]] = (),
        guid: str | None = None,
    ) -> int:
        """Register a schema, as its text or as JSON; return its ID."""
        text = schema if isinstance(schema, str) and kind == "PROTOBUF" else json.dumps(schema)
        entry: dict[str, Any] = {"schema": text}
        if kind != "AVRO":
            entry["schemaType"] = kind
        if references:
            entry["references"] = list(references)
        known = next((number for number, one in self._schemas.items() if one == entry), None)
        number = len(self._schemas) + 1 if known is None else known
        self._schemas[number] = entry
        self._subjects.setdefault(subject, []).append(number)
        if guid is not None:
            self._guids[guid] = number
        return number

    def _answer(self, path: str) -> tuple[int, Any]:
        match [unquote(part) for part in path.strip("/").split("/")]:
            case ["schemas", "ids", number]:
                found: Any = self._schemas.get(int(number))
                return (404, NO_SCHEMA) if found is None else (200, found)
            case ["schemas", "ids", number, "versions"]:
                if int(number) not in self._schemas:
                    return 404, NO_SCHEMA
                return 200, [
                    {"subject": subject, "version": numbers.index(int(number)) + 1}
                    for subject, numbers in self._subjects.items()
                    if int(number) in numbers
                ]
            case ["schemas", "guids", guid, *rest]:
                if guid not in self._guids:
                    return 404, NO_SCHEMA
                own = self._guids[guid]
                return 200, [{"context": ".", "id": own}] if rest else self._schemas[own]
            case ["subjects", subject, "versions", version]:
                numbers = self._subjects.get(subject, [])
                if not 0 < int(version) <= len(numbers):
                    return 404, NO_SUBJECT
                number_ = numbers[int(version) - 1]
                return 200, {"subject": subject, "version": int(version), "id": number_} | self._schemas[
                    number_
                ]
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
