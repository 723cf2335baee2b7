"""How tools/fuzz_engine.py spoils a valid frame: each mutation changes a bytearray, never empty, in place.

`other` is another valid frame, often of another message, never empty either.
"""

import random
from itertools import pairwise

_NASTY = (
    *(
        number.to_bytes(4, "big", signed=True)
        for number in (0, 1, -1, -2, 0xFFFF, 2**24, 2**31 - 1, -(2**31))
    ),
    *(number.to_bytes(2, "big", signed=True) for number in (0, 1, -1, -2, 2**15 - 1, -(2**15))),
    *(bytes([number]) for number in (0, 1, 2, 0x7F, 0x80, 0xFF)),
    *(b"\xff" * 4 + bytes([last]) for last in (0x0F, 0x1F, 0x7F, 0xFF)),
    *(b"\x80" * size + bytes([last]) for size in (1, 4, 5) for last in (0, 1, 0x10)),
)
"""Lengths, counts and varints at the edge of what is allowed, and beyond."""


def pick(rng: random.Random, count: int) -> int:
    """Draw from 0 to `count` - 1; several times as fast as randrange."""
    return int(rng.random() * count)


def flip_bits(rng: random.Random, frame: bytearray, other: bytes) -> None:
    """Flip one to four bits."""
    for _ in range(1 + pick(rng, 4)):
        frame[pick(rng, len(frame))] ^= 1 << pick(rng, 8)


def truncate(rng: random.Random, frame: bytearray, other: bytes) -> None:
    """Cut the end off."""
    del frame[pick(rng, len(frame)) :]


def extend(rng: random.Random, frame: bytearray, other: bytes) -> None:
    """Put a few bytes behind the end."""
    frame += rng.randbytes(1 + pick(rng, 8))


def splice(rng: random.Random, frame: bytearray, other: bytes) -> None:
    """Go on as another frame from somewhere on."""
    frame[pick(rng, len(frame)) :] = other[pick(rng, len(other)) :]


def attack_length(rng: random.Random, frame: bytearray, other: bytes) -> None:
    """Write one to three lengths at the edge of what is allowed."""
    for _ in range(1 + pick(rng, 3)):
        nasty = _NASTY[pick(rng, len(_NASTY))]
        at = pick(rng, len(frame))
        frame[at : at + len(nasty)] = nasty


def insert_length(rng: random.Random, frame: bytearray, other: bytes) -> None:
    """Push such a length in, in the place of one byte or none."""
    at = pick(rng, len(frame))
    frame[at : at + pick(rng, 2)] = _NASTY[pick(rng, len(_NASTY))]


def overwrite(rng: random.Random, frame: bytearray, other: bytes) -> None:
    """Write random bytes over a stretch."""
    at = pick(rng, len(frame))
    size = min(1 + pick(rng, 16), len(frame) - at)
    frame[at : at + size] = rng.randbytes(size)


def move(rng: random.Random, frame: bytearray, other: bytes) -> None:
    """Repeat or drop a stretch."""
    at, size = pick(rng, len(frame)), 1 + pick(rng, 40)
    frame[at : at + size * pick(rng, 2)] = frame[at : at + size] * pick(rng, 3)


def randomize(rng: random.Random, frame: bytearray, other: bytes) -> None:
    """Be random from the start."""
    frame[:] = rng.randbytes(pick(rng, 200))


def add_tag(rng: random.Random, frame: bytearray, other: bytes) -> None:
    """Put an unknown tagged field, or a known one of the wrong size, into the place of a zero; often the last."""
    at = frame.rfind(b"\0", 0, None if pick(rng, 2) else pick(rng, len(frame)) + 1)
    if at >= 0:
        frame[at : at + 1] = bytes((1, (0, 1, 2, 99)[pick(rng, 4)], 2)) + rng.randbytes(2)


def keep(rng: random.Random, frame: bytearray, other: bytes) -> None:
    """Stay valid."""


MUTATIONS = (
    flip_bits,
    truncate,
    extend,
    splice,
    attack_length,
    attack_length,
    insert_length,
    overwrite,
    move,
    add_tag,
    randomize,
    keep,
)


def pieces_of(rng: random.Random, frame: bytes) -> list[bytes | memoryview]:
    """Cut a frame anywhere but in its length."""
    cuts = sorted({4, len(frame), *(4 + pick(rng, len(frame) - 3) for _ in range(pick(rng, 5)))})
    return [frame[:4], *(memoryview(frame)[a:b] for a, b in pairwise(cuts))]


def spoilt(rng: random.Random, body: bytes, other: bytes) -> bytes:
    """Mutate a body, or leave it as it is."""
    mutable = bytearray(body)
    if mutable and pick(rng, 2):
        MUTATIONS[pick(rng, len(MUTATIONS))](rng, mutable, other or b"\0")
    return bytes(mutable)
