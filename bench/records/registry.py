"""A schema registry with one schema, which belongs to every topic of the run.

A gateway asks it once every five minutes, so that it is a stub says nothing about what is measured.
"""

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bench.certificates import HOST
from bench.records.batches import SCHEMA, SCHEMA_ID

KNOWN = f"/schemas/ids/{SCHEMA_ID}"


def answers_about(topics: Iterable[str]) -> dict[str, object]:
    """Return the answers by their paths, as Confluent's registry and Apicurio give them."""
    subjects = [{"subject": f"{topic}-value", "version": 1} for topic in topics]
    return {KNOWN: {"schema": json.dumps(SCHEMA)}, f"{KNOWN}/versions": subjects}


@contextmanager
def registry(topics: Iterable[str]) -> Iterator[str]:
    """Run it, and yield its URL; its schema is that of the values of these topics."""
    answers = answers_about(topics)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = answers.get(self.path)
            data = json.dumps({"error_code": 40403} if found is None else found).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://{HOST}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
