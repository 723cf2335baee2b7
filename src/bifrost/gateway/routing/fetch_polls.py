"""One long poll of a client, which several brokers answer.

    client's Fetch ──▶ parts ──▶ a poll at each broker ──first with records, or an error──▶ answer at once
                                     │ others are still out: they go on, and serve the client's next Fetch
    next Fetch ──▶ partitions asked for in the same words wait for the polls that are out; only the others are sent

A client's fetch session (KIP-227) would have to be taken apart as well, so there is none: the gateway answers as a
broker does that has no room for sessions, and asks brokers without them. What a broker had nothing new for is in the
answer with no records and the watermarks that were known last.
"""

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from bifrost.routes.shapes import Shapes, shapes_of
from bifrost.routes.split import Split
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from bifrost.gateway.routing.router import Request, Router, Turn

Buffer = bytes | memoryview

LATE_S = 30.0
"""How much later than the long poll ends a broker's answer may come before it counts as lost: Kafka's default of
`request.timeout.ms`."""

GRACE_S = 0.5
"""How much later than asked the client gets its answer at the latest, if a broker has not answered by then."""

WORTH_MS = 5
"""A poll that ends earlier is begun again if the client still waits at least so long."""

_SESSIONS_SINCE, _RACK_SINCE, _FLEXIBLE_SINCE = 7, 11, 12
_NO_SESSION, _INITIAL_EPOCH, _FINAL_EPOCH = bytes(4), bytes(4), b"\xff\xff\xff\xff"


class _Poll:
    """A part that a broker has, or has answered."""

    __slots__ = ("isolation", "node_id", "split")

    def __init__(self, node_id: int, split: Split, isolation: bytes) -> None:
        self.node_id, self.split, self.isolation = node_id, split, isolation


class _Fetch:
    """A Fetch that the client awaits."""

    __slots__ = (
        "due_s",
        "isolation",
        "max_bytes",
        "min_bytes",
        "request",
        "shapes",
        "split",
        "turn",
        "wait_ms",
    )

    def __init__(self, turn: "Turn", request: "Request", split: Split) -> None:
        self.turn, self.request, self.split = turn, request, split
        self.shapes: Shapes = shapes_of(ApiKey.FETCH, request.api_version)
        before = split.before
        self.wait_ms = max(0, self._number(before, "max_wait_ms"))
        self.min_bytes = self._number(before, "min_bytes")
        self.max_bytes = self._number(before, "max_bytes")
        at = self.shapes.offsets.get("isolation_level")
        self.isolation = b"" if at is None else before[at : at + 1]
        self.due_s = 0.0

    @property
    def names_session(self) -> bool:
        """Whether it is a part of a session, in place of a whole Fetch with or without the wish for one (KIP-227)."""
        at = self.shapes.offsets.get("session_epoch")
        return at is not None and self.split.before[at : at + 4] not in (_INITIAL_EPOCH, _FINAL_EPOCH)

    def _number(self, before: bytes, name: str) -> int:
        at = self.shapes.offsets.get(name)
        return 0x7FFFFFFF if at is None else int.from_bytes(before[at : at + 4], "big", signed=True)


