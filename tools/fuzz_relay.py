"""Checks of tools/fuzz_engine.py on the path that production takes: from a socket's bytes through framer, relay and
forwarding to the socket of the other side.

Requests and the answers to them are cut at random places and given to two relays: with usage counters or without, with
a prefix for client IDs or without, with small chunks or usual ones, now and then with a frame so large that it goes on
before it is whole. A model splits the same bytes plainly and gives each frame alone to a session of its own. Both must
write the same bytes, count the same, await the same, and end at the same byte.
"""

import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace
from typing import NamedTuple

from bifrost.forwarding.lane import Awaited, Lane
from bifrost.forwarding.lane_names import LaneNames
from bifrost.forwarding.load import Load
from bifrost.forwarding.traffic import Traffic
from bifrost.journal.tallies import FETCHES, request_tally, response_tally
from bifrost.journal.usage import TopicUsage, Usage
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.fields.entities import served_versions
from bifrost.wire.program import Passage, Peek, Usually, peek
from bifrost.wire.programs import compile_peek, compile_program
from bifrost.wire.rewriting import Names
from bifrost.wire.schema import FieldType, MessageSchema, request_schema, response_schema
from frame_mutations import MUTATIONS, attack_length, pick
from fuzz_targets import TEXTS
from fuzz_ways import Failure, slots
from relay_model import Model, Relayed, Session, Transport, framed

_CLIENT_ID = b"me"


class Exchange(NamedTuple):
    """A request and the answer to it, as bodies."""

    api_key: int
    version: int
    request: bytes
    response: bytes


def check_relay(rng: random.Random, exchanges: list[Exchange]) -> None:
    """Give the exchanges to as many connections as it takes: each ends at the first malformed frame.

    Raises:
        Failure: a connection does something else than its model.
    """
    is_counted, lacks_some = pick(rng, 3) > 0, pick(rng, 4) == 0
    names = LaneNames(_names(lacks_some), _names(lacks_some), None)
    lanes = _lanes(exchanges, names, is_counted), _lanes(exchanges, names, is_counted)
    with _transports(is_plain=pick(rng, 4) > 0) as transports:
        while exchanges:
            prefix, most = (None, b"acme.")[pick(rng, 2)], (1, 5, 1000)[min(2, pick(rng, 10))]
            sessions = [
                Session(_with_prefix(one, names._replace(client_id_prefix=prefix)), most) for one in lanes
            ]
            # Seldom all of them, as most streams end early.
            some = exchanges[: (4, len(exchanges))[pick(rng, 2)]]
            play = _Play(rng, some, sessions, transports)
            play.run()
            counted = [_counted(one) for one in lanes]
            if counted[0] != counted[1] and not play.is_within:
                raise Failure(f"the relay counts {counted[0]}; {counted[1]} is right")
            for session in sessions:
                session.leave()
            exchanges = exchanges[max(1, *play.model.taken) :]


@contextmanager
def _transports(is_plain: bool) -> Iterator[tuple[Transport, Transport]]:
    """Make the transports to the broker and to the client, and close what belongs to them."""
    pairs = [socket.socketpair(), socket.socketpair()] if is_plain else []
    for end in (end for pair in pairs for end in pair):
        end.setblocking(False)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    try:
        yield Transport(pairs[0] if pairs else None), Transport(pairs[1] if pairs else None)
    finally:
        for end in (end for pair in pairs for end in pair):
            end.close()


def _difference(found: bytes, right: bytes) -> str:
    """Say where the two begin to differ."""
    pairs = enumerate(zip(found, right, strict=False))
    at = next((at for at, (one, other) in pairs if one != other), min(len(found), len(right)))
    begin = max(0, at - 40)
    return (
        f"{found[begin : at + 40].hex()} from {begin} on, {len(found)} bytes in all; "
        f"{right[begin : at + 40].hex()}, {len(right)} bytes in all, is right"
    )


