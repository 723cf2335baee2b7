"""Keeps the keys of an issuer of tokens current: from their URL, from the issuer's discovery document, or from a file.

The first fetch begins when the gateway starts, which does not wait for it. The next ones follow every
`jwks_refresh_ms`, sooner after a failure, and when a token names an unknown key, at most every
`jwks_unknown_key_refresh_ms`. A login that needs a key during a fetch waits for its end, at most `FETCH_TIMEOUT_S`.
"""

import asyncio
import json
import ssl
import time
from collections.abc import Callable, Collection
from pathlib import Path

import structlog

from bifrost.authentication.access_tokens import AccessTokens
from bifrost.authentication.accounts import Accounts
from bifrost.authentication.json_web_keys import MAX_SET_BYTES, KeySet
from bifrost.config.fields.oauth import DISCOVERY_PATH, OAuth, Url
from bifrost.gateway.errors import StartError
from bifrost.gateway.loop.loop_guard import report
from bifrost.gateway.sockets.http_client import FetchError, get

log = structlog.get_logger()

FETCH_TIMEOUT_S = 5.0
"""Time to fetch the keys, and to ask where they are: half of a client's default authentication timeout."""

FIRST_RETRY_MS, LAST_RETRY_MS = 1_000, 30_000
"""Backoff while keys cannot be fetched."""


class Jwks:
    """The keys of one issuer, and the task that fetches them."""

    def __init__(self, settings: OAuth, now_ms: Callable[[], int]) -> None:
        """Start without keys; `run` fetches them.

        Args:
            settings: the issuer's section, which says where the keys are.
            now_ms: a monotonic clock, in milliseconds.
        """
        self._settings = settings
        self._now_ms = now_ms
        self.keys = KeySet(settings.max_keys, self._want_keys)
        self._wanted = asyncio.Event()
        self._is_fetching = True  # `run` begins with it
        self._ended_ms = self._succeeded_ms = now_ms()
        self._waiting: list[Callable[[], object]] = []
        self._context: ssl.SSLContext | None = None

    def tokens(self, accounts: Accounts, tenants: Collection[str]) -> AccessTokens:
        """Return what checks tokens against these keys, for these accounts and tenants."""
        return AccessTokens(
            self._settings,
            self.keys,
            accounts,
            tenants,
            now_s=time.time,
            is_fetching=lambda: self._is_fetching,
        )

    def prepare(self) -> None:
        """Check that HTTPS can be used, and warn of unsafe settings.

        Raises:
            StartError: `ca_file` cannot be used.
        """
        settings = self._settings
        try:
            self._read_certificates()
        except OSError as error:
            raise StartError(
                f"proxy.oauth.ca_file: no certificates in PEM form in {settings.ca_file}: {error}"
            ) from None
        source = settings.jwks_url or settings.issuer
        if settings.jwks_file is None and source.startswith("http://"):
            log.warning(
                "issuer_without_tls", detail=f"{source}: an attacker on the network can let in any client"
            )

    def _read_certificates(self) -> None:
        self._context = ssl.create_default_context(cafile=self._settings.ca_file)

    async def run(self) -> None:
        """Fetch the keys, for ever."""
        retry_ms = FIRST_RETRY_MS
        while True:
            self._wanted.clear()
            self._is_fetching = True
            try:
                has_succeeded = await self._refresh(retry_ms)
            finally:
                self._end_fetch()
            wait_ms = self._settings.jwks_refresh_ms if has_succeeded else retry_ms
            retry_ms = FIRST_RETRY_MS if has_succeeded else min(retry_ms * 2, LAST_RETRY_MS)
            try:
                async with asyncio.timeout(wait_ms / 1000):
                    await self._wanted.wait()
            except TimeoutError:
                pass

    def call_when_fetched(self, callback: Callable[[], object]) -> None:
        """Call back when the current fetch has ended, successful or not; at once, if there is none."""
        if self._is_fetching:
            self._waiting.append(callback)
        else:
            asyncio.get_running_loop().call_soon(callback)

    def _want_keys(self) -> None:
        """Fetch the keys because a token names an unknown one, unless that was done a moment ago."""
        since_ms = self._now_ms() - self._ended_ms
        if not self._is_fetching and since_ms >= self._settings.jwks_unknown_key_refresh_ms:
            self._is_fetching = True
            self._wanted.set()

    def _end_fetch(self) -> None:
        self._is_fetching, self._ended_ms = False, self._now_ms()
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            asyncio.get_running_loop().call_soon(callback)

    async def _refresh(self, retry_ms: int) -> bool:
        """Fetch the keys once; return whether that succeeded."""
        before = len(self.keys)
        try:
            self.keys.replace(await self._fetch())
        except Exception as error:  # Also of the gateway's own: keys must become too old all the same.
            if not isinstance(error, FetchError | OSError | ValueError):
                report("jwks", error)
            log.warning("jwks_failed", error=str(error), keys=before, retry_in_ms=retry_ms)
            is_too_old = self._now_ms() - self._succeeded_ms >= self._settings.jwks_max_age_ms
            if before and is_too_old:
                self.keys.clear()
                log.error("jwks_expired", detail="no token is taken until keys can be fetched again")
            return False
        self._succeeded_ms = self._now_ms()
        write = log.debug if before else log.info
        write("jwks_fetched", keys=len(self.keys))
        return True

    async def _fetch(self) -> bytes:
        settings = self._settings
        if settings.jwks_file is not None:
            return await asyncio.to_thread(_read, Path(settings.jwks_file))
        if settings.ca_file is not None:
            # Anew each time, for they may have been replaced.
            await asyncio.to_thread(self._read_certificates)
        try:
            async with asyncio.timeout(FETCH_TIMEOUT_S):
                return await self._get(settings.jwks_url or await self._discover())
        except TimeoutError:
            raise FetchError(f"{settings.issuer}: no keys within {FETCH_TIMEOUT_S:g} s") from None

    async def _discover(self) -> str:
        """Ask the issuer where its keys are (OpenID Connect Discovery, section 4)."""
        issuer = self._settings.issuer
        url = issuer.rstrip("/") + DISCOVERY_PATH
        try:
            told = json.loads(await self._get(url))
        except (ValueError, RecursionError):
            raise FetchError(f"{url}: not JSON") from None
        if not isinstance(told, dict) or told.get("issuer") != issuer:
            # Section 4.3: otherwise another issuer's keys would be taken for its own.
            raise FetchError(f"{url}: tells of another issuer than {issuer}")
        found = told.get("jwks_uri")
        is_url = isinstance(found, str) and found.startswith(("https://", "http://"))
        if not is_url or (issuer.startswith("https://") and not str(found).startswith("https://")):
            raise FetchError(f"{url}: names no jwks_uri that can be asked safely")
        return str(found)

    async def _get(self, url: Url) -> bytes:
        return await get(url, context=self._context, max_bytes=MAX_SET_BYTES, timeout_s=FETCH_TIMEOUT_S)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(MAX_SET_BYTES + 1)
    if len(content) > MAX_SET_BYTES:
        raise FetchError(f"{path}: larger than {MAX_SET_BYTES} bytes")
    return content