class FetchPolls:
    """The long polls of one client."""

    def __init__(self, router: "Router") -> None:
        """Begin without polls."""
        self._router = router
        self._waiting: deque[_Fetch] = deque()
        self._out: dict[int, _Poll] = {}
        """Polls that brokers have, by node ID."""
        self._kept: dict[int, _Poll] = {}
        """Answers to polls, for the client's next Fetch: one of each broker at most."""
        self._timer: asyncio.TimerHandle | None = None
        self._last: Split | None = None

    def close(self) -> None:
        """Stop waiting."""
        if self._timer is not None:
            self._timer.cancel()
        self._waiting.clear()

    def begin(self, turn: "Turn", request: "Request", split: Split) -> None:
        """Take a Fetch; a broker, too, looks at the next one when it has answered the one before."""
        fetch = _Fetch(turn, request, split)
        if fetch.names_session:
            # As FetchManager.newContext: there is no session, so none has this ID and epoch.
            self._router.answer_error(turn, request, ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
            return
        self._waiting.append(fetch)
        if len(self._waiting) == 1:
            self._start(self._waiting[0])

    def _start(self, fetch: _Fetch) -> None:
        split, router = fetch.split, self._router
        if self._last is not None:
            split.carry(self._last)
        fetch.due_s = router.loop.time() + fetch.wait_ms / 1000
        for node_id in split.nodes():
            kept, out = self._kept.pop(node_id, None), self._out.get(node_id)
            if kept is not None and kept.isolation == fetch.isolation:
                split.adopt(kept.split, node_id)
                if kept.split.covers(split, node_id):
                    continue
            if out is None:
                self._send(fetch, node_id, fetch.wait_ms)
        self._kept.clear()
        if not self._waiting or self._waiting[0] is not fetch:
            return  # A part has failed at once, and was the answer.
        if not self._complete(fetch, is_due=False):
            self._timer = router.loop.call_at(fetch.due_s + GRACE_S, self._give_up, fetch)

    def _send(self, fetch: _Fetch, node_id: int, wait_ms: int) -> None:
        router, split = self._router, fetch.split
        poll = self._out[node_id] = _Poll(node_id, split, fetch.isolation)
        version, offsets = fetch.request.api_version, fetch.shapes.offsets
        nodes = max(1, len(split.nodes()))
        changes = [
            (offsets["max_wait_ms"], wait_ms.to_bytes(4, "big")),
            (offsets["min_bytes"], _share(fetch.min_bytes, nodes)),
        ]
        if "max_bytes" in offsets:
            changes.append((offsets["max_bytes"], _share(fetch.max_bytes, nodes)))
        if version >= _SESSIONS_SINCE:
            changes += [(offsets["session_id"], _NO_SESSION), (offsets["session_epoch"], _FINAL_EPOCH)]
        part = split.part(node_id, changes, _after(version))
        start = len(fetch.request.response_head)

        def answered(frame: Buffer | None, _may_be_done: bool) -> None:
            self._note(poll, frame, start)

        timeout_s = wait_ms / 1000 + LATE_S
        router.link(node_id, polls=True).send(part, router.guarded(answered), timeout_s)

    def _note(self, poll: _Poll, frame: Buffer | None, start: int) -> None:
        """Take a broker's answer, or None when it is lost."""
        if self._out.get(poll.node_id) is poll:
            del self._out[poll.node_id]
        fetch = self._waiting[0] if self._waiting else None
        if frame is not None:
            poll.split.take(poll.node_id, frame, start)
        if fetch is None:
            if frame is not None:
                self._kept[poll.node_id] = poll
            return
        if frame is None:
            fetch.split.fail(poll.node_id, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        elif poll.isolation == fetch.isolation:
            fetch.split.adopt(poll.split, poll.node_id)
        if self._complete(fetch, is_due=False) or frame is None:
            return
        if poll.node_id not in fetch.split.nodes():
            return
        left_ms = int((fetch.due_s - self._router.loop.time()) * 1000)
        is_whole = poll.split is fetch.split or poll.split.covers(fetch.split, poll.node_id)
        if not is_whole or poll.isolation != fetch.isolation or left_ms >= WORTH_MS:
            self._send(fetch, poll.node_id, max(0, left_ms))

    def _complete(self, fetch: _Fetch, *, is_due: bool) -> bool:
        """Answer a Fetch if it has enough, an error, or no more to wait for; return whether it was answered."""
        split, router = fetch.split, self._router
        has_enough = split.data_bytes > 0 and split.data_bytes >= fetch.min_bytes
        left_ms = (fetch.due_s - router.loop.time()) * 1000
        nodes = split.nodes()
        is_over = not nodes or (left_ms < WORTH_MS and not any(node in self._out for node in nodes))
        if not (has_enough or split.has_error or is_over or is_due):
            return False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if split.has_error:
            router.cluster.routes.forget_leaders(split.stale(), by_id=fetch.shapes.is_by_id)
        self._waiting.popleft()
        self._last = split
        frame = split.merged(fetch.request.response_head, fills=True)
        split.release()
        router.answer(fetch.turn, frame)
        if self._waiting and (self._waiting[0].due_s == 0.0):
            self._start(self._waiting[0])
        return True

    def _give_up(self, fetch: _Fetch) -> None:
        if self._waiting and self._waiting[0] is fetch:
            try:
                self._complete(fetch, is_due=True)
            except Exception as error:
                self._router.fail(error)


def _share(number: int, nodes: int) -> bytes:
    """Return the part of a number of bytes that one of so many brokers gets, rounded up."""
    part = -(-number // nodes) if number > 0 else number
    return part.to_bytes(4, "big", signed=True)


def _after(version: int) -> bytes:
    """Return the fields after the topics: no forgotten topics, and no rack.

    With a rack a broker may name a follower to read from (KIP-392), and the client knows no other broker.
    """
    if version >= _FLEXIBLE_SINCE:
        return b"\x01\x01\x00"
    if version >= _RACK_SINCE:
        return bytes(4) + bytes(2)
    return bytes(4) if version >= _SESSIONS_SINCE else b""
