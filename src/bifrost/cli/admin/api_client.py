"""The client of the admin HTTP API, for the commands: where it is, who asks, and what its errors say.

The token is read from a file, never from the command line, where other users of the machine see it.
"""

import http.client
import json
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

URL_VARIABLE, TOKEN_FILE_VARIABLE, CA_FILE_VARIABLE, CERTIFICATE_VARIABLE = (
    "BIFROST_CONTROL_URL",
    "BIFROST_CONTROL_TOKEN_FILE",
    "BIFROST_CONTROL_CA_FILE",
    "BIFROST_CONTROL_CERTIFICATE_FILE",
)
DEFAULT_URL = "http://127.0.0.1:9405"

TIMEOUT_S = 90.0
"""Longer than the API's own time limit by default, so that its answer says what was the matter."""

MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""Largest answer that is read: more than a list of everything that the state may have."""

MAX_TOKEN_BYTES = 4096


class CannotAsk(Exception):
    """The API cannot be asked: an option or a file is wrong. The text says which, and how to mend it."""


class NoAnswer(Exception):
    """The API does not answer; the text says where it was asked."""


class Refused(Exception):
    """The API has refused; the text is its problem document in words."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        """Keep the document."""
        self.status, self.problem = status, problem
        detail, remedy = problem.get("detail") or f"HTTP status {status}", problem.get("remedy")
        super().__init__(f"{detail}; {remedy}" if remedy else str(detail))


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API has answered."""

    body: Any
    headers: Mapping[str, str]
    """By name in lower case."""


class ApiClient:
    """Requests to one admin API; each has a connection of its own."""

    def __init__(
        self,
        url: str | None = None,
        token_file: Path | None = None,
        ca_file: Path | None = None,
        certificate_file: Path | None = None,
    ) -> None:
        """Ask nothing yet. What is None comes from the environment.

        Args:
            url: the address, such as `https://control.internal:9405`.
            token_file: a file with the bearer token.
            ca_file: the CAs that are trusted to sign the API's certificate, in PEM; without it those of the system.
            certificate_file: the certificate to show, and its key, in PEM.
        Raises:
            CannotAsk: see there.
        """
        given = url or os.environ.get(URL_VARIABLE) or DEFAULT_URL
        parts = urlsplit(given)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise CannotAsk(f"{given!r} is no address: write https://HOST:PORT")
        try:
            port = parts.port
        except ValueError:
            raise CannotAsk(f"{given!r} has no usable port") from None
        self._host, self._port, self._base = parts.hostname, port, parts.path.rstrip("/")
        self._shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._token = _read_token(token_file or _path_of(TOKEN_FILE_VARIABLE))
        certificate = certificate_file or _path_of(CERTIFICATE_VARIABLE)
        self._tls: ssl.SSLContext | None = None
        if parts.scheme == "https":
            self._tls = _context(ca_file or _path_of(CA_FILE_VARIABLE), certificate)
        elif self._token is not None and self._host not in ("127.0.0.1", "::1", "localhost"):
            raise CannotAsk(f"{self._shown} is not encrypted, and the token would be readable: use https")

    def get(self, *path: str, **query: str | bool | None) -> Answer:
        """Read something; see `ask`."""
        return self.ask("GET", *path, query=query)

    def ask(
        self,
        method: str,
        *path: str,
        query: Mapping[str, str | bool | None] | None = None,
        body: Any = None,
        if_match: str | None = None,
    ) -> Answer:
        """Send a request, and return the answer.

        Args:
            method: the HTTP method.
            path: the parts of the path behind the version, not encoded: `"namespaces", "acme:eu"`.
            query: the parameters; those that are None are left out.
            body: what is sent as JSON; None: nothing.
            if_match: the ETag of the version that the caller has seen.
        Raises:
            NoAnswer, Refused: see there.
        """
        target = self._base + "/v1/" + "/".join(quote(part, safe=":") for part in path)
        given = {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in (query or {}).items()
            if value is not None
        }
        if given:
            target += f"?{urlencode(given)}"
        headers = {"Accept": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        if if_match is not None:
            headers["If-Match"] = if_match
        sent = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            sent = json.dumps(body).encode()
        status, found, data = self._send(method, target, sent, headers)
        try:
            document = json.loads(data) if data else None
        except ValueError:
            raise NoAnswer(f"{self._shown} answers, but is no admin API of Bifrost") from None
        if status >= http.client.BAD_REQUEST:
            raise Refused(status, document if isinstance(document, dict) else {})
        return Answer(document, found)

    def _send(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        if self._tls is None:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)
        else:
            connection = http.client.HTTPSConnection(
                self._host, self._port, timeout=TIMEOUT_S, context=self._tls
            )
        try:
            connection.request(method, target, body, dict(headers))
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            data = response.read(MAX_ANSWER_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            raise NoAnswer(
                f"no admin API answers at {self._shown} ({error or type(error).__name__}): does bifrost control "
                f"run there? --url or {URL_VARIABLE} says where it is"
            ) from None
        finally:
            connection.close()
        if len(data) > MAX_ANSWER_BYTES:
            raise NoAnswer(f"{self._shown} answers with more than {MAX_ANSWER_BYTES} bytes")
        return response.status, found, data


def _path_of(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value) if value else None


def _read_token(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_TOKEN_BYTES + 1)
    except OSError as error:
        raise CannotAsk(f"file of the token {file}: {error.strerror}") from None
    token = content.strip()
    if not token or len(content) > MAX_TOKEN_BYTES or not all(0x21 <= byte <= 0x7E for byte in token):
        raise CannotAsk(f"file of the token {file}: has no token")
    return token.decode("ascii")


def _context(ca_file: Path | None, certificate_file: Path | None) -> ssl.SSLContext:
    """Return a context that checks the API's certificate and its name."""
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise CannotAsk(f"file of the CAs {ca_file}: {error.strerror or error}") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if certificate_file is not None:
        try:
            # An encrypted key would ask on the terminal.
            context.load_cert_chain(certificate_file, password=lambda: b"")
        except (OSError, ssl.SSLError) as error:
            raise CannotAsk(
                f"file of the certificate {certificate_file}: {error.strerror or error}; it has the certificate and "
                "its key, which is not encrypted, in PEM"
            ) from None
    return context
