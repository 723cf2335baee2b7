"""Whatever the engine sends on, it can count: counting walks less of a frame than rewriting, and refuses nothing.

Frames that go on before they are whole are in test_passing_properties.py and in tools/fuzz_relay.py.
"""

import random
from typing import Any

import pytest

from bifrost.journal.tallies import request_tally, response_tally
from bifrost.journal.usage import TopicUsage, Usage
from bifrost.wire.codec import encode
from bifrost.wire.entity import Entity
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.fields.entities import SERVED, served_versions
from bifrost.wire.programs import compile_layout, compile_program
from bifrost.wire.rewriting import Names, rewrite
from bifrost.wire.schema import Field, FieldType, request_schema, response_schema
from support.clients.record_batches import build_batch
from support.gateways.sample import sample

MUTATIONS = 30
RECORDS = build_batch([b"a", b"b"]) * 2


def give(_entity: Entity, field: Field) -> Any:
    if field.type is FieldType.STRING:
        return "name"
    return b"\x01" * 16 if field.type is FieldType.UUID else RECORDS


def mutated(frame: bytes, rng: random.Random) -> bytes:
    """Change, take out or put in a few bytes."""
    changed = bytearray(frame)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(changed) or 1)
        match rng.randrange(3):
            case 0 if changed:
                changed[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            case 1:
                del changed[at : at + rng.randint(1, 8)]
            case _:
                changed[at:at] = rng.randbytes(rng.randint(1, 8))
    return bytes(changed)


@pytest.mark.parametrize("api_key", SERVED, ids=lambda key: key.name)
def test_what_can_be_rewritten_can_be_counted(api_key: int) -> None:
    same = Names(lambda _slot, name: name)
    accepted = 0
    for version in served_versions(api_key) or ():
        usage = Usage(
            b"me",
            request_tally(api_key, version),
            response_tally(api_key, version),
            True,
            lambda one, slot, name, _: one.topics.setdefault((slot, name), TopicUsage(name)),
        )
        rng = random.Random(api_key * 100 + version)
        for schema in (request_schema(api_key), response_schema(api_key)):
            whole = encode(compile_layout(schema.name, version), sample(schema.name, version, give), b"")[4:]
            program = compile_program(schema.name, version, {})
            for frame in (whole, *(mutated(whole, rng) for _ in range(MUTATIONS))):
                try:
                    if rewrite(program, frame, 0, same) is None:
                        continue
                except MalformedFrame:
                    continue
                accepted += 1
                if schema is request_schema(api_key):
                    usage.count_request(frame, 0)
                else:
                    usage.count_response(frame, 0, True)

    assert accepted > 0
