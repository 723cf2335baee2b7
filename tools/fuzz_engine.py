"""Throw mutated frames at the engine; it may answer or raise WireError, and nothing else.

    python tools/fuzz_engine.py --frames 10000000 --seed 1

For every version of every message valid frames are made from the schema (fuzz_targets.py) and mutated
(frame_mutations.py). Each frame goes three ways:

    alone        to rewrite (every string and UUID outside tagged fields has a slot), prune, decode, encode, peek, and
                 for its first items
    forwarded    to a session's forward_request and forward_response, behind a header (fuzz_ways.py)
    as bytes     in a stream of many frames, cut at random, to framer, relay and sockets (fuzz_relay.py): small frames
                 are handled where they were received, large ones go on before they are whole, and usage is counted

Besides surviving, the engine must agree with itself:

    rewrite with the same names gives the same bytes         decode refuses what rewrite refuses, and conversely
    encode(decode(frame)) is decoded to the same bytes       the framer finds the frames a plain splitter finds
    what is forwarded is what rewrite gives, or nothing      prune leaves what Python would leave
    addresses are replaced as Python would replace them      a stream comes to what its frames alone come to
    what brokers keep is found in a frame as in its message  the first items are read of whatever decode reads

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

from bifrost.wire import rewriting
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode, encode_body
from bifrost.wire.errors import FrameTooLarge, MalformedFrame
from bifrost.wire.first_items import read_first_items
from bifrost.wire.framer import Framer
from bifrost.wire.program import peek
from bifrost.wire.rewriting import Names, rewrite
from bifrost.wire.schema import all_schemas
from frame_mutations import MUTATIONS, attack_length, pick
from fuzz_entries import check_entries
from fuzz_relay import Exchange, check_relay
from fuzz_targets import FRAMES_PER_VERSION, Target, build_targets
from fuzz_ways import SAME, Failure, check_addressed, check_forward, check_pruned, or_malformed

BATCH = 100_000
RENEWAL = 25
"""Mutated frames for one new valid frame, which takes longer to make."""
STREAM = 24
"""Frames in one stream for the framer, and for the relay."""
LARGE_FRAMES = 4
"""Streams for the relay for one with a frame that goes on before it is whole."""
MAX_FRAME = 100_000
"""The framer's limit in bytes: above what a valid frame here has, so that large lengths are refused and taken."""

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
    first = [or_malformed(read_first_items, target.layout, given, 0, most, most) for most in (3, 1 << 30)]
    refused, unreadable = isinstance(segments, MalformedFrame), isinstance(message, MalformedFrame)
    check_entries(target.schema, target.version, given, message)

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
    if unreadable:
        if not refused and segments is not None and "UTF-8" not in message.reason:
            raise Failure("decode refuses what rewrite passes")
        return "malformed"
    if isinstance(front, MalformedFrame):
        raise Failure("peek refuses what decode reads")
    if any(isinstance(one, MalformedFrame) for one in first):
        raise Failure("the first items are refused of what decode reads")
    body = encode_body(target.layout, message)
    if encode_body(target.layout, decode(target.layout, body, 0)) != body:
        raise Failure("what was encoded is decoded to something else")
    return "decoded" if segments is None else "rewritten"


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


def _place(target: Target) -> tuple[int | None, int, bool]:
    """Return the API key, the version, and whether it is a request."""
    return target.schema.api_key, target.version, target.schema.name.endswith("Request")


def _exchanges(
    rng: random.Random,
    pairs: dict[tuple[int | None, int, bool], Target],
    stream: list[tuple[Target, bytes]],
) -> list[Exchange]:
    """Add what belongs to each frame, the request or the answer; now and then a large one takes the place of one."""
    found = []
    large = pick(rng, len(stream)) if pick(rng, LARGE_FRAMES) == 0 else -1
    # Either all malformed frames come, each on a connection that soon ends, or few, behind many others.
    is_mostly_valid = pick(rng, 2) == 0
    for number, spoilt in enumerate(stream):
        target, frame = spoilt
        if number == large:
            target, frame = _large(rng, pairs)
        elif is_mostly_valid and pick(rng, 8):
            frame = target.frames[pick(rng, FRAMES_PER_VERSION)]
        api_key, version, is_request = _place(target)
        other = pairs.get((api_key, version, not is_request))
        if api_key is not None and other is not None:
            fitting = other.frames[pick(rng, FRAMES_PER_VERSION)]
            bodies = (frame, fitting) if is_request else (fitting, frame)
            found.append(Exchange(api_key, version, *bodies))
    return found


def _large(rng: random.Random, pairs: dict[tuple[int | None, int, bool], Target]) -> tuple[Target, bytes]:
    """Make a large frame, of which the beginning or the end may be spoilt."""
    api_key, is_request = ((ApiKey.PRODUCE, True), (ApiKey.FETCH, False))[pick(rng, 2)]
    targets = [one for (key, _, is_one), one in pairs.items() if (key, is_one) == (api_key, is_request)]
    target = targets[pick(rng, len(targets))]
    frame = target.large_frame(rng, 250_000 + pick(rng, 300_000))
    return target, _spoilt(rng, frame)


def _spoilt(rng: random.Random, frame: bytes) -> bytes:
    """Spoil the beginning or the end of a large frame, or neither."""
    kind = pick(rng, 6)
    if kind > 1:
        return frame
    part = bytearray(frame[:200] if kind else frame[-8:])
    MUTATIONS[pick(rng, len(MUTATIONS))](rng, part, frame[:200])
    return bytes(part) + frame[200:] if kind else frame[:-8] + bytes(part)


def run_batch(seed: int, batch: int, frames: int, outcomes: Counter[str]) -> None:
    """Mutate and check `frames` frames; count what came of them.

    Raises:
        Exception: a Failure or whatever else the engine raised; notes tell the frame and how to repeat it.
    """
    rng = random.Random(f"{seed}:{batch}")
    targets = build_targets(rng)
    pairs = {_place(target): target for target in targets if target.schema.api_key is not None}
    stream: list[tuple[Target, bytes]] = []
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
                stream.append((target, frame))
            if len(stream) == STREAM:
                check_stream(rng, [frame for _, frame in stream])
                check_relay(rng, _exchanges(rng, pairs, stream))
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
