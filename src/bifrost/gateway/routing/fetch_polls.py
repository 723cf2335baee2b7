"""One long poll of a client, which several brokers answer.

    client's Fetch ──▶ parts ──▶ a poll at each broker ──first with records, or an error──▶ answer at once
                                     │ others are still out: they go on, and serve the client's next Fetch
    next Fetch ──▶ partitions asked for in the same words wait for the polls that are out; only the others are sent

A client's fetch session (KIP-227) ends here: brokers are asked for all its partitions without sessions, and the answer
has those with something new. Without a session, what a broker had nothing new for is in the answer with no records and
the watermarks that were known last.
"""

import asyncio
import random
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from bifrost.gateway.errors import BrokerError
from bifrost.routes.fetch_session import FINAL_EPOCH, INITIAL_EPOCH, MAX_EPOCH, NO_SESSION, FetchSession
from bifrost.routes.in_place import answer_in_place
from bifrost.routes.session_frame import whole_fetch
from bifrost.routes.shapes import Shapes
from bifrost.routes.split import Split
from bifrost.routes.split_request import MANY_ITEMS
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import FetchResponse

if TYPE_CHECKING:
    from bifrost.gateway.routing.request import Request
    from bifrost.gateway.routing.router import Router, Turn

Buffer = bytes | memoryview

LATE_S = 30.0
"""How much later than the long poll ends a broker's answer may come before it counts as lost: Kafka's default of
`request.timeout.ms`."""

GRACE_S = 1.0
"""How much later than asked the client gets its answer at the latest, if a broker has not answered by then."""

MAX_POLL_MS = 5000
"""How long one poll lasts at a broker, and then another begins: so long may partitions that the client asks for anew
wait behind it. Ten times Kafka's default of `fetch.max.wait.ms`, for each poll costs brokers what a request costs."""

WORTH_MS = 5
"""A poll that ends earlier is begun again if the client still waits at least so long."""

LARGE_BYTES = 64 * 1024
"""An answer from here on goes to the client alone, where it was received, if another one is large, too: to put both
into one would copy them, which takes longer than one answer more."""

HELD = "fetch_memory"
"""What a Fetch counts as whose partitions are not kept, in `kafka_proxy_limits_hit_total`."""

_SESSIONS_SINCE, _RACK_SINCE, _FLEXIBLE_SINCE = 7, 11, 12
_NO_SESSION, _FINAL_EPOCH = bytes(4), b"\xff\xff\xff\xff"


class _Poll:
    """A part that a broker has, or has answered."""

    __slots__ = ("is_large", "kind", "node_id", "split")

    def __init__(self, node_id: int, split: Split, kind: tuple[int, bytes]) -> None:
        self.node_id, self.split, self.kind = node_id, split, kind
        self.is_large = False


