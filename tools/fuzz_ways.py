"""Checks of tools/fuzz_engine.py that hold one way of the engine against another: what is forwarded, what is pruned,
and what brokers tell of themselves.
"""

import random
from collections.abc import Callable, Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any

from bifrost.forwarding.forwarding import Forwarding
from bifrost.forwarding.lane import Awaited, AwaitedQueue, Lane, Reason
from bifrost.forwarding.lane_names import LaneNames
from bifrost.forwarding.load import Load
from bifrost.forwarding.traffic import Traffic
from bifrost.wire.codec import decode, encode_body
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.headers import request_body_offset
from bifrost.wire.program import SLOT_ADDRESS, SLOT_USUAL, Passage, Program, prune
from bifrost.wire.programs import compile_layout, compile_program
from bifrost.wire.rewriting import Names, rewrite
from bifrost.wire.schema import Field, FieldType, MessageSchema
from frame_mutations import pick

SAME = Names(lambda slot, name: name)


class Failure(Exception):
    """The engine did what it must not."""


def or_malformed(function: Callable[..., Any], *arguments: object) -> Any:
    """Call the engine; return what it raised about the frame."""
    try:
        return function(*arguments)
    except MalformedFrame as error:
        return error


def slots(fields: tuple[Field, ...], version: int, prefix: str) -> Iterator[tuple[str, int]]:
    """Yield a slot for every string and UUID that is not tagged, by its path."""
    for f in fields:
        if version in f.versions and not f.is_tagged(version):
            if f.type in (FieldType.STRING, FieldType.UUID):
                yield prefix + f.kafka_name, 1 if f.type is FieldType.STRING else 4
            yield from slots(f.fields, version, f"{prefix}{f.kafka_name}.")


@cache
def _program(schema: MessageSchema, version: int) -> Program:
    return compile_program(schema.name, version, dict(slots(schema.fields, version, "")))


def check_forward(rng: random.Random, program: Program, frame: bytes) -> None:
    """Let the engine forward a frame behind a header that may be spoilt.

    Raises:
        Failure: it does not forward what rewrite gives, or leaves a trace of what it does not forward.
    """
    is_flexible = bool(pick(rng, 2))
    plan = SimpleNamespace(
        api_key=_KEY >> 16, passage=Passage(program, program, is_flexible, is_flexible, None, None)
    )
    traffic = Traffic()
    prefix = (None, b"acme.")[pick(rng, 2)]
    lanes = {_KEY: Lane(plan, traffic, Load(), LaneNames(SAME, SAME, prefix))}
    client_id_length = (-1, 0, 2, 200, 0x7FFF, -0x8000)[pick(rng, 6)]
    head = _KEY.to_bytes(4, "big") + _CORRELATION_ID + client_id_length.to_bytes(2, "big", signed=True)
    head += bytes(max(0, min(client_id_length, 200)) + is_flexible)
    request, response = head + frame, _CORRELATION_ID + bytes(is_flexible) + frame
    if pick(rng, 8) == 0:
        request, response = request[: pick(rng, 16)], response[: pick(rng, 8)]
    session = _session(lanes)
    is_sent, out = or_malformed(session.forward_request, request) == Reason.PASSES, session.to_broker
    if is_sent:
        _, other_head = request_body_offset(request, client_id_length, is_flexible, prefix)
        # They may cut a large frame into other pieces.
        if b"".join(out) != b"".join(rewrite(program, request, len(head), SAME, other_head) or ()):
            raise Failure("a request is forwarded otherwise than it is rewritten")
    if len(session._queue) != traffic.requests or traffic.requests != is_sent or bool(out) != is_sent:
        raise Failure("a request that was not forwarded leaves a trace")
    session = _session(lanes)
    session._queue.append(Awaited(int.from_bytes(_CORRELATION_ID, "big"), lanes[_KEY], None))
    session._queue.append(b"waited")
    is_sent, out = or_malformed(session.forward_response, response) == Reason.PASSES, session.to_client
    if is_sent:
        if out != [*rewrite(program, response, 4 + is_flexible, SAME), b"waited"] or session._queue:
            raise Failure("a response is forwarded otherwise than it is rewritten")
    elif len(session._queue) != 2 or out:
        raise Failure("a response that was not forwarded leaves a trace")


def _session(lanes: dict[int, Lane]) -> Forwarding:
    """Make what the engine sees of a session."""
    session = Forwarding()
    session._lanes, session._queue, session._max_in_flight = lanes, AwaitedQueue(), 1
    session.to_broker, session.to_client = [], []
    return session


_KEY, _CORRELATION_ID = 3 << 16 | 12, b"\x01\x02\x03\x04"


