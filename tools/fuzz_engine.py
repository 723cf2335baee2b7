"""Throw mutated frames at the engine; it may answer or raise WireError, and nothing else.

    python tools/fuzz_engine.py --frames 10000000 --seed 1

For every version of every message valid frames are made from the schema, mutated, and given to rewrite (every
string and UUID outside tagged fields has a slot), forward, prune, decode, encode of what was decoded, peek and the
framer.
Besides surviving, the engine must agree with itself:

    rewrite with the same names gives the same bytes         decode refuses what rewrite refuses, and conversely
    encode(decode(frame)) is decoded to the same bytes       the framer finds the frames a plain splitter finds
    what is forwarded is what rewrite gives, or nothing      prune leaves what Python would leave
    addresses are replaced as Python would replace them

Every batch of 100,000 frames has its own random numbers, so a failure is repeated by its seed and batch alone.
Exits 1 at the first failure and prints it.
"""

import argparse
import faulthandler
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bifrost.wire import rewriting
from bifrost.wire.codec import Layout, decode, encode_body
from bifrost.wire.errors import FrameTooLarge, MalformedFrame
from bifrost.wire.framer import Framer
from bifrost.wire.message import Message, Struct, message_class
from bifrost.wire.program import Peek, Program, peek
from bifrost.wire.programs import compile_layout, compile_peek, compile_program
from bifrost.wire.rewriting import Names, open_stream, rewrite
from bifrost.wire.schema import Field, FieldType, MessageSchema, all_schemas
from frame_mutations import MUTATIONS, attack_length, pick
from fuzz_ways import SAME, Failure, check_addressed, check_forward, check_pruned, or_malformed, slots

BATCH = 100_000
FRAMES_PER_VERSION = 8
"""Valid frames kept of each version."""
RENEWAL = 25
"""Mutated frames for one new valid frame, which takes longer to make."""
STREAM = 24
"""Frames in one stream for the framer."""
MAX_FRAME = 100_000
"""The framer's limit in bytes: above what a valid frame here has, so that large lengths are refused and taken."""

_INTEGERS = {
    FieldType.INT8: (8, True),
    FieldType.INT16: (16, True),
    FieldType.UINT16: (16, False),
    FieldType.INT32: (32, True),
    FieldType.UINT32: (32, False),
    FieldType.INT64: (64, True),
}
_TEXTS = ("", "a", "orders", "acme-1_tenant.orders", "ж", "日本", "\0", "n" * 126, "n" * 127, "n" * 300)


@dataclass
class Target:
    """One version of one message, and all that is done to its frames."""

    schema: MessageSchema
    version: int
    layout: Layout
    program: Program
    peek: Peek | None
    frames: list[bytes] = field(default_factory=list)

    def renew(self, rng: random.Random) -> None:
        """Put a new valid frame into the place of an old one."""
        cls = message_class(self.schema.name)
        message = random_struct(rng, cls, cls, self.schema.fields, self.version)
        frame = encode_body(self.layout, message)
        if len(self.frames) < FRAMES_PER_VERSION:
            self.frames.append(frame)
        else:
            self.frames[pick(rng, FRAMES_PER_VERSION)] = frame


def random_struct(
    rng: random.Random, cls: type[Struct], message: type[Message], fields: tuple[Field, ...], version: int
) -> Any:
    """Make a struct that can be written at `version`."""
    present = [f for f in fields if version in f.versions and not (f.is_tagged(version) and pick(rng, 2))]
    return cls(**{f.name: random_value(rng, message, f, version) for f in present})


def random_value(rng: random.Random, message: type[Message], f: Field, version: int) -> Any:
    """Make a value of a field, now and then null where it may be."""
    if version in f.nullable and pick(rng, 4) == 0:
        return None
    make = _maker(rng, message, f, version)
    return [make() for _ in range((0, 1, 1, 2, 3)[pick(rng, 5)])] if f.is_array else make()


def _maker(rng: random.Random, message: type[Message], f: Field, version: int) -> Callable[[], Any]:
    if f.type is FieldType.STRUCT:
        return partial(random_struct, rng, getattr(message, str(f.struct_name)), message, f.fields, version)
    if f.type in _INTEGERS:
        bits, signed = _INTEGERS[f.type]
        lowest = -(2 ** (bits - 1)) if signed else 0
        # Shifted, so that small numbers are as common as large ones.
        return lambda: (rng.getrandbits(bits) + lowest) >> pick(rng, bits)
    makers: dict[FieldType, Callable[[], Any]] = {
        FieldType.BOOL: lambda: bool(pick(rng, 2)),
        FieldType.FLOAT64: rng.random,
        FieldType.UUID: lambda: rng.randbytes(16) if pick(rng, 3) else bytes(16),
        FieldType.STRING: lambda: _TEXTS[pick(rng, len(_TEXTS))],
        FieldType.BYTES: lambda: rng.randbytes(pick(rng, 40)),
        FieldType.RECORDS: lambda: rng.randbytes(5000 if pick(rng, 8) == 0 else pick(rng, 40)),
    }
    return makers[f.type]


