"""A log of the state in memory: what a broker would store, without the broker."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from bifrost.gateway.loop.steps import at_once
from bifrost.records.batch_reader import LogRecord
from bifrost.records.record_batch import Record
from bifrost.state.state_change import Author, Change, decide
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import Body
from bifrost.state.state_table import StateLimits, StateTable

LIMITS = StateLimits(records=1000, record_bytes=10_000, total_bytes=1_000_000)
AUTHOR = Author("gw-1/4711", "User:alice")

_numbers = itertools.count(1)


def key(name: str, kind: str = "alias") -> StateKey:
    return StateKey(kind, name)


def put(name: str, expected: int, body: Body | None, kind: str = "alias") -> Change:
    """Return a change of one key."""
    return Change(key(name, kind), expected, body)


def table(limits: StateLimits = LIMITS) -> StateTable:
    return StateTable(limits)


def decided(*arguments: Any) -> list[Record]:
    """Return what `decide` does with these arguments, after all of its steps."""
    return at_once(decide(*arguments))


def in_log(records: Sequence[Record], offset: int = 0) -> list[LogRecord]:
    """Return records as a reader finds them from an offset on."""
    return [LogRecord(offset + number, *one) for number, one in enumerate(records)]


def change(
    table: StateTable, *changes: Change, now_ms: int = 1000, author: Author = AUTHOR
) -> list[LogRecord]:
    """Decide a change and fold it; return its records as in the log."""
    number = next(_numbers)
    made = in_log(decided(table, changes, (), author, now_ms, f"c{number}"), number * 100)
    table.apply(made)
    return made
