"""What holds for every message at every version, and for every way of cutting a stream."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bifrost.wire.codec import decode, encode, encode_body
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.framer import Framer
from bifrost.wire.message import Message
from bifrost.wire.programs import compile_layout, compile_program
from bifrost.wire.rewriting import Names, rewrite
from bifrost.wire.schema import Field, FieldType, message_schema
from support.random.strategies import all_versions, messages

HEAD = b"head"
VERSIONS = all_versions()
EACH = max(5, settings.default.max_examples // 40)
"""Examples of each of the 620 versions; what all have in common is met thousands of times."""


def in_place_slots(name: str, version: int) -> dict[str, int]:
    """Slot 1 for every string and 4 for every UUID that is not in a tagged field: all that can be looked up."""
    slots: dict[str, int] = {}

    def visit(fields: tuple[Field, ...], prefix: str) -> None:
        for field in fields:
            if version in field.versions and not field.is_tagged(version):
                if field.type in (FieldType.STRING, FieldType.UUID):
                    slots[prefix + field.kafka_name] = 1 if field.type is FieldType.STRING else 4
                visit(field.fields, f"{prefix}{field.kafka_name}.")

    visit(message_schema(name).fields, "")
    return slots


def rename(message: Message, version: int) -> None:
    """Do to a decoded message what `renamed` does to a frame."""

    def visit(struct, fields: tuple[Field, ...]) -> None:
        for field in fields:
            value = getattr(struct, field.name)
            if version not in field.versions or field.is_tagged(version) or value is None:
                continue
            if field.type is FieldType.STRUCT:
                for element in value if field.is_array else [value]:
                    visit(element, field.fields)
            elif field.type is FieldType.STRING:
                setattr(struct, field.name, [v + "!" for v in value] if field.is_array else value + "!")
            elif field.type is FieldType.UUID:
                setattr(struct, field.name, [v[::-1] for v in value] if field.is_array else value[::-1])

    visit(message, message_schema(type(message).__name__).fields)


def renamed(slot: int, name: bytes) -> bytes:
    return name + b"!" if slot == 1 else name[::-1]


@pytest.mark.parametrize(("name", "version"), VERSIONS, ids=str)
@settings(max_examples=EACH)
@given(st.data())
def test_every_version_round_trips_and_is_rewritten_like_its_message(name, version, data):
    message = data.draw(messages(name, version))
    layout = compile_layout(name, version)
    program = compile_program(name, version, in_place_slots(name, version))

    frame = encode(layout, message, HEAD)[4:]
    decoded = decode(layout, frame, len(HEAD))
    assert decoded == message
    assert encode_body(layout, decoded) == frame[len(HEAD) :]

    same = rewrite(program, frame, len(HEAD), Names(lambda slot, name: name))
    assert b"".join(same) == len(frame).to_bytes(4, "big") + frame

    rename(decoded, version)
    for given_frame in (frame, memoryview(frame)):
        segments = rewrite(program, given_frame, len(HEAD), Names(renamed), b"other head")
        assert b"".join(segments) == encode(layout, decoded, b"other head")


@given(st.data())
def test_whatever_comes_in_is_parsed_or_malformed(data):
    name, version = data.draw(st.sampled_from(VERSIONS))
    layout = compile_layout(name, version)
    frame = bytearray(encode_body(layout, data.draw(messages(name, version))))
    for _ in range(data.draw(st.integers(0, 3))):
        position = data.draw(st.integers(0, len(frame)))
        frame[position : position + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    program = compile_program(name, version, in_place_slots(name, version))

    try:
        segments = rewrite(program, bytes(frame), 0, Names(lambda slot, name: name))
    except MalformedFrame as error:
        segments = error
    try:
        decoded = decode(layout, frame, 0)
    except MalformedFrame as error:
        decoded = error

    # Neither reads what the other refuses; only that a string is UTF-8 is decoding's alone to say.
    if isinstance(decoded, MalformedFrame):
        assert isinstance(segments, MalformedFrame) or segments is None or "UTF-8" in decoded.reason
    else:
        assert not isinstance(segments, MalformedFrame)
        assert segments is None or b"".join(segments)[4:] == frame


@given(
    st.lists(st.integers(1, 200) | st.integers(8000, 8400) | st.integers(30_000, 70_000), max_size=8),
    st.lists(st.integers(1, 9) | st.integers(1, 70_000), min_size=1, max_size=5),
)
def test_frames_come_out_as_they_went_in_however_the_stream_is_cut(sizes, pieces):
    frames = [bytes([number]) * size for number, size in enumerate(sizes)]
    stream = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    framer, found, position, turn = Framer(1 << 20), [], 0, 0
    if max(pieces) < 50:
        stream, frames = stream[: 2000 * max(pieces)], None

    while position < len(stream):
        buffer = framer.get_buffer(-1)
        size = min(len(buffer), len(stream) - position, pieces[turn % len(pieces)])
        buffer[:size] = stream[position : position + size]
        found += framer.buffer_updated(size)
        position, turn = position + size, turn + 1

    if frames is not None:
        assert found == frames
        assert framer.buffered == 0
    assert sum(len(frame) + 4 for frame in found) + framer.buffered == len(stream)
