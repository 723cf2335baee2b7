"""Which of the gateways before the same brokers reads logs for the index: the one that was the last to write its name.

It writes its name again and again. When nothing was heard of it for a while, or it has said that it stops, others write
theirs; the topic has an order, so all of them find the same one. If two read for a moment, nothing but work is lost.
"""

import json

from bifrost.tenancy.virtual_partitions.index.index_entry import UnreadableEntry

KEY = b"scanner"
"""Key of the record."""
EVERY_MS, GONE_MS = 10_000, 35_000
"""Time between two records of the gateway that reads, and how long the others wait for one."""
MAX_NAME = 200
_VERSION = 1


def to_value(member: str) -> bytes:
    """Return the value of the record; an empty name: no gateway reads."""
    return json.dumps({"version": _VERSION, "member": member}).encode()


def read_value(value: bytes | None) -> str:
    """Return which gateway reads.

    Raises:
        UnreadableEntry: the record is none that a gateway writes.
    """
    try:
        found = json.loads((value or b"")[: 10 * MAX_NAME])
    except (ValueError, RecursionError) as error:
        raise UnreadableEntry("it is not JSON") from error
    member = found.get("member") if isinstance(found, dict) else None
    if not isinstance(member, str) or len(member) > MAX_NAME or found.get("version") != _VERSION:
        raise UnreadableEntry("it names no gateway")
    return member


class ScanTurn:
    """What one gateway knows of it. Times are of a monotonic clock, in milliseconds."""

    def __init__(self, member: str) -> None:
        """Know of no other yet; `member` is the name of this one, which no other has."""
        self.member, self._holder = member, ""
        self._heard_ms = self._written_ms = 0

    def hear(self, member: str, now_ms: int) -> None:
        """Take a record of the topic."""
        self._holder, self._heard_ms = member, now_ms

    def has_it(self, now_ms: int) -> bool:
        """Whether it is this gateway's turn."""
        return self._holder == self.member and now_ms - self._heard_ms < GONE_MS

    def is_to_write(self, now_ms: int) -> bool:
        """Whether this gateway has to write its name now: it has the turn, or none has."""
        is_free = not self._holder or now_ms - self._heard_ms >= GONE_MS
        return (is_free or self._holder == self.member) and (
            not self._written_ms or now_ms - self._written_ms >= EVERY_MS
        )

    def written(self, now_ms: int) -> None:
        """Note that it was written."""
        self._written_ms = now_ms