class _Fetch:
    """A Fetch that the client awaits."""

    __slots__ = (
        "begins_session",
        "due_s",
        "epoch",
        "is_begun",
        "is_polled",
        "kind",
        "max_bytes",
        "min_bytes",
        "nodes",
        "request",
        "session",
        "session_id",
        "shapes",
        "split",
        "turn",
        "wait_ms",
    )

    def __init__(self, turn: "Turn", request: "Request", split: Split) -> None:
        self.turn, self.request, self.split = turn, request, split
        self.shapes: Shapes = request.shapes
        before = split.before
        self.wait_ms = max(0, self._number(before, "max_wait_ms", 0x7FFFFFFF))
        self.min_bytes = self._number(before, "min_bytes", 0x7FFFFFFF)
        self.max_bytes = self._number(before, "max_bytes", 0x7FFFFFFF)
        self.session_id = self._number(before, "session_id", NO_SESSION)
        self.epoch = self._number(before, "session_epoch", FINAL_EPOCH)
        at = self.shapes.offsets.get("isolation_level")
        self.kind = request.api_version, b"" if at is None else before[at : at + 1]
        """What answers depend on besides the partitions."""
        self.due_s = 0.0
        self.nodes: list[int] = []
        """The brokers that lead its partitions, once it is polled."""
        self.session: FetchSession | None = None
        self.begins_session = self.epoch == INITIAL_EPOCH
        self.is_begun = self.is_polled = False

    def _number(self, before: bytes, name: str, absent: int) -> int:
        at = self.shapes.offsets.get(name)
        return absent if at is None else int.from_bytes(before[at : at + 4], "big", signed=True)


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
        """The last Fetch that was answered, whole."""
        self._held_bytes = 0
        self._session: FetchSession | None = None
        self._is_starting = False

    def close(self) -> None:
        """Stop waiting."""
        if self._timer is not None:
            self._timer.cancel()
        self._waiting.clear()
        self._hold(None)

    def begin(self, turn: "Turn", request: "Request", split: Split) -> None:
        """Take a Fetch; a broker, too, looks at the next one when it has answered the one before."""
        self._waiting.append(_Fetch(turn, request, split))
        self._start_next()

    def _start_next(self) -> None:
        """Begin with the first that waits; what is answered at once is followed by the next."""
        if self._is_starting:
            return
        self._is_starting = True
        try:
            while self._waiting and not self._waiting[0].is_begun:
                self._start(self._waiting[0])
        finally:
            self._is_starting = False

    def _start(self, fetch: _Fetch) -> None:
        fetch.is_begun = True
        code = self._enter(fetch)
        if code != ErrorCode.NONE:
            self._waiting.popleft()
            # As SessionErrorContext: an answer of no session.
            self._router.answer(fetch.turn, fetch.request.answered_by(FetchResponse(error_code=code)))
            return
        routes, split = self._router.cluster.routes, fetch.split
        if fetch.session is None:
            self._poll(fetch)
        elif split.is_open:
            self._router.start(self._read_on(fetch))
        elif unknown := routes.unknown(split, fetch.shapes, self._router.home):
            self._router.start(self._look_up(fetch, unknown))
        else:
            self._poll(fetch)

    async def _read_on(self, fetch: _Fetch) -> None:
        """Take a session with very many partitions apart, and poll them."""
        router = self._router
        await router.in_turns(partial(fetch.split.go_on, MANY_ITEMS))
        await self._look_up(fetch, router.cluster.routes.unknown(fetch.split, fetch.shapes, router.home))

    def _enter(self, fetch: _Fetch) -> ErrorCode:
        """Let a Fetch name all its partitions, if it is of a session; return why it is not, or NONE."""
        if fetch.epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._session = None  # Its partitions are those of the last Fetch.
            return ErrorCode.NONE
        session, version = self._session, fetch.request.api_version
        if session is None or self._last is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        code = session.refusal(fetch.session_id, fetch.epoch, version)
        if code != ErrorCode.NONE:
            return code
        session.go_on()
        assert fetch.shapes.forgotten is not None
        forgotten = fetch.split.behind(fetch.shapes.forgotten)
        whole = whole_fetch(
            fetch.split, self._last, forgotten if forgotten.partitions else None, _after(version)
        )
        fetch.split = Split(
            fetch.shapes.request, fetch.shapes.template, [whole], fetch.request.body, MANY_ITEMS
        )
        fetch.session = session
        return ErrorCode.NONE

    async def _look_up(self, fetch: _Fetch, topics: list[bytes]) -> None:
        """Learn the leaders of a session's partitions; what is not known then goes to any broker."""
        routes = self._router.cluster.routes
        if topics:
            with suppress(BrokerError):
                await routes.look_up_leaders(topics, self._router.tenant or "", by_id=fetch.shapes.is_by_id)
        if self._waiting and self._waiting[0] is fetch:
            routes.unknown(fetch.split, fetch.shapes, self._router.home)
            self._poll(fetch)

    def _poll(self, fetch: _Fetch) -> None:
        """Ask each leader, but for those that have a poll already."""
        split, router = fetch.split, self._router
        fetch.is_polled = True
        if self._last is not None:
            split.carry(self._last)
        fetch.due_s = router.loop.time() + fetch.wait_ms / 1000
        fetch.nodes = split.nodes()
        served = self._take_kept(fetch)
        for node_id in fetch.nodes:
            if node_id not in served and node_id not in self._out:
                self._send(fetch, node_id, fetch.wait_ms)
        if not self._waiting or self._waiting[0] is not fetch:
            return  # A part has failed at once, and was the answer.
        if not self._complete(fetch, is_due=False):
            self._watch(fetch.due_s + GRACE_S)

    def _take_kept(self, fetch: _Fetch) -> set[int]:
        """Take what brokers have answered since the last Fetch, oldest first; return those that need no poll now."""
        split, served = fetch.split, set[int]()
        enough_bytes = max(1, fetch.min_bytes)
        for node_id, kept in list(self._kept.items()):
            is_of_use = kept.kind == fetch.kind and node_id in fetch.nodes
            if is_of_use and kept.is_large and split.data_bytes >= enough_bytes and fetch.wait_ms >= WORTH_MS:
                served.add(node_id)  # It waits for the next Fetch: this one is answered at once.
                continue
            del self._kept[node_id]
            if is_of_use:
                split.adopt(kept.split, node_id)
                if kept.split.covers(split, node_id):
                    served.add(node_id)
        return served

    def _send(self, fetch: _Fetch, node_id: int, wait_ms: int) -> None:
        router, split, wait_ms = self._router, fetch.split, min(wait_ms, MAX_POLL_MS)
        poll = self._out[node_id] = _Poll(node_id, split, fetch.kind)
        version, offsets = fetch.request.api_version, fetch.shapes.offsets
        nodes = max(1, len(fetch.nodes))
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
        router.link(node_id, polls=True).send(part, answered, timeout_s)

    def _note(self, poll: _Poll, frame: Buffer | None, start: int) -> None:
        """Take a broker's answer, or None when it is lost."""
        if self._out.get(poll.node_id) is poll:
            del self._out[poll.node_id]
        fetch = self._waiting[0] if self._waiting and self._waiting[0].is_polled else None
        if frame is not None:
            poll.split.take(poll.node_id, frame, start)
            poll.is_large = len(frame) >= LARGE_BYTES
        if fetch is None:
            if frame is not None:
                self._kept[poll.node_id] = poll
            return
        if frame is None:
            fetch.split.fail(poll.node_id, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        elif poll.kind == fetch.kind:
            fetch.split.adopt(poll.split, poll.node_id)
        is_whole = poll.split is fetch.split or poll.split.covers(fetch.split, poll.node_id)
        is_asked_again = frame is not None and poll.node_id in fetch.nodes
        left_ms = max(0, int((fetch.due_s - self._router.loop.time()) * 1000))
        if is_asked_again and not (is_whole and poll.kind == fetch.kind):
            # The poll was for an earlier Fetch: what this one asks for besides it was not sent yet.
            self._send(fetch, poll.node_id, left_ms)
            is_asked_again = False
        if not self._complete(fetch, is_due=False) and is_asked_again and left_ms >= WORTH_MS:
            self._send(fetch, poll.node_id, left_ms)

    def _complete(self, fetch: _Fetch, *, is_due: bool) -> bool:
        """Answer a Fetch if it has enough, an error, or no more to wait for; return whether it was answered."""
        split, router = fetch.split, self._router
        has_enough = split.data_bytes > 0 and split.data_bytes >= fetch.min_bytes
        left_ms = (fetch.due_s - router.loop.time()) * 1000
        is_out = not self._out.keys().isdisjoint(fetch.nodes)
        is_over = not fetch.nodes or (left_ms < WORTH_MS and not is_out)
        # Who does not want to wait has what all brokers have now.
        is_enough = (has_enough or split.has_error) and not (is_out and fetch.wait_ms < WORTH_MS)
        if not (is_enough or is_over or is_due):
            return False
        if split.has_error:
            router.cluster.routes.forget_leaders(split.stale(), by_id=fetch.shapes.is_by_id)
        self._waiting.popleft()
        frame = self._merged(fetch)
        split.release()
        router.answer(fetch.turn, frame, items=split.partitions)
        self._start_next()
        return True

    def _merged(self, fetch: _Fetch) -> Buffer:
        """Return the answer to a Fetch, and keep what the next one is compared with."""
        split, session = fetch.split, fetch.session
        self._hold(split)
        if fetch.begins_session and self._last is not None and split.partitions:
            session = self._session = FetchSession(random.randint(1, MAX_EPOCH), fetch.request.api_version)
        elif session is not None and not split.partitions:
            session = self._session = (
                None  # As FetchManager.newContext does with a session that has become empty.
            )
        session_id = NO_SESSION if session is None else session.session_id
        head, only_changed = fetch.request.response_head, fetch.session is not None
        frame = answer_in_place(split, head, fills=not only_changed, session_id=session_id)
        if frame is not None:
            return frame
        room = self._router.rooms.room(self._router.tenant)
        return split.merged(head, fills=True, session_id=session_id, only_changed=only_changed, room=room)

    def _hold(self, split: Split | None) -> None:
        """Keep the last Fetch, if there is room; without it there are no watermarks to fill in, and no session."""
        memory, tenant = self._router.cluster.routes.fetch_memory, self._router.tenant or ""
        before, after = self._held_bytes, 0 if split is None else split.memory
        if memory.swap(tenant, before, after, before):
            self._last, self._held_bytes = split, after
            return
        memory.swap(tenant, before, 0, before)
        self._last, self._held_bytes = None, 0
        self._router.note_hit(HELD)

    def _watch(self, due_s: float) -> None:
        """Look at `due_s`, by the loop's time, whether the first Fetch has to be answered."""
        if self._timer is not None:
            if self._timer.when() <= due_s:
                return  # It looks again then: most are answered before, and none needs a timer of its own.
            self._timer.cancel()
        self._timer = self._router.loop.call_at(due_s, self._look)

    def _look(self) -> None:
        self._timer = None
        fetch = self._waiting[0] if self._waiting and self._waiting[0].is_polled else None
        if fetch is None:
            return
        if self._router.loop.time() < fetch.due_s + GRACE_S:
            self._watch(fetch.due_s + GRACE_S)
            return
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