class _Play:
    """One connection and its model, which get the same bytes."""

    def __init__(
        self,
        rng: random.Random,
        exchanges: list[Exchange],
        sessions: list[Session],
        transports: tuple[Transport, Transport],
    ) -> None:
        self._rng, self._exchanges, self._transports = rng, exchanges, transports
        for transport in transports:
            transport.drain()
            transport.forget()
        self.relayed, self.model = Relayed(rng, sessions[0], transports), Model(sessions[1])
        requests = bytearray()
        for number, exchange in enumerate(exchanges):
            requests += framed(_request(rng, exchange, number))
        if pick(rng, 12) == 0:
            # Behind the others, where it spoils none of them, or anywhere.
            bad = bytearray(4)
            attack_length(rng, bad, b"")
            requests += bad
        if pick(rng, 12) == 0:
            del requests[len(requests) - pick(rng, min(len(requests), 40)) :]
        self._streams, self._answered = (requests, bytearray()), 0
        self.is_within = False

    def run(self) -> None:
        """Let both receive everything, or as much as they take.

        Raises:
            Failure: see check_relay.
        """
        rng, streams = self._rng, self._streams
        crumbs = 400 if pick(rng, 8) == 0 else 0
        while not self.model.error and (streams[0] or streams[1]):
            side = pick(rng, 2)
            if not streams[side]:
                side = 1 - side
            crumbs -= 1
            size = 1 + pick(rng, 30 if crumbs > 0 else (30, 400, 5000, 100_000)[pick(rng, 4)])
            piece = bytes(streams[side][:size])
            del streams[side][:size]
            while piece and not self.model.error:
                piece = self._receive(side, piece)
            self._answer()
            if pick(rng, 2):
                self._transports[pick(rng, 2)].drain()
        self._compare(self.model.written())

    def _receive(self, side: int, piece: bytes) -> bytes:
        """Let both receive as much of a piece as the framer has room for; return the rest."""
        relay = self.relayed.relays[side]
        buffer = relay.get_buffer(-1)
        size = min(len(buffer), len(piece))
        buffer[:size] = piece[:size]
        del buffer
        relay.buffer_updated(size)
        failed = self.relayed.framers[side].failed
        if isinstance(failed, MalformedFrame):
            # A large frame whose end is not what its beginning said is refused while it passes.
            self._compare(self.model.written())
            self.is_within = self.model.error = True
            return b""
        self.model.receive(side, piece[:size])
        if (self.relayed.error is not None) != self.model.error:
            raise Failure(f"the relay ends with {self.relayed.error!r}; its model: {self.model.error}")
        return piece[size:]

    def _answer(self) -> None:
        """Give the broker's answers to what the model has sent on since."""
        queue = [one for one in self.model.session._queue if isinstance(one, Awaited)]
        on_their_way = self._answered - self.model.taken[1]
        for awaited in queue[on_their_way:]:
            exchange = self._exchanges[awaited.correlation_id % len(self._exchanges)]
            self._streams[1].extend(framed(_response(self._rng, exchange, awaited.correlation_id)))
            self._answered += 1

    def _compare(self, written: tuple[bytes, bytes]) -> None:
        """Compare what was written, as far as no large frame is under way; then what is awaited."""
        for side, (transport, right) in enumerate(zip(self._transports, written, strict=True)):
            found = transport.drain()
            is_within = self.model.is_within(side)
            self.is_within = self.is_within or is_within
            if found != right and not (is_within and found.startswith(right)):
                raise Failure(f"the relay writes {_difference(found, right)} to side {side}")
        if not self.is_within and self.relayed.session.awaited() != self.model.session.awaited():
            raise Failure("the relay awaits something else")


# ---- what both are given ----


@cache
def _passage(api_key: int, version: int) -> Passage:
    request, response = request_schema(api_key), response_schema(api_key)
    peeks = [
        _usual(schema, version) if (api_key + version) % 5 == 0 else None for schema in (request, response)
    ]
    return Passage(
        *(
            compile_program(one.name, version, dict(slots(one.fields, version, "")))
            for one in (request, response)
        ),
        request.request_header_version(version) == 2,
        response.response_header_version(version) == 1,
        *(one and (lambda frame, start, one=one: peek(one, frame, start)) for one in peeks),
        *peeks,
        drops_trailing=version % 2 == 1,
    )


def _usual(schema: MessageSchema, version: int) -> Peek | None:
    """Compile a look at the first number, which is usually zero."""
    fields = [f for f in schema.fields if version in f.versions and not f.is_tagged(version)]
    if not fields or fields[0].is_array or fields[0].type not in (FieldType.INT16, FieldType.INT32):
        return None
    return compile_peek(schema.name, version, {fields[0].kafka_name: Usually.ZERO})