def check_pruned(schema: MessageSchema, version: int, frame: bytes) -> None:
    """Compare what was left of a frame that can be decoded with what Python would leave of it.

    Raises:
        Failure: it is something else.
    """
    layout, program = compile_layout(schema.name, version), _program(schema, version)
    message, pruned = or_malformed(decode, layout, frame, 0), or_malformed(prune, program, frame, 0, _PREFIX)
    if isinstance(message, MalformedFrame):
        return
    if isinstance(pruned, MalformedFrame):
        raise Failure("prune refuses what decode reads")
    if any(_is_struct(f) or any(map(_is_struct, f.fields)) for f in schema.fields):
        return  # To a program their fields stand among those around them.
    for f in schema.fields:
        named = [n.name for n in f.fields if _is_name(n, version)]
        if f.is_array and version in f.versions and not f.is_tagged(version):
            elements = getattr(message, f.name)
            if elements is not None and (named or f.type is FieldType.STRING):
                setattr(message, f.name, [one for one in elements if _is_kept(one, named)])
    # Their bytes, as a number that is none is not equal to itself.
    if encode_body(layout, decode(layout, pruned, 0)) != encode_body(layout, message):
        raise Failure("prune leaves something else than what has the prefix")


def _is_struct(f: Field) -> bool:
    return f.type is FieldType.STRUCT and not f.is_array


def _is_name(f: Field, version: int) -> bool:
    is_text = f.type is FieldType.STRING and not f.is_array
    return is_text and version in f.versions and not f.is_tagged(version)


def _is_kept(element: Any, named: list[str]) -> bool:
    names = [element] if isinstance(element, str) else [getattr(element, name) for name in named]
    return all(not name or name.startswith(_PREFIX.decode()) for name in names)


_PREFIX = b"o"


def check_addressed(schema: MessageSchema, version: int, frame: bytes) -> None:
    """Let the engine replace the addresses of brokers in a frame where all else is as usual; do the same in Python.

    Raises:
        Failure: it comes to something else.
    """
    program, hosts, usual = _addressing(schema, version)
    if not hosts:
        return
    layout = compile_layout(schema.name, version)
    segments = or_malformed(rewrite, program, frame, 0, _ADDRESSED)
    message = or_malformed(decode, layout, frame, 0)
    if isinstance(message, MalformedFrame) or isinstance(segments, MalformedFrame):
        if isinstance(segments, list) and "UTF-8" not in message.reason:
            raise Failure("an address is replaced in what cannot be read")
        return
    if any(one != f.default for f, one in _values(schema.fields, message, usual, version)):
        if segments is not None:
            raise Failure("something unusual passes")
        return
    if segments is None:
        return  # An unknown tagged field.
    for struct, node_id in _holders(schema.fields, message, hosts, version):
        struct.host, struct.port = f"b{node_id & 0xFF}", node_id
    if encode_body(layout, decode(layout, b"".join(segments)[4:], 0)) != encode_body(layout, message):
        raise Failure("a broker's address is replaced by something else")


_ADDRESSED = Names(lambda slot, name: b"b%d" % name[-1] + name if slot == SLOT_ADDRESS else name)


@cache
def _addressing(schema: MessageSchema, version: int) -> tuple[Program, frozenset[str], frozenset[str]]:
    hosts, usual = set(), set()
    arrays = [(f"{f.kafka_name}.", f.fields) for f in schema.fields if f.is_array and _is_plain(f, version)]
    for prefix, fields in (("", schema.fields), *arrays):
        plain = [f for f in fields if _is_plain(f, version)]
        for before, host, port in zip(plain, plain[1:], plain[2:], strict=False):
            kinds = (before.entity_type, host.kafka_name, port.kafka_name)
            if kinds == ("brokerId", "Host", "Port") and port.type is FieldType.INT32:
                hosts.add(prefix + host.kafka_name)
        names = ("ErrorCode", "TopicAuthorizedOperations", "ClusterAuthorizedOperations")
        # In every other version, for with random numbers hardly anything passes.
        usual |= {prefix + f.kafka_name for f in plain if f.kafka_name in names and version % 2}
    found = dict.fromkeys(hosts, SLOT_ADDRESS) | dict.fromkeys(usual, SLOT_USUAL)
    return compile_program(schema.name, version, found), frozenset(hosts), frozenset(usual)


def _is_plain(f: Field, version: int) -> bool:
    return version in f.versions and not f.is_tagged(version)


def _structs(
    fields: tuple[Field, ...], message: Any, version: int
) -> Iterator[tuple[str, Any, tuple[Field, ...]]]:
    """Yield the message and the structs in its arrays, with the prefix of their paths and their fields."""
    yield "", message, fields
    for f in fields:
        if f.is_array and f.type is FieldType.STRUCT and _is_plain(f, version):
            for one in getattr(message, f.name) or ():
                yield f"{f.kafka_name}.", one, f.fields


def _values(
    fields: tuple[Field, ...], message: Any, paths: frozenset[str], version: int
) -> Iterator[tuple[Field, Any]]:
    for prefix, struct, own in _structs(fields, message, version):
        for f in own:
            if prefix + f.kafka_name in paths:
                yield f, getattr(struct, f.name)


def _holders(
    fields: tuple[Field, ...], message: Any, paths: frozenset[str], version: int
) -> Iterator[tuple[Any, int]]:
    for prefix, struct, own in _structs(fields, message, version):
        if f"{prefix}Host" in paths:
            plain = [f for f in own if _is_plain(f, version)]
            place = next(place for place, f in enumerate(plain) if f.kafka_name == "Host")
            yield struct, getattr(struct, plain[place - 1].name)
