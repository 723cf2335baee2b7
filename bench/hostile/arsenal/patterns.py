"""Patterns that take long to read, to confine or to match: for the brokers' RE2/J, and for the gateway's own reader of
them and its own matcher (`tenancy/regex_matcher.py`), which a tenant with a list of topics needs.
"""

import itertools
import re
from collections.abc import Iterator

from bench.hostile.attack import attack
from bench.hostile.features import LISTED_TOPICS
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


def matched_bombs() -> dict[str, str]:
    """Return patterns that the gateway reads to their end and then matches with listed topics, by what is bad."""
    characters = "".join(dict.fromkeys("orders.eu-part_0123456789"))
    return {
        "all": ".*",
        "none": "x.*",
        "ends": "(.$?){400}",
        "counted repeats": "(.{1,30}){1,30}",
        "repeats of repeats": "((.{1,9}){1,9}){1,9}",
        "optional characters": "(.?){600}",
        "optional tails": "(.*.?){200}x",
        "alternatives": f"({'|'.join(f'.*{re.escape(one)}' for one in characters)}){{15}}",
        "classes": "(" + "|".join(f"[{chr(97 + number % 26)}-z0-9._-]" for number in range(300)) + ")*",
        "boundaries": r"(\b.?|\B.?){200}",
        "case folding": "(?i)([a-z.0-9_-]?){600}",
        "subsets": ".*[0-4].{1,5}.*[e-p].{20}|.*[aeiou].{15}",
        "long literal": "a" * 1900,
        "empty groups": "(?:)" * 990 + "x",
        "long names": "|".join(one + "." for one in LISTED_TOPICS[:60]),
    }


def renewed(patterns: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield patterns again and again, another one each time: the gateway remembers what became of a pattern."""
    for number in itertools.count():
        for what, pattern in patterns.items():
            yield what, f"{pattern}|{number}"


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


@attack(
    "costly patterns, another one each time, that the gateway itself matches with a list of 2,000 topics",
    seconds=8,
    is_warmed=True,
    has_features=True,
)
def listed_pattern_bombs(field: Field) -> Iterator[None]:
    numbers = {what: 200 + number for number, what in enumerate(matched_bombs())}
    frames = ((what, _heartbeat(field, one, numbers[what])) for what, one in renewed(matched_bombs()))
    yield
    field.flood(frames, connections=4, is_endless=False, is_listed=True)


@attack("transactions listed by costly patterns", seconds=8)
def transaction_pattern_bombs(field: Field) -> Iterator[None]:
    found = bombs(field.size(MOST))
    frames = [
        (what, field.frame(ListTransactionsRequest(transactional_id_pattern=one), 2))
        for what, one in found.items()
    ]
    yield
    field.flood(frames, connections=2)
