"""A real OpenID provider for the tests: mock-oauth2-server, by Maven coordinates, in a process of its own.

Every path is an issuer with a key of its own: `/kafka` is the one that gateways trust, `/other` is another. Any
client ID and secret are taken; the ID becomes the claim `sub`, the requested scope the claim `scope`.
"""

from __future__ import annotations

import base64
import json
import os
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Self

from bifrost.embedded.child import Child
from bifrost.jars.java import find_java
from bifrost.jars.locked_jars import resolve
from support.gateways.gateway_process import HOST, free_ports

COORDINATES = ("no.nav.security:mock-oauth2-server:3.0.1",)
MAIN = "no.nav.security.mock.oauth2.StandaloneMockOAuth2ServerKt"
START_TIMEOUT_S = 60.0
EXPIRY_S = {"kafka": 120, "other": 120, "brief": 10}
"""The issuers, and how long their tokens last."""


class OidcServer:
    """A running provider, as a context manager."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="bifrost-oidc-")
        self._child: Child | None = None
        self.port = 0

    def __enter__(self) -> Self:
        folder = Path(self._folder.name)
        self.port = free_ports(1)
        config = folder / "config.json"
        config.write_text(json.dumps(_configuration()), encoding="utf-8")
        classpath = ":".join(map(str, resolve(list(COORDINATES))))
        command = [find_java(), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", classpath, MAIN]
        own = {"JSON_CONFIG_PATH": str(config), "SERVER_HOSTNAME": HOST, "SERVER_PORT": str(self.port)}
        self._child = Child(command, log_file=folder / "log", env={**os.environ, **own})
        self._await_ready()
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            self._child.stop()
        self._folder.cleanup()

    def issuer(self, name: str = "kafka") -> str:
        """Return the URL of an issuer, which is its name in tokens."""
        return f"http://{HOST}:{self.port}/{name}"

    def token_url(self, name: str = "kafka") -> str:
        """Return where an issuer gives tokens."""
        return f"{self.issuer(name)}/token"

    def token(self, client_id: str, issuer: str = "kafka", scope: str = "read") -> str:
        """Ask an issuer for a token, by client credentials."""
        form = urllib.parse.urlencode({"grant_type": "client_credentials", "scope": scope}).encode()
        basic = base64.b64encode(f"{client_id}:secret".encode()).decode()
        request = urllib.request.Request(  # ours
            self.token_url(issuer), form, {"Authorization": f"Basic {basic}"}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            token: str = json.load(answer)["access_token"]
            return token

    def _await_ready(self) -> None:
        assert self._child is not None
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            assert self._child.exit_status() is None, self._child.log()
            try:
                urllib.request.urlopen(f"{self.issuer()}/jwks", timeout=5).close()
                return
            except (urllib.error.URLError, OSError):
                assert time.monotonic() < deadline, self._child.log()
                time.sleep(0.1)


def _configuration() -> dict[str, Any]:
    claims = {"sub": "${clientId}", "aud": ["kafka"], "scope": "${scope}", "tenant": "acme"}
    mapping = {"requestParam": "grant_type", "match": "client_credentials", "claims": claims}
    return {
        "interactiveLogin": False,
        "tokenProvider": {"keyProvider": {"algorithm": "RS256"}},
        "tokenCallbacks": [
            {"issuerId": name, "tokenExpiry": expiry_s, "requestMappings": [mapping]}
            for name, expiry_s in EXPIRY_S.items()
        ],
    }
