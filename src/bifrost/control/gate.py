"""What every request passes first: how many at once, who asks, how often, how large, how long. An ASGI application.

    too many at once? ──▶ who asks? ──▶ too often? ──▶ too large? ──▶ the state is read? ──▶ the routes, within the time
         503                 401            429            413               503                  504 after it

Nothing of a request's body is read before its admin is known. A path without a route needs an admin as well.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from http import HTTPStatus
from math import ceil
from typing import Any

import structlog
from starlette.exceptions import HTTPException

from bifrost.config.fields.control import Control
from bifrost.control.access import Access, Asker
from bifrost.control.backend import Backend
from bifrost.control.counts import Counts
from bifrost.control.problem import Problem
from bifrost.control.rates import Rates

log = structlog.get_logger()

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PUBLIC = frozenset({"/healthz", "/readyz", "/v1/openapi.json"})
"""Paths for probes and generators of clients; they show nothing that belongs to a tenant."""

WITHOUT_STATE = frozenset({"/metrics"})
"""Paths that are served while the state is not read."""

CERTIFICATE = "bifrost.certificate"
"""The extension of a scope that has the client's certificate, in DER."""

ASKER = "asker"
"""The key of a scope's state that has the admin."""

WITHOUT_IDENTITY = ""
"""The bucket of all requests that do not prove who asks."""


@dataclass(slots=True)
class _Sent:
    """What has been sent of an answer."""

    status: int = 0
    """0: nothing."""


class Gate:
    """The outermost application."""

    def __init__(
        self,
        app: App,
        settings: Control,
        access: Access,
        backend: Backend,
        counts: Counts,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Serve no request yet.

        Args:
            app: the routes.
            settings: the bounds.
            access: the admins.
            backend: says whether the state is read.
            counts: counts requests.
            now_s: a monotonic clock, in seconds.
        """
        self._app, self._settings, self._access = app, settings, access
        self._backend, self._counts, self._now_s = backend, counts, now_s
        self._rates = Rates(settings.max_requests_per_second)
        self._running = 0

    def change(self, settings: Control, access: Access) -> None:
        """Use other admins and bounds from the next request on."""
        if settings.max_requests_per_second != self._settings.max_requests_per_second:
            self._rates = Rates(settings.max_requests_per_second)
        self._settings, self._access = settings, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        began_s, sent = self._now_s(), _Sent()

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent.status = int(message["status"])
            await send(message)

        self._running += 1
        try:
            await self._serve(scope, receive, note, sent)
        finally:
            self._running -= 1
            self._note(scope, sent.status, self._now_s() - began_s)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, sent: _Sent) -> None:
        settings = self._settings
        try:
            self._admit(scope)
            async with asyncio.timeout(settings.request_timeout_ms / 1000):
                await self._app(scope, _bounded(receive, settings.max_request_bytes), send)
            return
        except Problem as error:
            problem = error
        except TimeoutError:
            self._counts.refuse("timeout")
            problem = Problem(
                HTTPStatus.GATEWAY_TIMEOUT,
                "timeout",
                f"the request took longer than request_timeout_ms, {settings.request_timeout_ms} ms",
                "if it was a change, read it again: it was made, or it was not",
            )
        except Exception as error:
            log.error("control_internal_error", path=scope["path"], exc_info=error)
            problem = internal_error()
        if not sent.status:
            await problem.response(scope["path"])(scope, receive, send)

    def _admit(self, scope: Scope) -> None:
        """Check everything that needs no body.

        Raises:
            Problem: the request is refused.
        """
        settings = self._settings
        if self._running > settings.max_requests:
            raise self._refused(
                "busy",
                Problem(
                    HTTPStatus.SERVICE_UNAVAILABLE,
                    "busy",
                    f"{settings.max_requests} requests are served, and max_requests allows no more",
                    "try again",
                    headers={"Retry-After": "1"},
                ),
            )
        if scope["path"] in PUBLIC:
            return
        asker = self._identify(scope)
        scope.setdefault("state", {})[ASKER] = asker
        self._check_rate(asker.principal)
        headers = _headers(scope)
        if int(headers.get("content-length", "0")) > settings.max_request_bytes:
            raise self._refused("too_large", too_large(settings.max_request_bytes))
        if not self._backend.is_current and scope["path"] not in WITHOUT_STATE:
            why = self._backend.problem or "it is being read"
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "unavailable",
                f"the state is not read: {why}",
                "try again when /readyz says that it is",
                headers={"Retry-After": "1"},
            )

    def _identify(self, scope: Scope) -> Asker:
        try:
            return self._access.identify(
                _headers(scope).get("authorization"), scope.get("extensions", {}).get(CERTIFICATE)
            )
        except Problem as problem:
            self._check_rate(WITHOUT_IDENTITY)
            raise self._refused("unauthenticated", problem) from None

    def _check_rate(self, name: str) -> None:
        wait_s = self._rates.wait_s(name, self._now_s())
        if wait_s:
            raise self._refused(
                "rate",
                Problem(
                    HTTPStatus.TOO_MANY_REQUESTS,
                    "too-many-requests",
                    f"more than {self._settings.max_requests_per_second} requests a second"
                    + (f" of {name}" if name else " without an identity"),
                    "wait as long as Retry-After says, or raise proxy.control.max_requests_per_second",
                    headers={"Retry-After": str(ceil(wait_s))},
                ),
            )

    def _refused(self, reason: str, problem: Problem) -> Problem:
        self._counts.refuse(reason)
        return problem

    def _note(self, scope: Scope, status: int, duration_s: float) -> None:
        method, asker = scope["method"], scope.get("state", {}).get(ASKER)
        self._counts.note(method, getattr(scope.get("route"), "path", None), status, duration_s)
        is_quiet = method in ("GET", "HEAD") and status < HTTPStatus.BAD_REQUEST
        write = log.debug if is_quiet or scope["path"] in PUBLIC else log.info
        write(
            "control_request",
            principal=None if asker is None else asker.principal,
            method=method,
            path=scope["path"],
            status=status,
            duration_ms=round(duration_s * 1000),
            peer=":".join(map(str, scope.get("client") or ())) or None,
        )


def too_large(limit: int) -> Problem:
    """Return the problem of a body that is larger than the limit, in bytes."""
    return Problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "too-large",
        f"the body has more than {limit} bytes",
        "send less at once, or raise proxy.control.max_request_bytes",
    )


def internal_error() -> Problem:
    """Return the problem of a mistake of this program; the log has the rest."""
    return Problem(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "internal-error",
        "the request met a mistake of bifrost control",
        "see control_internal_error in its log, and report it",
    )


def _headers(scope: Scope) -> Mapping[str, str]:
    """Return the headers; of one that comes twice the values are joined, so that two identities are none."""
    found: dict[str, str] = {}
    for name_bytes, value_bytes in scope["headers"]:
        name, value = name_bytes.decode("latin-1"), value_bytes.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _bounded(receive: Receive, limit: int) -> Receive:
    """Return `receive` with a bound on the bytes of the body, for requests that do not tell their length."""
    room = limit

    async def bounded() -> Message:
        nonlocal room
        message = await receive()
        room -= len(message.get("body", b""))
        if room < 0:
            # FastAPI passes on only errors of this class while it reads a body.
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, too_large(limit).detail)
        return message

    return bounded