def build_targets(rng: random.Random) -> list[Target]:
    """Compile every version of every message, with its first valid frames."""
    targets = []
    for schema in all_schemas():
        for version in schema.versions:
            program = compile_program(schema.name, version, dict(slots(schema.fields, version, "")))
            layout = compile_layout(schema.name, version)
            targets.append(Target(schema, version, layout, program, _front(schema, version)))
            for _ in range(FRAMES_PER_VERSION):
                targets[-1].renew(rng)
    return targets


def _front(schema: MessageSchema, version: int) -> Peek | None:
    """Compile a peek at the numbers before the first array or struct."""
    wanted = []
    for f in schema.fields:
        if version in f.versions and not f.is_tagged(version):
            if f.is_array or f.type is FieldType.STRUCT:
                break
            if f.type in _INTEGERS or f.type is FieldType.BOOL:
                wanted.append(f.kafka_name)
    return compile_peek(schema.name, version, wanted) if wanted else None


# ---- what is done to each frame ----

_OTHER = Names(
    lambda slot, name: name[::-1] if slot == 4 else None if len(name) > 200 else name + b"-renamed"
)


def check(target: Target, frame: bytes, own: bool) -> str:
    """Let the engine do everything with one frame; return what came of it.

    Args:
        own: give the engine the bytes, so that it may slice them; else a view.
    Raises:
        Failure: it disagrees with itself.
    """
    given = frame if own else memoryview(frame)
    segments = or_malformed(rewrite, target.program, given, 0, SAME)
    renamed = or_malformed(rewrite, target.program, given, 0, _OTHER, b"head")
    leading = or_malformed(rewrite, target.program, given, 0, SAME, None, True)
    message = or_malformed(decode, target.layout, given, 0)
    front = or_malformed(peek, target.peek, given, 0) if target.peek is not None else None
    refused, unreadable = isinstance(segments, MalformedFrame), isinstance(message, MalformedFrame)

    if isinstance(renamed, MalformedFrame) and not refused and "replacement" not in renamed.reason:
        raise Failure("names make a difference")
    if refused and not unreadable:
        raise Failure("rewrite refuses what decode reads")
    if not refused and segments is not None and b"".join(segments)[4:] != frame:
        raise Failure("rewriting with the same names changes the frame")
    if isinstance(leading, list) and not frame.startswith(b"".join(leading)[4:]):
        raise Failure("rewriting drops more than what lies behind the body")
    if not refused and leading != segments:
        raise Failure("what may lie behind the body makes a difference where nothing does")
    _check_head(target, frame, given)
    if unreadable:
        if not refused and segments is not None and "UTF-8" not in message.reason:
            raise Failure("decode refuses what rewrite passes")
        return "malformed"
    if isinstance(front, MalformedFrame):
        raise Failure("peek refuses what decode reads")
    body = encode_body(target.layout, message)
    if encode_body(target.layout, decode(target.layout, body, 0)) != body:
        raise Failure("what was encoded is decoded to something else")
    return "decoded" if segments is None else "rewritten"


def _check_head(target: Target, frame: bytes, given: bytes | memoryview) -> None:
    """Let the beginning of the frame go on before the rest is there: together it is what the whole frame becomes."""
    out: list[bytes | memoryview] = []
    cut = sum(frame[:9]) % len(frame) if frame else 0
    tail = or_malformed(open_stream, target.program, given[:cut], 0, len(frame), _OTHER, out)
    if isinstance(tail, int) and not any(frame[len(frame) - tail :]):
        whole = or_malformed(rewrite, target.program, given, 0, _OTHER)
        if not isinstance(whole, list) or b"".join(whole) != b"".join(out) + frame[cut:]:
            raise Failure("a frame that goes on before it is whole becomes another one")


