"""Requests about groups or transactional IDs whose order does not matter: each coordinator gets its part.

    ask ──▶ parts ──answers──▶ what was refused by a broker that is no coordinator (any more)? ──no──▶ answer
     ▲                            │ yes, and there is time: look up the coordinators of these alone
     └────────────────────────────┘

A client that has each broker's address finds the new coordinator itself before it asks; here it was told that the only
broker is the coordinator, so the gateway follows it. What has been refused was not done, so nothing is done twice.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from bifrost.filters.error_response import error_response
from bifrost.gateway.errors import BrokerError
from bifrost.routes import keyed_parts
from bifrost.routes.keyed_parts import Key
from bifrost.wire import headers
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.program import error_codes

if TYPE_CHECKING:
    from bifrost.gateway.routing.request import Request
    from bifrost.gateway.routing.router import Router

Buffer = bytes | memoryview

MOVED = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
"""What a broker answers that is not the coordinator: it has done nothing."""

ASKED_AGAIN_S = 15.0
"""How long coordinators are looked for after the first refusal: a controller misses a broker after 9 s
(`broker.session.timeout.ms`), and a client waits for 30 s at least (`request.timeout.ms`)."""

FOLLOWED = frozenset({ApiKey.INIT_PRODUCER_ID})
"""APIs with one key that are asked again as well: nothing is sent before a producer's first request whose order counts.
Its clients ask again for the same errors (TransactionManager.InitProducerIdHandler)."""

_DONE_ONCE = frozenset({ApiKey.DELETE_GROUPS, ApiKey.INIT_PRODUCER_ID})
"""APIs that a broker may have done whose answer is lost: the client decides whether to ask again."""

PAUSE_S = 0.1
"""Between two look-ups: Kafka's default of `retry.backoff.ms`."""


class KeyedRequest:
    """One such request under way."""

    __slots__ = (
        "_again",
        "_answers",
        "_keys",
        "_left",
        "_request",
        "_rounds",
        "_router",
        "_turn",
        "_until_s",
    )

    def __init__(self, router: "Router", request: "Request", keys: list[Key]) -> None:
        """Take a request whose coordinators were looked up, if they could be."""
        self._router, self._request, self._keys = router, request, keys
        self._turn = router.turn()
        self._until_s = router.loop.time() + ASKED_AGAIN_S
        self._answers: list[Message] = []
        self._again: list[Key] = []
        self._left = self._rounds = 0

    def send(self) -> None:
        """Send each coordinator its part."""
        self._send(self._keys)

    def _send(self, keys: list[Key]) -> None:
        """Ask about these alone; what was answered about the others stays."""
        router, request = self._router, self._request
        parts: dict[int, list[Key]] = {}
        for key in keys:
            node_id = router.cluster.routes.coordinator(key)
            parts.setdefault(router.home if node_id is None else node_id, []).append(key)
        if not parts:
            parts[router.home] = []
        self._again, self._left, self._rounds = [], len(parts), self._rounds + 1
        for node_id, own in parts.items():
            part = request
            if len(own) < len(self._keys):
                names = {name for _, name in own}
                changed = keyed_parts.with_names(request.api_key, request.decoded(), names)
                part = request._replace(segments=request.encoded(changed))

            def answered(
                frame: Buffer | None, may_be_done: bool, part: "Request" = part, own: list[Key] = own
            ) -> None:
                self._note(part, own, frame, may_be_done=may_be_done)

            router.send(node_id, part, answered)

    def _note(self, part: "Request", keys: list[Key], frame: Buffer | None, *, may_be_done: bool) -> None:
        self._left -= 1
        is_all = len(keys) == len(self._keys)
        if frame is None:
            message = _error(part, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            is_refused = not may_be_done or part.api_key not in _DONE_ONCE
            self._take(message, keys, keys if is_refused else [])
        elif not MOVED.isdisjoint(codes_of(part, frame)):
            message = part.read(frame)
            moved = set(keyed_parts.names_with(part.api_key, part.api_version, message, MOVED))
            self._take(message, keys, [one for one in keys if one[1] in moved] if moved else keys)
        elif is_all:
            self._router.answer(self._turn, frame)
            return
        else:
            self._answers.append(part.read(frame))
        if not self._left:
            self._end_round()

    def _take(self, message: Message, keys: list[Key], again: list[Key]) -> None:
        """Keep an answer; what is to be asked again is taken out of it, as long as there is time."""
        router, request = self._router, self._request
        router.cluster.routes.forget_coordinators(again)
        if again and router.loop.time() < self._until_s:
            self._again += again
            if len(again) == len(keys):
                return
            message = keyed_parts.without(request.api_key, message, {name for _, name in again})
        elif again:
            router.note_late()
        self._answers.append(message)

    def _end_round(self) -> None:
        router, request = self._router, self._request
        if self._again:
            router.start(self._ask_again(self._again))
            return
        if len(self._answers) > 1:
            names = [name for _, name in self._keys]
            merged = keyed_parts.merged_lists(request.api_key, names, self._answers)
        else:
            (merged,) = self._answers
        router.answer(self._turn, request.answered_by(merged))

    async def _ask_again(self, keys: list[Key]) -> None:
        router = self._router
        routes = router.cluster.routes
        pause_s = PAUSE_S if self._rounds > 1 else 0.0
        while True:
            if pause_s:
                await asyncio.sleep(pause_s)
            with suppress(BrokerError):
                unknown = [one for one in keys if routes.coordinator(one) is None]
                await routes.look_up_coordinators(unknown, router.tenant or "")
            is_known = all(routes.coordinator(one) is not None for one in keys)
            if is_known or router.loop.time() >= self._until_s:
                break
            pause_s = PAUSE_S
        self._send(keys)


def codes_of(request: "Request", frame: Buffer) -> Iterable[int]:
    """Return the error codes in an answer."""
    start, _ = headers.response_body_offset(frame, bool(request.way.response_tags))
    return [code for code, _ in error_codes(request.way.codes, frame, start)]


def _error(request: "Request", code: ErrorCode) -> Message:
    response = error_response(request.decoded(), request.api_version, code)
    assert response is not None, "an API whose answers are merged has a place for errors"
    return response
