"""A real Vault: one that BIFROST_TEST_VAULT names, or one that `vault server -dev` starts."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from support.skips.optional_parts import VAULT, lacks

ROOT = "root"


def ask(address: str, method: str, path: str, body: object = None, token: str = ROOT) -> Any:
    """Ask Vault as its administrator does."""
    request = Request(
        f"{address}/v1/{path}",
        None if body is None else json.dumps(body).encode(),
        {"X-Vault-Token": token},
        method=method,
    )
    with urlopen(request, timeout=20) as answer:
        content = answer.read()
    return json.loads(content) if content else {}


@contextmanager
def vault_address() -> Iterator[str]:
    """Give the address of a Vault with a transit engine; skip the test where there is none."""
    given = os.environ.get("BIFROST_TEST_VAULT")
    if given is not None:
        yield given
        return
    program = shutil.which("vault")
    if program is None:
        pytest.skip(lacks(VAULT))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ["server", "-dev", f"-dev-root-token-id={ROOT}", f"-dev-listen-address=127.0.0.1:{port}"]
    server = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = f"http://127.0.0.1:{port}"
    try:
        _await(found)
        ask(found, "POST", "sys/mounts/transit", {"type": "transit"})
        yield found
    finally:
        server.terminate()
        server.wait(30)


def _await(address: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            ask(address, "GET", "sys/health")
        except (URLError, OSError):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            return


def new_key(address: str) -> str:
    """Make a key of the transit engine, and return its name."""
    name = f"kek-{uuid.uuid4().hex[:8]}"
    ask(address, "POST", f"transit/keys/{name}", {})
    return name