def check_stream(rng: random.Random, frames: list[bytes]) -> None:
    """Let the framer find the frames in a stream, cut at random and perhaps with one bad length.

    Raises:
        Failure: it finds others than a plain splitter does.
    """
    stream = bytearray()
    for frame in frames:
        stream += len(frame).to_bytes(4, "big") + frame
    if pick(rng, 2):
        attack_length(rng, stream, b"")
    expected, bad = _split(bytes(stream))
    found: list[bytes | memoryview] = []
    framer, position, failed = Framer(MAX_FRAME), 0, False
    cuts = sorted(pick(rng, len(stream)) for _ in range(pick(rng, 12)))
    if pick(rng, 4) == 0:
        cuts = [*range(min(20, len(stream))), *cuts]
    try:
        for cut in (*cuts, len(stream)):
            while position < cut:
                buffer = framer.get_buffer(-1)
                size = min(len(buffer), cut - position)
                buffer[:size] = stream[position : position + size]
                position += size
                found += framer.buffer_updated(size)
        framer.buffer_updated(0)
    except FrameTooLarge:
        failed = True
    if found != expected or failed != bad:
        raise Failure(
            f"the framer finds {len(found)} frames, failed={failed}; {len(expected)}, {bad} are right"
        )


def _split(stream: bytes) -> tuple[list[bytes], bool]:
    frames: list[bytes] = []
    position = 0
    while position + 4 <= len(stream):
        size = int.from_bytes(stream[position : position + 4], "big", signed=True)
        if not 0 < size <= MAX_FRAME:
            return frames, True
        if position + 4 + size > len(stream):
            break
        frames.append(stream[position + 4 : position + 4 + size])
        position += 4 + size
    return frames, False


def run_batch(seed: int, batch: int, frames: int, outcomes: Counter[str]) -> None:
    """Mutate and check `frames` frames; count what came of them.

    Raises:
        Exception: a Failure or whatever else the engine raised; notes tell the frame and how to repeat it.
    """
    rng = random.Random(f"{seed}:{batch}")
    targets = build_targets(rng)
    stream: list[bytes] = []
    for number in range(frames):
        target = targets[pick(rng, len(targets))]
        if number % RENEWAL == 0:
            target.renew(rng)
        mutable = bytearray(target.frames[pick(rng, FRAMES_PER_VERSION)])
        if mutable:
            donor = targets[pick(rng, len(targets))] if pick(rng, 2) else target
            mutate = MUTATIONS[pick(rng, len(MUTATIONS))]
            mutate(rng, mutable, donor.frames[pick(rng, FRAMES_PER_VERSION)] or b"\0")
        frame = bytes(mutable)
        try:
            outcomes[check(target, frame, own=number % 2 == 0)] += 1
            check_forward(rng, target.program, frame)
            check_pruned(target.schema, target.version, frame)
            check_addressed(target.schema, target.version, frame)
            if frame:
                stream.append(frame)
            if len(stream) == STREAM:
                check_stream(rng, stream)
                stream.clear()
        except Exception as error:
            error.add_note(f"{target.schema.name} v{target.version}, frame {frame.hex()}")
            error.add_note(f"repeat with --seed {seed} --first-batch {batch} --frames {frames}")
            raise


def run(
    frames: int, seed: int, first_batch: int = 0, report: Callable[[int, Counter[str]], None] | None = None
) -> Counter[str]:
    """Fuzz with `frames` frames; return how many came out how.

    Args:
        report: called after every batch with its number and the outcomes so far.
    Raises:
        Exception: see run_batch.
    """
    outcomes: Counter[str] = Counter()
    batch = first_batch
    while outcomes.total() < frames:
        run_batch(seed, batch, min(BATCH, frames - outcomes.total()), outcomes)
        if report is not None:
            report(batch, outcomes)
        batch += 1
    return outcomes


def main() -> int:
    """Fuzz as the arguments say; return the exit code."""
    parser = argparse.ArgumentParser(description="Throw mutated frames at the engine.")
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first-batch", type=int, default=0, metavar="N", help="begin with batch N")
    arguments = parser.parse_args()
    faulthandler.enable()
    print(f"fuzzing {rewriting.__file__}", flush=True)
    started = time.monotonic()

    def report(batch: int, outcomes: Counter[str]) -> None:
        rate = outcomes.total() / (time.monotonic() - started)
        counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items()))
        print(f"batch {batch}: {outcomes.total():,} frames, {rate:,.0f}/s: {counts}", flush=True)

    run(arguments.frames, arguments.seed, arguments.first_batch, report)
    versions = sum(len(list(schema.versions)) for schema in all_schemas())
    print(f"nothing wrong in {arguments.frames:,} frames of {versions} versions, seed {arguments.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