def _lanes(exchanges: list[Exchange], names: LaneNames, is_counted: bool) -> dict[int, Lane]:
    """Make a lane for every kind of exchange."""
    return {
        api_key << 16 | version: Lane(
            SimpleNamespace(api_key=api_key, passage=_passage(api_key, version)),
            Traffic(),
            Load(),
            names,
            _usage(api_key, version) if is_counted else None,
        )
        for api_key, version, _, _ in exchanges
    }


def _with_prefix(lanes: dict[int, Lane], names: LaneNames) -> dict[int, Lane]:
    """Make lanes with other names that count where these do."""
    return {key: Lane(one.plan, one.traffic, one.load, names, one.usage) for key, one in lanes.items()}


def _usage(api_key: int, version: int) -> Usage:
    is_served = version in (served_versions(api_key) or ())
    return Usage(
        _CLIENT_ID,
        request_tally(api_key, version) if is_served else None,
        response_tally(api_key, version) if is_served else None,
        api_key in FETCHES,
        lambda one, slot, name, _is_physical: one.topics.setdefault((slot, name), TopicUsage(name)),
    )


def _counted(lanes: dict[int, Lane]) -> list[object]:
    """Return what the lanes have counted: of the usage what came since the last time, without durations."""
    found: list[object] = []
    for key, lane in lanes.items():
        traffic, usage = lane.traffic, lane.usage and lane.usage.take()
        found.append((key, traffic.requests, traffic.bytes_received, traffic.bytes_sent, lane.load.in_flight))
        if lane.usage is not None:
            found.append(lane.usage.in_flight)
        if usage:
            topics = {name: topic.take() for name, topic in usage[-1].items()}
            found.append((*usage[:6], *usage[9:11], topics))
    return found


def _names(lacks_some: bool) -> Names:
    """Change all names, unless it lacks some. Every other one is known, and no more become so.

    A name that is not known costs steps, of which a frame has a certain number (steps.pyx): a frame that is tried again
    must come to the same.
    """

    def missing(slot: int, name: bytes) -> bytes | None:
        if slot == 4:
            return name[::-1]
        return None if lacks_some and len(name) > 200 else name + b"-renamed"

    names = Names(missing)
    names.tables[1] = {text.encode(): text.encode() + b"-renamed" for text in TEXTS[::2]}
    return names


def _request(rng: random.Random, exchange: Exchange, number: int) -> bytes:
    """Give a request behind its header, which is seldom spoilt."""
    key = exchange.api_key << 16 | exchange.version
    kind = pick(rng, 40)
    client_id = (2).to_bytes(2, "big") + _CLIENT_ID
    if kind < 3:
        client_id = (b"\xff\xff", b"\0\0", (300).to_bytes(2, "big") + bytes(300))[kind]
    tags = b"\0" * _is_flexible(exchange)[0]
    if kind == 3:
        client_id = (0x7FFF).to_bytes(2, "big") + bytes(0x7FFF)
    head = bytearray(key.to_bytes(4, "big") + number.to_bytes(4, "big") + client_id + tags)
    if kind == 4:
        MUTATIONS[pick(rng, len(MUTATIONS))](rng, head, exchange.request or b"\0")
    return bytes(head) + exchange.request


def _response(rng: random.Random, exchange: Exchange, correlation_id: int) -> bytes:
    """Give an answer behind its header, which is seldom spoilt."""
    head = bytearray(correlation_id.to_bytes(4, "big", signed=True) + b"\0" * _is_flexible(exchange)[1])
    if pick(rng, 60) == 0:
        MUTATIONS[pick(rng, len(MUTATIONS))](rng, head, exchange.response or b"\0")
    return bytes(head) + exchange.response


@cache
def _flexible(api_key: int, version: int) -> tuple[bool, bool]:
    request, response = request_schema(api_key), response_schema(api_key)
    return request.request_header_version(version) == 2, response.response_header_version(version) == 1


def _is_flexible(exchange: Exchange) -> tuple[bool, bool]:
    return _flexible(exchange.api_key, exchange.version)
