"""What one tenant sent and read, and the proof that nothing crossed. No I/O.

Every record says whose it is. A record read that is another tenant's has *crossed*; one the broker acknowledged
and the consumer never read is *lost*. Records that someone else sends with the tenant's credentials, as the demo
invites to, carry no such mark: they are shown and counted apart.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from dataclasses import dataclass
from typing import Literal

CONSOLE_LINES = 200
"""Lines kept for the console: more than any terminal shows."""


@dataclass(frozen=True, slots=True)
class Order:
    """One record of the demo."""

    tenant: str
    number: int
    """Counts up from 1 for each tenant."""
    item: str
    amount: int

    def to_bytes(self) -> bytes:
        """Return the record's value: JSON that a person can read in their own console consumer."""
        fields = {"tenant": self.tenant, "order": self.number, "item": self.item, "amount": self.amount}
        return json.dumps(fields).encode()

    def __str__(self) -> str:
        return f"#{self.number} {self.amount} {self.item}"


def read_order(value: bytes | None) -> Order | None:
    """Return the order in a record's value, or None if the demo did not write it."""
    try:
        fields = json.loads(value or b"")
        return Order(fields["tenant"], int(fields["order"]), str(fields["item"]), int(fields["amount"]))
    except (ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True, slots=True)
class ConsoleLine:
    """One line of a tenant's console."""

    kind: Literal["sent", "read", "crossed", "failed"]
    text: str


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of records of one tenant."""

    sent: int = 0
    """Acknowledged by the broker."""
    read: int = 0
    """Own ones that were read, each counted once."""
    crossed: int = 0
    """Another tenant's that were read."""
    lost: int = 0
    """Acknowledged and not read (yet)."""
    failed: int = 0
    """Not acknowledged."""
    others: int = 0
    """Read, and not written by the demo."""

    @property
    def is_clean(self) -> bool:
        """Whether everything that was sent arrived where it should and nothing else did."""
        return self.sent > 0 and not (self.crossed or self.lost or self.failed)


class Ledger:
    """Counts what one tenant sends and reads. Safe to use from several threads."""

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant
        self._lock = threading.Lock()
        self._acknowledged: set[int] = set()
        self._read: set[int] = set()
        self._crossed = 0
        self._failed = 0
        self._others = 0
        self._lines: deque[ConsoleLine] = deque(maxlen=CONSOLE_LINES)
        self._written = 0

    def note_sent(self, order: Order) -> None:
        """Count an order that the broker has acknowledged."""
        with self._lock:
            self._acknowledged.add(order.number)
            self._write(ConsoleLine("sent", str(order)))
            if order.number in self._read:
                self._write(ConsoleLine("read", str(order)))

    def note_failed(self, what: str) -> None:
        """Count something that should have been sent or read, and say why it was not."""
        with self._lock:
            self._failed += 1
            self._write(ConsoleLine("failed", what))

    def note_read(self, value: bytes | None) -> None:
        """Count a record that was read, by whose it is."""
        order = read_order(value)
        with self._lock:
            if order is None:
                self._others += 1
                self._write(ConsoleLine("read", "(yours) " + _printable(value)))
            elif order.tenant != self.tenant:
                self._crossed += 1
                self._write(ConsoleLine("crossed", f"{order} of {order.tenant}"))
            else:
                self._read.add(order.number)
                # A consumer can be faster than the acknowledgement; shown in that order it would puzzle.
                if order.number in self._acknowledged:
                    self._write(ConsoleLine("read", str(order)))

    def counts(self) -> Counts:
        """Return the numbers as they stand."""
        with self._lock:
            return Counts(
                sent=len(self._acknowledged),
                read=len(self._read),
                crossed=self._crossed,
                lost=len(self._acknowledged - self._read),
                failed=self._failed,
                others=self._others,
            )

    def console(self) -> tuple[list[ConsoleLine], int]:
        """Return the last lines, oldest first and at most CONSOLE_LINES, and how many there ever were."""
        with self._lock:
            return list(self._lines), self._written

    def _write(self, line: ConsoleLine) -> None:
        self._lines.append(line)
        self._written += 1


def _printable(value: bytes | None) -> str:
    text = (value or b"").decode("utf-8", errors="replace")
    return "".join(char if char.isprintable() else "." for char in text[:200])
