"""Patterns that take long to read, to confine or to match: the brokers' RE2/J and the gateway's own reader of them."""

from collections.abc import Iterator

from bench.hostile.attack import attack
from bench.hostile.field import Field
from bifrost.wire.messages import ConsumerGroupHeartbeatRequest, ListTransactionsRequest

MOST = 30_000
"""Characters: as long as a string can be, nearly."""


def bombs(size: int) -> dict[str, str]:
    """Return patterns by what is bad about them, of at most `size` characters."""
    half = size // 2
    return {
        "nested quantifiers": "(" * min(half // 3, 900) + "a" + "+)*" * min(half // 3, 900),
        "repeats of repeats": "((a{1,100}){1,100}){1,100}",
        "counted repeats": "|".join(["(x{1000})"] * (size // 10)),
        "nested groups": "(" * (half - 1) + ")" * (half - 1),
        "open groups": "(" * size,
        "long alternation": "|".join(f"t{number:05d}" for number in range(size // 7)),
        "empty alternation": "|" * size,
        "huge class": "[" + "".join(chr(0x4E00 + number * 2) for number in range(size // 4)) + "]",
        "many classes": r"[\pL\pN\pS]" * (size // 11),
        "nested classes": "[^" * (size // 3) + "]" * (size // 3),
        "case folding": "(?i)" + "\u017f\u017f\u212a\u212a" * (size // 12),
        "dots": ".*" * half + "x",
        "optional letters": "a?" * (half // 2) + "a" * (half // 2),
        "flags": "(?i:" * (size // 6) + ")" * (size // 6),
        "quotes": r"\Q" * half,
        "escapes": r"\x{10FFFF}" * (size // 10),
        "unfinished": "[a-" + "\\" * (size - 10),
    }


def _heartbeat(field: Field, pattern: str, number: int) -> bytes:
    beat = ConsumerGroupHeartbeatRequest(
        group_id=f"patterns{number}",
        member_id=f"member{number}",
        member_epoch=0,
        rebalance_timeout_ms=10_000,
        subscribed_topic_names=[],
        subscribed_topic_regex=pattern,
        topic_partitions=[],
    )
    return field.frame(beat, 1)


@attack("consumer groups that subscribe to costly patterns", seconds=8)
def pattern_bombs(field: Field) -> Iterator[None]:
    found = bombs(field.size(MOST))
    frames = [(what, _heartbeat(field, one, number)) for number, (what, one) in enumerate(found.items())]
    yield
    field.flood(frames, connections=2)


@attack("the same of 300 characters, many of them", seconds=8, is_warmed=True)
def short_pattern_bombs(field: Field) -> Iterator[None]:
    found = bombs(300)
    frames = [
        (what, _heartbeat(field, one, 100 + number)) for number, (what, one) in enumerate(found.items())
    ]
    yield
    field.flood(frames, connections=4)


@attack("transactions listed by costly patterns", seconds=8)
def transaction_pattern_bombs(field: Field) -> Iterator[None]:
    found = bombs(field.size(MOST))
    frames = [
        (what, field.frame(ListTransactionsRequest(transactional_id_pattern=one), 2))
        for what, one in found.items()
    ]
    yield
    field.flood(frames, connections=2)
