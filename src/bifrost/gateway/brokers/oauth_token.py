"""Bearer tokens for brokers: fetched by the client credentials grant, or read from a file.

A fetched token is used for 80 % of its lifetime; then the next login fetches another. If that fails while the old token
is still valid, the old one is used.

Source: RFC 6749, sections 4.4 and 5; RFC 6750, section 2.1; KIP-768, HttpAccessTokenRetriever,
ExpiringCredentialRefreshConfig (`sasl.login.refresh.window.factor`, 0.8).
"""

import asyncio
import json
import ssl
from base64 import b64encode, urlsafe_b64decode
from collections.abc import Callable
from pathlib import Path
from time import time
from typing import Protocol
from urllib.parse import quote_plus

import structlog

from bifrost.authentication.sasl_client import LoginFailed
from bifrost.config.fields.client_tls import ClientTls
from bifrost.config.fields.upstream_sasl import UpstreamSasl
from bifrost.config.files.upstream_files import MAX_TOKEN_BYTES, UnusableFile, read_token
from bifrost.gateway.brokers.broker_tls import FileWatch, new_context
from bifrost.gateway.sockets.http_client import FetchError, post_form

log = structlog.get_logger()

REFRESH_FROM = 0.8
MAX_ANSWER_BYTES = 2 * MAX_TOKEN_BYTES
"""Largest body of an answer: a token and the JSON around it."""


class TokenSource(Protocol):
    """A source of tokens."""

    async def token(self) -> str:
        """Return a valid token.

        Raises:
            LoginFailed: there is no valid token.
        """


def token_source(
    sasl: UpstreamSasl, tls: ClientTls | None, *, timeout_ms: int, now_ms: Callable[[], int]
) -> TokenSource:
    """Return the source of tokens of an account.

    Raises:
        StartError: the certificates for the token endpoint cannot be used.
    """
    if sasl.token_file is not None:
        return TokenFile(Path(sasl.token_file))
    return TokenEndpoint(sasl, tls, timeout_ms=timeout_ms, now_ms=now_ms)


class TokenFile:
    """A file that another process keeps current, as Kubernetes does with projected tokens."""

    def __init__(self, path: Path) -> None:
        """Read nothing yet."""
        self._path = path

    async def token(self) -> str:
        """Return the token that the file holds now.

        Raises:
            LoginFailed: the file cannot be read, or holds no token.
        """
        try:
            with self._path.open("rb") as file:
                content = file.read(MAX_TOKEN_BYTES + 1)
        except OSError as error:
            raise LoginFailed(f"token file {self._path} cannot be read ({error.strerror})") from None
        if len(content) > MAX_TOKEN_BYTES:
            raise LoginFailed(f"token file {self._path} is larger than {MAX_TOKEN_BYTES} bytes")
        try:
            return read_token(content)
        except UnusableFile as error:
            raise LoginFailed(f"token file {self._path}: {error}") from None


class TokenEndpoint:
    """Fetches tokens by the client credentials grant."""

    def __init__(
        self, sasl: UpstreamSasl, tls: ClientTls | None, *, timeout_ms: int, now_ms: Callable[[], int]
    ) -> None:
        """Prepare; fetch no token yet."""
        assert sasl.token_endpoint_url is not None
        assert sasl.client_id is not None
        assert sasl.client_secret is not None
        self._url = sasl.token_endpoint_url
        self._form = {"grant_type": "client_credentials"} | ({"scope": sasl.scope} if sasl.scope else {})
        self._secret = sasl.client_secret.reveal()
        self._authorization = _basic(sasl.client_id.encode(), self._secret, sasl.header_urlencode)
        self._timeout_ms = timeout_ms
        self._now_ms = now_ms
        self._trust: FileWatch[ssl.SSLContext] | None = None
        if self._url.startswith("https:"):
            versions = {"min_version": tls.min_version, "ciphers": tls.ciphers} if tls else {}
            trust = ClientTls(ca_file=sasl.token_endpoint_ca_file, **versions)
            self._trust = FileWatch("token_endpoint_ca_file", [trust.ca_file], lambda: new_context(trust))
        self._asking = asyncio.Lock()
        self._token, self._refresh_ms, self._end_ms = "", 0, 0

    async def token(self) -> str:
        """Return the current token, or a new one.

        Raises:
            LoginFailed: the endpoint gave no token, and the old one is not valid any more.
        """
        async with self._asking:
            if self._token and self._now_ms() < self._refresh_ms:
                return self._token
            try:
                return await self._renew()
            except LoginFailed as error:
                if self._token and self._now_ms() < self._end_ms:
                    log.warning("token_not_refreshed", error=str(error))
                    return self._token
                raise

    async def _renew(self) -> str:
        asked_ms = self._now_ms()
        try:
            status, body = await post_form(
                self._url,
                self._form,
                authorization=self._authorization,
                context=await self._trust.current() if self._trust is not None else None,
                max_bytes=MAX_ANSWER_BYTES,
                timeout_s=self._timeout_ms / 1000,
            )
        except FetchError as error:
            raise LoginFailed(f"token endpoint {error}") from None
        try:
            self._token, lifetime_ms = _read_answer(status, body, self._secret)
        except LoginFailed as error:
            raise LoginFailed(f"token endpoint {self._url.partition('?')[0]}: {error}") from None
        self._refresh_ms, self._end_ms = asked_ms + int(lifetime_ms * REFRESH_FROM), asked_ms + lifetime_ms
        return self._token


def _basic(name: bytes, secret: bytes, is_encoded: bool) -> str:
    """Return the Authorization header with the client's name and secret."""
    if is_encoded:  # RFC 6749, section 2.3.1
        name, secret = quote_plus(name).encode(), quote_plus(secret).encode()
    return "Basic " + b64encode(name + b":" + secret).decode()


def _read_answer(status: int, body: bytes, secret: bytes) -> tuple[str, int]:
    """Return the token and its lifetime in milliseconds; 0 if the lifetime is unknown, so that it is used once."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise LoginFailed(f"status {status} without a JSON object")
    if status != 200:
        said = [content.get(key) for key in ("error", "error_description")]
        text = ": ".join(one for one in said if isinstance(one, str))[:300]
        if secret in text.encode("utf-8", "replace"):
            text = ""
        words = "".join(char for char in text if char.isprintable()) or "no reason given"
        raise LoginFailed(f"status {status}, {words}")
    token = content.get("access_token")
    try:
        checked = read_token(token.encode("utf-8", "replace") if isinstance(token, str) else b"")
    except UnusableFile:
        raise LoginFailed("the answer has no access_token that is a bearer token") from None
    lifetimes = [content.get("expires_in"), _seconds_to_expiry(checked)]
    seconds = [float(one) for one in lifetimes if isinstance(one, int | float) and not isinstance(one, bool)]
    return checked, max(0, int(min(seconds, default=0.0) * 1000))


def _seconds_to_expiry(token: str) -> float | None:
    """Return the seconds until a token's own claim `exp`, None if it is no JWT or has no such claim."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        expires = claims.get("exp")
    except (ValueError, AttributeError, RecursionError):
        return None
    return expires - time() if isinstance(expires, int | float) else None
