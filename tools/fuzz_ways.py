"""Checks of tools/fuzz_engine.py that hold one way of the engine against another: what is forwarded, what is pruned."""

import random
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any

from bifrost.wire.engine import (
    Awaited,
    Lane,
    Load,
    Names,
    Passage,
    Program,
    Traffic,
    decode,
    encode_body,
    forward_request,
    forward_response,
    prune,
    rewrite,
)
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.programs import compile_layout, compile_program
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
    plan = SimpleNamespace(passage=Passage(program, program, is_flexible, is_flexible, None, None))
    traffic = Traffic()
    lanes = {_KEY: Lane(plan, traffic, Load())}
    client_id_length = (-1, 0, 2, 200, 0x7FFF, -0x8000)[pick(rng, 6)]
    head = _KEY.to_bytes(4, "big") + _CORRELATION_ID + client_id_length.to_bytes(2, "big", signed=True)
    head += bytes(max(0, min(client_id_length, 200)) + is_flexible)
    request, response = head + frame, _CORRELATION_ID + bytes(is_flexible) + frame
    if pick(rng, 8) == 0:
        request, response = request[: pick(rng, 16)], response[: pick(rng, 8)]
    awaited: deque[Any] = deque()
    out: list[bytes | memoryview] = []
    forwarded = or_malformed(forward_request, lanes, request, SAME, awaited, out, None)
    if forwarded is True and out != rewrite(program, request, len(head), SAME):
        raise Failure("a request is forwarded otherwise than it is rewritten")
    if (
        len(awaited) != traffic.requests
        or traffic.requests != (forwarded is True)
        or bool(out) != (forwarded is True)
    ):
        raise Failure("a request that was not forwarded leaves a trace")
    awaited = deque([Awaited(int.from_bytes(_CORRELATION_ID, "big"), lanes[_KEY], None), b"waited"])
    out = []
    forwarded = or_malformed(forward_response, awaited, response, SAME, out, None)
    if forwarded is True:
        if out != [*rewrite(program, response, 4 + is_flexible, SAME), b"waited"] or awaited:
            raise Failure("a response is forwarded otherwise than it is rewritten")
    elif len(awaited) != 2 or out:
        raise Failure("a response that was not forwarded leaves a trace")


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
